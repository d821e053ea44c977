package service

import "sync"

// watchers wake those who wait for a run.
type watchers struct {
	mu  sync.Mutex
	all map[runKey]*watched
}

// watched is a run that somebody waits for.
type watched struct {
	changed chan struct{}
	by      int
}

// watch returns a channel that is closed at the next change of a run in this
// process. The caller calls stop when it no longer waits.
func (w *watchers) watch(key runKey) (changed <-chan struct{}, stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	run, ok := w.all[key]
	if !ok {
		if w.all == nil {
			w.all = map[runKey]*watched{}
		}
		run = &watched{changed: make(chan struct{})}
		w.all[key] = run
	}
	run.by++
	return run.changed, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if run.by--; run.by == 0 && w.all[key] == run {
			delete(w.all, key)
		}
	}
}

// wake wakes those who wait for a run.
func (w *watchers) wake(key runKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if run, ok := w.all[key]; ok {
		close(run.changed)
		delete(w.all, key)
	}
}
