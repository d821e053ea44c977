package sandbox

import (
	"sync"
	"time"
)

// Deadline is the wall time of a run. It is paused while only people are
// waited for.
type Deadline struct {
	limit  time.Duration
	expire func()

	mu     sync.Mutex
	timer  *time.Timer
	begun  time.Time     // of the current stretch
	spent  time.Duration // in earlier stretches
	paused int
	over   bool
}

// NewDeadline starts the time. It calls expire once, when the time is up.
func NewDeadline(limit time.Duration, expire func()) *Deadline {
	d := &Deadline{limit: limit, expire: expire, begun: time.Now()}
	d.timer = time.AfterFunc(limit, d.fire)
	return d
}

func (d *Deadline) fire() {
	d.mu.Lock()
	due := !d.over && d.paused == 0
	d.over = d.over || due
	d.mu.Unlock()
	if due {
		d.expire()
	}
}

// check fires if the time is up and the timer is late, as it is on a busy
// machine.
func (d *Deadline) check(now time.Time) {
	d.mu.Lock()
	due := d.paused == 0 && d.spent+now.Sub(d.begun) >= d.limit
	d.mu.Unlock()
	if due {
		d.fire()
	}
}

// Pause stops the time until Resume was called as often.
func (d *Deadline) Pause() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused++
	if d.paused == 1 && !d.over {
		d.timer.Stop()
		d.spent += time.Since(d.begun)
	}
}

// Resume ends one Pause.
func (d *Deadline) Resume() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.paused--
	if d.paused == 0 && !d.over {
		d.begun = time.Now()
		d.timer.Reset(max(d.limit-d.spent, 0))
	}
}

// Spent returns the time that has passed.
func (d *Deadline) Spent() time.Duration {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.paused > 0 {
		return d.spent
	}
	return d.spent + time.Since(d.begun)
}

func (d *Deadline) isPaused() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.paused > 0
}

// Stop ends the watch.
func (d *Deadline) Stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.over = true
	d.timer.Stop()
}
