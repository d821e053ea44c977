package queue

import "context"

// Workers are goroutines that run functions. A goroutine that is done waits for
// more work: its stack has the size that a call needs, and growing a new one is a
// good part of the cost of a call.
type Workers struct {
	work chan func()
	idle chan struct{} // one place for each goroutine that may wait
	done <-chan struct{}
}

// maxIdle is the number of goroutines that wait for work.
const maxIdle = 32

// NewWorkers returns workers that end when done is closed.
func NewWorkers(done <-chan struct{}) *Workers {
	return &Workers{work: make(chan func()), idle: make(chan struct{}, maxIdle), done: done}
}

// Go runs f in another goroutine. It must not panic.
func (w *Workers) Go(f func()) {
	select {
	case w.work <- f:
	default:
		go w.loop(f)
	}
}

func (w *Workers) loop(f func()) {
	for {
		f()
		select {
		case w.idle <- struct{}{}:
		default:
			return
		}
		select {
		case f = <-w.work:
			<-w.idle
		case <-w.done:
			return
		}
	}
}

// Do runs a task in another goroutine: that of h, or one of the workers if h is
// nil or cannot be used. It returns false if the context ends before the task,
// which is abandoned then: what it writes must not be read.
func (w *Workers) Do(ctx context.Context, h *Handoff, t Task) bool {
	if h != nil && h.open() {
		return h.do(t)
	}
	done := make(chan struct{})
	w.Go(func() {
		defer close(done)
		t.Run()
	})
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}
	select {
	case <-done: // at the same moment
		return true
	default:
		return false
	}
}
