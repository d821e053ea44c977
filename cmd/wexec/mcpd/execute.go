package mcpd

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/telemetry"
	"github.com/wexec/wexec/policy"
)

func (s *Server) executeCode(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	if message := misnamed(r.Params.Arguments); message != "" {
		return refusal(message), nil
	}
	var p executeParams
	if err := decodeParams(r.Params.Arguments, &p); err != nil {
		return nil, err
	}
	owner := s.owner(r.Session, r.Extra)
	if state := r.Params.RequestState; state != "" {
		return s.resume(ctx, r, owner, state)
	}
	if strings.TrimSpace(p.Code) == "" {
		return nil, invalid("code is empty: set it to the program")
	}
	if err := p.Limits.Check(); err != nil {
		return nil, invalid(withHint(err))
	}
	if err := s.checkSession(p.Session); err != nil {
		return nil, err
	}
	if _, err := engine.Language(p.Language); err != nil {
		return refusal(withHint(err)), nil
	}
	p.Args = unquoteArgs(p.Args)
	return s.await(ctx, r, s.start(ctx, r.Session, r.Extra, p, true))
}

// start starts a run of a client in the trace of the context. With asks, the client serves questions and requests
// of servers.
func (s *Server) start(ctx context.Context, session *mcp.ServerSession, extra *mcp.RequestExtra, p executeParams, asks bool) *run {
	state, owner := s.state.Load(), s.owner(session, extra)
	req := engine.Request{
		Table:    state.Table,
		Language: p.Language, Code: p.Code, Args: p.Args, Intent: p.Intent, Trigger: "mcp",
		Limits: state.Table.Policy().Limits().Tighten(state.Limits).OrDefaults().Tighten(p.Limits), Actor: actorOf(session, extra), Env: s.o.Env, Dir: s.o.Dir,
	}
	req.Tenant, req.Session = s.o.Tenant, s.sessionOf(owner, p.Session)
	p.parent = telemetry.Parent(ctx)
	run := s.runs.start(owner, userOf(extra), p)
	run.listener = &listener{ctx: ctx, session: session} // until a call waits for the run
	req.ID, req.Progress, req.Asker = run.id, run.event, s.o.Asker
	if asks {
		client := &clientAsker{session: session, next: s.o.Asker, run: run}
		req.Asker, req.Client = client, client
	}
	go func() {
		run.end(s.o.Run(run.ctx, run.user, req))
		s.settle(run)
	}()
	return run
}

// misnamed says which argument of execute_code, or which limit, does not exist,
// and which one may be meant. It returns "" if there is none.
func misnamed(args json.RawMessage) string {
	var given map[string]json.RawMessage
	if json.Unmarshal(args, &given) != nil {
		return "" // decodeParams says why
	}
	if unknown := unknownName("argument", given, argumentNames); unknown != "" {
		return unknown
	}
	var limits map[string]json.RawMessage
	_ = json.Unmarshal(given["limits"], &limits) // decodeParams says why it cannot be read
	var names []string
	for _, f := range policy.LimitFields() {
		names = append(names, f.Key)
	}
	return unknownName("limit", limits, names)
}

// argumentNames are the names in executeParams.
var argumentNames = []string{"language", "code", "args", "intent", "session", "limits"}

// unknownName says which name is not known, the first of several by the alphabet.
func unknownName(what string, given map[string]json.RawMessage, known []string) string {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if slices.Contains(known, name) {
			continue
		}
		message := fmt.Sprintf("unknown %s %q: ", what, clip(name, 64))
		if near := catalogue.NearestOf(clip(name, 64), known); near != "" {
			return message + fmt.Sprintf("did you mean %q?", near)
		}
		return message + "use " + strings.Join(known, ", ")
	}
	return ""
}

// refusal is the tool result of a call that starts no run because of an argument that the model can correct.
func refusal(message string) *mcp.CallToolResult {
	return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: message}}}
}

// unquoteArgs returns the object or array in args that a model wrote as a
// string.
func unquoteArgs(args json.RawMessage) json.RawMessage {
	var quoted string
	if len(args) == 0 || args[0] != '"' || json.Unmarshal(args, &quoted) != nil {
		return args
	}
	doc := strings.TrimSpace(quoted)
	if doc == "" || doc[0] != '{' && doc[0] != '[' || !json.Valid([]byte(doc)) {
		return args
	}
	return json.RawMessage(doc)
}

func (s *Server) waitRun(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var p struct {
		RunID string `json:"run_id"`
	}
	if err := decodeParams(r.Params.Arguments, &p); err != nil {
		return nil, err
	}
	return s.resume(ctx, r, s.owner(r.Session, r.Extra), p.RunID)
}

// resume waits for a run whose first call has answered.
func (s *Server) resume(ctx context.Context, r *mcp.CallToolRequest, owner, id string) (*mcp.CallToolResult, error) {
	run, ok := s.runs.find(owner, id)
	if !ok {
		return nil, invalid(fmt.Sprintf("there is no waiting run %q: its result was returned, or no call waited for it for 10 minutes", clip(id, 64)))
	}
	run.setCut(false)
	run.takeAnswers(r.Params.InputResponses)
	return s.await(ctx, r, run)
}

// collectForms is how long forms are collected before they are sent together.
const collectForms = 20 * time.Millisecond

// await answers when the run has ended, when the client has to show forms, or
// when people have been waited for too long. For a client that understands tasks, a
// run that takes long or asks becomes one. If the call is cancelled, so is the
// run. If its connection was cut, the run goes on and its result is kept: only in
// the protocol without sessions is that how a client cancels.
func (s *Server) await(ctx context.Context, r *mcp.CallToolRequest, run *run) (*mcp.CallToolResult, error) {
	defer run.attach(&listener{ctx: ctx, session: r.Session, token: r.Params.GetProgressToken()})()
	disconnected := s.requestDone(r.Extra)
	timeout := time.NewTimer(s.o.AnswerWithin)
	defer timeout.Stop()
	sendsForms := usesRoundTrips(r.Session)
	var formsReady, taskReady <-chan time.Time
	if takesTasks(r.Params.Meta) {
		taskReady = time.After(s.o.TaskAfter)
	}
	late := false
	for {
		changed := run.questionsChanged()
		if late {
			if waiting := run.questions(); len(waiting) > 0 {
				return textResult(&engine.Result{RunID: run.id, Status: engine.StatusWaiting, Started: run.started, Cache: "off", Waiting: waiting},
					waitingText(run.id, waiting), false)
			}
		}
		if sendsForms && formsReady == nil && len(run.unsentForms(false)) > 0 {
			formsReady = time.After(collectForms)
		}
		select {
		case <-run.done:
			select {
			case <-run.sentAll:
			case <-time.After(time.Second): // the client does not read
			}
			if !run.isCut() {
				s.runs.remove(run)
			}
			return s.answer(ctx, client{r.Session, r.Extra}, run)
		case <-ctx.Done():
			return nil, s.abandon(run, "the client cancelled the call")
		case <-disconnected:
			if r.Session.ID() == "" || !s.runs.detach(run) {
				return nil, s.abandon(run, clientLeft)
			}
			disconnected = nil
		case <-formsReady:
			formsReady = nil
			if taskReady != nil {
				taskReady = time.After(0)
				continue
			}
			if forms := run.unsentForms(true); len(forms) > 0 {
				return &mcp.CallToolResult{InputRequests: forms, RequestState: run.id}, nil
			}
		case <-taskReady:
			taskReady = nil
			if t, ok := s.becomeTask(ctx, client{r.Session, r.Extra}, run); ok {
				return nil, &becameTask{t}
			}
			if !run.hasBegun() {
				taskReady = time.After(taskRetry)
			}
		case <-timeout.C:
			late = true
		case <-changed:
		}
	}
}

// abandon cancels a run and waits for its end.
func (s *Server) abandon(run *run, why string) error {
	err := fault.New(fault.Cancelled, "%s", why)
	run.cancel(err)
	<-run.done
	s.runs.remove(run)
	return err
}

func waitingText(id string, waiting []engine.Waiting) string {
	var b strings.Builder
	b.WriteString("the program is still running: a person has to answer first:")
	for _, w := range waiting {
		fmt.Fprintf(&b, "\n- %s", w.Tool)
		if w.Message != "" {
			b.WriteString(": " + w.Message)
		}
	}
	fmt.Fprintf(&b, "\ncall wait_run with run_id %q for the result", id)
	return b.String()
}
