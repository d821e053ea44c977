package world

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	chacha "math/rand/v2"
	"sync"
	"time"
)

// VirtualStart returns the time at which every deterministic run begins.
func VirtualStart() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// clock is the clock of a run. The virtual one advances only while the program
// sleeps, or to the next recorded reading.
type clock struct {
	virtual  bool
	start    time.Time
	recorder *recorder // of a real clock; nil: readings are not recorded

	mu       sync.Mutex
	elapsed  time.Duration
	readings []time.Duration // the next readings of a virtual clock
}

func newClock(virtual bool) *clock {
	if virtual {
		return &clock{virtual: true, start: VirtualStart()}
	}
	return &clock{start: time.Now()}
}

// Started implements [World].
func (c *clock) Started() time.Time { return c.start }

// Now implements [World].
func (c *clock) Now() time.Time {
	if !c.virtual && c.recorder == nil {
		return time.Now()
	}
	return c.start.Add(c.Elapsed())
}

// Elapsed implements [World].
func (c *clock) Elapsed() time.Duration {
	if !c.virtual {
		since := time.Since(c.start)
		c.recorder.clockRead(since)
		return since
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.readings) > 0 {
		c.elapsed, c.readings = c.readings[0], c.readings[1:]
	}
	return c.elapsed
}

// Sleep implements [World]. It returns at once if the clock is virtual.
func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if c.virtual {
		c.mu.Lock()
		c.elapsed += max(d, 0)
		c.mu.Unlock()
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// entropy is a source of random bytes that its seed reproduces.
type entropy struct {
	seed   []byte
	source io.Reader
}

// fixedEntropy returns the source of a deterministic run.
func fixedEntropy(seed uint64) entropy {
	var key [32]byte
	copy(key[:], "wexec deterministic run")
	binary.LittleEndian.PutUint64(key[24:], seed)
	return entropy{binary.BigEndian.AppendUint64(nil, seed), chacha.NewChaCha8(key)}
}

// realEntropy returns the system's source, and a seed for the case that the
// run is recorded.
func realEntropy() entropy {
	seed := make([]byte, 32)
	_, _ = rand.Read(seed)
	return entropy{seed, rand.Reader}
}

// reproducible replaces the system's source by the one of the seed.
func (e *entropy) reproducible() {
	if len(e.seed) == 32 {
		e.source = chacha.NewChaCha8([32]byte(e.seed))
	}
}

// recordedEntropy returns the source of a recorded seed.
func recordedEntropy(seed []byte) entropy {
	if len(seed) == 8 {
		return fixedEntropy(binary.BigEndian.Uint64(seed))
	}
	e := entropy{seed, rand.Reader}
	e.reproducible()
	return e
}

// Entropy implements [World].
func (e *entropy) Entropy() io.Reader { return e.source }

// Seed implements [World].
func (e *entropy) Seed() []byte { return e.seed }
