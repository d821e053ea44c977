package meter_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"github.com/wexec/wexec/internal/meter"
)

// Every program of wazero's specification suite does the same metered as it
// does unmetered: values bit for bit, traps by their message, and what does
// not link still does not. The fuel it uses is one number, whatever the slice
// and the engine.
func TestSpecificationSuiteIsUnchanged(t *testing.T) {
	engines := []struct {
		name   string
		config wazero.RuntimeConfig
		slice  int64
	}{
		{"compiler", wazero.NewRuntimeConfigCompiler(), 1_000_000},
		{"interpreter", wazero.NewRuntimeConfigInterpreter(), 777},
	}
	for _, s := range suites {
		used := map[string]int64{} // of each script, on the first engine
		for _, e := range engines {
			t.Run(s.name+"/"+e.name, func(t *testing.T) {
				total := 0
				for i, sc := range scripts(t, s) {
					if testing.Short() && i%4 != 0 {
						continue
					}
					config := e.config.WithCoreFeatures(s.features)
					p := &pair{t: t, suite: s, script: sc.name}
					p.plain = newWorld(t, config, 0)
					p.metered = newWorld(t, config.WithCoreFeatures(s.features|experimental.CoreFeaturesTailCall), e.slice)
					p.run(sc.Commands)
					total += p.commands
					fuel := p.metered.used()
					p.plain.runtime.Close(context.Background())
					p.metered.runtime.Close(context.Background())
					if p.exhausted {
						continue // how deep the stack goes is the engine's affair
					}
					if want, ok := used[sc.name]; ok && want != fuel {
						t.Errorf("%s: %d fuel, on the other engine %d", sc.name, fuel, want)
					}
					used[sc.name] = fuel
				}
				t.Logf("%d commands", total)
				if total == 0 {
					t.Fatal("nothing ran")
				}
			})
		}
	}
}

// world is a runtime with what a script made in it.
type world struct {
	t       testing.TB
	runtime wazero.Runtime
	slice   int64 // 0: unmetered
	granted int64
	modules []api.Module
	named   map[string]api.Module
	last    api.Module
}

func newWorld(t testing.TB, config wazero.RuntimeConfig, slice int64) *world {
	t.Helper()
	ctx := context.Background()
	w := &world{t: t, runtime: wazero.NewRuntimeWithConfig(ctx, config), slice: slice, named: map[string]api.Module{}}
	if slice > 0 {
		_, err := w.runtime.NewHostModuleBuilder(meter.RefillModule).NewFunctionBuilder().
			WithFunc(func(level int64) int64 {
				grant := max(slice, -level)
				w.granted += grant
				return level + grant
			}).Export(meter.RefillName).Instantiate(ctx)
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.instantiate(specHost(t), "spectest"); err != nil {
		t.Fatal(err)
	}
	return w
}

// instantiate adds a module, metered where the world is. Where a module is
// refused by the meter that is the error.
func (w *world) instantiate(module []byte, name string) (api.Module, error) {
	if w.slice > 0 {
		out, _, err := meter.Rewrite(module, meter.Options{MaxTable: -1})
		if err != nil {
			return nil, err
		}
		module = out
	}
	mod, err := w.runtime.InstantiateWithConfig(context.Background(), module, wazero.NewModuleConfig().WithName(name))
	if err == nil {
		w.modules = append(w.modules, mod)
	}
	return mod, err
}

func (w *world) used() int64 {
	used := w.granted
	for _, m := range w.modules {
		if g := m.ExportedGlobal(meter.FuelExport); g != nil {
			used -= int64(g.Get())
		}
	}
	return used
}

func (w *world) act(a action) ([]uint64, error) {
	m := w.last
	if a.Module != "" {
		m = w.named[a.Module]
	}
	if a.Type == "get" {
		return []uint64{m.ExportedGlobal(a.Field).Get()}, nil
	}
	var args []uint64
	for _, v := range a.Args {
		args = append(args, v.bits(w.t)...)
	}
	return m.ExportedFunction(a.Field).Call(context.Background(), args...)
}

// pair runs a script in two worlds.
type pair struct {
	t              testing.TB
	suite          suite
	script         string
	plain, metered *world
	commands       int
	exhausted      bool
}

func (p *pair) run(commands []command) {
	for i := 0; i < len(commands); i++ {
		c := commands[i]
		where := fmt.Sprintf("%s:%d %s", p.script, c.Line, c.Type)
		p.commands++
		switch c.Type {
		case "module":
			name := ""
			if i+1 < len(commands) && commands[i+1].Type == "register" {
				name = commands[i+1].As
				i++
			}
			module := p.file(c)
			for _, w := range []*world{p.plain, p.metered} {
				mod, err := w.instantiate(module, name)
				if err != nil {
					p.t.Fatalf("%s (metered: %v): %v", where, w.slice > 0, err)
				}
				w.last = mod
				if c.Name != "" {
					w.named[c.Name] = mod
				}
			}
		case "assert_malformed", "assert_invalid":
			if c.ModuleType == "text" {
				continue
			}
			_, plain := p.plain.instantiate(p.file(c), "")
			_, metered := p.metered.instantiate(p.file(c), "")
			if plain == nil {
				p.t.Errorf("%s: wazero takes it", where)
			} else if metered == nil && !becomesValid[p.suite.name+"/"+fmt.Sprintf("%s:%d", p.script, c.Line)] {
				p.t.Errorf("%s: an invalid module became valid: %v", where, plain)
			}
		case "assert_unlinkable", "assert_uninstantiable":
			if c.ModuleType == "text" {
				continue
			}
			_, plain := p.plain.instantiate(p.file(c), "")
			_, metered := p.metered.instantiate(p.file(c), "")
			p.same(where, plain, metered)
		case "assert_return", "action", "assert_trap", "assert_exhaustion":
			p.act(where, c)
		default:
			p.t.Fatalf("%s: unknown command", where)
		}
	}
}

func (p *pair) file(c command) []byte {
	return readFile(p.t, filepath.Join(suiteFolder(p.t, p.suite.name), c.Filename))
}

func (p *pair) act(where string, c command) {
	p.exhausted = p.exhausted || c.Type == "assert_exhaustion"
	plain, plainErr := p.plain.act(c.Action)
	metered, meteredErr := p.metered.act(c.Action)
	p.same(where, plainErr, meteredErr)
	fails := c.Type == "assert_trap" || c.Type == "assert_exhaustion"
	if fails != (meteredErr != nil) {
		p.t.Errorf("%s %s: error is %v", where, c.Action.Field, meteredErr)
	}
	for i, e := range c.Expected {
		if strings.HasSuffix(e.Type, "ref") && i < len(plain) {
			if (plain[i] == 0) != (metered[i] == 0) {
				p.t.Errorf("%s %s: %v, unmetered %v", where, c.Action.Field, metered, plain)
			}
			if e.Type == "funcref" {
				plain[i], metered[i] = 0, 0 // addresses
			}
		}
	}
	if !slices.Equal(plain, metered) {
		p.t.Errorf("%s %s: %v, unmetered %v", where, c.Action.Field, metered, plain)
	}
	if c.Type == "assert_return" && len(c.Expected) == 1 && strings.HasPrefix(c.Expected[0].Type, "i") {
		if want, mask := c.Expected[0].bits(p.t), mask(c.Expected[0].Type); len(metered) != 1 || (metered[0]^want[0])&mask != 0 {
			p.t.Errorf("%s %s: %v, want %v", where, c.Action.Field, metered, want)
		}
	}
}

func (p *pair) same(where string, plain, metered error) {
	if reason(plain) != reason(metered) {
		p.t.Errorf("%s: %v, unmetered %v", where, metered, plain)
	}
}

// becomesValid lists what wazero refuses only because there is no function in
// the module: it takes "ref.null func" for a reference to function 0 where
// a module has functions, and a metered module has one, refill. So the original
// has to be validated.
var becomesValid = map[string]bool{
	"typed-function-references/table:57": true,
	"typed-function-references/table:61": true,
}

var functionIndex = regexp.MustCompile(`function\[\d+\]`)

// reason is an error without the trace and without indices of functions.
func reason(err error) string {
	if err == nil {
		return ""
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return functionIndex.ReplaceAllString(text, "")
}

// mask covers the bits that are part of an integer.
func mask(typ string) uint64 {
	if typ == "i32" {
		return 1<<32 - 1
	}
	return 1<<64 - 1
}
