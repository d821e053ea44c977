package mcpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	owner := s.owner(r.Session, r.Extra)
	if state := r.Params.RequestState; state != "" {
		return s.resume(ctx, r, owner, state)
	}
	if strings.TrimSpace(p.Code) == "" {
		return nil, invalid("no code is given: write the program into code")
	}
	if err := p.Limits.Check(); err != nil {
		return nil, invalid(withHint(err))
	}
	req := engine.Request{
		Language: p.Language, Code: p.Code, Args: unwrapped(p.Args), Intent: p.Intent, Trigger: "mcp",
		Limits: s.o.Table.Policy().Limits().Tighten(s.o.Limits).OrDefaults().Tighten(p.Limits), Actor: actorOf(r.Session, r.Extra), Env: s.o.Env, Dir: s.o.Dir,
	}
	if p.Session != "" {
		req.Session = sessionName(owner, p.Session)
	}
	run := s.runs.start(owner, userOf(r.Extra), p)
	req.ID, req.Progress = run.id, run.event
	req.Asker = &clientAsker{session: r.Session, next: s.o.Asker, run: run}
	go func() {
		res, err := s.o.Engine.Run(run.ctx, req)
		run.end(res, err)
	}()
	return s.await(ctx, r, run)
}

// unwrapped is what a model gave for args. Some write the object as a text: what
// is an object or a list in it is taken as such.
func unwrapped(args json.RawMessage) json.RawMessage {
	var text string
	if len(args) == 0 || args[0] != '"' || json.Unmarshal(args, &text) != nil {
		return args
	}
	inside := strings.TrimSpace(text)
	if inside == "" || inside[0] != '{' && inside[0] != '[' || !json.Valid([]byte(inside)) {
		return args
	}
	return json.RawMessage(inside)
}

func (s *Server) waitRun(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var p struct {
		RunID string `json:"run_id"`
	}
	if err := strictly(r.Params.Arguments, &p); err != nil {
		return nil, err
	}
	return s.resume(ctx, r, s.owner(r.Session, r.Extra), p.RunID)
}

// resume goes on with a run that answered before it ended.
func (s *Server) resume(ctx context.Context, r *mcp.CallToolRequest, owner, id string) (*mcp.CallToolResult, error) {
	run, ok := s.runs.find(owner, id)
	if !ok {
		return nil, invalid(fmt.Sprintf("there is no waiting run %q: it has been answered, or was not asked for within 10 minutes", shortened(id, 64)))
	}
	run.answered(r.Params.InputResponses)
	return s.await(ctx, r, run)
}

// gathering is how long questions that come together are collected.
const gathering = 20 * time.Millisecond

// await answers when the run has ended, when the client has to ask its person,
// or when people have been waited for longer than clients wait. A cancelled
// call, and one whose client is gone, cancels the run.
func (s *Server) await(ctx context.Context, r *mcp.CallToolRequest, run *waitingRun) (*mcp.CallToolResult, error) {
	defer run.attach(&listener{ctx: ctx, session: r.Session, token: r.Params.GetProgressToken()})()
	gone := s.requests.done(r.Extra)
	patience := time.NewTimer(s.o.Patience)
	defer patience.Stop()
	asks := takesRoundTrips(r.Session)
	var gathered <-chan time.Time
	late := false
	for {
		changed := run.watch()
		if late {
			if waiting := run.questions(); len(waiting) > 0 {
				return result(&engine.Result{RunID: run.id, Status: engine.StatusWaiting, Started: run.started, Cache: "off", Waiting: waiting},
					waitingText(run.id, waiting), false)
			}
		}
		if asks && gathered == nil && len(run.unsent()) > 0 {
			gathered = time.After(gathering)
		}
		select {
		case <-run.done:
			select {
			case <-run.told:
			case <-time.After(time.Second): // the client does not read
			}
			s.runs.forget(run)
			return s.answer(ctx, run)
		case <-ctx.Done():
			return nil, s.abandon(run, "the client cancelled the call")
		case <-gone:
			return nil, s.abandon(run, "the client has left")
		case <-gathered:
			gathered = nil
			if forms := run.unsent(); len(forms) > 0 {
				run.sent(forms)
				return &mcp.CallToolResult{InputRequests: forms, RequestState: run.id}, nil
			}
		case <-patience.C:
			late = true
		case <-changed:
		}
	}
}

// abandon ends a run that nobody waits for any more.
func (s *Server) abandon(run *waitingRun, why string) error {
	err := fault.New(fault.Cancelled, "%s", why)
	run.cancel(err)
	<-run.done
	s.runs.forget(run)
	return err
}

// waitingText tells a model whom it waits for and what to do.
func waitingText(id string, waiting []engine.Waiting) string {
	var b strings.Builder
	b.WriteString("the program goes on, but a person has to answer first:")
	for _, w := range waiting {
		fmt.Fprintf(&b, "\n- %s", w.Tool)
		if w.Message != "" {
			b.WriteString(": " + w.Message)
		}
	}
	fmt.Fprintf(&b, "\ncall wait_run with run_id %q for the rest", id)
	return b.String()
}

// answer is a Result as MCP carries it: structured, with its text beside it.
func (s *Server) answer(ctx context.Context, run *waitingRun) (*mcp.CallToolResult, error) {
	if run.err == nil {
		return s.success(run)
	}
	code := fault.CodeOf(run.err)
	switch code.Class() {
	case fault.ClassUsage:
		return nil, invalid(withHint(run.err))
	case fault.ClassInternal:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: withHint(run.err)}
	}
	text := errorText(run.res, run.err)
	if more := s.helpfulTools(ctx, code, run.res, run.params); more != "" {
		text += "\n\n" + more
	}
	return result(run.res, text, true)
}

// result makes the answer of a tool.
func result(res *engine.Result, text string, failed bool) (*mcp.CallToolResult, error) {
	return answerOf(res, []mcp.Content{&mcp.TextContent{Text: text}}, failed)
}

func answerOf(res *engine.Result, content []mcp.Content, failed bool) (*mcp.CallToolResult, error) {
	structured, err := json.Marshal(res)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the result cannot be written: " + err.Error()}
	}
	return &mcp.CallToolResult{Content: content, StructuredContent: json.RawMessage(structured), IsError: failed}, nil
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
// a tool that was misused, or those nearest to the intent where a program
// failed with nothing in its hands.
func (s *Server) helpfulTools(ctx context.Context, code fault.Code, res *engine.Result, p executeParams) string {
	misused := code == fault.ToolUnknown || code == fault.ToolInvalidArgs
	if !misused && (code.Class() != fault.ClassGuest || p.Intent == "" || anySucceeded(res)) {
		return ""
	}
	cat, _ := s.o.Table.Known()
	lang := "javascript"
	if p.Language == engine.Python {
		lang = "python"
	}
	var entries []catalogue.Entry
	if res != nil && res.Error != nil && res.Error.Tool != "" {
		if t, ok := cat.Lookup(res.Error.Tool); ok && s.visible(t) != "" {
			if e, ok := cat.Describe(res.Error.Tool, "full", lang); ok {
				entries = append(entries, e)
			}
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
		entries = s.o.Table.Search(ctx, cat, catalogue.Query{Text: text, Limit: 3, Detail: "full", Lang: lang, Keep: s.visible}).Tools
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

func anySucceeded(res *engine.Result) bool {
	return res != nil && slices.ContainsFunc(res.Calls, func(c engine.Call) bool { return c.OK })
}

// event forwards a step of a run as notifications of progress and log. A
// client that cannot be reached misses it.
func (l *listener) event(e engine.Event) {
	message, level := eventText(e)
	if message == "" {
		return
	}
	if l.token != nil {
		l.step++
		_ = l.session.NotifyProgress(l.ctx, &mcp.ProgressNotificationParams{ProgressToken: l.token, Progress: l.step, Message: message})
	}
	_ = l.session.Log(l.ctx, &mcp.LoggingMessageParams{Logger: "wexec", Level: level, Data: message})
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
// Who logged in is known better than what a client says of itself.
func actorOf(session *mcp.ServerSession, extra *mcp.RequestExtra) engine.Actor {
	a := engine.Actor{Type: "agent", ID: userOf(extra)}
	if a.ID != "" {
		return a
	}
	if p := session.InitializeParams(); p != nil && p.ClientInfo != nil {
		a.ID = p.ClientInfo.Name
	}
	return a
}

// userOf is who logged in; "" where nobody does.
func userOf(extra *mcp.RequestExtra) string {
	if extra == nil || extra.TokenInfo == nil {
		return ""
	}
	return extra.TokenInfo.UserID
}

// sessionName keeps the sessions of one client from another's.
func sessionName(owner, name string) string { return sessionPrefix(owner) + name }

func sessionPrefix(owner string) string { return "mcp/" + owner + "/" }
