package meter_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/internal/meter"
)

// refused rewrites a module that must not be taken, within bounds of time and
// memory.
func refused(t *testing.T, name string, module []byte, kind error) string {
	t.Helper()
	err := bounded(t, name, module)
	var e *meter.Error
	if !errors.Is(err, kind) || !errors.As(err, &e) {
		t.Errorf("%s: %v, want %v", name, err, kind)
		return ""
	}
	return e.Message
}

// TestInspectTakesWhatRewriteTakes and says the same of it.
func TestInspectTakesWhatRewriteTakes(t *testing.T) {
	for _, p := range programs() {
		info, err := meter.Inspect(p.bytes(), meter.Options{})
		if err != nil {
			t.Fatal(err)
		}
		_, rewritten, _ := meter.Rewrite(p.bytes(), meter.Options{})
		rewritten.ChargePoints = 0
		if diff := cmp.Diff(info, rewritten); diff != "" {
			t.Errorf("%s: %s", p.name, diff)
		}
	}
	info, err := meter.Inspect(programs()[len(programs())-5].bytes(), meter.Options{})
	want := []meter.Import{{Module: "env", Name: "double", Kind: meter.Func, Type: "(i32) -> (i32)"},
		{Module: "env", Name: "free", Kind: meter.Func, Type: "() -> ()"}}
	if diff := cmp.Diff(want, info.Imports); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if diff := cmp.Diff([]meter.Export{{Name: "run", Kind: meter.Func, Type: "(i32) -> (i32)"}}, info.Exports); diff != "" {
		t.Error(diff)
	}
	if _, err := meter.Inspect(raw(0x1f), meter.Options{}); !errors.Is(err, meter.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

func bounded(t *testing.T, name string, module []byte) error {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	_, _, err := meter.Rewrite(module, meter.Options{})
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	if took > 30*time.Second+time.Duration(len(module))*time.Microsecond {
		t.Errorf("%s took %v", name, took)
	}
	if made, most := after.TotalAlloc-before.TotalAlloc, uint64(1<<20+300*len(module)); made > most {
		t.Errorf("%s: %d bytes of memory for %d", name, made, len(module))
	}
	return err
}

var header = []byte("\x00asm\x01\x00\x00\x00")

func moduleOf(sections ...[]byte) []byte { return cat(header, bytes.Join(sections, nil)) }

// raw is a module of one function with this code, and of the sections given.
func raw(code ...any) []byte {
	b := cat(0, cat(code...), 0x0b)
	return moduleOf(
		sectionOf(1, []byte{1, 0x60, 0, 0}),
		sectionOf(3, []byte{1, 0}),
		sectionOf(10, cat(1, leb(uint64(len(b))), b)))
}

func TestTheFuelCannotBeNamed(t *testing.T) {
	const own = 0x42 // i64.const
	cases := map[string][]byte{
		"set the counter":    raw(own, 0, 0x24, 0),
		"read the counter":   raw(0x23, 0, 0x1a),
		"call refill":        raw(own, 0, 0x10, 1, 0x1a),
		"reference refill":   raw(0xd2, 1, 0x1a),
		"use a new local":    raw(0x20, 0, 0x1a),
		"use a new type":     raw(own, 0, 0x02, 1, 0x0b, 0x1a),
		"call by a new type": raw(own, 0, 0x41, 0, 0x11, 1, 0, 0x1a),
		"export the counter": moduleOf(sectionOf(7, cat(1, "x", 3, 0))),
		"export refill":      moduleOf(sectionOf(7, cat(1, "x", 0, 0))),
		"start with refill":  moduleOf(sectionOf(8, []byte{0})),
		"fill with refill":   moduleOf(sectionOf(4, []byte{1, 0x70, 0, 1}), sectionOf(9, []byte{1, 0, 0x41, 0, 0x0b, 1, 0})),
		"start from the counter": moduleOf(sectionOf(4, []byte{1, 0x70, 0, 1}),
			sectionOf(9, []byte{1, 0, 0x23, 0, 0x0b, 0})),
	}
	for name, module := range cases {
		refused(t, name, module, meter.ErrMalformed)
	}
}

func TestNamesOfTheMeterAreRefused(t *testing.T) {
	once, _, err := meter.Rewrite(programs()[0].bytes(), meter.Options{})
	if err != nil {
		t.Fatal(err)
	}
	refused(t, "metered twice", once, meter.ErrReserved)
	refused(t, "import", moduleOf(sectionOf(1, []byte{1, 0x60, 0, 0}),
		sectionOf(2, cat(1, meter.RefillModule, meter.RefillName, 0, 0))), meter.ErrReserved)
	refused(t, "export", moduleOf(sectionOf(6, []byte{1, 0x7e, 1, 0x42, 0, 0x0b}),
		sectionOf(7, cat(1, meter.FuelExport, 3, 0))), meter.ErrReserved)
}

func TestUnknownFeaturesAreRefusedByName(t *testing.T) {
	memory := func(limits ...byte) []byte { return moduleOf(sectionOf(5, cat(1, limits))) }
	cases := []struct {
		word   string
		module []byte
	}{
		{"exception handling (tag section)", moduleOf(sectionOf(13, []byte{0}))},
		{"exception handling (try_table)", raw(0x1f, 0x40, 0, 0x0b)},
		{"exception handling (throw)", raw(0x08, 0)},
		{"exception handling (throw_ref)", raw(0x0a)},
		{"exception handling (try)", raw(0x06, 0x40, 0x0b)},
		{"exception handling (exnref)", moduleOf(sectionOf(1, []byte{1, 0x60, 1, 0x69, 0}))},
		{"exception handling (exnref)", raw(0xd0, 0x69, 0x1a)},
		{"exception handling (imported tag)", moduleOf(sectionOf(2, cat(1, "a", "b", 4, 0, 0)))},
		{"multiple memories", moduleOf(sectionOf(5, []byte{2, 0, 1, 0, 1}))},
		{"multiple memories", raw(0x41, 0, 0x28, 0x42, 1, 0, 0x1a)},
		{"multiple memories", raw(0x3f, 1, 0x1a)},
		{"64-bit memories and tables", memory(4, 1)},
		{"custom page sizes", memory(8, 1, 0)},
		{"garbage collection", moduleOf(sectionOf(1, []byte{1, 0x5f, 0}))},
		{"garbage collection", raw(0xfb, 0, 0)},
		{"garbage collection", moduleOf(sectionOf(1, []byte{1, 0x60, 1, 0x6e, 0}))},
		{"relaxed SIMD", raw(0xfd, 0x80, 2)},
		{"stack switching", raw(0xe0, 0)},
		{"instruction 0xfc 18", raw(0xfc, 18)},
		{"instruction 0xfe 79", raw(0xfe, 0x4f)},
		{"a component", []byte("\x00asm\x0d\x00\x01\x00")},
	}
	for _, c := range cases {
		if message := refused(t, c.word, c.module, meter.ErrUnsupported); !strings.Contains(message, c.word) {
			t.Errorf("%q does not name %q", message, c.word)
		}
	}
}

func TestExceptionHandlingModulesAreRefusedByName(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(suiteFolder(t, "exception-handling"), "*.wasm"))
	if err != nil || len(files) == 0 {
		t.Fatal("no modules", err)
	}
	named := 0
	for _, f := range files {
		_, _, err := meter.Rewrite(readFile(t, f), meter.Options{})
		if errors.Is(err, meter.ErrUnsupported) && strings.Contains(err.Error(), "exception handling") {
			named++
		} else if err != nil && !errors.Is(err, meter.ErrMalformed) {
			t.Errorf("%s: %v", filepath.Base(f), err)
		}
	}
	if named < len(files)/2 {
		t.Errorf("%d of %d are refused by name", named, len(files))
	}
}

// Bytes that wazero and the specification read differently are read by
// neither.
func TestAmbiguousBytesAreRefused(t *testing.T) {
	refused(t, "long SIMD opcode", raw(0xfd, 0x8e, 0x80, 0), meter.ErrMalformed)
	refused(t, "SIMD opcode that ends in unreachable", raw(0xfd, 0x8e, 0), meter.ErrMalformed)
	refused(t, "SIMD opcode that ends in block", raw(0xfd, 0x8e, 3), meter.ErrMalformed)
	refused(t, "long atomic opcode", raw(0xfe, 0x83, 0, 0), meter.ErrUnsupported)
	refused(t, "long function index", raw(0x10, 0x80, 0x80, 0x80, 0x80, 0x10), meter.ErrMalformed)
	refused(t, "long memory index", raw(0x3f, 0x80, 0, 0x1a), meter.ErrUnsupported)
}

func TestEveryPrefixIsAnErrorOrAModule(t *testing.T) {
	for _, p := range programs() {
		module := p.bytes()
		if len(module) > 2000 {
			continue
		}
		for n := range module {
			out, _, err := meter.Rewrite(module[:n], meter.Options{})
			var e *meter.Error
			if err != nil && !errors.As(err, &e) || err == nil && len(out) == 0 {
				t.Fatalf("%s, %d bytes: %v", p.name, n, err)
			}
		}
	}
}

func TestHugeCountsAreRefusedWithoutBeingMade(t *testing.T) {
	most := []byte{0xff, 0xff, 0xff, 0xff, 0x0f}
	for id := byte(1); id <= 12; id++ {
		if id == 8 || id == 12 {
			continue // a start function and a number
		}
		refusedAny(t, "section", moduleOf(sectionOf(id, most)))
	}
	refusedAny(t, "start", moduleOf(sectionOf(8, most)))
	refusedAny(t, "data count", moduleOf(sectionOf(12, most)))
	refusedAny(t, "length of a section", cat(header, 1, most))
	refusedAny(t, "length of a name", moduleOf(sectionOf(2, cat(1, most))))
	refusedAny(t, "parameters", moduleOf(sectionOf(1, cat(1, 0x60, most))))
	refusedAny(t, "types of a group", moduleOf(sectionOf(1, cat(1, 0x4e, most))))
	refusedAny(t, "elements", moduleOf(sectionOf(9, cat(1, 1, 0, most))))
	refusedAny(t, "bytes of data", moduleOf(sectionOf(11, cat(1, 1, most))))
	refusedAny(t, "length of a body", moduleOf(sectionOf(1, []byte{1, 0x60, 0, 0}), sectionOf(3, []byte{1, 0}),
		sectionOf(10, cat(1, most))))
	refusedAny(t, "branch targets", raw(0x41, 0, 0x0e, most))
	withLocals := func(groups ...any) []byte {
		b := cat(cat(groups...), 0x0b)
		return moduleOf(sectionOf(1, []byte{1, 0x60, 0, 0}), sectionOf(3, []byte{1, 0}),
			sectionOf(10, cat(1, leb(uint64(len(b))), b)))
	}
	refused(t, "locals", withLocals(1, most, i32), meter.ErrTooLarge)
	refused(t, "locals in groups", withLocals(leb(1000), repeat(1000, cat(leb(51), i32))), meter.ErrTooLarge)
	for id := 1; id <= 2; id++ {
		refusedAny(t, "names", moduleOf(sectionOf(0, cat("name", id, leb(6), most, 0))))
	}
	refusedAny(t, "names of locals", moduleOf(sectionOf(0, cat("name", 2, leb(7), 1, 0, most))))
	refused(t, "table", moduleOf(sectionOf(4, cat(1, 0x70, 0, leb(1<<20+1)))), meter.ErrTooLarge)
	refused(t, "tables", moduleOf(sectionOf(4, cat(leb(300), repeat(300, cat(0x70, 0, leb(1<<19)))))), meter.ErrTooLarge)
}

func TestTablesTogetherAreBounded(t *testing.T) {
	for _, count := range []int{1, 2, 300} {
		_, info, err := meter.Rewrite(moduleOf(sectionOf(4, cat(leb(uint64(count)), repeat(count, []byte{0x70, 0, 1})))), meter.Options{})
		if err != nil {
			t.Fatal(err)
		}
		total := int64(0)
		for _, table := range info.Tables {
			if !table.HasMax {
				t.Errorf("%d tables: one has no limit", count)
			}
			total += int64(table.Max)
		}
		if total > meter.DefaultMaxTable || total < meter.DefaultMaxTable*9/10 {
			t.Errorf("%d tables may have %d entries", count, total)
		}
	}
}

func refusedAny(t *testing.T, name string, module []byte) {
	t.Helper()
	var e *meter.Error
	if err := bounded(t, name, module); !errors.As(err, &e) {
		t.Errorf("%s: %v", name, err)
	}
}

// Modules that are valid, and made to be expensive to rewrite.
func TestBombsAreBounded(t *testing.T) {
	chain := func(n int) []byte {
		var bodies [][]byte
		for i := range n {
			code := cat(0, call(min(i+1, n-1)), 0x0b)
			bodies = append(bodies, cat(leb(uint64(len(code))), code))
		}
		return moduleOf(sectionOf(1, []byte{1, 0x60, 0, 0}),
			sectionOf(3, cat(leb(uint64(n)), make([]byte, n))), sectionOf(10, list(bodies...)))
	}
	for name, module := range map[string][]byte{
		"a chain of calls":      chain(200_000),
		"empty loops":           raw(repeat(300_000, []byte{0x03, 0x40, 0x0b})),
		"growth":                raw(repeat(200_000, []byte{0x41, 0, 0x40, 0, 0x1a})),
		"deep blocks":           raw(repeat(40_000, []byte{0x02, 0x40}), repeat(40_000, []byte{0x0b})),
		"deep loops":            raw(repeat(40_000, []byte{0x03, 0x40}), repeat(40_000, []byte{0x0b})),
		"branch tables":         raw(repeat(100, cat(0x41, 0, 0x0e, leb(10_000), make([]byte, 10_001)))),
		"calls":                 raw(repeat(500_000, []byte{0x10, 0})),
		"a long line":           raw(repeat(1_000_000, []byte{0x41, 0, 0x1a})),
		"nothing, many times":   raw(repeat(4_000_000, []byte{0x01})),
		"imports":               moduleOf(sectionOf(1, []byte{1, 0x60, 0, 0}), sectionOf(2, list(bytes.SplitAfter(repeat(60_000, []byte{1, 'a', 0, 0, 0}), []byte{0, 0, 0})[:60_000]...))),
		"custom sections":       moduleOf(repeat(50_000, sectionOf(0, []byte{1, 'x'}))),
		"name subsections":      moduleOf(sectionOf(0, cat("name", repeat(100_000, []byte{9, 0})))),
		"one import of no name": moduleOf(sectionOf(1, []byte{1, 0x60, 0, 0}), sectionOf(2, []byte{1, 0, 0, 0, 0})),
	} {
		if err := bounded(t, name, module); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		out, _, err := meter.Rewrite(module, meter.Options{})
		if most := 100 + 16*len(module); err == nil && len(out) > most {
			t.Errorf("%s: %d bytes became %d", name, len(module), len(out))
		}
	}
	few := cat(1, leb(50_000), i32, 0x0b)
	few = cat(leb(uint64(len(few))), few)
	refused(t, "locals of many functions", moduleOf(sectionOf(1, []byte{1, 0x60, 0, 0}),
		sectionOf(3, cat(leb(100), make([]byte, 100))), sectionOf(10, cat(leb(100), repeat(100, few)))), meter.ErrTooLarge)
	refused(t, "too deep", raw(repeat(60_000, []byte{0x02, 0x40}), repeat(60_000, []byte{0x0b})), meter.ErrTooLarge)
	refused(t, "too long", raw(repeat(9<<20, []byte{0x01})), meter.ErrTooLarge)
	refused(t, "too large", make([]byte, 65<<20), meter.ErrTooLarge)
	if testing.Short() {
		return
	}
	loops := cat(0, repeat(2<<20, []byte{0x03, 0x40, 0x0b}), 0x0b)
	loops = cat(leb(uint64(len(loops))), loops)
	refused(t, "loops that grow beyond bounds", moduleOf(sectionOf(1, []byte{1, 0x60, 0, 0}),
		sectionOf(3, []byte{2, 0, 0}), sectionOf(10, cat(2, loops, loops))), meter.ErrTooLarge)
}
