package hostfns

// workers are the goroutines of a run. One that has ended its work waits for
// more: its stack has grown to what a call needs, and growing it anew would be
// a good part of what a call costs.
type workers struct {
	jobs chan func()
	idle chan struct{} // a place for each that may wait
	done <-chan struct{}
}

// maxIdle bounds the goroutines that wait for work.
const maxIdle = 32

func newWorkers(done <-chan struct{}) *workers {
	return &workers{jobs: make(chan func()), idle: make(chan struct{}, maxIdle), done: done}
}

// run runs f in a goroutine of its own. It must not panic.
func (w *workers) run(f func()) {
	select {
	case w.jobs <- f:
	default:
		go w.work(f)
	}
}

func (w *workers) work(f func()) {
	for {
		f()
		select {
		case w.idle <- struct{}{}:
		default:
			return
		}
		select {
		case f = <-w.jobs:
			<-w.idle
		case <-w.done:
			return
		}
	}
}
