package hostfns

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// RunInfo says what is about to run.
type RunInfo struct {
	ID string
	// Start is the record of the start, with code, arguments and input as they
	// are: Open keeps of them what the policy lets it keep, and fills in the
	// digests, the policy's and the catalogue's.
	Start audit.Start
	// Limits as they hold for the run; zero fields are the defaults. What the
	// policy says is put on top.
	Limits policy.Limits
	// Session is what the runs of a session share. Nil: nothing is shared.
	Session *Session
	// Asker is asked where the policy says ask. Nil: the table's.
	Asker Asker
	// Root is the folder of the host that the program sees as /app, Packages the
	// one it sees as /packages, Dir the one its relative paths start from. Empty:
	// none.
	Root, Packages, Dir string
	// DryRun answers every call with null, after it was decided and listed.
	DryRun bool
	// Progress is told how far the program or a tool is. Nil: nobody.
	Progress func(Progress)
	// Calling is told of each call that begins, before anything is done for it:
	// its number, its start, and its tool as the program wrote it. Nil: nobody.
	// It must not block.
	Calling func(CallInfo)
	// Called is told of each call that has ended, in the order of ends. Nil:
	// nobody. It must not block.
	Called func(CallInfo)
}

// CallInfo is one call of a run, as its Result lists it.
type CallInfo struct {
	Number   uint64 // as its answer is announced under, and recorded
	Tool     string
	Decision string // allow, ask or deny; "" where it came to no decision
	Rule     string
	Started  time.Time
	Time     time.Duration
	Waited   time.Duration // of that, for people
	Bytes    int64
	OK       bool
	Code     fault.Code
}

// Summary is what a run did through its host functions.
type Summary struct {
	Calls     []CallInfo     // in the order in which they were started
	ToolCalls int            // that were started
	ToolBytes int64          // of answers, as the guest saw them
	HostBytes int64          // everything that passed through the host
	Tools     []string       // that were called, sorted
	Mode      string         // of privacy; "" where it was off
	Found     map[string]int // personal data by kind
	// Cacheable is how long the value may be used again, as the rules of the
	// calls say; zero where a call forbids it. Without calls it is -1.
	Cacheable time.Duration
	// Order lists the calls in the order in which their answers were delivered,
	// as audit.End has it.
	Order     []uint64
	AuditHead string
	Warnings  []string
}

// Run is what lives as long as one program: its counters, its vault, its
// streams. It is safe for concurrent use.
type Run struct {
	table   *Table
	info    RunInfo
	limits  policy.Limits
	facts   policy.RunFacts
	actor   policy.Actor
	keep    policy.Audit
	session *Session
	veil    *veil
	started time.Time

	ctx    context.Context
	cancel context.CancelCauseFunc
	always context.Context // ctx without its end, for records
	slots  chan struct{}
	work   *workers
	bytes  atomic.Int64
	number atomic.Uint64 // of the last call that was started

	toolCalls atomic.Int64

	mu       sync.Mutex
	calls    []*CallInfo
	infos    []CallInfo // places for the next of them
	order    []uint64
	nothing  int // entries of order that are 0
	cache    time.Duration
	noCache  bool
	head     string
	warnings []string
	streams  map[int64]*stream
	lastID   int64
	files    io.Closer
	fs       sys.FS
	tree     fs.FS  // the catalogue as files, when it was looked at
	treeOf   uint64 // the table's changes then
	asked    map[string]Question
	closed   bool
}

// Session is what the runs of one session share: the vault, what the rules
// have counted, and what a person said "always" to. The zero value is ready.
type Session struct {
	ID string

	mu       sync.Mutex
	byRule   map[string]int // calls let through, by rule
	byTool   map[string]int // the same by tool
	approved map[string]bool
	forget   []string // keys of approved that hold for one run
	vault    *privacy.Vault
}

// Open records the start of a run. Without that record there is no run.
func (t *Table) Open(ctx context.Context, info RunInfo) (*Run, error) {
	if info.ID == "" {
		return nil, fault.New(fault.Internal, "a run needs an id")
	}
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return nil, fault.New(fault.Cancelled, "the table is closed")
	}
	limits := t.limits().Tighten(info.Limits).OrDefaults()
	s := info.Session
	if s == nil {
		s = &Session{}
	}
	r := &Run{
		table: t, info: info, limits: limits, session: s, started: time.Now(),
		keep: t.keep(), slots: make(chan struct{}, limits.Parallel), streams: map[int64]*stream{},
		facts: policy.RunFacts{
			ID: info.ID, Language: info.Start.Language, Intent: info.Start.Intent,
			Trigger: info.Start.Trigger, Deterministic: info.Start.Deterministic,
		},
		actor: policy.Actor{ID: info.Start.Actor.ID, Type: info.Start.Actor.Type},
		cache: -1,
	}
	var err error
	if r.veil, err = t.veilFor(s, info.Start); err != nil {
		return nil, err
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.always = context.WithoutCancel(ctx)
	r.work = newWorkers(r.ctx.Done())
	if r.head, err = t.sink.Record(ctx, audit.Event{Run: info.ID, Time: r.started.UTC(), Start: r.startRecord()}); err != nil {
		r.cancel(err)
		return nil, err
	}
	return r, nil
}

// startRecord is the start with only what may be kept.
func (r *Run) startRecord() *audit.Start {
	s := r.info.Start
	s.PolicySHA256 = r.table.policy.Digest()
	s.CatalogueSHA256 = cmp.Or(s.CatalogueSHA256, r.table.Digest())
	if s.Servers == nil {
		s.Servers = r.table.Identifiers()
	}
	if r.info.DryRun {
		s.Offers = append(s.Offers, "dry-run")
	}
	if r.table.filer() != nil {
		s.Offers = append(s.Offers, "files")
	}
	slices.Sort(s.Offers)
	s.Keep = audit.Keep{Code: string(r.keep.Code), Inputs: string(r.keep.Inputs), Outputs: string(r.keep.Outputs)}
	s.Limits = audit.Limits(r.limits.Record())
	s.CodeSHA256, s.Code = kept(r.keep.Code, s.CodeSHA256, s.Code)
	s.ArgsSHA256, s.Args = kept(r.keep.Inputs, s.ArgsSHA256, s.Args)
	s.InputSHA256, s.Input = kept(r.keep.Inputs, s.InputSHA256, s.Input)
	if r.keep.Inputs != policy.DetailFull {
		s.Argv, s.Env = nil, nil
	}
	if !r.Kept() && !s.Deterministic {
		s.Seed = nil
	}
	return &s
}

// Kept reports whether everything of the run is recorded, as a replay needs it.
func (r *Run) Kept() bool {
	return r.keep.Code == policy.DetailFull && r.keep.Inputs == policy.DetailFull && r.keep.Outputs == policy.DetailFull
}

// kept is the digest and the text of something, as far as the policy lets the
// audit have them.
func kept(d policy.Detail, digest string, text []byte) (string, audit.Blob) {
	switch d {
	case policy.DetailNone:
		return "", nil
	case policy.DetailFull:
	default:
		if digest == "" && text != nil {
			digest = audit.Digest(text)
		}
		return digest, nil
	}
	if digest == "" && text != nil {
		digest = audit.Digest(text)
	}
	return digest, text
}

// Context ends with the run: when it is closed, when its caller gives up, or
// when something happens that it cannot survive.
func (r *Run) Context() context.Context { return r.ctx }

// Err is why the run has to end, or nil.
func (r *Run) Err() error {
	if r.ctx.Err() == nil {
		return nil
	}
	err := context.Cause(r.ctx)
	if fault.CodeOf(err) == fault.Internal && (err == context.Canceled || err == context.DeadlineExceeded) {
		if err == context.DeadlineExceeded {
			return fault.New(fault.LimitTime, "the time is up")
		}
		return fault.New(fault.Cancelled, "the run was cancelled")
	}
	return err
}

// fail ends the run with an error that the program cannot catch. The first
// one holds.
func (r *Run) fail(err error) { r.cancel(err) }

// Limits are the limits as they hold for the run.
func (r *Run) Limits() policy.Limits { return r.limits }

// Table is the table of the run.
func (r *Run) Table() *Table { return r.table }

// spend counts bytes that pass through the host.
func (r *Run) spend(n int64) error {
	if n < 0 {
		return nil
	}
	if r.bytes.Add(n) > r.limits.HostBytes {
		err := fault.New(fault.LimitHostBytes, "more than %d bytes passed through the host", r.limits.HostBytes).
			WithHint("ask tools for less, or raise the limit host_bytes")
		r.fail(err)
		return err
	}
	return nil
}

// record writes one event of the run. What has happened is recorded even when
// the caller has given up in the meantime.
func (r *Run) record(e audit.Event) error {
	e.Run = r.info.ID
	e.Time = time.Now().UTC()
	head, err := r.table.sink.Record(r.always, e)
	if err != nil {
		r.fail(err)
		return err
	}
	r.mu.Lock()
	r.head = head
	r.mu.Unlock()
	return nil
}

// delivered notes that the answer of a call was announced to the program. The
// order is part of the record.
func (r *Run) delivered(call uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order = append(r.order, call)
}

// maxNothing bounds how often a record says that no answer came in time.
const maxNothing = 100_000

// deliveredNothing notes that the program waited in vain for an answer.
func (r *Run) deliveredNothing() {
	if !r.Kept() && r.table.recording == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.nothing++; r.nothing <= maxNothing {
		r.order = append(r.order, 0)
	}
}

// begin notes a call that was started.
func (r *Run) begin(tool string, number uint64) *CallInfo {
	info := CallInfo{Number: number, Tool: tool, Started: time.Now()}
	if r.info.Calling != nil {
		r.info.Calling(info)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.infos) == 0 { // the first are few, since most runs call little
		r.infos = make([]CallInfo, min(1+len(r.calls), 16))
	}
	c := &r.infos[0]
	*c, r.infos = info, r.infos[1:]
	r.calls = append(r.calls, c)
	return c
}

// finish notes how it ended.
func (r *Run) finish(c *CallInfo, change func(*CallInfo)) {
	r.mu.Lock()
	change(c)
	c.Time = time.Since(c.Started)
	done := *c
	r.mu.Unlock()
	if r.info.Called != nil {
		r.info.Called(done)
	}
}

// cacheable notes how long the answer of a call may be used again.
func (r *Run) cacheable(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case d <= 0:
		r.noCache = true
	case r.cache < 0 || d < r.cache:
		r.cache = d
	}
}

func (r *Run) warn(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.warnings) < 50 && !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

// Summary is what the run did so far.
func (r *Run) Summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Summary{HostBytes: r.bytes.Load(), AuditHead: r.head, Warnings: slices.Clone(r.warnings), Cacheable: r.cache, Order: slices.Clone(r.order)}
	s.ToolCalls = int(min(r.toolCalls.Load(), int64(r.limits.ToolCalls)))
	if r.noCache {
		s.Cacheable = 0
	}
	tools := map[string]bool{}
	s.Calls = slices.Grow(s.Calls, len(r.calls))
	for _, c := range r.calls {
		s.Calls = append(s.Calls, *c)
		s.ToolBytes += c.Bytes
		tools[c.Tool] = true
	}
	slices.SortStableFunc(s.Calls, func(a, b CallInfo) int { return cmp.Compare(a.Number, b.Number) })
	s.Tools = slices.Sorted(maps.Keys(tools))
	s.Mode, s.Found = r.veil.found()
	return s
}

// Close records the end of the run and gives everything back that it held. The
// status, value and output are the caller's to fill in; what the run counted
// is filled in here. It may be called once.
func (r *Run) Close(ctx context.Context, end audit.End) (Summary, error) {
	r.mu.Lock()
	if r.closed {
		r.mu.Unlock()
		return r.Summary(), nil
	}
	r.closed = true
	streams := r.streams
	r.streams = nil
	files := r.files
	r.mu.Unlock()
	for _, s := range streams {
		s.close()
	}
	if files != nil {
		_ = files.Close()
	}
	r.session.forgetRun()
	s := r.Summary()
	end.Order = s.Order
	r.mu.Lock()
	if r.nothing > maxNothing && end.World != nil {
		end.World.Dropped = append(end.World.Dropped, "order")
	}
	r.mu.Unlock()
	end.Tools, end.Found = s.Tools, s.Found
	end.Usage.ToolCalls, end.Usage.ToolBytes, end.Usage.HostBytes = s.ToolCalls, s.ToolBytes, s.HostBytes
	end.ValueSHA256, end.Value = kept(r.keep.Outputs, end.ValueSHA256, end.Value)
	end.StdoutSHA256, end.Stdout = kept(r.keep.Outputs, end.StdoutSHA256, end.Stdout)
	end.StderrSHA256, end.Stderr = kept(r.keep.Outputs, end.StderrSHA256, end.Stderr)
	head, err := r.table.sink.Record(context.WithoutCancel(ctx), audit.Event{Run: r.info.ID, Time: time.Now().UTC(), End: &end})
	r.cancel(fault.New(fault.Cancelled, "the run has ended"))
	if err != nil {
		return s, err
	}
	s.AuditHead = head
	return s, nil
}

// progress forwards how far a tool or the program is.
func (r *Run) progress(tool string) func(done, total float64, text string) {
	return func(done, total float64, text string) {
		if r.info.Progress != nil && r.ctx.Err() == nil {
			r.info.Progress(Progress{Tool: tool, Done: done, Total: total, Text: r.veil.plain(clean(text, 500))})
		}
	}
}

// null is the answer without a value.
func null() Answer { return Answer{Kind: JSON, Data: json.RawMessage("null"), Checked: true} }
