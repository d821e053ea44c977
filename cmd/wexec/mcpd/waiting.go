package mcpd

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

// keepWaiting is how long a run that nobody asks for is kept.
const keepWaiting = 10 * time.Minute

// waitingRuns are the runs of all clients that have not been answered.
type waitingRuns struct {
	mu   sync.Mutex
	runs map[string]*waitingRun
}

// waitingRun is a run, the questions it has put to people, and the call that
// listens to it now. It outlives the call that began it: that call may answer
// while people are waited for.
type waitingRun struct {
	id      string
	owner   string
	user    string // who logged in; "" where nobody does
	started time.Time
	params  executeParams
	ctx     context.Context
	cancel  context.CancelCauseFunc
	events  chan engine.Event // for the listener; what does not fit is dropped
	told    chan struct{}     // closed when the last event was passed on
	done    chan struct{}
	res     *engine.Result
	err     error

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when questions come or go
	asked    map[string]engine.Waiting
	forms    map[string]*form
	listener *listener
	calls    int // that await the run now
	timer    *time.Timer
}

// listener is the call that is told of progress.
type listener struct {
	ctx     context.Context
	session *mcp.ServerSession
	token   any
	step    float64
}

// form is a question that the client puts to its person between two calls.
type form struct {
	params *mcp.ElicitParams
	answer chan *mcp.ElicitResult // of one
	sent   bool
}

func newWaitingRuns() *waitingRuns { return &waitingRuns{runs: map[string]*waitingRun{}} }

// start makes a place for a run.
func (w *waitingRuns) start(owner, user string, p executeParams) *waitingRun {
	r := &waitingRun{id: rand.Text(), owner: owner, user: user, started: time.Now().UTC(), params: p,
		events: make(chan engine.Event, 256), told: make(chan struct{}), done: make(chan struct{}),
		changed: make(chan struct{}), asked: map[string]engine.Waiting{}, forms: map[string]*form{}}
	r.ctx, r.cancel = context.WithCancelCause(context.Background())
	r.timer = time.AfterFunc(keepWaiting, func() {
		w.forget(r)
		r.cancel(fault.New(fault.Cancelled, "nobody asked for the run within %v", keepWaiting))
	})
	r.timer.Stop()
	go r.tell()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs[r.id] = r
	return r
}

// find gives a run to the client that began it, and to nobody else.
func (w *waitingRuns) find(owner, id string) (*waitingRun, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r, ok := w.runs[id]
	if !ok || r.owner != owner {
		return nil, false
	}
	return r, true
}

// going reports whether any run has not been answered.
func (w *waitingRuns) going() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.runs) > 0
}

func (w *waitingRuns) forget(r *waitingRun) {
	r.timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.runs, r.id)
}

// leave ends the runs of a client that is gone.
func (w *waitingRuns) leave(owner string) {
	w.end(func(r *waitingRun) bool { return r.owner == owner }, "the client has left")
}

// leaveAs ends the runs of a client that asks to be forgotten, unless it is
// another user's.
func (w *waitingRuns) leaveAs(owner, user string) {
	w.end(func(r *waitingRun) bool { return r.owner == owner && r.user == user }, "the client has left")
}

// close ends every run that is left.
func (w *waitingRuns) close() { w.end(func(*waitingRun) bool { return true }, "the server ends") }

func (w *waitingRuns) end(which func(*waitingRun) bool, why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id, r := range w.runs {
		if which(r) {
			r.timer.Stop()
			r.cancel(fault.New(fault.Cancelled, "%s", why))
			delete(w.runs, id)
		}
	}
}

// end notes how the run ended.
func (r *waitingRun) end(res *engine.Result, err error) {
	r.res, r.err = res, err
	close(r.events)
	r.cancel(nil)
	close(r.done)
}

// attach makes a call the one that is told of progress. A run that somebody
// awaits is kept for as long as it takes.
func (r *waitingRun) attach(l *listener) (detach func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener = l
	r.calls++
	r.timer.Stop()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.calls--; r.calls == 0 {
			r.timer.Reset(keepWaiting)
		}
	}
}

// event takes a step of the run for the listener, where it is one that clients
// are told of. It never blocks the run.
func (r *waitingRun) event(e engine.Event) {
	if message, _ := eventText(e); message == "" {
		return
	}
	select {
	case r.events <- e:
	default:
	}
}

// tell passes events on until the run has ended.
func (r *waitingRun) tell() {
	defer close(r.told)
	for e := range r.events {
		r.mu.Lock()
		l := r.listener
		r.mu.Unlock()
		if l != nil {
			l.event(e)
		}
	}
}

// watch gives a channel that is closed when questions come or go.
func (r *waitingRun) watch() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// change tells those who watch. The caller holds the lock.
func (r *waitingRun) change() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// questions lists what people are asked now, the oldest first.
func (r *waitingRun) questions() []engine.Waiting {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []engine.Waiting
	for _, q := range r.asked {
		out = append(out, q)
	}
	slices.SortFunc(out, func(a, b engine.Waiting) int {
		if c := a.Since.Compare(b.Since); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return out
}

// unsent gives the forms that the client has not been given yet.
func (r *waitingRun) unsent() mcp.InputRequestMap {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out mcp.InputRequestMap
	for id, f := range r.forms {
		if !f.sent {
			if out == nil {
				out = mcp.InputRequestMap{}
			}
			out[id] = f.params
		}
	}
	return out
}

// sent notes that forms are at the client.
func (r *waitingRun) sent(forms mcp.InputRequestMap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id := range forms {
		if f := r.forms[id]; f != nil {
			f.sent = true
		}
	}
}

// answered takes what the client brings back. Forms that it says nothing about
// are given to it again.
func (r *waitingRun) answered(answers mcp.InputResponseMap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, f := range r.forms {
		res, ok := answers[id].(*mcp.ElicitResult)
		if !ok {
			f.sent = false
			continue
		}
		select {
		case f.answer <- res:
		default:
		}
	}
}
