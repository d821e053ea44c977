package guestcache

import (
	"context"

	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/guests"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// Prefetch starts to load the guest of a language. It compiles nothing: if the
// folder lacks the code nothing is loaded.
func (s *Store) Prefetch(language string) {
	if g, err := guests.Lookup(language); err == nil {
		s.startPrefetch(g.Module, wasmmodules.Open)
	}
}

func (s *Store) startPrefetch(module string, open func(string) (*wasmmodules.Module, error)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.prefetch != nil || s.dir == "" {
		return
	}
	p := &prefetch{module: module, done: make(chan struct{})}
	s.prefetch = p
	go func() {
		defer close(p.done)
		m, err := open(module)
		if err != nil {
			return
		}
		stub, err := s.stub(m)
		if err != nil {
			return
		}
		p.digest = m.Digest
		p.loaded, _ = s.loadStub(context.Background(), m, stub)
	}()
}

// prefetched returns the prefetched module of a guest to the first caller.
func (s *Store) prefetched(m *wasmmodules.Module) *sandbox.Module {
	s.mu.Lock()
	p := s.prefetch
	wanted := p != nil && p.module == m.Name
	if wanted {
		s.prefetch = nil
	}
	s.mu.Unlock()
	if !wanted {
		return nil
	}
	if <-p.done; p.digest != m.Digest {
		_ = p.drop()
		return nil
	}
	return p.loaded
}

// drop frees what was prefetched in vain.
func (p *prefetch) drop() error {
	<-p.done
	if p.loaded == nil {
		return nil
	}
	return p.loaded.Close(context.Background())
}
