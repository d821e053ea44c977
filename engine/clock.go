package engine

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"io"
	chacha "math/rand/v2"
	"sync"
	"time"
)

// virtualStart is when every deterministic run begins.
var virtualStart = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// clock is a run's sense of time. The virtual one stands still but for what
// the program sleeps. The one of a replay shows what the recorded one showed.
type clock struct {
	virtual bool
	start   time.Time
	by      *witness        // is told what a real one shows; nil: nobody
	showed  []time.Duration // what it shows before it goes on by itself

	mu    sync.Mutex
	slept time.Duration
}

func newClock(virtual bool) *clock {
	if virtual {
		return &clock{virtual: true, start: virtualStart}
	}
	return &clock{start: time.Now()}
}

// Now is the time the program sees.
func (c *clock) Now() time.Time {
	if !c.virtual && c.by == nil {
		return time.Now()
	}
	return c.start.Add(c.elapsed())
}

// elapsed is the time since the run began, monotonic.
func (c *clock) elapsed() time.Duration {
	if !c.virtual {
		since := time.Since(c.start)
		if c.by != nil {
			c.by.told(since)
		}
		return since
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.showed) > 0 {
		c.slept, c.showed = c.showed[0], c.showed[1:]
	}
	return c.slept
}

// Sleep lets d pass, at once where the clock is virtual. It ends early with
// the context's cause.
func (c *clock) Sleep(ctx context.Context, d time.Duration) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if c.virtual {
		c.mu.Lock()
		c.slept += max(d, 0)
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

// entropy is a run's source of random bytes: seeded where the run is
// deterministic, the system's otherwise.
func entropy(deterministic bool, seed uint64) io.Reader {
	if !deterministic {
		return rand.Reader
	}
	var key [32]byte
	copy(key[:], "wexec deterministic run")
	binary.LittleEndian.PutUint64(key[24:], seed)
	return chacha.NewChaCha8(key)
}

// seeded is a source of random bytes that a record of its seed can repeat.
func seeded(seed [32]byte) io.Reader { return chacha.NewChaCha8(seed) }

// deadline is the wall time a run may take. It stands still while only people
// are waited for.
type deadline struct {
	limit time.Duration
	pass  func() // called once when the time is up

	mu     sync.Mutex
	timer  *time.Timer
	begun  time.Time     // of the stretch that runs now
	spent  time.Duration // of the stretches before
	paused int
	over   bool
}

// newDeadline starts the time.
func newDeadline(limit time.Duration, pass func()) *deadline {
	d := &deadline{limit: limit, pass: pass, begun: time.Now()}
	d.timer = time.AfterFunc(limit, d.fire)
	return d
}

func (d *deadline) fire() {
	d.mu.Lock()
	due := !d.over && d.paused == 0
	if due {
		d.over = true
	}
	d.mu.Unlock()
	if due {
		d.pass()
	}
}

// look ends the time where it is up and the timer has not fired yet: on a busy
// machine timers come late.
func (d *deadline) look(now time.Time) {
	d.mu.Lock()
	due := d.paused == 0 && d.spent+now.Sub(d.begun) >= d.limit
	d.mu.Unlock()
	if due {
		d.fire()
	}
}

// pause stops the time until as many resumes have come.
func (d *deadline) pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused++
	if d.paused == 1 && !d.over {
		d.timer.Stop()
		d.spent += time.Since(d.begun)
	}
}

func (d *deadline) resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused--
	if d.paused == 0 && !d.over {
		d.begun = time.Now()
		d.timer.Reset(max(d.limit-d.spent, 0))
	}
}

// stop ends the watch; pass is not called any more.
func (d *deadline) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	d.timer.Stop()
}
