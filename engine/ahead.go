package engine

import (
	"context"

	"github.com/wexec/wexec/guests"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// early is a guest whose native code is loaded before anybody asks for it.
type early struct {
	module string
	done   chan struct{}

	// What came of it; nil where the code has to be made, which is not done early.
	got *compiled
	of  *wasmmodules.Module
}

// Begin loads the guest of a language beside what its caller does next: a
// command that knows what it is going to run has other things to make ready.
// Nothing is compiled; where the folder lacks the code nothing comes of it.
func (c *Cache) Begin(language string) {
	if g, err := guests.Lookup(language); err == nil {
		c.begin(g.Module, wasmmodules.Open)
	}
}

func (c *Cache) begin(module string, open func(string) (*wasmmodules.Module, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.begun != nil || c.dir == "" {
		return
	}
	e := &early{module: module, done: make(chan struct{})}
	c.begun = e
	go func() {
		defer close(e.done)
		m, err := open(module)
		if err != nil {
			return
		}
		skeleton, err := c.skeletonOf(m)
		if err != nil {
			return
		}
		if got, err := c.load(context.Background(), m, skeleton, entryPoint); err == nil {
			e.got, e.of = got, m
		}
	}()
}

// early gives what was begun for a module, once: it belongs to who gets it.
func (c *Cache) early(m *wasmmodules.Module) *compiled {
	c.mu.Lock()
	e := c.begun
	if e == nil || e.module != m.Name {
		c.mu.Unlock()
		return nil
	}
	c.begun = nil
	c.mu.Unlock()
	<-e.done
	if e.got != nil && e.of.Digest != m.Digest {
		_ = e.got.Close(context.Background())
		return nil
	}
	return e.got
}

// dropEarly gives back what was begun and never asked for. The cache is locked.
func (c *Cache) dropEarly() error {
	e := c.begun
	if e == nil {
		return nil
	}
	c.begun = nil
	<-e.done
	if e.got == nil {
		return nil
	}
	return e.got.Close(context.Background())
}
