package world

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	chacha "math/rand/v2"
	"sync"
	"time"

	"github.com/wexec/wexec/internal/journal"
)

// VirtualStart returns the time at which every deterministic run begins.
func VirtualStart() time.Time { return time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC) }

// clock is the clock of a run, and implements these methods of [World]. The virtual one advances only while the program
// sleeps, or to the next recorded reading.
type clock struct {
	virtual  bool
	start    time.Time
	recorder *recorder    // of a real clock; nil: readings are not recorded
	log      *journal.Log // of a durable run; or nil

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

func (c *clock) Started() time.Time { return c.start }

func (c *clock) Now() time.Time {
	if !c.virtual && c.recorder == nil && c.log == nil {
		return time.Now()
	}
	return c.start.Add(c.Elapsed())
}

func (c *clock) Elapsed() time.Duration {
	if !c.virtual {
		since := time.Since(c.start)
		if c.log != nil {
			since = c.log.Reading(since)
		}
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

// Sleep returns at once if the clock is virtual.
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
	if c.log != nil {
		if c.log.Slept() {
			return nil
		}
		d = c.log.Left(d)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		if c.log != nil {
			c.log.Sleep()
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// entropy is a source of random bytes, and the seed that reproduces it.
type entropy struct {
	seed   []byte
	source io.Reader
}

// seeded returns the source of a seed, which has 8 bytes in a deterministic run
// and 32 in any other run that is recorded.
func seeded(seed []byte) entropy {
	switch len(seed) {
	case 8:
		var key [32]byte
		copy(key[:], "wexec deterministic run")
		binary.LittleEndian.PutUint64(key[24:], binary.BigEndian.Uint64(seed))
		return entropy{seed, chacha.NewChaCha8(key)}
	case 32:
		return entropy{seed, chacha.NewChaCha8([32]byte(seed))}
	}
	return entropy{seed, rand.Reader}
}

func (e *entropy) Entropy() io.Reader { return e.source }
func (e *entropy) Seed() []byte       { return e.seed }
