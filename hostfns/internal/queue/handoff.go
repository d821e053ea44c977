package queue

import (
	"bytes"
	"context"
	"iter"
	"runtime"
	"sync/atomic"
)

// Task is work that may panic, end its goroutine or hang.
type Task interface {
	// Run does the work. It must not panic.
	Run()
}

// Handoff runs tasks on a second goroutine while the first one waits, as a
// coroutine: control moves between the two on one thread. A task that does not
// return when the context ends is abandoned.
//
// A channel would be simpler, but a send wakes an idle processor to look for work.
// That makes a task take 1.9 µs instead of 0.24 (BenchmarkTask), and a tool call
// about a quarter longer. The coroutine is that of [iter.Pull], whose contract this
// file stretches in two ways:
//
//   - When a task hangs, another goroutine calls yield in its place, which
//     resumes the one that waits.
//   - The runtime stops the process if one of the two goroutines is bound to its
//     thread and was not when the coroutine was made. Therefore a bound goroutine
//     gets no coroutine (see bound), and what a task bound is released (see
//     unbind).
//
// The tests of this file fail when the runtime changes in either.
type Handoff struct {
	ctx context.Context

	task      Task
	next      func() (struct{}, bool)
	stop      func()
	yield     func(struct{}) bool
	unwatch   func() bool
	state     atomic.Int32
	abandoned chan struct{} // closed when an abandoned task has lost its waiting goroutine
}

// The states of a Handoff.
const (
	idle int32 = iota
	busy
	left    // the task was abandoned
	exited  // the task ended its goroutine, as runtime.Goexit does
	refused // the waiting goroutine is bound to its thread
)

// open makes the coroutine. It returns false if tasks have to run elsewhere.
func (h *Handoff) open() bool {
	switch {
	case h.state.Load() == left, h.state.Load() == refused:
		return false
	case h.next != nil:
		return true
	case bound():
		h.state.Store(refused)
		return false
	}
	h.abandoned = make(chan struct{})
	h.next, h.stop = iter.Pull(h.serve)
	h.unwatch = context.AfterFunc(h.ctx, h.leave)
	return true
}

// do runs a task, after open. It returns false if the task was abandoned.
func (h *Handoff) do(t Task) bool {
	h.task = t
	h.next()
	switch h.state.Load() {
	case idle:
		return true
	case exited:
		h.unwatch()
		go h.stop() // ends the goroutine that calls it
		h.next = nil
		h.state.Store(idle)
		return true
	}
	close(h.abandoned)
	return false
}

// serve runs one task after the other.
func (h *Handoff) serve(yield func(struct{}) bool) {
	h.yield = yield
	defer func() {
		if h.state.CompareAndSwap(busy, exited) {
			yield(struct{}{})
		}
	}()
	for {
		h.state.Store(busy)
		if h.ctx.Err() == nil { // else leave may have run before there was a task to abandon
			h.task.Run()
		}
		unbind()
		if !h.state.CompareAndSwap(busy, idle) {
			<-h.abandoned
			return
		}
		if !yield(struct{}{}) {
			return
		}
	}
}

// leave abandons the task: the goroutine that waits goes on.
func (h *Handoff) leave() {
	if h.state.CompareAndSwap(busy, left) {
		h.yield(struct{}{})
	}
}

// close ends the second goroutine. One with an abandoned task ends after it.
func (h *Handoff) close() {
	if h.next != nil && h.state.Load() == idle {
		h.unwatch()
		h.stop()
	}
}

// bound reports whether the calling goroutine is bound to its thread. The
// runtime shows this only in the first line of a stack trace.
func bound() bool {
	var head [128]byte
	line, _, _ := bytes.Cut(head[:runtime.Stack(head[:], false)], []byte("\n"))
	return bytes.Contains(line, []byte("locked to thread"))
}

// unbind releases the thread that a task bound and did not release. Calls beyond
// the last release do nothing.
func unbind() {
	const nested = 16 // calls of runtime.LockOSThread that a task may leave open
	for range nested {
		runtime.UnlockOSThread()
	}
}
