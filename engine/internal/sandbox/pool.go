package sandbox

import (
	"context"
	"sync"
	"time"
)

const (
	// poolIdle is how long a guest may be unused before its ready instances are
	// closed.
	poolIdle = 30 * time.Second
	// maxClosing bounds the instances that are closed at once in goroutines.
	maxClosing = 8
)

// Pool keeps instances of one guest ready. Their number follows use: none
// before the second run, then one more than were recently in use at once. An
// instance is taken once and never returned.
type Pool struct {
	max   int
	fresh func(context.Context) (*Instance, error)
	trim  func() // frees what is kept for new instances

	mu      sync.Mutex
	ready   []*Instance
	uses    int
	live    int // taken and not discarded
	closing int
	target  int
	filling bool
	closed  bool
	idle    *time.Timer
	work    sync.WaitGroup
}

// take notes that an instance is in use from now on. If wanted, it returns a
// ready one, or nil if there is none.
func (p *Pool) take(wanted bool) *Instance {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.uses++
	p.live++
	if p.uses > 1 {
		p.target = min(max(p.target, p.live+1), p.max)
	}
	var i *Instance
	if n := len(p.ready); n > 0 && wanted {
		i = p.ready[n-1]
		p.ready[n-1] = nil
		p.ready = p.ready[:n-1]
	}
	if p.idle != nil {
		p.idle.Reset(poolIdle)
	} else if !p.closed {
		p.idle = time.AfterFunc(poolIdle, p.drain)
	}
	if i == nil && wanted {
		p.fill()
	}
	return i
}

// done notes that an instance is no longer in use.
func (p *Pool) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live--
	if len(p.ready) < max(p.target/2, 1) {
		p.fill()
	}
}

// background runs f in a goroutine. It returns false if too many run already.
func (p *Pool) background(f func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.closing >= maxClosing {
		return false
	}
	p.closing++
	p.work.Go(func() {
		f()
		p.mu.Lock()
		p.closing--
		p.mu.Unlock()
	})
	return true
}

// fill makes instances up to the target, in one goroutine. It begins when a run
// ends and less than half of them are left, so that it does not slow runs down,
// or when none is left. The lock is held.
func (p *Pool) fill() {
	if p.filling || p.closed || p.target == 0 {
		return
	}
	p.filling = true
	p.work.Go(func() {
		for p.addOne() {
		}
	})
}

// addOne makes one instance and reports whether more are needed.
func (p *Pool) addOne() (more bool) {
	i, err := p.fresh(context.Background())
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.ready = append(p.ready, i)
	}
	p.filling = err == nil && !p.closed && len(p.ready) < p.target
	return p.filling
}

// warm makes n instances before it returns.
func (p *Pool) warm(ctx context.Context, n int) error {
	for range min(n, p.max) {
		i, err := p.fresh(ctx)
		if err != nil {
			return err
		}
		p.mu.Lock()
		if p.closed {
			p.mu.Unlock()
			return i.Close(ctx)
		}
		p.uses++
		p.target = max(p.target, min(n, p.max))
		p.ready = append(p.ready, i)
		p.mu.Unlock()
	}
	return nil
}

// drain closes the ready instances.
func (p *Pool) drain() {
	p.mu.Lock()
	spare := p.ready
	p.ready, p.target, p.uses = nil, 0, 0
	p.mu.Unlock()
	for _, i := range spare {
		_ = i.Close(context.Background())
	}
	p.trim()
}

// close closes all ready instances, and keeps no more.
func (p *Pool) close() {
	p.mu.Lock()
	p.closed = true
	if p.idle != nil {
		p.idle.Stop()
	}
	p.mu.Unlock()
	p.work.Wait()
	p.drain()
}
