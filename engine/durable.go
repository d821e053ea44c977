package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/journal"
)

// A Journal keeps the records with which a run goes on in another process. Records
// have personal data: seal them, for the run and their number. Methods are called by
// one goroutine at a time.
type Journal interface {
	// Append keeps a record after those before it, and returns when it outlasts the
	// process.
	Append(ctx context.Context, record []byte) error
}

// Parked describes what a run waits for that left memory. The run goes on with
// [Request].Records when one of the questions in [Result].Waiting is answered, or
// expires, at the time Until, or when one of the signals is there.
type Parked struct {
	Until   time.Time `json:"until,omitzero"` // the next timer; zero: there is none
	Signals []string  `json:"signals,omitempty"`
}

// openJournal prepares a durable run. Without a journal the log is nil.
func (j *job) openJournal(guest string) (*journal.Log, error) {
	r := &j.req
	if r.Journal == nil {
		if len(r.Records) > 0 {
			return nil, fault.New(fault.UsageRun, "go on with run %s: the request has no journal to write to", j.res.RunID)
		}
		return nil, nil
	}
	refuse := func(what string) error {
		return fault.New(fault.UsageRun, "keep a journal of run %s: %s", j.res.RunID, what).WithHint("run the program without a journal")
	}
	switch {
	case r.Session != "":
		return nil, refuse("it is in a session")
	case r.Plugin != "" || r.Check || r.DryRun:
		return nil, refuse("only programs that run have one")
	case r.Workspace != nil || len(j.table.Policy().Files().Write) > 0:
		return nil, refuse("it may write files, which would be written again")
	}
	program := sha256.New()
	if err := json.NewEncoder(program).Encode([]any{r.Language, r.Code, r.File, r.Args, r.Argv, r.Input, r.Seed}); err != nil {
		return nil, fault.New(fault.UsageFlag, "args is not valid JSON")
	}
	seed := make([]byte, 32)
	_, _ = rand.Read(seed)
	log, err := journal.Open(r.Journal, journal.Start{
		Run: j.res.RunID, Program: [32]byte(program.Sum(nil)), Guest: guest, Clock: time.Now(), Seed: seed, Deterministic: r.Deterministic,
	}, r.Records)
	if err != nil {
		return nil, err
	}
	j.log = log
	log.Observe = j.observe
	return log, nil
}

// observe returns what is kept with each record of the journal.
func (j *job) observe() (shared json.RawMessage, shown [2]int64, spent time.Duration) {
	shown = j.log.Shown()
	if h := j.host; h != nil {
		shown = [2]int64{max(shown[0], h.Outputs.Stdout.Shown()), max(shown[1], h.Outputs.Stderr.Shown())}
		spent = h.Spent()
	}
	return j.tools.KeepState(), shown, spent
}

// durableOptions adds what the host of a durable run needs.
func (j *job) durableOptions(o *sandbox.Options) {
	if j.log == nil {
		return
	}
	o.Spent, o.Shown = j.log.Spent(), j.log.Shown()
	o.Sleep = func(ctx context.Context, d time.Duration) error {
		after := j.req.ParkAfter
		if after <= 0 || d <= after || j.req.Deterministic {
			return j.world.Sleep(ctx, d)
		}
		return j.log.SleepOrPark(ctx, d, after, func(until time.Time) {
			j.tools.Park(until)
		})
	}
}

// parked reports whether the run left memory, and says so in the result.
func (j *job) parked() bool {
	if j.log == nil || !j.log.Parked() {
		return false
	}
	j.fault, j.guestErr, j.res.Error, j.res.Value = nil, nil, nil, nil
	j.res.Status = StatusWaiting
	j.res.Parked = &Parked{Until: j.log.Until()}
	for _, q := range j.log.Questions() {
		j.res.Waiting = append(j.res.Waiting, Waiting{ID: q.ID, Tool: q.Tool, Message: q.Message, Since: q.Since, Expires: q.Expires})
	}
	slices.SortFunc(j.res.Waiting, func(a, b Waiting) int { return strings.Compare(a.ID, b.ID) })
	return true
}

// durable returns the options of the calls of a durable run.
func (j *job) durable(log *journal.Log) *hostfns.Durable {
	if log == nil {
		return nil
	}
	return &hostfns.Durable{Log: log, After: j.req.ParkAfter}
}
