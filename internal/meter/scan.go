package meter

// scan reads every function once: it checks the structure of the code, that is
// nesting, labels and indices, and records what each function calls.
func (m *module) scan() error {
	locals := 0
	for i := range m.functions {
		f := &m.functions[i]
		if err := m.scanFunction(f); err != nil {
			return err
		}
		if locals += int(f.locals); locals > maxAllLocals {
			return errAt(ErrTooLarge, f.base, "more than %d locals in total", maxAllLocals)
		}
	}
	return nil
}

func (m *module) scanFunction(f *function) error {
	d := m.decode(f)
	f.params = m.types[f.typ].paramCount
	f.locals, f.code = uint32(d.localTypes())+f.params, d.r.p
	d.locals = f.locals
	depth := 1
	var in instruction
	for depth > 0 && d.r.err == nil {
		d.next(&in)
		if d.r.err != nil {
			break
		}
		f.cost += in.cost(&m.o.Weights)
		switch in.op {
		case opBlock, opIf, opLoop:
			depth++
			if depth > maxNesting {
				d.r.fail(ErrTooLarge, "blocks nested deeper than %d", maxNesting)
			}
			f.heavy = f.heavy || in.op == opLoop
		case opEnd:
			depth--
		case opBr, opBrIf, opBrOnNull, opBrOnNonNull:
			if uint64(in.index) >= uint64(depth) {
				d.r.fail(ErrMalformed, "unknown label %d", in.index)
			}
		case opBrTable:
			d.targets(&in, func(label uint32) {
				if uint64(label) >= uint64(depth) {
					d.r.fail(ErrMalformed, "unknown label %d", label)
				}
			})
		default:
			m.note(f, &in)
		}
	}
	return d.r.done()
}

// note records what the call graph needs of an instruction.
func (m *module) note(f *function, in *instruction) {
	switch in.op {
	case opCall, opReturnCall:
		if in.index < m.refill() {
			f.heavy = true
			return
		}
		f.calls = append(f.calls, in.index-m.refill())
		f.heavy = f.heavy || in.op == opReturnCall
	case opCallIndirect, opReturnIndirect, opCallRef, opReturnCallRef:
		f.indirect, f.heavy = true, true
	case opMemoryGrow, opMisc, opAtomic:
		f.heavy = f.heavy || in.priced()
	}
}

// priced reports whether an instruction has a separate charge.
func (in *instruction) priced() bool {
	switch in.op {
	case opMemoryGrow:
		return true
	case opMisc:
		switch in.sub {
		case miscMemoryInit, miscMemoryCopy, miscMemoryFill,
			miscTableInit, miscTableCopy, miscTableGrow, miscTableFill:
			return true
		}
	case opAtomic:
		return in.sub <= atomicWait64
	}
	return false
}

// targets calls yield with every label of a br_table that was just decoded.
func (d *decoder) targets(in *instruction, yield func(label uint32)) {
	t := reader{b: d.r.b[:in.end], p: in.targets, base: d.r.base}
	for range in.labels {
		yield(t.u32())
	}
}
