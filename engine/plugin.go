package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/tetratelabs/wazero"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/jsonscan"
	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/snapshot"
)

// maxPlugin bounds the module of a foreign plugin, in bytes.
const maxPlugin = 64 << 20

// extismModule is where a foreign plugin imports from.
const extismModule = "extism:host/env"

// kernelCalls are what a foreign plugin may import from Extism: its way to
// input, output, memory, variables and log. The network is not among them.
func kernelCalls() []string {
	return []string{
		"alloc", "free", "load_u8", "load_u64", "store_u8", "store_u64", "input_load_u8", "input_load_u64",
		"input_set", "output_set", "input_length", "input_offset", "output_length", "output_offset",
		"length", "length_unsafe", "reset", "error_set", "error_get", "memory_bytes",
		"config_get", "var_get", "var_set", "get_log_level", "log_trace", "log_debug", "log_info", "log_warn", "log_error",
	}
}

// kernelPrice is what a call of Extism's kernel costs in fuel, as long as it
// takes: its SDK goes through the kernel's exports by name, 20 µs each time.
const kernelPrice = 2000

// kernelPrices are the prices of those calls that take so long. Words of eight
// bytes are loaded and stored without the kernel.
func kernelPrices() map[string]int64 {
	prices := map[string]int64{}
	for _, name := range kernelCalls() {
		if !strings.HasSuffix(name, "_u64") {
			prices[extismModule+"."+name] = kernelPrice
		}
	}
	return prices
}

// runPlugin calls the request's function of a foreign plugin. It is metered and
// capped as any guest is.
func (j *job) runPlugin(r *run) {
	g, functions, err := j.e.guests.plugin(r.ctx, j.foreign)
	if err != nil {
		j.failIn(r.ctx, err)
		return
	}
	j.res.Provenance.Guest = g.digest
	if !functions[j.req.Function] {
		j.fail(noFunction(j.req.Function, functions))
		return
	}
	if g.minimum > j.limits.Memory {
		j.fail(memoryOver(j.limits.Memory).WithHint("the plugin begins with that: it needs at least --memory %s", size(g.minimum)))
		return
	}
	err = r.waitForRoom(g.minimum)
	r.parked = 0 // it has not begun
	var i *instance
	if err == nil {
		i, err = g.fresh(r.ctx, j.limits.Memory, false)
	}
	if err != nil {
		j.failIn(r.ctx, err)
		return
	}
	defer i.Close(context.Background())
	if err := j.bind(r, g, i); err != nil {
		j.failIn(r.ctx, err)
		return
	}
	j.event(Event{Type: EventStarted})
	begun := time.Now()
	status, output, err := i.callFunction(r, j.req.Function, j.req.Input)
	if err == nil && status != 0 {
		err = fault.New(fault.GuestException, "the function returned the status %d", status)
	}
	if err != nil {
		j.finish(r, i, begun, pluginError(err))
		return
	}
	j.finish(r, i, begun, nil)
	if j.fault != nil {
		return
	}
	if r.out.take(len(output)) < len(output) {
		j.fail(r.out.over())
		return
	}
	j.value(output)
}

// noFunction is the fault of a call of a function that is not there.
func noFunction(name string, functions map[string]bool) *fault.Error {
	f := fault.New(fault.UsageFlag, "the plugin has no function %q that takes nothing and returns a status", clip(name, 100))
	if len(functions) == 0 {
		return f.WithHint("it has none at all: it is no Extism plugin")
	}
	hint := "it has " + words(names(functions, 20))
	if near := catalogue.NearestOf(name, first(functions, 1000)); near != "" {
		hint = "did you mean " + shown(near) + "? " + hint
	}
	return f.WithHint("%s", hint)
}

// pluginError says why a plugin failed. What its author would call an
// exception is one here too, and no fault of wexec.
func pluginError(err error) error {
	f := trapped(err)
	if f.Code != fault.Internal {
		return err
	}
	text, ok := strings.CutPrefix(f.Message, "the guest failed: ")
	if !ok {
		text = strings.Replace(f.Message, "the interpreter", "the plugin", 1)
		text = strings.Replace(text, guestTrapped, "the plugin trapped: ", 1)
	}
	return fault.New(fault.GuestException, "%s", clip(text, maxMessage))
}

// value makes the bytes that a plugin returned the result: JSON as it is, text
// as a string, anything else as bytes.
func (j *job) value(output []byte) {
	var err error
	switch {
	case len(output) == 0:
	case jsonscan.Valid(output):
		j.res.Value, err = j.tools.EgressJSON("value", output)
		output = j.res.Value
	case utf8.Valid(output):
		text := j.tools.Egress("value", string(output))
		output = []byte(text)
		j.res.Value, err = json.Marshal(text)
	default:
		j.res.Value, err = json.Marshal(map[string]string{"$bytes": base64.StdEncoding.EncodeToString(output)})
	}
	j.fail(err)
	j.res.output = output
	j.res.reveal = j.tools.Reveal
}

// readPlugin reads the module of a foreign plugin, which has to be the one that
// is meant.
func readPlugin(path, want string) ([]byte, error) {
	wasm, err := readBounded(path, maxPlugin)
	if err != nil {
		if os.IsNotExist(err) {
			return nil, fault.New(fault.UsageFile, "there is no plugin at %s", path)
		}
		return nil, fault.New(fault.UsageFile, "the plugin cannot be read: %w", err)
	}
	if sum := digest(wasm); want != "" && !strings.EqualFold(want, sum) {
		return nil, fault.New(fault.UsageFile, "the plugin has the digest %s and not %s", sum, clip(want, 64)).
			WithHint("it is another file than the one that was approved")
	}
	return wasm, nil
}

// plugin loads a foreign plugin, and names the functions that can be called.
// The same module is compiled once.
func (s *guestSet) plugin(ctx context.Context, wasm []byte) (*guest, map[string]bool, error) {
	sum := digest(wasm)
	id := "plugin:" + sum
	s.mu.Lock()
	l := s.byID[id]
	if l == nil {
		l = &loading{done: make(chan struct{})}
		s.byID[id] = l
		go func() {
			l.guest, l.functions, l.err = s.loadPlugin(wasm, sum)
			if l.err != nil {
				s.mu.Lock()
				delete(s.byID, id)
				s.mu.Unlock()
			}
			close(l.done)
		}()
	}
	s.mu.Unlock()
	select {
	case <-l.done:
		return l.guest, l.functions, l.err
	case <-ctx.Done():
		return nil, nil, context.Cause(ctx)
	}
}

// loadPlugin checks, meters and compiles a foreign module.
func (s *guestSet) loadPlugin(wasm []byte, sum string) (*guest, map[string]bool, error) {
	ctx := s.e.ctx
	bad := func(format string, args ...any) (*guest, map[string]bool, error) {
		return nil, nil, fault.New(fault.UsageFile, "the plugin cannot be used: "+format, args...)
	}
	// The meter believes no count: wazero makes room for as many as a file says
	// it has, which ends the process where a few bytes say billions. But the
	// meter is no validator, so wazero sees the original too.
	metered, info, err := meter.Rewrite(wasm, meter.Options{Start: startExport, Weights: meter.Weights{Hosts: kernelPrices()}})
	if err != nil {
		return bad("%w", err)
	}
	rt := wazero.NewRuntimeWithConfig(ctx, runtimeConfig(true))
	defer rt.Close(ctx)
	if _, err := rt.CompileModule(ctx, wasm); err != nil {
		return bad("%w", err)
	}
	for _, i := range info.Imports {
		switch {
		case i.Module == "wasi_snapshot_preview1":
		case i.Module == extismModule && slices.Contains(kernelCalls(), i.Name):
		default:
			return bad("it imports %s.%s, which no plugin may have", shown(i.Module), shown(i.Name))
		}
	}
	functions := map[string]bool{}
	compiled, err := s.e.cache.compile(withWorkers(ctx), metered, "", s.e.config.Interpreter)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range info.Exports {
		if e.Kind == meter.Func && (e.Type == "() -> (i32)" || e.Type == "() -> ()") && !strings.HasPrefix(e.Name, "_") {
			functions[e.Name] = true
		}
	}
	blank := snapshot.Empty(s.e.cache.memories)
	minimum := int64(0)
	if info.Memory != nil {
		minimum = int64(info.Memory.Min) << 16
	}
	return &guest{
		name: "the plugin", minimum: minimum, digest: sum, compiled: compiled, ledger: &s.e.ledger,
		image: blank, pool: pool{trim: blank.Trim},
	}, functions, nil
}

// names are the first few names of a set, sorted, as they can be shown.
func names(set map[string]bool, most int) []string {
	out := first(set, most)
	for i := range out {
		out[i] = shown(out[i])
	}
	if len(set) > most {
		out = append(out, "more")
	}
	return out
}

// first are the first few of a set, sorted.
func first(set map[string]bool, most int) []string {
	all := slices.Sorted(maps.Keys(set))
	return all[:min(len(all), most)]
}

// shown is a name that a foreign module gives, short and on one line.
func shown(name string) string {
	name = clip(name, 60)
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(name)
	}
	return name
}
