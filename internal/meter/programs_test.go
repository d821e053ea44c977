package meter_test

// program is a small module with one function to call: run(i32) -> i32.
type program struct {
	name string
	args []int32
	source
}

// The types that every program has.
const (
	tRun   = 0 // (i32) -> (i32)
	tPlain = 1 // () -> ()
)

var programTypes = [][2][]byte{{{i32}, {i32}}, {nil, nil}}

func simple(name string, args []int32, locals []byte, code ...any) program {
	return program{name, args, source{types: programTypes, pages: -1,
		funcs: []body{{name: "run", typ: tRun, locals: locals, code: cat(code...)}}}}
}

// programs cover each way to charge.
func programs() []program {
	add3 := body{typ: tRun, code: cat(get(0), num(3), 0x6a)}
	all := []program{
		simple("line", []int32{7}, nil, get(0), num(1), 0x6a),
		simple("empty", []int32{7}, nil, get(0)),
		simple("long-line", []int32{1}, nil, get(0), repeat(1500, cat(num(1), 0x6a))),
		simple("loop", []int32{0, 1, 10, 1000}, []byte{i32},
			countdown(0, get(1), get(0), 0x6a, set(1)), get(1)),
		simple("nested-loops", []int32{5, 50}, []byte{i32, i32},
			countdown(0, num(10), set(1), countdown(1, get(2), num(1), 0x6a, set(2))), get(2)),
		simple("large-region", []int32{20}, []byte{i32},
			countdown(0, repeat(100, cat(get(1), num(1), 0x6a, set(1)))), get(1)),
		simple("arms", []int32{0, 1, 2, 3, 100}, []byte{i32},
			// the arm that n names, of some hundred instructions each
			0x02, 0x40, 0x02, 0x40, 0x02, 0x40, 0x02, 0x40, get(0), 0x0e, 3, 0, 1, 2, 3, 0x0b,
			repeat(200, cat(get(1), num(1), 0x6a, set(1))), 0x0c, 2, 0x0b,
			repeat(300, cat(get(1), num(2), 0x6a, set(1))), 0x0c, 1, 0x0b,
			repeat(400, cat(get(1), num(3), 0x6a, set(1))), 0x0b, get(1)),
		simple("skipped", []int32{0, 1}, []byte{i32},
			// long arms that a flag leaves out, one after another
			repeat(20, cat(get(0), 0x04, 0x40, repeat(100, cat(get(1), num(1), 0x6a, set(1))), 0x0b)), get(1)),
		simple("if-else", []int32{0, 1}, nil,
			get(0), 0x04, i32, num(5), 0x05, num(6), num(7), 0x6a, 0x0b),
		simple("simd", []int32{10}, []byte{0x7b},
			countdown(0, get(1), num(3), 0xfd, 17, 0xfd, 0xae, 1, set(1)), get(1), 0xfd, 27, 0),
	}

	fib := simple("fib", []int32{1, 10, 15}, nil,
		get(0), num(2), 0x48, 0x04, i32, get(0), 0x05,
		get(0), num(1), 0x6b, call(0), get(0), num(2), 0x6b, call(0), 0x6a, 0x0b)

	leaves := simple("leaves", []int32{10}, []byte{i32},
		countdown(0, get(1), call(1), call(2), set(1)), get(1))
	leaves.funcs = append(leaves.funcs, add3, body{typ: tRun, code: cat(get(0), call(1), call(1))})

	// Each function calls the next one twice: neither loops nor recursion.
	doubling := simple("doubling", []int32{0}, nil, get(0), call(1))
	for i := 1; i <= 16; i++ {
		doubling.funcs = append(doubling.funcs, body{typ: tRun,
			code: cat(get(0), call(i+1), call(i+1), repeat(40, cat(num(1), 0x6a)))})
	}
	doubling.funcs = append(doubling.funcs, add3)

	bulk := simple("bulk", []int32{0, 1, 31, 32, 1000, 65536, 65537}, nil,
		num(0), num(7), get(0), 0xfc, 11, 0, // fill
		num(0), num(1), get(0), num(1), 0x76, 0xfc, 10, 0, 0, // copy half
		num(9), num(0), num(4), 0xfc, 8, 0, 0, // init
		num(9), 0x2d, 0, 0)
	bulk.pages, bulk.data = 1, []byte("data")

	grow := simple("grow", []int32{0, 1, 5, 9, 70000}, nil, get(0), 0x40, 0)
	grow.pages, grow.maxPages = 1, 8

	tables := simple("tables", []int32{0, 1, 100}, nil,
		0xd0, 0x70, get(0), 0xfc, 15, 0, 0x1a, // grow
		num(0), 0xd2, 0, get(0), 0xfc, 17, 0, // fill
		num(1), num(0), get(0), 0xfc, 14, 0, 0, // copy
		num(0), num(0), num(2), 0xfc, 12, 0, 0, // init
		0xfc, 16, 0)
	tables.tables, tables.passive = []int{8}, []byte{0, 0}

	indirect := simple("indirect", []int32{10}, []byte{i32},
		countdown(0, get(1), num(0), 0x11, tRun, 0, set(1)), get(1))
	indirect.tables, indirect.elements = []int{4}, []byte{1}
	indirect.funcs = append(indirect.funcs, add3)

	host := program{"host", []int32{0, 1, 10}, source{types: programTypes, pages: -1,
		imports: []imported{{"env", "double", tRun}, {"env", "free", tPlain}},
		funcs: []body{{name: "run", typ: tRun, locals: []byte{i32},
			code: cat(countdown(0, get(1), num(1), 0x6a, call(0), call(1), set(1)), get(1))}}}}

	// The same through a table, and through a reference.
	hostIndirect := program{"host-indirect", []int32{1, 10}, source{types: programTypes, pages: -1,
		imports: []imported{{"env", "double", tRun}},
		tables:  []int{4}, elements: []byte{0},
		funcs: []body{{name: "run", typ: tRun, locals: []byte{i32},
			code: cat(countdown(0,
				num(1), 0xd2, 0, 0x26, 0, // table[1] = ref.func
				get(1), num(1), 0x6a, num(0), 0x11, tRun, 0, num(1), 0x11, tRun, 0, set(1)), get(1))}}}}

	tail := simple("tail", []int32{0, 100}, nil,
		get(0), 0x45, 0x04, i32, num(42), 0x05, get(0), num(1), 0x6b, 0x12, 0, 0x0b)

	start := simple("start", []int32{1}, nil, 0x23, 0, 0xa7, get(0), 0x6a)
	start.globals, start.start = []byte{5}, 2
	start.funcs = append(start.funcs, body{typ: tPlain, code: cat(0x42, 40, 0x24, 0)})

	trap := simple("trap", []int32{0, 3}, nil, num(12), get(0), 0x6d)

	return append(all, fib, leaves, doubling, bulk, grow, tables, indirect, host, hostIndirect, tail, start, trap)
}
