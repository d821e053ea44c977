package mcpd

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/telemetry"
	"github.com/wexec/wexec/policy"
)

// keepFor is how long a run that no call waits for, and the values of runs, are
// kept.
const keepFor = 10 * time.Minute

// clientLeft is why runs of a client that disconnected are cancelled.
const clientLeft = "the client disconnected"

// executeParams are the parts of a Request that a model may set.
type executeParams struct {
	Language string          `json:"language"`
	Code     string          `json:"code"`
	Args     json.RawMessage `json:"args"`
	Intent   string          `json:"intent"`
	Session  string          `json:"session"`
	Limits   policy.Limits   `json:"limits"`

	parent string // the span of the client, see telemetry.Parent
}

// runs are the runs of all clients that have not been answered. The zero value
// is empty.
type runs struct {
	lasting bool // a keeper has the runs, so that a task goes on if no client asks for it

	mu  sync.Mutex
	all map[string]*run
}

// run is a run, its open questions, and the call that receives its progress. It
// can outlive the call that started it, which may answer while people are asked.
type run struct {
	id      string
	owner   string
	user    string // who logged in, or ""
	started time.Time
	params  executeParams
	ctx     context.Context
	cancel  context.CancelCauseFunc
	events  chan engine.Event // for the listener; dropped when full
	sentAll chan struct{}     // closed when all events have been sent
	done    chan struct{}
	res     *engine.Result
	err     error

	mu        sync.Mutex
	changed   chan struct{} // closed and replaced when questions change
	waiting   map[string]engine.Waiting
	forms     map[string]*form
	listener  *listener
	calls     int // that wait for the run
	expiry    *time.Timer
	removed   bool // expiry stays stopped, so that nothing refers to the run
	cut       bool // no call has to wait for the run; see runs.detach
	task      bool // the client has a task for it
	begun     bool
	changedAt time.Time // of the last event or question
	last      string    // the message of the last event
}

// form is a request that a client serves between two calls: a question for its
// person, or a text of its model.
type form struct {
	params   mcp.InputRequest
	answer   chan mcp.InputResponse // buffers one
	sent     bool
	answered bool
}

// start adds a run.
func (rs *runs) start(owner, user string, p executeParams) *run {
	r := &run{id: rand.Text(), owner: owner, user: user, started: time.Now().UTC(), params: p,
		events: make(chan engine.Event, 256), sentAll: make(chan struct{}), done: make(chan struct{}),
		changed: make(chan struct{}), changedAt: time.Now().UTC(), waiting: map[string]engine.Waiting{}, forms: map[string]*form{}}
	r.ctx, r.cancel = context.WithCancelCause(telemetry.WithParent(context.Background(), p.parent))
	r.expiry = time.AfterFunc(keepFor, func() {
		rs.remove(r)
		if !rs.lasting || !r.isTask() {
			r.cancel(fault.New(fault.Cancelled, "no call waited for the run for %v", keepFor))
		}
	})
	r.expiry.Stop()
	go r.sendEvents()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.all == nil {
		rs.all = map[string]*run{}
	}
	rs.all[r.id] = r
	return r
}

// find returns a run of an owner.
func (rs *runs) find(owner, id string) (*run, bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	r, ok := rs.all[id]
	return r, ok && r.owner == owner
}

// pending reports whether a run has not been answered, other than by a task that has
// ended.
func (rs *runs) pending() bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, r := range rs.all {
		if !r.isTask() || !r.ended() {
			return true
		}
	}
	return false
}

func (rs *runs) remove(r *run) {
	r.stopExpiry()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.all, r.id)
}

// Bounds of the runs that go on without a call.
const (
	maxCut     = 64
	maxCutCode = 32 << 20 // bytes of their programs and results
)

// detach lets a run go on whose connection was cut, or that becomes a task: its client
// can fetch it later. It returns false if there are too many such runs. The oldest
// task that has ended makes room.
func (rs *runs) detach(r *run) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for {
		n, size := 1, r.size()
		var oldest *run // of the tasks that have ended
		for _, o := range rs.all {
			if o == r || !o.isCut() {
				continue
			}
			n++
			size += o.size()
			if o.isTask() && o.ended() && (oldest == nil || o.at().Before(oldest.at())) {
				oldest = o
			}
		}
		switch {
		case n <= maxCut && size <= maxCutCode:
			r.setCut(true)
			return true
		case oldest == nil:
			return false
		}
		oldest.stopExpiry()
		delete(rs.all, oldest.id)
	}
}

// size is what the run keeps in memory, in bytes.
func (r *run) size() int {
	n := len(r.params.Code) + len(r.params.Args)
	if r.ended() && r.res != nil {
		n += len(r.res.Value) + len(r.res.Stdout) + len(r.res.Stderr)
	}
	return n
}

// ended reports whether the run has ended.
func (r *run) ended() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

func (r *run) isTask() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.task
}

// setTask makes the run a task: no call receives its progress.
func (r *run) setTask() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.task, r.listener = true, nil
}

// touch makes the run expire later, if no call waits for it.
func (r *run) touch() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == 0 && !r.removed {
		r.expiry.Reset(keepFor)
	}
}

// hasBegun reports whether the engine has the run.
func (r *run) hasBegun() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.begun
}

// at is when something happened last.
func (r *run) at() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changedAt
}

// message is what happened last.
func (r *run) message() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last
}

func (r *run) isCut() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.cut
}

func (r *run) setCut(cut bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cut = cut
}

// cancelAll cancels and removes all runs.
func (rs *runs) cancelAll() { rs.cancelIf(func(*run) bool { return true }, "the server stopped") }

// cancelOf cancels and removes the runs of an owner that a user started.
func (rs *runs) cancelOf(owner, user string) {
	rs.cancelIf(func(r *run) bool { return r.owner == owner && r.user == user }, clientLeft)
}

func (rs *runs) cancelIf(match func(*run) bool, why string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for id, r := range rs.all {
		if match(r) {
			r.stopExpiry()
			r.cancel(fault.New(fault.Cancelled, "%s", why))
			delete(rs.all, id)
		}
	}
}

// end stores the outcome of the run.
func (r *run) end(res *engine.Result, err error) {
	r.res, r.err = res, err
	r.update(func() {})
	close(r.events)
	r.cancel(nil)
	close(r.done)
}

// stopExpiry stops the timer of a run that is removed, for good.
func (r *run) stopExpiry() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.removed = true
	r.expiry.Stop()
}

// attach makes a call the receiver of progress. The run does not expire while a
// call waits for it.
func (r *run) attach(l *listener) (detach func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listener = l
	r.calls++
	r.expiry.Stop()
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.calls--; r.calls == 0 && !r.removed {
			r.expiry.Reset(keepFor)
		}
	}
}

// event queues an event for the listener. It never blocks the run.
func (r *run) event(e engine.Event) {
	message, _ := eventMessage(e)
	if message == "" {
		return
	}
	r.mu.Lock()
	r.begun, r.last, r.changedAt = true, message, time.Now().UTC()
	r.mu.Unlock()
	select {
	case r.events <- e:
	default:
	}
}

func (r *run) sendEvents() {
	defer close(r.sentAll)
	for e := range r.events {
		r.mu.Lock()
		l := r.listener
		r.mu.Unlock()
		if l != nil {
			l.send(r.id, e)
		}
	}
}

// update changes the questions of the run and wakes the calls that wait for it.
func (r *run) update(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
	r.changedAt = time.Now().UTC()
	close(r.changed)
	r.changed = make(chan struct{})
}

// questionsChanged returns a channel that is closed when the questions change.
func (r *run) questionsChanged() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// questions lists the open questions, the oldest first.
func (r *run) questions() []engine.Waiting {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []engine.Waiting
	for _, q := range r.waiting {
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

// unsentForms returns the forms that the client does not have yet, and marks
// them as sent if send is true.
func (r *run) unsentForms(send bool) mcp.InputRequestMap {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := mcp.InputRequestMap{}
	for id, f := range r.forms {
		if !f.sent {
			out[id] = f.params
			f.sent = send
		}
	}
	return out
}

// openForms returns the forms that have no answer.
func (r *run) openForms() mcp.InputRequestMap {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := mcp.InputRequestMap{}
	for id, f := range r.forms {
		if !f.answered {
			out[id] = f.params
		}
	}
	return out
}

// takeAnswers delivers the answers of a client. Forms without an answer are sent
// again.
func (r *run) takeAnswers(answers mcp.InputResponseMap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, f := range r.forms {
		res, ok := answers[id]
		if !ok {
			f.sent = false
			continue
		}
		select {
		case f.answer <- res:
			f.answered = true
		default:
		}
	}
}
