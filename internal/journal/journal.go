// Package journal keeps what a durable run needs to go on in another process: the
// answers of its calls, what it saw of clock and input, and what it did. A run goes on
// by running again with the same answers, up to the place where its records end.
package journal

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
)

// Bounds of a journal.
const (
	maxRecord  = 256 << 20 // bytes of a record
	maxRecords = 1_000_000
	maxEntries = 1_000_000 // of each kind
)

const version = 1

// Start has the facts of a run that do not change.
type Start struct {
	Run           string    `json:"run"`
	Program       [32]byte  `json:"program"` // digest of what runs
	Guest         string    `json:"guest"`   // digest of the interpreter
	Clock         time.Time `json:"clock"`
	Seed          []byte    `json:"seed"`
	Deterministic bool      `json:"deterministic,omitempty"`
}

// Call is a call with its answer.
type Call struct {
	Number   uint64          `json:"n"`
	Name     string          `json:"name"` // as in the program
	Args     [32]byte        `json:"args"` // digest
	Kind     uint8           `json:"kind,omitempty"`
	Answer   []byte          `json:"answer,omitempty"`
	Failure  json.RawMessage `json:"failure,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Decision string          `json:"decision,omitempty"`
	Rule     string          `json:"rule,omitempty"`
	Code     string          `json:"code,omitempty"`
	Sent     bool            `json:"sent,omitempty"`
	Rules    []string        `json:"rules,omitempty"` // against whose limits it counts
}

// Intent is a call that is about to change something.
type Intent struct {
	Number uint64   `json:"n"`
	Tool   string   `json:"tool"`
	Args   [32]byte `json:"args"`
	// Times is how often it was about to, in all processes.
	Times int `json:"-"`
}

// Question is a question to a person, or a signal that the run waits for.
type Question struct {
	ID      string    `json:"id"`
	Signal  string    `json:"signal,omitempty"` // its name
	Tool    string    `json:"tool"`
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
	Done    bool      `json:"done,omitempty"`

	here bool // it was asked in this process
}

// File is what a program saw of an operation on files.
type File struct {
	Op     string      `json:"op"`
	Path   string      `json:"p,omitempty"` // of operations on paths
	To     string      `json:"to,omitempty"`
	Errno  uint16      `json:"e,omitempty"`
	N      int64       `json:"n,omitempty"`  // bytes that were read or written, or the place after a seek
	At     int64       `json:"at,omitempty"` // where bytes were written
	Stat   []int64     `json:"s,omitempty"`
	Data   []byte      `json:"d,omitempty"`
	Digest []byte      `json:"h,omitempty"` // of data that is too large to keep
	Names  []FileEntry `json:"l,omitempty"`
	Cost   int64       `json:"c,omitempty"` // against the bytes that pass through the host
	// Intended is set for a change that is about to be made. Existed tells whether its
	// path did.
	Intended bool `json:"i,omitempty"`
	Existed  bool `json:"was,omitempty"`
}

// FileEntry is an entry of a folder.
type FileEntry struct {
	Name []byte `json:"n"`
	Ino  uint64 `json:"i,omitempty"`
	Mode uint32 `json:"m,omitempty"`
}

// record is what happened since the record before it.
type record struct {
	Version int             `json:"v"`
	Start   *Start          `json:"start,omitempty"`
	Calls   []Call          `json:"calls,omitempty"`
	Intents []Intent        `json:"intents,omitempty"`
	Asked   []Question      `json:"asked,omitempty"`
	Order   []uint64        `json:"order,omitempty"`
	Clock   []int64         `json:"clock,omitempty"`
	Input   [][]byte        `json:"input,omitempty"`
	Files   []File          `json:"files,omitempty"`
	Sleeps  int             `json:"sleeps,omitempty"`
	Shared  json.RawMessage `json:"shared,omitempty"`
	Shown   [2]int64        `json:"shown,omitzero"` // bytes of the outputs, since the start
	Spent   time.Duration   `json:"spent,omitempty"`
	Until   time.Duration   `json:"until,omitempty"` // end of the wait in which the run parked, on its clock
}

// Appender keeps records.
type Appender interface {
	Append(ctx context.Context, record []byte) error
}

// Log is the journal of a run in this process. All methods may be called by any
// goroutine.
type Log struct {
	start   Start
	to      Appender
	resumed bool
	// Observe returns what is kept with each record: what the calls share, the bytes of
	// the outputs, and the spent time. Set it before the run begins.
	Observe func() (shared json.RawMessage, shown [2]int64, spent time.Duration)

	live chan struct{} // closed when the program is where the records end

	sync    sync.Mutex // orders records
	mu      sync.Mutex
	past    record // what is left to repeat
	calls   map[uint64]Call
	intents map[uint64]Intent
	asked   map[string]Question
	highest uint64 // call of the records
	started uint64 // last call
	next    record
	last    time.Duration // reading of the clock
	closed  bool
	parked  bool
	until   time.Time // end of the wait in which the run parked
}

// Digest returns the digest of arguments.
func Digest(args []byte) [32]byte { return sha256.Sum256(args) }

// Open returns the log of a run. With records the run goes on from them; they must be
// of the same run, program and interpreter.
func Open(to Appender, start Start, records [][]byte) (*Log, error) {
	l := &Log{start: start, to: to, live: make(chan struct{}), calls: map[uint64]Call{}, intents: map[uint64]Intent{}, asked: map[string]Question{}}
	if len(records) == 0 {
		l.next.Start = &l.start
		close(l.live)
		return l, nil
	}
	l.resumed = true
	if len(records) > maxRecords {
		return nil, unusable(start.Run, "it has more records than any run writes")
	}
	for n, data := range records {
		r, err := decode(data)
		if err != nil || (n == 0) != (r.Start != nil) {
			return nil, unusable(start.Run, "record %d is damaged", n+1)
		}
		if s := r.Start; s != nil {
			switch {
			case s.Run != start.Run:
				return nil, unusable(start.Run, "the records are of another run")
			case s.Guest != start.Guest:
				return nil, unusable(start.Run, "it began with another build of the interpreter").WithHint("go on with the wexec that began it, or run the program again")
			case s.Program != start.Program || s.Deterministic != start.Deterministic:
				return nil, unusable(start.Run, "the program, its arguments or its options are not those that it began with")
			}
			l.start = *s
		}
		if !l.add(r) {
			return nil, unusable(start.Run, "record %d does not follow from those before it", n+1)
		}
	}
	l.reached()
	return l, nil
}

func unusable(run, format string, args ...any) *fault.Error {
	return fault.New(fault.UsageRun, "go on with run %s: %s", run, fmt.Sprintf(format, args...)).WithHint("run the program again")
}

// decode reads a record, which can be anything.
func decode(data []byte) (r record, err error) {
	if len(data) > maxRecord {
		return r, fault.New(fault.UsageRun, "the record is too long")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&r); err != nil {
		return r, fault.New(fault.UsageRun, "read a record: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return r, fault.New(fault.UsageRun, "the record has bytes after its end")
	}
	if r.Version != version || r.Sleeps < 0 || r.Spent < 0 || r.Until < 0 || r.Shown[0] < 0 || r.Shown[1] < 0 {
		return r, fault.New(fault.UsageRun, "the record is not of this version")
	}
	return r, nil
}

// add appends a record to the past. It returns false if that cannot be.
func (l *Log) add(r record) bool {
	p := &l.past
	for _, c := range r.Calls {
		if _, twice := l.calls[c.Number]; twice || c.Number == 0 {
			return false
		}
		l.calls[c.Number] = c
		l.highest = max(l.highest, c.Number)
	}
	for _, i := range r.Intents {
		i.Times = l.intents[i.Number].Times + 1
		l.intents[i.Number] = i
		l.highest = max(l.highest, i.Number)
	}
	for _, q := range r.Asked {
		l.asked[q.ID] = q
	}
	for _, n := range r.Order {
		if n != 0 && l.calls[n].Number != n {
			return false
		}
	}
	p.Order = append(p.Order, r.Order...)
	p.Clock = append(p.Clock, r.Clock...)
	p.Input = append(p.Input, r.Input...)
	p.Files = append(p.Files, r.Files...)
	p.Sleeps += r.Sleeps
	if r.Shared != nil {
		p.Shared = r.Shared
	}
	p.Shown, p.Spent, p.Until = r.Shown, r.Spent, r.Until
	return p.Sleeps <= maxEntries && len(l.calls) <= maxEntries && len(l.intents) <= maxEntries && len(l.asked) <= maxEntries &&
		len(p.Order) <= maxEntries && len(p.Clock) <= maxEntries && len(p.Input) <= maxEntries && len(p.Files) <= maxEntries
}

// Start returns the facts of the run.
func (l *Log) Start() Start { return l.start }

// Shared returns what the calls shared when the last record was written.
func (l *Log) Shared() json.RawMessage { return l.past.Shared }

// Shown returns how many bytes of the outputs were handed out.
func (l *Log) Shown() [2]int64 { return l.past.Shown }

// Spent returns the time that the run used in other processes.
func (l *Log) Spent() time.Duration { return l.past.Spent }

// Order returns the order in which answers were announced.
func (l *Log) Order() []uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return append([]uint64(nil), l.past.Order...)
}

// Replaying reports whether the program is not yet where its records end.
func (l *Log) Replaying() bool {
	select {
	case <-l.live:
		return false
	default:
		return true
	}
}

// Resumed reports whether the run began in another process.
func (l *Log) Resumed() bool { return l.resumed }

// Live is closed when the program is where its records end.
func (l *Log) Live() <-chan struct{} { return l.live }

// reached closes live if nothing is left to repeat. The lock is held.
func (l *Log) reached() {
	if l.Replaying() && len(l.past.Order) == 0 && l.started >= l.highest {
		close(l.live)
	}
}

// Begin notes that a call started, and returns its recorded answer and whether it was
// about to change something.
func (l *Log) Begin(n uint64) (answer *Call, intent *Intent) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c, ok := l.calls[n]; ok {
		answer = &c
	}
	if i, ok := l.intents[n]; ok {
		intent = &i
	}
	return answer, intent
}

// Started notes that the program started call n.
func (l *Log) Started(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.started = max(l.started, n)
	l.reached()
}

// Announced notes that the program learned of an answer, or with 0 that it waited in
// vain.
func (l *Log) Announced(n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.past.Order) > 0 {
		l.past.Order = l.past.Order[1:]
		l.reached()
		return
	}
	l.next.Order = append(l.next.Order, n)
}

// Reading returns what the clock shows the program.
func (l *Log) Reading(now time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.past.Clock; len(c) > 0 {
		l.last, l.past.Clock = time.Duration(c[0]), c[1:]
		return l.last
	}
	l.last = max(l.last, now)
	l.next.Clock = append(l.next.Clock, int64(l.last))
	return l.last
}

// Input returns the next bytes, at most as many as fit, that the program read from its standard input, if they
// are recorded.
func (l *Log) Input(most int) ([]byte, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.past.Input) == 0 {
		return nil, false
	}
	p := l.past.Input[0]
	if len(p) > most {
		p, l.past.Input[0] = p[:most], p[most:]
	} else {
		l.past.Input = l.past.Input[1:]
	}
	return p, true
}

// Read notes bytes that the program read from its standard input.
func (l *Log) Read(p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next.Input = append(l.next.Input, bytes.Clone(p))
}

// NextFile returns the next operation on files that the records have.
func (l *Log) NextFile() (File, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.past.Files) == 0 {
		return File{}, false
	}
	f := l.past.Files[0]
	l.past.Files = l.past.Files[1:]
	return f, true
}

// File notes an operation on files.
func (l *Log) File(f File) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next.Files = append(l.next.Files, f)
}

// Unsynced reports whether the program saw something, apart from files, since the last
// record, or there is no record.
func (l *Log) Unsynced() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := &l.next
	return n.Start != nil || len(n.Calls)+len(n.Order)+len(n.Clock)+len(n.Input)+n.Sleeps > 0
}

// Slept reports whether a sleep that begins ended in another process.
func (l *Log) Slept() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.past.Sleeps > 0 {
		l.past.Sleeps--
		return true
	}
	return false
}

// Sleep notes that a sleep ended.
func (l *Log) Sleep() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next.Sleeps++
}

// Left returns how long a wait of d lasts from now, where the run may have parked in it.
func (l *Log) Left(d time.Duration) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until := l.past.Until; until > 0 && !l.Replaying() {
		l.past.Until = 0
		return min(d, max(0, until-time.Since(l.start.Clock)))
	}
	return d
}

// SleepOrPark sleeps for d, or calls park with the end of the sleep if more than after
// of it are left.
func (l *Log) SleepOrPark(ctx context.Context, d, after time.Duration, park func(until time.Time)) error {
	if l.Slept() {
		return nil
	}
	d = l.Left(d)
	until := time.Now().Add(d)
	timer := time.NewTimer(min(d, after))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if d > after {
		park(until)
		return context.Cause(ctx)
	}
	l.Sleep()
	return nil
}

// Until returns when the wait ends in which the run parked; zero: it has no end.
func (l *Log) Until() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until
}

// End keeps the answer of a call.
func (l *Log) End(c Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next.Calls = append(l.next.Calls, c)
}

// Ask notes a question. If the first process asked the same, it returns that question.
func (l *Log) Ask(q Question) Question {
	l.mu.Lock()
	defer l.mu.Unlock()
	q.here = true
	if was, ok := l.asked[q.ID]; ok && !was.Done {
		was.here = true
		l.asked[q.ID] = was
		return was
	}
	l.asked[q.ID] = q
	l.next.Asked = append(l.next.Asked, q)
	return q
}

// Answered notes that a question is answered.
func (l *Log) Answered(id string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if q, ok := l.asked[id]; ok && !l.closed {
		q.Done = true
		l.asked[id] = q
		l.next.Asked = append(l.next.Asked, q)
	}
}

// Open questions of the run.
func (l *Log) Questions() []Question {
	l.mu.Lock()
	defer l.mu.Unlock()
	var open []Question
	for _, q := range l.asked {
		if q.here && !q.Done { // one of another process may be asked in other words now
			open = append(open, q)
		}
	}
	return open
}

// Intend notes that a call is about to change something, and returns when that outlasts
// the process.
func (l *Log) Intend(ctx context.Context, i Intent) error {
	return l.append(ctx, func() { l.next.Intents = append(l.next.Intents, i) })
}

// Sync returns when what happened outlasts the process.
func (l *Log) Sync(ctx context.Context) error { return l.append(ctx, func() {}) }

// Park writes the last record of a run that leaves memory. until is when a wait of the
// program ends; zero is never.
func (l *Log) Park(ctx context.Context, until time.Time) error {
	return l.append(ctx, func() {
		l.closed, l.parked, l.until = true, true, until
		if !until.IsZero() {
			l.next.Until = max(1, until.Sub(l.start.Clock))
		}
	})
}

// Parked reports whether the run left memory.
func (l *Log) Parked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.parked
}

func (l *Log) append(ctx context.Context, change func()) error {
	l.sync.Lock()
	defer l.sync.Unlock()
	shared, shown, spent := l.Observe()
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return fault.New(fault.Cancelled, "the run has parked")
	}
	change()
	r := l.next
	l.next = record{}
	l.mu.Unlock()
	r.Version, r.Shared, r.Shown, r.Spent = version, shared, shown, spent
	data, err := json.Marshal(r)
	if err != nil {
		return fault.New(fault.Internal, "write the journal of run %s: %w", l.start.Run, err)
	}
	if len(data) > maxRecord {
		return fault.New(fault.UsageRun, "the journal of run %s: a record has %d bytes, more than the %d that it may have", l.start.Run, len(data), maxRecord).
			WithHint("run the program without a journal, or let its tools answer less at once")
	}
	if err := l.to.Append(ctx, data); err != nil {
		return fault.New(fault.CodeOf(err), "write the journal of run %s: %w", l.start.Run, err)
	}
	return nil
}
