package mcpd

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// keepWaiting is how long a run that nobody asks for is kept.
const keepWaiting = 10 * time.Minute

// waitingRuns are the runs of all clients that have not been answered.
type waitingRuns struct {
	mu   sync.Mutex
	runs map[string]*waitingRun
}

// waitingRun is a run and the questions it has put to people.
type waitingRun struct {
	id      string
	session string
	started time.Time
	ctx     context.Context
	cancel  context.CancelCauseFunc
	done    chan struct{}
	res     *engine.Result
	err     error

	mu    sync.Mutex
	asked map[string]engine.Waiting
	timer *time.Timer
}

func newWaitingRuns() *waitingRuns { return &waitingRuns{runs: map[string]*waitingRun{}} }

// start makes a place for a run. It is not tied to the call that began it: the
// call may end while people are waited for.
func (w *waitingRuns) start(session string) *waitingRun {
	r := &waitingRun{id: rand.Text(), session: session, started: time.Now().UTC(), done: make(chan struct{}), asked: map[string]engine.Waiting{}}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.timer = time.AfterFunc(keepWaiting, func() {
		w.forget(r)
		r.cancel(fault.New(fault.Cancelled, "nobody asked for the run within %v", keepWaiting))
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[r.id] = r
	return r
}

// find gives a run to the client that began it, and to nobody else.
func (w *waitingRuns) find(session, id string) (*waitingRun, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.runs[id]
	if !ok || r.session != session {
		return nil, false
	}
	r.timer.Reset(keepWaiting)
	return r, true
}

func (w *waitingRuns) forget(r *waitingRun) {
	r.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.runs, r.id)
}

// close ends every run that is left.
func (w *waitingRuns) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.runs {
		r.timer.Stop()
		r.cancel(fault.New(fault.Cancelled, "the server ends"))
	}
}

func (r *waitingRun) end(res *engine.Result, err error) {
	r.res, r.err = res, err
	r.cancel(nil)
	close(r.done)
}

func (r *waitingRun) questions() []engine.Waiting {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []engine.Waiting
	for _, q := range r.asked {
		out = append(out, q)
	}
	return out
}

// clientAsker asks through the client where it can elicit, and otherwise
// whoever else may be asked. The client is shown tokens, never values.
type clientAsker struct {
	session *mcp.ServerSession
	next    hostfns.Asker
	run     *waitingRun
}

// Ask implements hostfns.Asker.
func (a *clientAsker) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	a.run.mu.Lock()
	a.run.asked[q.ID] = engine.Waiting{ID: q.ID, Tool: q.Tool, Message: q.Covered().Message, Since: q.Since, Expires: q.Expires}
	a.run.mu.Unlock()
	defer func() {
		a.run.mu.Lock()
		delete(a.run.asked, q.ID)
		a.run.mu.Unlock()
	}()
	ways := []hostfns.Asker{}
	if p := a.session.InitializeParams(); p != nil && p.Capabilities != nil && p.Capabilities.Elicitation != nil && through(q, "mcp") {
		ways = append(ways, elicitor{a.session})
	}
	if a.next != nil {
		ways = append(ways, a.next)
	}
	return firstReply(ctx, ways, q)
}

// firstReply asks by every way at once; the first answer holds. A way that
// has nobody to ask leaves it to the others.
func firstReply(ctx context.Context, ways []hostfns.Asker, q hostfns.Question) (hostfns.Reply, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		reply hostfns.Reply
		err   error
	}
	answers := make(chan answer, len(ways))
	for _, w := range ways {
		go func() {
			reply, err := w.Ask(ctx, q)
			answers <- answer{reply, err}
		}()
	}
	err := error(hostfns.ErrNobody)
	for range ways {
		got := <-answers
		if got.err == nil {
			return got.reply, nil
		}
		if !errors.Is(got.err, hostfns.ErrNobody) {
			err = got.err
		}
	}
	return hostfns.Reply{}, err
}

func through(q hostfns.Question, way string) bool {
	for _, v := range q.Via {
		if v == way {
			return true
		}
	}
	return len(q.Via) == 0
}

// elicitor asks the person at an MCP client.
type elicitor struct{ session *mcp.ServerSession }

// Ask implements hostfns.Asker.
func (a elicitor) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	q = q.Covered()
	message := fmt.Sprintf("Allow the program to call %s?", q.Tool)
	if q.Message != "" {
		message += "\n" + q.Message
	}
	if len(q.Args) > 0 {
		message += "\nArguments: " + string(q.Args)
	}
	choices := []string{"yes", "no"}
	if q.Remember == "run" || q.Remember == "session" {
		choices = append(choices, "always")
	}
	res, err := a.session.Elicit(ctx, &mcp.ElicitParams{Mode: "form", Message: message, RequestedSchema: map[string]any{
		"type": "object", "required": []string{"answer"},
		"properties": map[string]any{"answer": map[string]any{"type": "string", "enum": choices, "title": "Allow this call"}},
	}})
	if err != nil {
		return hostfns.Reply{}, fault.New(fault.DeniedApproval, "the client could not ask: %w", err)
	}
	answer, _ := res.Content["answer"].(string)
	if res.Action != "accept" || (answer != "yes" && answer != "always") {
		return hostfns.Reply{By: "mcp", Reason: "the person at the client said no"}, nil
	}
	return hostfns.Reply{Approved: true, Always: answer == "always" && len(choices) == 3, By: "mcp"}, nil
}
