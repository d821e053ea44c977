package world

import (
	"context"
	"io"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
)

// Live is the world as it is. In a deterministic run its clock is virtual and
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
}

// NewLive returns a live world, whose clock begins now.
func NewLive(o Options) *Live {
	l := &Live{clock: newClock(o.Deterministic), stdin: o.Stdin, environment: o.Environment, deterministic: o.Deterministic}
	if o.Deterministic {
		l.entropy = fixedEntropy(o.Seed)
	} else {
		l.entropy = realEntropy()
	}
	return l
}

// Record implements [World].
func (l *Live) Record() {
	l.recorder = &recorder{}
	if !l.deterministic {
		l.clock.recorder = l.recorder
		l.reproducible()
	}
}

// Environment implements [World].
func (l *Live) Environment() Environment { return l.environment }

// ReadStdin implements [World].
func (l *Live) ReadStdin(ctx context.Context, p []byte) (int, error) {
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
		return n, r.err
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}

// AnswerOrder implements [World]: answers arrive as they complete.
func (*Live) AnswerOrder() []uint64 { return nil }

// Files implements [World].
func (l *Live) Files(provided experimentalsys.FS, _ func(error)) experimentalsys.FS {
	if provided == nil || l.recorder == nil {
		return provided
	}
	return recordingFiles(provided, l.recorder)
}

// Seen implements [World].
func (l *Live) Seen() *audit.World { return l.recorder.world() }

// Verify implements [World].
func (*Live) Verify(*audit.End, *fault.Error, func() (audit.Call, bool)) (*audit.End, *fault.Error) {
	return nil, nil
}
