package mcpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// executeParams is what of a Request a model may give.
type executeParams struct {
	Language string          `json:"language"`
	Code     string          `json:"code"`
	Args     json.RawMessage `json:"args"`
	Intent   string          `json:"intent"`
	Session  string          `json:"session"`
	Limits   policy.Limits   `json:"limits"`
}

func (s *Server) executeCode(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var p executeParams
	if err := strictly(r.Params.Arguments, &p); err != nil {
		return nil, err
	}
	if err := p.Limits.Check(); err != nil {
		return nil, invalid(err.Error())
	}
	req := engine.Request{
		Language: p.Language, Code: p.Code, Args: p.Args, Intent: p.Intent, Trigger: "mcp",
		Limits: s.o.Limits.OrDefaults().Tighten(p.Limits), Actor: actorOf(r.Session), Env: s.o.Env, Dir: s.o.Dir,
	}
	if p.Session != "" {
		req.Session = sessionName(r.Session, p.Session)
	}
	run := s.runs.start(r.Session.ID())
	asker := &clientAsker{session: r.Session, next: s.o.Asker, run: run}
	req.ID, req.Asker = run.id, asker
	req.Progress = s.follow(ctx, r)
	go func() {
		res, err := s.o.Engine.Run(run.ctx, req)
		run.end(res, err)
	}()
	return s.await(ctx, run, p)
}

// await answers when the run has ended, or when people have been waited for
// longer than clients wait. A cancelled call cancels the run.
func (s *Server) await(ctx context.Context, run *waitingRun, p executeParams) (*mcp.CallToolResult, error) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	begun := time.Now()
	for {
		select {
		case <-run.done:
			s.runs.forget(run)
			return s.answer(ctx, run.res, run.err, p)
		case <-ctx.Done():
			run.cancel(fault.New(fault.Cancelled, "the client cancelled the call"))
			<-run.done
			s.runs.forget(run)
			return nil, ctx.Err()
		case <-tick.C:
			waiting := run.questions()
			if len(waiting) == 0 || time.Since(begun) < s.o.Patience {
				continue
			}
			return result(&engine.Result{RunID: run.id, Status: engine.StatusWaiting, Started: run.started, Cache: "off", Waiting: waiting},
				fmt.Sprintf("people are waited for: call wait_run with run_id %q", run.id), false)
		}
	}
}

func (s *Server) waitRun(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var p struct {
		RunID string `json:"run_id"`
	}
	if err := strictly(r.Params.Arguments, &p); err != nil {
		return nil, err
	}
	run, ok := s.runs.find(r.Session.ID(), p.RunID)
	if !ok {
		return nil, invalid(fmt.Sprintf("there is no waiting run %q: it has been answered, or was not asked for within 10 minutes", p.RunID))
	}
	return s.await(ctx, run, executeParams{})
}

// answer is a Result as MCP carries it: structured, with its text beside it.
func (s *Server) answer(ctx context.Context, res *engine.Result, err error, p executeParams) (*mcp.CallToolResult, error) {
	if err == nil {
		return result(res, valueText(res), false)
	}
	code := fault.CodeOf(err)
	switch code.Class() {
	case fault.ClassUsage:
		return nil, invalid(withHint(err))
	case fault.ClassInternal:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: withHint(err)}
	}
	text := errorText(res, err)
	if more := s.helpfulTools(ctx, code, res, p); more != "" {
		text += "\n\n" + more
	}
	return result(res, text, true)
}

// result makes the answer of a tool.
func result(res *engine.Result, text string, failed bool) (*mcp.CallToolResult, error) {
	structured, err := json.Marshal(res)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the result cannot be written: " + err.Error()}
	}
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: text}},
		StructuredContent: json.RawMessage(structured),
		IsError:           failed,
	}, nil
}

// valueText is what a model reads of a run that went well: the output, then
// the value.
func valueText(res *engine.Result) string {
	var parts []string
	if out := strings.TrimRight(res.Stdout, "\n"); out != "" {
		parts = append(parts, out)
	}
	if out := strings.TrimRight(res.Stderr, "\n"); out != "" {
		parts = append(parts, out)
	}
	var text string
	switch v := res.Value; {
	case len(v) == 0 || string(v) == "null":
		if len(parts) == 0 {
			parts = append(parts, "the program gave no value: return one")
		}
	case v[0] == '"' && json.Unmarshal(v, &text) == nil:
		parts = append(parts, text)
	default:
		parts = append(parts, string(v))
	}
	return strings.Join(parts, "\n")
}

// errorText is what a model reads of a run that failed.
func errorText(res *engine.Result, err error) string {
	var b strings.Builder
	var e *engine.Error
	fmt.Fprintf(&b, "%s [%s]", err, fault.CodeOf(err))
	if errors.As(err, &e) {
		if e.File != "" && e.Line > 0 {
			fmt.Fprintf(&b, "\n at %s:%d:%d", e.File, e.Line, e.Column)
		}
		if e.Excerpt != "" {
			b.WriteString("\n" + strings.TrimRight(e.Excerpt, "\n"))
		}
		if e.Rule != "" {
			b.WriteString("\nrule: " + e.Rule)
		}
		if e.Hint != "" {
			b.WriteString("\nhint: " + e.Hint)
		}
	} else if hint := fault.HintOf(err); hint != "" {
		b.WriteString("\nhint: " + hint)
	}
	if res != nil && res.Stdout != "" {
		b.WriteString("\n\noutput before:\n" + strings.TrimRight(res.Stdout, "\n"))
	}
	return b.String()
}

func withHint(err error) string {
	if hint := fault.HintOf(err); hint != "" {
		return err.Error() + " (" + hint + ")"
	}
	return err.Error()
}

// helpfulTools lists the declarations that make the next try succeed: those of
// a tool that was misused, or those nearest to the intent where a tool was
// missing.
func (s *Server) helpfulTools(ctx context.Context, code fault.Code, res *engine.Result, p executeParams) string {
	if code != fault.ToolUnknown && code != fault.ToolInvalidArgs {
		return ""
	}
	cat, _ := s.o.Table.Known()
	lang := "javascript"
	if p.Language == engine.Python {
		lang = "python"
	}
	var entries []catalogue.Entry
	if res != nil && res.Error != nil && res.Error.Tool != "" {
		if e, ok := cat.Describe(res.Error.Tool, "full", lang); ok {
			entries = append(entries, e)
		}
	}
	if len(entries) == 0 {
		text := p.Intent
		if res != nil && res.Error != nil {
			text += " " + res.Error.Tool
		}
		if strings.TrimSpace(text) == "" {
			return ""
		}
		entries = cat.Search(catalogue.Query{Text: text, Limit: 3, Detail: "full", Lang: lang, Keep: s.visible}).Tools
	}
	var parts []string
	for _, e := range entries {
		parts = append(parts, e.Call+"\n"+e.Declaration)
	}
	if len(parts) == 0 {
		return ""
	}
	return "tools that may be meant:\n" + strings.Join(parts, "\n")
}

// follow forwards what happens in a run as notifications of progress and log.
func (s *Server) follow(ctx context.Context, r *mcp.CallToolRequest) func(engine.Event) {
	token := r.Params.GetProgressToken()
	var mu sync.Mutex
	step := 0.0
	return func(e engine.Event) {
		message, level := eventText(e)
		if message == "" {
			return
		}
		mu.Lock()
		step++
		n := step
		mu.Unlock()
		if token != nil {
			p := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: message}
			if err := r.Session.NotifyProgress(ctx, p); err != nil {
				return
			}
		}
		_ = r.Session.Log(ctx, &mcp.LoggingMessageParams{Logger: "wexec", Level: level, Data: message})
	}
}

// eventText is an event in words, and how much it matters.
func eventText(e engine.Event) (string, mcp.LoggingLevel) {
	switch e.Type {
	case engine.EventQueued:
		return fmt.Sprintf("waiting for a place behind %d runs", e.Count), "info"
	case engine.EventCompiling:
		return "preparing " + e.Text + " for the first time", "info"
	case engine.EventCall:
		if e.Call == nil {
			return "", ""
		}
		if !e.Call.OK {
			return fmt.Sprintf("%s failed: %s", e.Call.Tool, e.Call.Code), "warning"
		}
		return fmt.Sprintf("%s answered in %d ms", e.Call.Tool, e.Call.MS), "info"
	case engine.EventProgress:
		if e.Total > 0 {
			return strings.TrimSpace(fmt.Sprintf("%g of %g %s", e.Done, e.Total, e.Text)), "info"
		}
		return e.Text, "info"
	case engine.EventWaiting:
		return "waiting for a person: " + e.Text, "notice"
	}
	return "", ""
}

// actorOf is on whose behalf a client runs programs.
func actorOf(session *mcp.ServerSession) engine.Actor {
	a := engine.Actor{Type: "agent"}
	if p := session.InitializeParams(); p != nil && p.ClientInfo != nil {
		a.ID = p.ClientInfo.Name
	}
	return a
}

// sessionName keeps the sessions of one client from another's.
func sessionName(session *mcp.ServerSession, name string) string {
	return "mcp/" + session.ID() + "/" + name
}
