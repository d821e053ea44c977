package hostfns

import (
	"bytes"
	"context"
	"iter"
	"runtime"
	"sync/atomic"
)

// aside does a job on a goroutine of its own while the one that asks for it
// waits. The two take turns on one thread: what goes over is control, as in a
// coroutine, so that no idle processor is woken, which is what most of a
// hand-over by channel costs. A job that does not come back when the context
// ends is left behind.
//
// The turns are those of [iter.Pull]. Its yield resumes whoever waits in next,
// and may be called by somebody else in the place of a job that hangs.
type aside struct {
	ctx context.Context

	job      job
	next     func() (struct{}, bool)
	stop     func()
	yield    func(struct{}) bool
	unwatch  func() bool
	state    atomic.Int32
	released chan struct{} // closed once nobody waits for a job that was left behind
}

// The states of an aside.
const (
	asideIdle   int32 = iota
	asideBusy         // the job is being done
	asideLeft         // nobody waits for it any more
	asideBroken       // it has ended its goroutine, as runtime.Goexit does
	asideWired        // jobs are done elsewhere
)

// open makes the goroutine. It is false for a caller that is bound to its
// thread, since turns are taken on one thread, and after a job was left behind.
func (a *aside) open() bool {
	switch {
	case a.state.Load() == asideLeft:
		return false
	case a.next != nil:
		return true
	case a.state.Load() == asideWired || wired():
		a.state.Store(asideWired)
		return false
	}
	a.released = make(chan struct{})
	a.next, a.stop = iter.Pull(a.serve)
	a.unwatch = context.AfterFunc(a.ctx, a.leave)
	return true
}

// job is what an aside does.
type job interface{ work() }

// do does a job, after open. It is false where the job was left behind: what it
// writes then is not to be read.
func (a *aside) do(j job) bool {
	a.job = j
	a.next()
	switch a.state.Load() {
	case asideIdle:
		return true
	case asideBroken:
		a.unwatch()
		go a.stop() // which would end this goroutine too
		a.next = nil
		a.state.Store(asideIdle)
		return true
	}
	close(a.released)
	return false
}

// serve does one job after the other.
func (a *aside) serve(yield func(struct{}) bool) {
	a.yield = yield
	defer func() {
		if a.state.CompareAndSwap(asideBusy, asideBroken) {
			yield(struct{}{})
		}
	}()
	for {
		a.state.Store(asideBusy)
		if a.ctx.Err() == nil { // else leave has looked before there was something to leave
			a.job.work()
		}
		unwire()
		if !a.state.CompareAndSwap(asideBusy, asideIdle) {
			<-a.released
			return
		}
		if !yield(struct{}{}) {
			return
		}
	}
}

// leave lets the one that waits go on, in place of the job.
func (a *aside) leave() {
	if a.state.CompareAndSwap(asideBusy, asideLeft) {
		a.yield(struct{}{})
	}
}

// close ends the goroutine, unless it was left behind: then it ends by itself.
func (a *aside) close() {
	if a.next != nil && a.state.Load() == asideIdle {
		a.unwatch()
		a.stop()
	}
}

// wired reports whether this goroutine is bound to its thread. The runtime
// tells it in the first line of a stack alone.
func wired() bool {
	var head [128]byte
	line, _, _ := bytes.Cut(head[:runtime.Stack(head[:], false)], []byte("\n"))
	return bytes.Contains(line, []byte("locked to thread"))
}

// unwire undoes what a job did that bound its goroutine to a thread and forgot
// about it. Where nothing is bound it does nothing.
func unwire() {
	for range 16 {
		runtime.UnlockOSThread()
	}
}
