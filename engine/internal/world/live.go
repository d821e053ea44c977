package world

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/journal"
)

// Live is the [World] as it is. In a deterministic run its clock is virtual and
// its random bytes come from a seed.
type Live struct {
	*clock
	entropy
	environment   Environment
	stdin         io.Reader
	deterministic bool
	recorder      *recorder
}

// Options describe a live world.
type Options struct {
	Deterministic bool
	Seed          uint64 // of a deterministic run
	Stdin         io.Reader
	Environment   Environment
	Journal       *journal.Log // of a durable run; or nil
}

// NewLive returns a live world, whose clock begins now.
func NewLive(o Options) *Live {
	l := &Live{clock: newClock(o.Deterministic), stdin: o.Stdin, environment: o.Environment, deterministic: o.Deterministic}
	if o.Journal != nil {
		l.log = o.Journal
		if start := o.Journal.Start(); !o.Deterministic {
			l.clock.start, l.entropy = start.Clock, seeded(start.Seed)
			return l
		}
	}
	if o.Deterministic {
		l.entropy = seeded(binary.BigEndian.AppendUint64(nil, o.Seed))
		return l
	}
	// The system's source, and a seed in case the run is recorded.
	l.entropy = entropy{make([]byte, 32), rand.Reader}
	_, _ = rand.Read(l.seed)
	return l
}

// Record implements [World].
func (l *Live) Record() {
	l.recorder = &recorder{}
	if !l.deterministic {
		l.clock.recorder = l.recorder
		l.entropy = seeded(l.seed)
	}
}

// ReadStdin implements [World].
func (l *Live) ReadStdin(ctx context.Context, p []byte) (int, error) {
	if l.log != nil {
		if data, ok := l.log.Input(len(p)); ok {
			return copy(p, data), nil
		}
	}
	if l.stdin == nil {
		return 0, io.EOF
	}
	type read struct {
		n   int
		err error
	}
	// A reader cannot be interrupted: it gets its own buffer and goroutine, and
	// what it reads after the end of ctx is lost.
	done := make(chan read, 1)
	buf := make([]byte, min(len(p), 64<<10))
	go func() {
		n, err := l.stdin.Read(buf)
		done <- read{n, err}
	}()
	select {
	case r := <-done:
		n := copy(p, buf[:max(0, min(r.n, len(buf)))])
		l.recorder.stdinRead(p[:n])
		if l.log != nil && n > 0 {
			l.log.Read(p[:n])
		}
		return n, r.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// Files implements [World].
func (l *Live) Files(provided experimentalsys.FS, _ func(error)) experimentalsys.FS {
	if provided == nil || l.recorder == nil {
		return provided
	}
	return recordingFiles(provided, l.recorder)
}

// Environment implements [World].
func (l *Live) Environment() Environment { return l.environment }

// Seen implements [World].
func (l *Live) Seen() *audit.World { return l.recorder.world() }

// AnswerOrder is nil: answers arrive as they complete.
func (*Live) AnswerOrder() []uint64 { return nil }

// Verify has nothing to compare with.
func (*Live) Verify(*audit.End, *fault.Error, func() (audit.Call, bool)) (*audit.End, *fault.Error) {
	return nil, nil
}
