package meter_test

import (
	"testing"

	"github.com/wexec/wexec/internal/meter"
)

// FuzzGeneratedProgramsAreUnchanged reads its bytes as decisions while it
// writes a valid program, so that every input reaches the rewriter's depths.
func FuzzGeneratedProgramsAreUnchanged(f *testing.F) {
	f.Add([]byte{})
	for i := range 40 {
		seed := make([]byte, 0, 400)
		for x := uint32(i + 1); len(seed) < 400; {
			x = x*1664525 + 1013904223
			seed = append(seed, byte(x>>24))
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		g := generator{choices: choices}
		module := g.module().bytes()
		setUp(t, engines[1].config, module) // it is valid
		out, _, err := meter.Rewrite(module, meter.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var seen []int64
		for _, e := range engines {
			if fuel, ok := compareAll(t, e.config, module, out); ok {
				seen = append(seen, fuel)
			}
		}
		if len(seen) == 2 && seen[0] != seen[1] {
			t.Errorf("%d fuel on the compiler, %d on the interpreter", seen[0], seen[1])
		}
	})
}

// generator writes programs of a few functions (i32) -> i32. A statement
// leaves the stack as it was; a value pushes an i32.
type generator struct {
	choices []byte
	labels  []bool // open blocks, innermost last: whether it is a loop
	left    int    // statements that may still be made
}

const (
	generatedFuncs  = 5
	generatedLocals = 4 // the parameter first
)

func (g *generator) pick(n int) int {
	if len(g.choices) == 0 {
		return 0
	}
	c := g.choices[0]
	g.choices = g.choices[1:]
	return int(c) % n
}

func (g *generator) module() source {
	s := source{types: programTypes, pages: 1, maxPages: 4, tables: []int{8}, data: []byte("some data"),
		passive: []byte{0, 1, 2}, globals: []byte{1, 2}}
	for i := range generatedFuncs {
		s.elements = append(s.elements, byte(i))
		g.left, g.labels = 40, []bool{false}
		code := cat(g.statements(6), g.value(3))
		s.funcs = append(s.funcs, body{name: string(rune('a' + i)), typ: tRun,
			locals: repeat(generatedLocals-1, []byte{i32}), code: code})
	}
	return s
}

func (g *generator) statements(n int) []byte {
	var b []byte
	for range g.pick(n) + 1 {
		if g.left--; g.left < 0 {
			break
		}
		b = append(b, g.statement()...)
	}
	return b
}

func (g *generator) inside(op int, loop bool, code func() []byte) []byte {
	g.labels = append(g.labels, loop)
	b := cat(op, 0x40, code(), 0x0b)
	g.labels = g.labels[:len(g.labels)-1]
	return b
}

// label is a branch target that takes no value: not the function itself.
func (g *generator) label() int { return g.pick(len(g.labels) - 1) }

func (g *generator) statement() []byte {
	kind := g.pick(17)
	if len(g.labels) == 1 && kind >= 4 && kind <= 6 {
		kind = 0
	}
	switch kind {
	case 0:
		return cat(g.value(3), set(g.pick(generatedLocals)))
	case 1:
		return g.inside(0x02, false, func() []byte { return g.statements(4) })
	case 2: // a loop, left again or not
		return g.inside(0x03, true, func() []byte {
			return cat(g.statements(4), get(1), num(1), 0x6a, tee(1), num(50), 0x48, 0x0d, 0)
		})
	case 3:
		condition := g.value(2)
		return cat(condition, g.inside(0x04, false, func() []byte {
			return cat(g.statements(3), 0x05, g.statements(3))
		}))
	case 4:
		return cat(g.value(2), 0x0d, g.label())
	case 5: // a block whose rest is never reached
		return g.inside(0x02, false, func() []byte { return cat(0x0c, g.label(), g.statements(2)) })
	case 6:
		return g.inside(0x02, false, func() []byte {
			return cat(g.value(2), 0x0e, 2, g.label(), g.label(), g.label(), g.statements(2))
		})
	case 7:
		return cat(g.value(1), 0x40, 0, 0x1a) // memory.grow
	case 8:
		return cat(g.value(1), num(0), num(int64(g.pick(100))), 0xfc, 11, 0)
	case 9:
		return cat(num(0), g.value(1), num(int64(g.pick(100))), 0xfc, 10, 0, 0)
	case 10:
		return cat(0xd2, g.pick(generatedFuncs), num(int64(g.pick(9))), 0xfc, 15, 0, 0x1a)
	case 11:
		return cat(num(int64(g.pick(8))), num(0), num(2), 0xfc, 12, 0, 0) // table.init
	case 12:
		return repeat(g.pick(200), cat(get(2), num(1), 0x6a, set(2)))
	case 13:
		return cat(0x23, 0, g.value(1), 0xac, 0x7c, 0x24, 0) // global
	case 14: // where a flag says so, the rest is another function's
		return cat(g.value(2), g.inside(0x04, false, func() []byte {
			return cat(g.value(2), 0x12, g.pick(generatedFuncs), g.statements(2))
		}))
	case 15:
		return cat(g.value(2), g.inside(0x04, false, func() []byte { return cat(g.value(1), 0x0f) }))
	}
	return cat(num(4), g.value(1), 0x36, 2, 0) // store
}

func (g *generator) value(depth int) []byte {
	kind := g.pick(9)
	if depth == 0 {
		kind %= 2
	}
	switch kind {
	case 0:
		return get(g.pick(generatedLocals))
	case 1:
		return num(int64(g.pick(256)) - 100)
	case 2:
		return cat(g.value(depth-1), call(g.pick(generatedFuncs)))
	case 3:
		return cat(g.value(depth-1), num(int64(g.pick(9))), 0x11, tRun, 0) // call_indirect
	case 4:
		return cat(g.value(depth-1), num(0xffff), 0x71, 0x28, 2, 0) // load
	case 5:
		return cat(0x3f, 0)
	case 6:
		g.labels = append(g.labels, false)
		b := cat(0x02, i32, g.value(depth-1), g.value(1), 0x0d, 0, 0x0b)
		g.labels = g.labels[:len(g.labels)-1]
		return b
	}
	return cat(g.value(depth-1), g.value(depth-1), 0x6a+g.pick(6))
}
