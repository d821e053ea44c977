package meter_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tetratelabs/wazero"

	"github.com/wexec/wexec/internal/meter"
)

const plenty = int64(1e12)

func TestProgramsDoTheSameMetered(t *testing.T) {
	for _, e := range engines {
		for _, p := range programs() {
			plain := setUp(t, e.config, p.bytes())
			with := setUp(t, e.config, metered(t, p))
			for _, arg := range p.args {
				want, got := plain.run(arg, nil), with.run(arg, &meter.Tank{Budget: plenty})
				if want.value != got.value || want.err != got.err {
					t.Errorf("%s(%d) on the %s: %+v, unmetered %+v", p.name, arg, e.name, got, want)
				}
			}
		}
	}
}

func TestFuelIsTheSameForEverySliceAndEngine(t *testing.T) {
	for _, p := range programs() {
		for _, arg := range p.args {
			seen := map[int64]string{}
			for _, e := range engines {
				b := setUp(t, e.config, metered(t, p))
				for _, slice := range []int64{1, 10, 999, 0, 1 << 40} {
					o := b.run(arg, &meter.Tank{Budget: plenty, Slice: slice})
					seen[o.fuel] = fmt.Sprintf("%s, slice %d", e.name, slice)
				}
			}
			if len(seen) != 1 {
				t.Errorf("%s(%d): %v", p.name, arg, seen)
			}
		}
	}
}

func TestFuelIsExactAtTheEdge(t *testing.T) {
	for _, p := range programs() {
		b := setUp(t, engines[0].config, metered(t, p))
		for _, arg := range p.args {
			used := b.run(arg, &meter.Tank{Budget: plenty})
			for _, slice := range []int64{1, 100, 0} {
				exact := b.run(arg, &meter.Tank{Budget: used.fuel, Slice: slice})
				if exact != used {
					t.Errorf("%s(%d), slice %d, with the %d fuel it uses: %+v", p.name, arg, slice, used.fuel, exact)
				}
				short := b.run(arg, &meter.Tank{Budget: used.fuel - 1, Slice: slice})
				if !short.noGas {
					t.Errorf("%s(%d), slice %d, with a unit less than %d: %+v", p.name, arg, slice, used.fuel, short)
				}
			}
		}
	}
}

func TestAStoppedRunSaysHowMuchItUsed(t *testing.T) {
	p := programs()[3] // loop
	for _, e := range engines {
		b := setUp(t, e.config, metered(t, p))
		var seen []int64
		for _, slice := range []int64{3, 50, 0} {
			o := b.run(1<<30, &meter.Tank{Budget: 5000, Slice: slice})
			if !o.noGas || o.fuel <= 5000 || o.fuel > 5000+64 {
				t.Errorf("slice %d on the %s: %+v", slice, e.name, o)
			}
			seen = append(seen, o.fuel)
		}
		if seen[0] != seen[1] || seen[1] != seen[2] {
			t.Errorf("stopped at %v on the %s", seen, e.name)
		}
	}
}

// How deep a program can go is its own affair, and not that of the slices in
// which its fuel is granted: what refuels at an entry leaves nothing behind.
func TestRefillsTakeNoStack(t *testing.T) {
	deep := simple("recursion", nil, nil, get(0), num(1), 0x6a, call(0), num(1), 0x6a)
	b := setUp(t, engines[0].config, metered(t, deep))
	want := b.run(0, &meter.Tank{Budget: plenty, Slice: plenty})
	if want.err == "" || want.noGas {
		t.Fatalf("endless recursion: %+v", want)
	}
	for _, slice := range []int64{5, 1000, 0} { // at every call, at every two hundredth, seldom
		got := b.run(0, &meter.Tank{Budget: plenty, Slice: slice})
		if d := got.fuel - want.fuel; got.err != want.err || max(d, -d) > want.fuel/100 {
			t.Errorf("slice %d: %+v, in one piece %+v", slice, got, want)
		}
	}
}

// Programs without loops or recursion can run for years, and programs whose
// loops are long lines or calls of imports through tables could pay little:
// all come back to the host soon.
func TestNoShapeOfProgramEscapesTheMeter(t *testing.T) {
	forever := func(locals []byte, code ...any) program {
		return simple("", nil, locals, 0x03, 0x40, cat(code...), 0x0c, 0, 0x0b, get(0))
	}
	doubling := simple("doubling", nil, nil, get(0), call(1))
	for i := 1; i <= 60; i++ {
		doubling.funcs = append(doubling.funcs, body{typ: tRun, code: cat(get(0), call(i+1), call(i+1))})
	}
	doubling.funcs = append(doubling.funcs, body{typ: tRun, code: get(0)})

	doublingByTail := simple("doubling by tail call", nil, nil, get(0), call(1))
	for i := 1; i <= 60; i++ {
		doublingByTail.funcs = append(doublingByTail.funcs,
			body{typ: tRun, code: cat(get(0), call(i+1), 0x12, i+1)})
	}
	doublingByTail.funcs = append(doublingByTail.funcs, body{typ: tRun, code: get(0)})

	leaf := simple("leaf in a table", nil, nil,
		0x03, 0x40, repeat(50, cat(get(0), num(0), 0x11, tRun, 0, 0x1a)), 0x0c, 0, 0x0b, get(0))
	leaf.tables, leaf.elements = []int{1}, []byte{1}
	leaf.funcs = append(leaf.funcs, body{typ: tRun, code: cat(get(0), repeat(40, cat(num(1), 0x6a)))})

	host := program{"host in a table", nil, source{types: programTypes, pages: -1,
		imports: []imported{{"env", "double", tRun}}, tables: []int{1}, elements: []byte{0},
		funcs: []body{{name: "run", typ: tRun,
			code: cat(0x03, 0x40, get(0), num(0), 0x11, tRun, 0, 0x1a, 0x0c, 0, 0x0b, get(0))}}}}

	cases := []program{doubling, doublingByTail, leaf, host,
		forever(nil),
		forever(nil, repeat(20_000, cat(get(0), 0x1a))),
		forever(nil, repeat(200, cat(get(0), 0x04, 0x40, 0x05, repeat(100, cat(get(0), 0x1a)), 0x0b))),
		simple("recursion", nil, nil, get(0), call(0)),
		simple("tail call", nil, nil, get(0), 0x12, 0),
	}
	fill := forever(nil, num(0), num(0), num(65536), 0xfc, 11, 0)
	fill.pages = 1
	growth := forever(nil, num(0), 0x40, 0, 0x1a)
	growth.pages = 1
	cases = append(cases, fill, growth, forever(nil, 0xd2, 0, 0x1a))
	cases[len(cases)-1].elements, cases[len(cases)-1].tables = []byte{0}, []int{1}

	for i, p := range cases {
		b := setUp(t, engines[0].config, metered(t, p))
		start := time.Now()
		o := b.run(0, &meter.Tank{Budget: 1_000_000})
		if took := time.Since(start); !o.noGas || took > time.Minute { // the race detector and a busy machine included
			t.Errorf("case %d %s: %+v after %v", i, p.name, o, took)
		}
	}
}

func TestNothingIsChargedForWhatCostsNothing(t *testing.T) {
	p := simple("", nil, nil, get(0), 0x40, 0)
	p.pages = 1
	o := meter.Options{Weights: meter.Weights{Page: -1}}
	out, _, err := meter.Rewrite(p.bytes(), o)
	if err != nil {
		t.Fatal(err)
	}
	b := setUp(t, engines[0].config, out)
	if one, ten := b.run(1, &meter.Tank{Budget: plenty}), b.run(10, &meter.Tank{Budget: plenty}); one.fuel != ten.fuel {
		t.Errorf("one page %d, ten pages %d", one.fuel, ten.fuel)
	}
}

func TestRefillModuleHasTheGivenName(t *testing.T) {
	p := programs()[0]
	out, info, err := meter.Rewrite(p.bytes(), meter.Options{ImportModule: "other", ImportName: "pay"})
	if err != nil {
		t.Fatal(err)
	}
	if len(info.Imports) != 0 {
		t.Errorf("imports of the original: %v", info.Imports)
	}
	code := setUp(t, engines[1].config, out).code
	for _, f := range code.ImportedFunctions() {
		if module, name, _ := f.Import(); module != "other" || name != "pay" {
			t.Errorf("imports %s.%s", module, name)
		}
	}
}

func TestImportsAreRedirected(t *testing.T) {
	s := source{types: programTypes, pages: -1,
		imports: []imported{{"env", "double", tRun}, {"env", "free", tPlain}, {"env", "double", tRun}, {"a", "double", tRun}},
		funcs:   []body{{name: "run", typ: tRun, code: get(0)}}}
	out, info, err := meter.Rewrite(s.bytes(), meter.Options{Redirect: map[string]string{"env.double": "elsewhere"}})
	if err != nil || len(info.Imports) != 4 || info.Imports[0].Module != "env" {
		t.Fatal(info, err)
	}
	code, err := wazero.NewRuntime(t.Context()).CompileModule(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range code.ImportedFunctions() {
		module, name, _ := f.Import()
		got = append(got, module+"."+name)
	}
	want := []string{"elsewhere.double", "env.free", "elsewhere.double", "a.double", "wexec.refill"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestTankNeverGrantsMoreThanItsBudget(t *testing.T) {
	tank := meter.Tank{Budget: 100, Slice: 30}
	level, ok := tank.Refill(-5)
	if level != 25 || !ok {
		t.Fatalf("level %d, %v", level, ok)
	}
	if level, ok = tank.Refill(-65); level != 0 || !ok {
		t.Fatalf("level %d, %v: a debt above the slice", level, ok)
	}
	if used := tank.Used(level); used != 95 {
		t.Fatalf("used %d", used)
	}
	if level, ok = tank.Refill(-5); level != 0 || !ok {
		t.Fatalf("level %d, %v: the last of it", level, ok)
	}
	if level, ok = tank.Refill(-1); level != -1 || ok {
		t.Fatalf("level %d, %v: past the budget", level, ok)
	}
	if !tank.Settle(0) || tank.Settle(-1) {
		t.Fatal("a debt is settled only within the budget")
	}
}
