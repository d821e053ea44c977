package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wexec/wexec/guests"
)

// Warm prepares guests before the first run needs them: it compiles them, writes
// their memory images to the cache folder, and makes instances ready. Without
// languages it prepares all. Progress, which may be nil, is called for each
// guest that has to be compiled (EventCompiling) and for each that is ready
// (EventDone), with its name, and Done of Total.
//
// A guest that runs programs also runs a small one, so that the first runs find
// its memory as later ones do.
func (e *Engine) Warm(ctx context.Context, progress func(Event), languages ...string) error {
	if err := e.enter(); err != nil {
		return err
	}
	defer e.live.Done()
	if len(languages) == 0 {
		for _, g := range guests.All() {
			languages = append(languages, g.Language)
		}
	}
	// Compilers run once for a program, and need one instance.
	var programs, compilers []string
	add := func(list *[]string, module string) {
		if module != "" && !slices.Contains(*list, module) {
			*list = append(*list, module)
		}
	}
	for _, l := range languages {
		g, err := guests.Lookup(l)
		if err != nil {
			return err
		}
		add(&programs, g.Module)
		add(&compilers, g.Compiler)
	}
	var errs []error
	modules := slices.Concat(programs, compilers)
	for i, module := range modules {
		report := func(t EventType, done int) {
			if progress != nil {
				progress(Event{Type: t, Time: time.Now().UTC(), Text: module, Done: float64(done), Total: float64(len(modules))})
			}
		}
		if err := e.warm(ctx, module, i < len(programs), func(string) { report(EventCompiling, i) }); err != nil {
			errs = append(errs, fmt.Errorf("prepare %s: %w", module, err))
			continue
		}
		report(EventDone, i+1)
	}
	return errors.Join(errs...)
}

// warm prepares one guest.
func (e *Engine) warm(ctx context.Context, module string, runsPrograms bool, compiling func(string)) error {
	g, err := e.guests.Load(ctx, module, compiling)
	if err != nil {
		return err
	}
	if !runsPrograms {
		return g.Warm(ctx, min(1, e.config.Ready))
	}
	g.Practise(ctx, min(e.config.Running+1, 8))
	return g.Warm(ctx, e.config.Ready)
}
