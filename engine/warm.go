package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wexec/wexec/guests"
)

// Warm prepares guests before the first run needs them: it compiles them, lays
// their images in the cache folder, and has instances ready. Without languages
// it prepares all. The progress callback, which may be nil, is told of each
// guest that has to be compiled (EventCompiling) and of each that is ready
// (EventDone), by name, with Done of Total.
func (e *Engine) Warm(ctx context.Context, progress func(Event), languages ...string) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.live.Done()
	tell := func(t EventType, name string, done, total int) {
		if progress != nil {
			progress(Event{Type: t, Time: time.Now().UTC(), Text: name, Done: float64(done), Total: float64(total)})
		}
	}
	if len(languages) == 0 {
		for _, g := range guests.All() {
			languages = append(languages, g.Language)
		}
	}
	type module struct {
		name  string
		ready int // instances to have ready
	}
	var modules []module
	add := func(name string, ready int) {
		for i := range modules {
			if modules[i].name == name {
				modules[i].ready = max(modules[i].ready, ready)
				return
			}
		}
		modules = append(modules, module{name, ready})
	}
	for _, l := range languages {
		g, err := guests.Lookup(l)
		if err != nil {
			return err
		}
		add(g.Module, e.config.Ready)
		if g.Compiler != "" {
			add(g.Compiler, min(1, e.config.Ready))
		}
	}
	var all []error
	for i, m := range modules {
		g, err := e.guests.load(ctx, m.name, entryPoint, func(name string) { tell(EventCompiling, name, i, len(modules)) })
		if err == nil {
			err = g.pool.warm(ctx, m.ready)
		}
		if err != nil {
			all = append(all, fmt.Errorf("prepare %s: %w", m.name, err))
			continue
		}
		tell(EventDone, m.name, i+1, len(modules))
	}
	return errors.Join(all...)
}
