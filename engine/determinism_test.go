package engine

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

var update = flag.Bool("update", false, "rewrite the golden files")

type item struct {
	ID    int    `json:"id"`
	Name  string `json:"name"`
	Price int    `json:"price"`
}

// shop is a server whose answers depend only on the arguments, and take as
// long as the caller says.
func shop() []hostfns.Provider {
	made := func(id int) item { return item{id, fmt.Sprintf("item %d", id), id * 37 % 101} }
	return []hostfns.Provider{
		hostfns.Func("shop.find", func(ctx context.Context, in struct {
			ID   int `json:"id"`
			Wait int `json:"wait,omitempty"`
		}) (item, error) {
			if in.ID < 0 {
				return item{}, fault.New(fault.ToolFailed, "there is no item %d", in.ID)
			}
			select {
			case <-time.After(time.Duration(in.Wait) * time.Millisecond):
			case <-ctx.Done():
			}
			return made(in.ID), nil
		}),
		hostfns.Func("shop.list", func(_ context.Context, in struct {
			N int `json:"n"`
		}) ([]item, error) {
			var out []item
			for i := range in.N {
				out = append(out, made(i+1))
			}
			return out, nil
		}),
	}
}

// program is one of testdata/programs.txtar.
type program struct{ name, language, code string }

func programs(t testing.TB) []program {
	t.Helper()
	all, err := txtar.ParseFile(filepath.Join("testdata", "programs.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	var out []program
	for _, f := range all.Files {
		language, _ := guests.LanguageOfFile(f.Name)
		out = append(out, program{f.Name, language, string(f.Data)})
	}
	return out
}

// traceOf is everything of a run that has to be the same each time.
func traceOf(t testing.TB, e *Engine, p program) string {
	t.Helper()
	var sink audit.Memory
	off := false
	res, err := e.Run(context.Background(), Request{
		Language: p.language, Code: p.code, File: p.name, Deterministic: true, Seed: 11, Cache: &off,
		Table: newTable(t, &sink, shop()...), Limits: Limits{Time: 5 * time.Minute},
	})
	if err != nil {
		t.Fatalf("%s: %v (%s)", p.name, err, fault.CodeOf(err))
	}
	var calls []string
	for _, c := range res.Calls {
		calls = append(calls, fmt.Sprintf("%s %s %v %d", c.Tool, c.Decision, c.OK, c.Bytes))
	}
	var order []uint64
	for _, e := range sink.Events() {
		if e.End != nil {
			order = e.End.Order
		}
	}
	out := fmt.Sprintf("fuel %d\nvalue %s\n", res.Usage.Fuel, res.Value)
	if res.Stdout+res.Stderr != "" {
		out += fmt.Sprintf("stdout %q\nstderr %q\n", res.Stdout, res.Stderr)
	}
	if len(calls) > 0 {
		out += fmt.Sprintf("calls %s\norder %v\n", strings.Join(calls, ", "), order)
	}
	return out
}

// The same program gives the same value, output, calls and fuel: in a fresh
// instance and in one of the pool, in another engine over the same cache
// folder, and on wazero's interpreter. 1,000 times for each language where the
// tests are not short.
func TestARunIsRepeatedBitForBit(t *testing.T) {
	repeats, restarts, interpreted := 996, 20, 4
	if testing.Short() {
		repeats, restarts, interpreted = 12, 2, 1
	}
	chosen := []string{"parallel.js", "tools.ts", "parallel.py"}
	if !testing.Short() {
		chosen = append(chosen, "chance.js", "timers.js", "fallback.ts", "timers.py", "chance.py", "tools.py")
	}
	pooled, fresh, slow := newReal(t, Config{}), newReal(t, Config{Ready: -1}), newReal(t, Config{Interpreter: true, Ready: -1})
	for _, p := range programs(t) {
		if !slices.Contains(chosen, p.name) {
			continue
		}
		want := traceOf(t, pooled, p)
		same := func(how string, e *Engine) {
			t.Helper()
			if diff := cmp.Diff(want, traceOf(t, e, p)); diff != "" {
				t.Fatalf("%s, %s: (-first +now)\n%s", p.name, how, diff)
			}
		}
		for i := range repeats - restarts {
			if i%3 == 0 {
				same("fresh", fresh)
			} else {
				same("pooled", pooled)
			}
		}
		for range restarts {
			e, err := open(Config{Cache: testCache(t)})
			if err != nil {
				t.Fatal(err)
			}
			same("after a restart", e)
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
		}
		for range interpreted {
			same("on the interpreter", slow)
		}
	}
}

const fuelGolden = "testdata/fuel.golden"

// What programs of each language cost is pinned for the guests as they are
// built in: a cost that changes although the guests did not is an accident. New
// guests are written down by
//
//	go test ./engine -run FuelOfThePrograms -update
func TestTheFuelOfTheProgramsIsPinned(t *testing.T) {
	var head strings.Builder
	for _, name := range []string{"quickjs", "cpython", "esbuild", "treesitter"} {
		m, err := wasmmodules.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&head, "guest %s %s\n", name, m.Digest)
	}
	data, err := os.ReadFile(fuelGolden)
	if err != nil && !*update {
		t.Fatal(err)
	}
	if !*update && !strings.HasPrefix(string(data), head.String()) {
		t.Fatalf("the guests are not those whose fuel is pinned; update the golden file with\n\tgo test ./engine -run FuelOfThePrograms -update")
	}
	e := newReal(t, Config{})
	got := head.String()
	counts := map[string]int{}
	for _, p := range programs(t) {
		counts[p.language]++
		got += "\n" + p.name + "\n" + traceOf(t, e, p)
	}
	for language, n := range counts {
		if n < 12 {
			t.Errorf("%d programs in %s", n, language)
		}
	}
	if *update {
		if err := os.WriteFile(fuelGolden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(string(data), got); diff != "" {
		t.Errorf("the guests are the same, and programs cost or do something else (-want +got):\n%s", diff)
	}
}
