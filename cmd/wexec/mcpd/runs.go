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

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced when questions change
	waiting  map[string]engine.Waiting
	forms    map[string]*form
	listener *listener
	calls    int // that wait for the run
	expiry   *time.Timer
	removed  bool // expiry stays stopped, so that nothing refers to the run
	cut      bool // the connection of its call was cut; see runs.detach
}

// form is a request that a client serves between two calls: a question for its
// person, or a text of its model.
type form struct {
	params mcp.InputRequest
	answer chan mcp.InputResponse // buffers one
	sent   bool
}

// start adds a run.
func (rs *runs) start(owner, user string, p executeParams) *run {
	r := &run{id: rand.Text(), owner: owner, user: user, started: time.Now().UTC(), params: p,
		events: make(chan engine.Event, 256), sentAll: make(chan struct{}), done: make(chan struct{}),
		changed: make(chan struct{}), waiting: map[string]engine.Waiting{}, forms: map[string]*form{}}
	r.ctx, r.cancel = context.WithCancelCause(telemetry.WithParent(context.Background(), p.parent))
	r.expiry = time.AfterFunc(keepFor, func() {
		rs.remove(r)
		r.cancel(fault.New(fault.Cancelled, "no call waited for the run for %v", keepFor))
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

// pending reports whether a run has not been answered.
func (rs *runs) pending() bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return len(rs.all) > 0
}

func (rs *runs) remove(r *run) {
	r.stopExpiry()
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.all, r.id)
}

// Bounds of the runs whose connection was cut.
const (
	maxCut     = 64
	maxCutCode = 32 << 20 // bytes of their programs
)

// detach lets a run go on whose connection was cut: its client can connect again,
// and fetch it with wait_run. It returns false if there are too many such runs.
func (rs *runs) detach(r *run) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	n, size := 1, len(r.params.Code)+len(r.params.Args)
	for _, o := range rs.all {
		if o != r && o.isCut() {
			n++
			size += len(o.params.Code) + len(o.params.Args)
		}
	}
	if n > maxCut || size > maxCutCode {
		return false
	}
	r.setCut(true)
	return true
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
	if message, _ := eventMessage(e); message == "" {
		return
	}
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
		default:
		}
	}
}
