package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/internal/scrub"
	"github.com/wexec/wexec/hostfns/internal/toolmeta"
	"github.com/wexec/wexec/internal/telemetry"
	"github.com/wexec/wexec/policy"
)

// live is the session of a running server.
type live struct {
	session  *mcp.ClientSession
	process  *process // nil for HTTP
	answers  answers
	rejected atomic.Bool      // an HTTP server rejected the credentials
	secrets  scrub.Scrubber   // the secrets that the server got
	logLevel mcp.LoggingLevel // level of the requested log; empty: none
	calls    atomic.Int64
	watch    sync.Map // call number to progress function

	resources, prompts bool // the policy may allow them

	toolsMu sync.Mutex
	tools   []catalogue.Tool
	refused []string
	fresh   bool // tools is up to date
}

// list returns the server's tools, and requests them if they changed.
func (l *live) list(ctx context.Context, server string) ([]catalogue.Tool, error) {
	l.toolsMu.Lock()
	defer l.toolsMu.Unlock()
	if l.fresh {
		return l.tools, nil
	}
	version := ""
	if r := l.session.InitializeResult(); r != nil && r.ServerInfo != nil {
		version = l.said(r.ServerInfo.Version, 60)
	}
	var tools []catalogue.Tool
	var refused []string
	size := 0
	for t, err := range l.session.Tools(ctx, nil) {
		if err != nil {
			var asked *fault.Error
			if errors.As(err, &asked) {
				return nil, asked // a login is required
			}
			return nil, fault.New(fault.UpstreamUnavailable, "list tools of server %s: %s", server, l.said(err.Error(), maxText))
		}
		if len(tools) >= maxTools || size > maxSchemas || len(refused) > maxTools {
			refused = append(refused, fmt.Sprintf("more than %d tools", len(tools)))
			break
		}
		clean, err := l.cleanTool(server, version, t)
		if err != nil {
			refused = append(refused, l.secrets.Text(err.Error()))
			continue
		}
		size += len(clean.InputSchema) + len(clean.OutputSchema)
		tools = append(tools, clean)
	}
	tools, made := l.addMethods(server, version, tools)
	l.tools, l.refused, l.fresh = tools, append(refused, made...), true
	return tools, nil
}

// said returns a text of the server of at most n bytes, without secrets. They are
// removed before the text is shortened, which could cut one, and again after it
// was cleaned, which could complete one.
func (l *live) said(text string, n int) string {
	return l.secrets.Text(toolmeta.Text(l.secrets.Text(text), n))
}

// maxText bounds the text of an error or of progress of a server. The table
// shortens it further when it has removed personal data.
const maxText = 8 << 10

// lastOutputWait bounds the wait for what an ended process wrote to stderr, which
// may arrive after its stdout was closed.
const lastOutputWait = time.Second

// call calls one tool. The number of the call is its progress token, which maps
// raw answers and progress notifications to the call.
func (l *live) call(ctx context.Context, call hostfns.Call) (hostfns.Answer, error) {
	n := l.calls.Add(1)
	l.answers.admit(n, call.Gate)
	defer l.answers.forget(n)
	answer, err := l.send(ctx, n, call)
	return answer, l.answers.explain(n, err)
}

// callMeta is where a server finds the key of a call.
const callMeta = "io.wexec/call"

func (l *live) send(ctx context.Context, n int64, call hostfns.Call) (hostfns.Answer, error) {
	if call.Progress != nil {
		l.watch.Store(n, call.Progress)
		defer l.watch.Delete(n)
	}
	for _, s := range call.Secrets {
		l.secrets.Add(s.Name, s.Value)
	}
	meta := mcp.Meta{}
	if l.logLevel != "" {
		meta[mcp.MetaKeyLogLevel] = string(l.logLevel)
	}
	m, err := l.methodOf(ctx, call)
	if err != nil {
		return hostfns.Answer{}, err
	}
	meta["progressToken"] = n
	if key := call.Key(); key != "" {
		meta[callMeta] = key
	}
	if parent := telemetry.Parent(ctx); parent != "" {
		meta[telemetry.Header] = parent
	}
	var res any
	numbered := context.WithValue(ctx, callKey{}, n)
	switch {
	case m != nil:
		res, err = l.request(numbered, m, meta, call)
	case l.answers.needsTask(call.Tool):
		return hostfns.Answer{}, fault.New(fault.ToolFailed, "%s.%s runs only as a task, and wexec does not support the tasks of MCP", call.Server, call.Tool)
	default:
		res, err = l.session.CallTool(numbered, &mcp.CallToolParams{Meta: meta, Name: call.Tool, Arguments: call.Args})
	}
	raw, kept := l.answers.collect(n)
	if err != nil {
		if ctx.Err() != nil {
			return hostfns.Answer{}, context.Cause(ctx)
		}
		var asked *fault.Error
		if errors.As(err, &asked) {
			return hostfns.Answer{}, asked // a login is required
		}
		var denied *hostfns.Failure
		if errors.As(err, &denied) {
			return hostfns.Answer{}, denied
		}
		var refused *jsonrpc.Error
		if errors.As(err, &refused) {
			return hostfns.Answer{}, fault.New(fault.ToolFailed, "%s", l.secrets.Text(refused.Message))
		}
		if l.process != nil {
			l.process.ends(lastOutputWait)
		}
		return hostfns.Answer{}, fault.New(fault.UpstreamUnavailable, "server %s: process ended during the call", call.Server).
			WithHint("%s", lastOutput(l.stderr()))
	}
	if !kept {
		if raw, err = json.Marshal(res); err != nil {
			return hostfns.Answer{}, fault.New(fault.ToolFailed, "read answer: %w", err)
		}
	}
	if m != nil {
		return m.unwrap(call, l.secrets.Bytes(raw))
	}
	return unwrap(call.Server, call.Tool, l.secrets.Bytes(raw))
}

// progress forwards a notification to its call.
func (l *live) progress(p *mcp.ProgressNotificationParams) {
	if p == nil {
		return
	}
	var n int64
	switch token := p.ProgressToken.(type) {
	case float64:
		n = int64(token)
	case int64:
		n = token
	case int:
		n = int64(token)
	default:
		return
	}
	if f, ok := l.watch.Load(n); ok {
		f.(func(float64, float64, string))(p.Progress, p.Total, l.said(p.Message, maxText))
	}
}

func (l *live) stderr() string {
	if l.process == nil {
		return ""
	}
	return l.process.stderr.String()
}

func lastOutput(stderr string) string {
	said := strings.TrimSpace(stderr)
	if said == "" {
		return "the next call starts the server again"
	}
	return "last output: " + toolmeta.Text(lastLines(said, 5), maxText)
}

func lastLines(s string, n int) string {
	lines := strings.Split(s, "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// Bounds of what is kept of one server: its tools, and the bytes of their
// schemas.
const (
	maxTools   = 5000
	maxSchemas = 32 << 20
)

// cleanTool converts the description of a tool, cleaned and bounded, without
// secrets. A tool without a valid name is an error.
func (l *live) cleanTool(server, version string, t *mcp.Tool) (catalogue.Tool, error) {
	if t == nil {
		return catalogue.Tool{}, fmt.Errorf("tool without a name")
	}
	out := catalogue.Tool{Server: server, Name: t.Name, Version: version, Title: t.Title, Description: t.Description}
	if a := t.Annotations; a != nil {
		if out.Title == "" {
			out.Title = a.Title
		}
		// The SDK does not tell false from absent for these two; false is
		// the default.
		if a.ReadOnlyHint {
			out.Annotations.ReadOnly = &a.ReadOnlyHint
		}
		if a.IdempotentHint {
			out.Annotations.Idempotent = &a.IdempotentHint
		}
		out.Annotations.Destructive = a.DestructiveHint
		out.Annotations.OpenWorld = a.OpenWorldHint
	}
	out.InputSchema, out.OutputSchema = schemaOf(t.InputSchema), schemaOf(t.OutputSchema)
	l.scrub(&out)
	out, err := toolmeta.Clean(out)
	l.scrub(&out)
	return out, err
}

// scrub removes secrets from the description of a tool. A tool whose name has one
// cannot be called.
func (l *live) scrub(t *catalogue.Tool) {
	t.Name, t.Title, t.Description = l.secrets.Text(t.Name), l.secrets.Text(t.Title), l.secrets.Text(t.Description)
	t.InputSchema, t.OutputSchema = l.secrets.Bytes(t.InputSchema), l.secrets.Bytes(t.OutputSchema)
}

// schemaOf returns a schema as JSON.
func schemaOf(schema any) json.RawMessage {
	if schema == nil {
		return nil
	}
	b, err := json.Marshal(schema)
	if err != nil {
		return nil // the value was decoded from JSON
	}
	return b
}

// offers reports whether the policy and the server have a feature.
func (l *live) offers(f policy.Feature) bool {
	r := l.session.InitializeResult()
	if r == nil || r.Capabilities == nil {
		return false
	}
	switch f {
	case policy.Resources:
		return l.resources && r.Capabilities.Resources != nil
	case policy.Prompts:
		return l.prompts && r.Capabilities.Prompts != nil
	}
	return false
}

// addMethods adds the methods of the server to its tools. A tool of the server with
// the same name takes precedence, since rules and pins may be about it.
func (l *live) addMethods(server, version string, tools []catalogue.Tool) (all []catalogue.Tool, refused []string) {
	yes := true
	for _, m := range methods() {
		if !l.offers(hostfns.FeatureOf(m.tool)) {
			continue
		}
		if slices.ContainsFunc(tools, func(t catalogue.Tool) bool { return t.Name == m.tool }) {
			refused = append(refused, fmt.Sprintf("%s: the server has a tool of that name, so %s cannot be used", m.tool, m.name))
			continue
		}
		required := ""
		if m.required != "" {
			required = `"required":["` + m.required + `"],`
		}
		tools = append(tools, catalogue.Tool{Server: server, Name: m.tool, Version: version, Description: m.description, Method: m.name,
			InputSchema: json.RawMessage(`{"type":"object",` + required + `"additionalProperties":false,"properties":{` + m.properties + `}}`),
			Annotations: catalogue.Annotations{ReadOnly: &yes}})
	}
	return tools, refused
}

// methodOf returns the method that a call is for, or nil for a tool of the server.
func (l *live) methodOf(ctx context.Context, call hostfns.Call) (*method, error) {
	if f := hostfns.FeatureOf(call.Tool); f == "" || !l.offers(f) {
		return nil, nil
	}
	tools, err := l.list(ctx, call.Server) // the server may have a tool of that name
	if err != nil {
		return nil, err
	}
	all := methods()
	i := slices.IndexFunc(all, func(m method) bool {
		return slices.ContainsFunc(tools, func(t catalogue.Tool) bool { return t.Name == call.Tool && t.Method == m.name })
	})
	if i < 0 {
		return nil, nil
	}
	return &all[i], nil
}

// request asks for permission and sends the request of a method.
func (l *live) request(ctx context.Context, m *method, meta mcp.Meta, call hostfns.Call) (any, error) {
	var args methodArgs
	if err := json.Unmarshal(call.Args, &args); err != nil {
		return nil, fault.New(fault.ToolInvalidArgs, "%s: %w", m.tool, err)
	}
	if call.Gate != nil {
		use := call.Args
		if m.required == "" {
			use = nil
		}
		if err := call.Gate.Permit(ctx, hostfns.FeatureOf(m.tool), use); err != nil {
			return nil, err
		}
	}
	res, err := m.send(ctx, l.session, meta, args)
	_, _ = m.send(context.WithValue(ctx, forgetKey{}, true), l.session, meta, args)
	return res, err
}
