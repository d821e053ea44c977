package world

import (
	"context"
	"io"
	"slices"
	"strings"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
)

// Recorded is the [World] that a recorded run saw. Only its scratch folder is
// real.
type Recorded struct {
	*clock
	entropy
	rec   audit.Recording
	guest string // digest of the guest that runs the replay

	input []byte // not read yet
	reads []int  // lengths of the next reads
	files []audit.FileOp
	next  int // the next of files
	fail  func(error)
}

// NewRecorded returns the world of a recorded run for its replay in the guest
// with a digest.
func NewRecorded(rec audit.Recording, guest string) *Recorded {
	s, seen := &rec.Start, rec.End.World
	r := &Recorded{clock: newClock(true), entropy: seeded(s.Seed), rec: rec, guest: guest,
		input: seen.Input, reads: slices.Clone(seen.Reads), files: seen.Files}
	if len(seen.Reads) == 0 {
		r.input = s.Input
	}
	if !s.Deterministic {
		r.clock.start = s.Clock
		for _, d := range seen.Clock {
			r.clock.readings = append(r.clock.readings, time.Duration(d))
		}
	}
	return r
}

func (r *Recorded) AnswerOrder() []uint64 { return slices.Clone(r.rec.End.Order) }
func (*Recorded) Record()                 {} // a replay is not recorded again
func (*Recorded) Seen() *audit.World      { return nil }

func (r *Recorded) Environment() Environment {
	s := &r.rec.Start
	e := Environment{Variables: map[string]string{}, Servers: s.Servers, Offers: s.Offers}
	for _, pair := range s.Env {
		name, value, _ := strings.Cut(pair, "=")
		e.Variables[name] = value
	}
	return e
}

// ReadStdin reads the same pieces as the recorded run.
func (r *Recorded) ReadStdin(_ context.Context, p []byte) (int, error) {
	piece := len(r.input)
	if len(r.reads) > 0 {
		piece = min(piece, r.reads[0])
	}
	n := copy(p, r.input[:piece])
	if n == 0 {
		return 0, io.EOF
	}
	r.input = r.input[n:]
	if len(r.reads) > 0 {
		if r.reads[0] -= n; r.reads[0] <= 0 {
			r.reads = r.reads[1:]
		}
	}
	return n, nil
}

// Files returns the recorded files. Operations outside the scratch folder have the
// recorded outcome, in the recorded order.
func (r *Recorded) Files(provided experimentalsys.FS, fail func(error)) experimentalsys.FS {
	if !r.Environment().Has(OfferFiles) {
		return nil
	}
	r.fail = fail
	return FileHandler(func(op FileOp) FileResult {
		if provided != nil && op.inScratch() {
			return op.On(provided)
		}
		rec := r.nextOp(op)
		if rec == nil {
			return FileResult{Errno: experimentalsys.EIO}
		}
		result := FileResult{Stat: statOf(rec.Stat), Text: rec.Text, Errno: experimentalsys.Errno(rec.Errno)}
		if op.Name == "open" && rec.Errno == 0 {
			result.File = newReplayedFile(rec, r.differ)
		}
		return result
	})
}

// nextOp returns the recorded outcome of an operation, or nil if the recorded
// run did another one.
func (r *Recorded) nextOp(op FileOp) *audit.FileOp {
	p, to := clipPath(op.Path), clipPath(op.To)
	if r.next >= len(r.files) {
		r.differ("file operation %d, %s of /%s, is not in the record", r.next+1, op.Name, p)
		return nil
	}
	rec := &r.files[r.next]
	if rec.Op != op.Name || rec.Path != p || rec.To != to {
		r.differ("file operation %d is %s of /%s, but the record has %s of /%s", r.next+1, op.Name, p, rec.Op, rec.Path)
		return nil
	}
	r.next++
	return rec
}

// differ ends the replay.
func (r *Recorded) differ(format string, args ...any) {
	r.fail(fault.New(fault.UsageAudit, format, args...))
}
