package mcpd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

// tasksExtension lets a call of a tool answer with a task, which is a run that goes on
// without the call. The library does not know it.
const tasksExtension = "io.modelcontextprotocol/tasks"

const (
	taskPoll  = time.Second            // between two polls of a client
	taskRetry = 100 * time.Millisecond // while the run has not begun
)

// task is a task as clients see it.
type task struct {
	mcp.ResultBase
	ResultType    string              `json:"resultType"`
	TaskID        string              `json:"taskId"`
	Status        string              `json:"status"`
	StatusMessage string              `json:"statusMessage,omitempty"`
	CreatedAt     time.Time           `json:"createdAt"`
	LastUpdatedAt time.Time           `json:"lastUpdatedAt"`
	TTL           int64               `json:"ttlMs"`
	Poll          int64               `json:"pollIntervalMs"`
	InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
	Result        *mcp.CallToolResult `json:"result,omitempty"`
	Error         *jsonrpc.Error      `json:"error,omitempty"`
}

// taskParams are the parameters of all methods of tasks.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string               `json:"taskId"`
	InputResponses mcp.InputResponseMap `json:"inputResponses,omitempty"`
}

// acknowledged is an answer without content.
type acknowledged struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// becameTask is why a call has no result.
type becameTask struct{ task *task }

// Error implements error.
func (*becameTask) Error() string { return "the call became a task" }

// addTasks adds the methods of tasks. No standard method has their names, so that this
// cannot fail.
func (s *Server) addTasks() {
	_ = mcp.AddReceivingCustomMethod(s.mcp, "tasks/get", s.getTask)
	_ = mcp.AddReceivingCustomMethod(s.mcp, "tasks/update", s.updateTask)
	_ = mcp.AddReceivingCustomMethod(s.mcp, "tasks/cancel", s.cancelTask)
}

// passTasks answers calls that became tasks, and gives methods of tasks what the
// library does not: the caller of the request. Clients of older versions, whose sessions
// have no tasks, do not learn of the extension.
func (s *Server) passTasks(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if strings.HasPrefix(method, "tasks/") {
			ctx = context.WithValue(ctx, extraKey{}, req.GetExtra())
		}
		res, err := next(ctx, method, req)
		if began, ok := errors.AsType[*becameTask](err); ok {
			return began.task, nil
		}
		if old, ok := res.(*mcp.InitializeResult); ok && err == nil {
			capabilities := *old.Capabilities
			capabilities.Extensions = nil
			other := *old
			other.Capabilities = &capabilities
			return &other, nil
		}
		return res, err
	}
}

type extraKey struct{}

// takesTasks reports whether a request says that its client understands tasks.
func takesTasks(meta map[string]any) bool {
	version, _ := meta[mcp.MetaKeyProtocolVersion].(string)
	capabilities, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, ok := extensions[tasksExtension].(map[string]any)
	return ok && version >= roundTrips
}

// lookedUp is a request for a task.
type lookedUp struct {
	client
	id  string
	run *run // nil: it is not in the memory of this server
}

// lookUp checks a request for a task.
func (s *Server) lookUp(ctx context.Context, session *mcp.ServerSession, p *taskParams) (l lookedUp, err error) {
	extra, _ := ctx.Value(extraKey{}).(*mcp.RequestExtra)
	l.client = client{session, extra}
	if p == nil || !takesTasks(p.Meta) {
		return l, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "the client does not declare the extension " + tasksExtension,
			Data: json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + tasksExtension + `":{}}}}`)}
	}
	l.id = p.TaskID
	if extra != nil && extra.Header.Get("Mcp-Name") != "" && extra.Header.Get("Mcp-Name") != l.id {
		return l, &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "the header Mcp-Name is not the taskId"}
	}
	run, ok := s.runs.find(s.owner(session, extra), l.id)
	switch {
	case ok:
		l.run = run
	case s.o.Keeper == nil:
		return l, noTask(l.id)
	}
	return l, nil
}

func noTask(id string) error {
	return invalid(fmt.Sprintf("there is no task %q: it never was, it has expired, or it is another client's", clip(id, 64)))
}

// kept returns a run that this server does not have in memory.
func (s *Server) kept(ctx context.Context, l lookedUp) (*Kept, error) {
	k, err := s.o.Keeper.Kept(ctx, userOf(l.extra), l.id)
	return k, keeperError(l.id, err)
}

// keeperError is an error of a [Keeper] as clients see it: not where the store is, or
// why it fails.
func keeperError(id string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fault.UsageRun):
		return noTask(id)
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the run cannot be read: try again later"}
}

func (s *Server) getTask(ctx context.Context, session *mcp.ServerSession, p *taskParams) (*task, error) {
	l, err := s.lookUp(ctx, session, p)
	if err != nil {
		return nil, err
	}
	if l.run != nil {
		l.run.touch()
		return s.taskOf(ctx, l.client, l.run), nil
	}
	k, err := s.kept(ctx, l)
	if err != nil {
		return nil, err
	}
	t := &task{ResultType: "complete", TaskID: l.id, Status: "working", CreatedAt: k.Created, LastUpdatedAt: k.Updated,
		TTL: k.Keep.Milliseconds(), Poll: taskPoll.Milliseconds(), StatusMessage: waitingFor(k.Result.Waiting)}
	if k.Ended {
		r := &run{id: l.id, owner: s.owner(session, l.extra), started: k.Created, res: k.Result, params: executeParams{Language: k.Language, Intent: k.Intent}}
		if k.Result.Error != nil {
			r.err = k.Result.Error
		}
		s.complete(ctx, t, l.client, r)
	}
	return t, nil
}

func (s *Server) updateTask(ctx context.Context, session *mcp.ServerSession, p *taskParams) (*acknowledged, error) {
	l, err := s.lookUp(ctx, session, p)
	if err != nil {
		return nil, err
	}
	if l.run != nil {
		l.run.touch()
		l.run.takeAnswers(p.InputResponses)
	} else if _, err := s.kept(ctx, l); err != nil { // it has asked this client nothing
		return nil, err
	}
	return &acknowledged{ResultType: "complete"}, nil
}

func (s *Server) cancelTask(ctx context.Context, session *mcp.ServerSession, p *taskParams) (*acknowledged, error) {
	l, err := s.lookUp(ctx, session, p)
	if err != nil {
		return nil, err
	}
	if l.run != nil {
		l.run.cancel(fault.New(fault.Cancelled, "the client cancelled the task"))
	} else if err := s.o.Keeper.Cancel(ctx, userOf(l.extra), l.id); err != nil {
		return nil, keeperError(l.id, err)
	}
	return &acknowledged{ResultType: "complete"}, nil
}

// becomeTask lets a run go on without its call. It returns false if the run has not
// begun, so that its task could not be found yet, or if there are too many runs.
func (s *Server) becomeTask(ctx context.Context, c client, run *run) (*task, bool) {
	if !run.hasBegun() || !s.runs.detach(run) {
		return nil, false
	}
	run.setTask()
	s.settle(run)
	t := s.taskOf(ctx, c, run)
	// The seed of a task has what tasks/get adds left out.
	t.ResultType, t.InputRequests, t.Result, t.Error = "task", nil, nil, nil
	return t, true
}

// settle forgets a task that has ended, if a keeper has it.
func (s *Server) settle(run *run) {
	if s.o.Keeper != nil && run.isTask() && run.ended() {
		s.runs.remove(run)
	}
}

// taskOf is the task of a run in memory.
func (s *Server) taskOf(ctx context.Context, c client, run *run) *task {
	t := &task{ResultType: "complete", TaskID: run.id, Status: "working", CreatedAt: run.started, Poll: taskPoll.Milliseconds(),
		TTL: (time.Since(run.started) + keepFor).Milliseconds()}
	if run.ended() {
		t.LastUpdatedAt = run.at()
		s.complete(ctx, t, c, run)
		return t
	}
	t.LastUpdatedAt, t.StatusMessage = run.at(), run.message()
	if waiting := run.questions(); len(waiting) > 0 {
		t.StatusMessage = waitingFor(waiting)
	}
	if forms := run.openForms(); len(forms) > 0 {
		t.Status, t.InputRequests = "input_required", forms
	}
	return t
}

// waitingFor describes what a run waits for.
func waitingFor(waiting []engine.Waiting) string {
	if len(waiting) == 0 {
		return ""
	}
	var all []string
	for _, w := range waiting {
		all = append(all, strings.TrimSuffix(w.Tool+": "+w.Message, ": "))
	}
	return "a person has to answer first: " + strings.Join(all, "; ")
}

// complete makes a task that of a run that has ended.
func (s *Server) complete(ctx context.Context, t *task, c client, run *run) {
	if run.err != nil && fault.CodeOf(run.err).Class() == fault.ClassCancelled {
		t.Status, t.StatusMessage = "cancelled", withHint(run.err)
		return
	}
	res, err := s.answer(ctx, c, run)
	if err == nil {
		t.Status, t.Result = "completed", res
		return
	}
	var failed *jsonrpc.Error
	if !errors.As(err, &failed) {
		failed = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	}
	t.Status, t.StatusMessage, t.Error = "failed", failed.Message, failed
}
