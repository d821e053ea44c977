package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/internal/meter"
)

// Warm prepares guests before the first run needs them: it compiles them, lays
// their images in the cache folder, and has instances ready. Without languages
// it prepares all. The progress callback, which may be nil, is told of each
// guest that has to be compiled (EventCompiling) and of each that is ready
// (EventDone), by name, with Done of Total.
//
// A guest that runs programs also practises: the first runs find its memory as
// those after them do.
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
		name      string
		ready     int // instances to have ready
		practises bool
	}
	var modules []module
	add := func(name string, ready int, practises bool) {
		for i := range modules {
			if modules[i].name == name {
				modules[i].ready = max(modules[i].ready, ready)
				modules[i].practises = modules[i].practises || practises
				return
			}
		}
		modules = append(modules, module{name, ready, practises})
	}
	for _, l := range languages {
		g, err := guests.Lookup(l)
		if err != nil {
			return err
		}
		add(g.Module, e.config.Ready, true)
		if g.Compiler != "" {
			add(g.Compiler, min(1, e.config.Ready), false)
		}
	}
	var all []error
	for i, m := range modules {
		g, err := e.guests.load(ctx, m.name, entryPoint, func(name string) { tell(EventCompiling, name, i, len(modules)) })
		if err == nil && m.practises {
			e.practise(ctx, g)
		}
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

// practice is the program that guests practise with. Its value is not looked
// at: what counts are the pages that it writes to, which nearly all do.
const practice = `{"code":"1+1","file":"main","args":null,"argv":[],"env":{},"servers":[],"root":"","packages":""}` + "\n"

// practiceLimits are generous for a sum.
func practiceLimits() Limits {
	return Limits{Fuel: 100e6, Memory: readyMemory, Time: 5 * time.Second, Output: 1 << 10}.OrDefaults()
}

// practise runs the practice program in as many instances at once as programs
// will run, so that what the guest writes to is known, and memories that hold
// it are kept. It fails quietly: the first runs are slower then.
func (e *Engine) practise(ctx context.Context, g *guest) {
	for range 2 {
		var all []*instance
		for range min(e.config.Running+1, 8) {
			i, err := g.fresh(ctx, readyMemory, false)
			if err != nil {
				break
			}
			all = append(all, i)
			i.broken = e.practiceRun(ctx, i) != nil
		}
		for _, i := range all {
			_ = i.Close(context.Background())
		}
	}
}

// practiceRun runs the practice program in an instance.
func (e *Engine) practiceRun(ctx context.Context, i *instance) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	limits := practiceLimits()
	r := &run{ctx: ctx, limits: limits, tank: meter.Tank{Budget: limits.Fuel}, input: []byte(practice), cores: e.cores,
		clock: newClock(true), entropy: entropy(true, 0), files: noFiles, memory: i.main.Memory()}
	return i.alone(r, cancel)
}

// alone runs a guest that has nobody to call, under the limits of r.
func (i *instance) alone(r *run, cancel context.CancelCauseFunc) error {
	r.out = newOutputs(r.limits.Output, Output{}, nil, nil)
	r.time = newDeadline(r.limits.Time, func() { cancel(timeOver(r.limits.Time)) })
	defer r.time.stop()
	i.fuel.Set(0)
	i.run = r
	i.mems.limit, i.mems.armed = r.limits.Memory, true
	err := i.call(r)
	i.mems.armed = false
	i.run = nil
	return err
}
