package hostfns

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tetratelabs/wazero/experimental/sys"
	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/queue"
	"github.com/wexec/wexec/hostfns/internal/scrub"
	"github.com/wexec/wexec/hostfns/internal/streams"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// RunInfo describes a run to open.
type RunInfo struct {
	ID string
	// Start is the record of the start, with code, arguments and input. Open
	// removes what the policy does not keep, and adds digests.
	Start audit.Start
	// Limits of the run; zero fields are the defaults. The limits of the policy
	// apply too.
	Limits policy.Limits
	Review *Review // what a review of the program found; nil: it was not reviewed
	// Session is what the runs of a session share. Nil: nothing is shared.
	Session *Session
	// Asker is asked where the policy requires approval. Nil: that of the table.
	Asker Asker
	// Client has what servers may ask for. Nil: nothing.
	Client Client
	// Root is the folder of the host that the program sees as /app, Packages the
	// one it sees as /packages, Dir the one its relative paths start from. Empty:
	// none.
	Root, Packages, Dir string
	// Workspace is what the program sees as /workspace. Nil: nothing.
	Workspace Workspace
	// DryRun decides and lists each call, and answers it with a sample of what the
	// tool answers, or with null where that is not known.
	DryRun bool
	// Signals has what others sent to the run. Nil: nobody can send anything.
	Signals Signals
	// Durable is set for a run with a journal.
	Durable *Durable
	// Progress receives how far the program or a tool is. May be nil.
	Progress func(Progress)
	// Calling receives the number, start and tool of each call before anything is
	// done for it. The tool is named as in the program. It must not block. May be
	// nil.
	Calling func(CallInfo)
	// Called receives each call that has ended, in the order of the ends. It must
	// not block. May be nil.
	Called func(CallInfo)
}

// CallInfo is a call in the list of calls of a run.
type CallInfo struct {
	Number   uint64 // as in the audit
	Tool     string
	Decision string // allow, ask or deny; "" if the call ended before it was decided
	Rule     string
	Started  time.Time
	Time     time.Duration
	Waited   time.Duration // for people, as part of Time
	Bytes    int64
	OK       bool
	Code     fault.Code
}

// Summary is what a run did through its host functions.
type Summary struct {
	Calls     []CallInfo     // in the order of their starts
	ToolCalls int            // the number of calls that were started
	ToolBytes int64          // of answers, as the guest received them
	HostBytes int64          // of everything that passed through the host
	Tools     []string       // that were called, sorted
	Mode      string         // of privacy; "" if it is off
	Found     map[string]int // personal data by kind
	// Cacheable is how long the result may be reused according to the rules of
	// the calls; zero if a call forbids it, and -1 without calls.
	Cacheable time.Duration
	// Order lists the calls in the order in which their answers were announced,
	// as in audit.End.
	Order     []uint64
	AuditHead string
	Warnings  []string
}

// Run holds the state of one program: counters, vault, streams. It is safe for
// concurrent use.
type Run struct {
	table    *Table
	backend  backend
	info     RunInfo
	limits   policy.Limits
	facts    policy.RunFacts
	risk     policy.Risk // settings of the policy for the level of the review
	actor    policy.Actor
	keep     policy.Audit
	session  *Session
	redactor *redactor

	ctx         context.Context
	cancel      context.CancelCauseFunc
	uncancelled context.Context // ctx without its end, for records
	slots       chan struct{}   // one for each call that is at its provider
	computing   chan struct{}   // one for the call that the host works for
	workers     *queue.Workers
	streams     streams.Set
	signals     signals
	bytes       atomic.Int64
	arriving    atomic.Int64  // bytes of answers that are being read
	number      atomic.Uint64 // of the last call
	toolCalls   atomic.Int64

	mu       sync.Mutex
	calls    []*CallInfo
	spare    []CallInfo // for the next calls
	order    []uint64
	inVain   int // zeros in order
	cache    time.Duration
	noCache  bool
	head     string
	warnings []string
	files    io.Closer
	fs       sys.FS
	tree     fs.FS  // the catalogue as files
	treeOf   uint64 // the table's changes when it was made
	closed   bool
	park     func(f func()) // calls f while the guest waits for a person; may be nil
}

// Open records the start of a run. Without that record there is no run.
func (t *Table) Open(ctx context.Context, info RunInfo) (*Run, error) {
	if info.ID == "" {
		return nil, fault.New(fault.Internal, "open a run: it has no id")
	}
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return nil, fault.New(fault.Cancelled, "open a run: the table is closed")
	}
	risk := policy.Risk{Effect: policy.Allow}
	if info.Review != nil {
		risk = t.policy.DecideRisk(info.Review.Level)
	}
	limits := t.policy.Limits().Tighten(risk.Limits).Tighten(info.Limits).OrDefaults()
	r := &Run{
		table: t, info: info, limits: limits, risk: risk, session: info.Session, keep: t.policy.Audit(),
		slots: make(chan struct{}, limits.Parallel), computing: make(chan struct{}, 1),
		facts: policy.RunFacts{
			ID: info.ID, Language: info.Start.Language, Intent: info.Start.Intent,
			Trigger: info.Start.Trigger, Deterministic: info.Start.Deterministic,
		},
		actor: policy.Actor{ID: info.Start.Actor.ID, Type: info.Start.Actor.Type},
		cache: -1,
	}
	if v := info.Review; v != nil {
		r.facts.Risk, r.facts.Capabilities = v.Level, &v.Capabilities
	}
	if r.session == nil && info.Durable != nil {
		var err error
		if r.session, err = restoreState(info.Durable); err != nil {
			return nil, err
		}
	}
	if r.session == nil {
		r.session = &Session{}
	}
	r.backend = live{r}
	if info.Durable != nil {
		r.backend = durable{live{r}, info.Durable.Log}
	}
	if t.recording != nil {
		r.backend = newReplay(r)
	}
	if t.policy != nil {
		var err error
		if r.redactor, err = newRedactor(t.policy.PII(), r.session, info.Start, t.detector); err != nil {
			return nil, err
		}
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.uncancelled = context.WithoutCancel(ctx)
	r.workers = queue.NewWorkers(r.ctx.Done())
	if err := r.record(audit.Event{Start: r.startRecord()}); err != nil {
		return nil, err
	}
	t.running.Add(1)
	return r, nil
}

// CanGrant reports whether somebody at the terminal can allow what no rule allows.
// A nil asker is that of the table.
func (t *Table) CanGrant(asker Asker) bool {
	if asker == nil {
		asker = t.options.Asker
	}
	g, ok := asker.(Granter)
	return ok && slices.Contains(t.policy.Approvals().Via, "terminal") && g.CanGrant()
}

// waitForPerson calls f, which asks a person outside of any call.
func (r *Run) waitForPerson(f func()) {
	r.mu.Lock()
	park := r.park
	r.mu.Unlock()
	if park == nil {
		f()
		return
	}
	park(f)
}

func (r *Run) canGrant() bool { return !r.info.DryRun && r.table.CanGrant(r.info.Asker) }

// filer returns the first provider of files, or nil.
func (t *Table) filer() Filer {
	for _, p := range t.providers {
		if f, ok := p.(Filer); ok {
			return f
		}
	}
	return nil
}

// startRecord returns the start with what the policy keeps of it.
func (r *Run) startRecord() *audit.Start {
	s := r.info.Start
	s.Intent = r.redactor.display(s.Intent)
	s.Review = r.info.Review.record(func(s string) string { return r.shown(s, 300) })
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

// startTime returns a clock that always shows the start of the run.
func (r *Run) startTime() func() time.Time {
	start := r.info.Start.Clock
	if start.IsZero() {
		start = time.Unix(0, 0)
	}
	return func() time.Time { return start }
}

// Kept reports whether the record of the run is complete, as a replay needs it.
func (r *Run) Kept() bool {
	return r.keep.Code == policy.DetailFull && r.keep.Inputs == policy.DetailFull && r.keep.Outputs == policy.DetailFull
}

// kept returns what the audit keeps of a text: its digest, and the text itself.
func kept(d policy.Detail, digest string, text []byte) (string, audit.Blob) {
	if d == policy.DetailNone {
		return "", nil
	}
	if digest == "" && text != nil {
		digest = audit.Digest(text)
	}
	if d != policy.DetailFull {
		text = nil
	}
	return digest, text
}

// Context returns a context that ends with the run: when the run is closed, when
// its caller gives up, or when an error ends it.
func (r *Run) Context() context.Context { return r.ctx }

// Err returns why the run has to end, or nil.
func (r *Run) Err() error {
	if r.ctx.Err() == nil {
		return nil
	}
	switch err := context.Cause(r.ctx); err {
	case context.Canceled:
		return fault.New(fault.Cancelled, "the run was cancelled")
	case context.DeadlineExceeded:
		return fault.New(fault.LimitTime, "the run exceeded its time limit")
	default:
		return err
	}
}

// fail ends the run with an error that the program cannot catch. The first one
// is the error of the run.
func (r *Run) fail(err error) { r.cancel(err) }

// Limits returns the limits of the run.
func (r *Run) Limits() policy.Limits { return r.limits }

// spend counts bytes that pass through the host.
func (r *Run) spend(n int64) error {
	if n < 0 || r.bytes.Add(n) <= r.limits.HostBytes {
		return nil
	}
	err := fault.New(fault.LimitHostBytes, "more than %d bytes passed through the host", r.limits.HostBytes).
		WithHint("ask tools for less, or allow more with limits.host_bytes: %d", 2*r.limits.HostBytes)
	r.fail(err)
	return err
}

// charge is spend before work of the host, which ends with the run.
func (r *Run) charge(n int64) error {
	if err := r.Err(); err != nil {
		return err
	}
	return r.spend(n)
}

// record writes an event of the run, even if its caller has given up. If it
// cannot, the run ends.
func (r *Run) record(e audit.Event) error {
	if d := r.info.Durable; d != nil && (d.Log.Replaying() || e.Start != nil && d.Log.Resumed()) {
		return nil // the process before recorded it
	}
	e.Run = r.info.ID
	e.Time = time.Now().UTC()
	head, err := r.table.sink.Record(r.uncancelled, e)
	if err != nil {
		r.fail(err)
		return err
	}
	r.mu.Lock()
	r.head = head
	r.mu.Unlock()
	return nil
}

func (r *Run) recordPrivacy(call uint64, tool, place string, mode privacy.Mode, counts privacy.Counts) error {
	kinds := make(map[string]int, len(counts.Kinds))
	for k, n := range counts.Kinds {
		kinds[string(k)] = n
	}
	return r.record(audit.Event{Privacy: &audit.Privacy{Call: call, Tool: tool, Where: place, Mode: string(mode), Counts: kinds, Fields: r.fields(counts)}})
}

// fields returns the fields that counts names. A name may be personal data.
func (r *Run) fields(counts privacy.Counts) []string {
	if len(counts.Fields) == 0 {
		return nil
	}
	return strings.Split(r.redactor.display(strings.Join(counts.Fields, "\n")), "\n")
}

// maxInVain is how often a record notes that no answer came in time.
const maxInVain = 100_000

// announced notes that the program learned of the answer of a call, or with 0 that
// it waited in vain. The order is part of the record.
func (r *Run) announced(call uint64) {
	if r.info.Durable != nil {
		r.info.Durable.Log.Announced(call)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if call == 0 {
		if !r.backend.keepsWaits() {
			return
		}
		if r.inVain++; r.inVain > maxInVain {
			return
		}
	}
	r.order = append(r.order, call)
}

// begin adds a call to the list of calls.
func (r *Run) begin(tool string, number uint64) *CallInfo {
	info := CallInfo{Number: number, Tool: tool, Started: time.Now()}
	if r.info.Calling != nil {
		r.info.Calling(info)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.spare) == 0 { // few at first: most runs call little
		r.spare = make([]CallInfo, min(1+len(r.calls), 16))
	}
	c := &r.spare[0]
	*c, r.spare = info, r.spare[1:]
	r.calls = append(r.calls, c)
	return c
}

// finish completes the entry of a call that has ended.
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

// cacheable limits how long the result of the run may be reused.
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

// shown returns text fit for a log, a record or progress, of at most n bytes:
// without secrets and personal data. The text is shortened last, since a part of a
// value is not recognized.
func (r *Run) shown(s string, n int) string {
	return text.Clip(r.redactor.display(text.Clean(r.table.given.Text(s))), n)
}

func (r *Run) warn(text string) {
	const most = 50
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.warnings) < most && !slices.Contains(r.warnings, text) {
		r.warnings = append(r.warnings, text)
	}
}

// progress returns what reports the progress of a tool, without the values that it
// got, or of the program.
func (r *Run) progress(tool string, values *scrub.Scrubber) func(done, total float64, text string) {
	return func(done, total float64, text string) {
		if r.info.Progress != nil && r.ctx.Err() == nil && r.spend(int64(len(text))) == nil {
			r.info.Progress(Progress{Tool: tool, Done: done, Total: total, Text: r.shown(values.Text(text), 500)})
		}
	}
}

// Egress replaces personal data in text that leaves for the agent, and records
// it. The place is value, stdout, stderr, error or progress.
func (r *Run) Egress(place, text string) string {
	out, counts := r.redactor.egress(text)
	if len(counts.Kinds) > 0 && r.recordPrivacy(0, "", place, r.redactor.pii.Mode, counts) != nil {
		return ""
	}
	return out
}

// EgressJSON is Egress for a JSON document. It returns an error if the policy
// blocks personal data in it.
func (r *Run) EgressJSON(place string, doc []byte) ([]byte, error) {
	d := r.redactor
	if d.off() || len(doc) == 0 {
		return doc, nil
	}
	out, counts, err := d.vault.EgressJSON(doc, d.pii.Mode)
	d.add(counts)
	if len(counts.Kinds) > 0 {
		if recorded := r.recordPrivacy(0, "", place, d.pii.Mode, counts); recorded != nil {
			return nil, recorded
		}
	}
	if err != nil {
		return nil, fault.New(fault.DeniedTool, "the policy blocks personal data in the %s", place)
	}
	return out, nil
}

// Reveal returns text with values instead of tokens, for a Go host. Text that
// would become more than 4 MiB longer keeps its tokens.
func (r *Run) Reveal(text string) string {
	most := len(text) + maxRevealed
	return r.redactor.revealText(text, func(n int) error {
		if most -= n; most < 0 {
			return errTooLong
		}
		return nil
	})
}

// Issued returns the tokens that the run issued, and those in texts, with their
// values, for a Go host.
func (r *Run) Issued(texts ...[]byte) []privacy.Issued {
	if r.redactor == nil {
		return nil
	}
	return r.redactor.vault.Issued(r.redactor.before, texts...)
}

// Summary returns what the run did so far.
func (r *Run) Summary() Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := Summary{HostBytes: r.bytes.Load() + r.arriving.Load(), AuditHead: r.head, Warnings: slices.Clone(r.warnings), Cacheable: r.cache, Order: slices.Clone(r.order)}
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
	s.Mode, s.Found = r.redactor.found()
	return s
}

// Close records the end of the run and releases what it holds. The caller sets
// status, value and output of the end; Close adds what the run counted. Only the
// first call has an effect.
func (r *Run) Close(ctx context.Context, end audit.End) (Summary, error) {
	r.mu.Lock()
	closed, files := r.closed, r.files
	r.closed = true
	r.mu.Unlock()
	if closed {
		return r.Summary(), nil
	}
	defer r.table.running.Add(-1)
	r.streams.CloseAll()
	if files != nil {
		_ = files.Close()
	}
	r.session.endRun()
	s := r.Summary()
	end.Order = s.Order
	if r.mu.Lock(); r.inVain > maxInVain && end.World != nil {
		end.World.Dropped = append(end.World.Dropped, "order")
	}
	r.mu.Unlock()
	end.Tools, end.Found = s.Tools, s.Found
	end.Usage.ToolCalls, end.Usage.ToolBytes, end.Usage.HostBytes = s.ToolCalls, s.ToolBytes, s.HostBytes
	end.ValueSHA256, end.Value = kept(r.keep.Outputs, end.ValueSHA256, end.Value)
	end.StdoutSHA256, end.Stdout = kept(r.keep.Outputs, end.StdoutSHA256, end.Stdout)
	end.StderrSHA256, end.Stderr = kept(r.keep.Outputs, end.StderrSHA256, end.Stderr)
	if r.info.Durable != nil && r.info.Durable.Log.Parked() {
		r.cancel(nil)
		return s, nil // it has not ended
	}
	head, err := r.table.sink.Record(context.WithoutCancel(ctx), audit.Event{Run: r.info.ID, Time: time.Now().UTC(), End: &end})
	r.cancel(fault.New(fault.Cancelled, "the run has ended"))
	if err != nil {
		return s, err
	}
	s.AuditHead = head
	return s, nil
}

// KeepState returns what the calls of the run share, for its journal.
func (r *Run) KeepState() json.RawMessage {
	state := r.session.State()
	state.ByRule, state.ByTool = nil, nil // they are counted again with the calls
	data, err := json.Marshal(state)
	if err != nil {
		return nil
	}
	return data
}

// Park ends a durable run in this process. It goes on in another one, at the latest at
// until; zero: there is no such time.
func (r *Run) Park(until time.Time) {
	if err := r.info.Durable.Log.Park(r.uncancelled, until); err != nil {
		r.fail(err)
		return
	}
	r.fail(fault.New(fault.Cancelled, "the run has parked"))
}
