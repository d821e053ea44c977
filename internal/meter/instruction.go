package meter

// instruction is one decoded instruction.
type instruction struct {
	op      byte
	sub     uint32 // second opcode of prefixed instructions
	at, end int    // place in the body, opcode included
	index   uint32 // function, or label
	targets int    // of br_table: where its labels begin
	labels  uint32 // of br_table: how many, the default included
}

// decoder reads the instructions of one function. If wazero and the
// specification could read the same bytes differently, as with overlong
// numbers, the bytes are rejected: both must see the same
// instructions.
type decoder struct {
	m      *module
	locals uint32
	r      reader
}

func (m *module) decode(f *function) decoder {
	return decoder{m: m, locals: f.locals, r: reader{b: f.body, p: f.code, base: f.base}}
}

func (d *decoder) next(in *instruction) {
	r := &d.r
	in.at = r.p
	in.op = r.u8()
	switch op := in.op; {
	case op >= 0x45 && op <= opI64Extend32S: // comparisons and arithmetic
	case op >= opLocalGet && op <= opLocalTee:
		r.index("local", d.locals)
	case op == opGlobalGet || op == opGlobalSet:
		r.index("global", d.m.globals)
	case op == opTableGet || op == opTableSet:
		r.index("table", d.m.tables)
	case op >= opI32Load && op <= opI64Store32:
		d.memoryArgument()
	case op == opI32Const:
		r.skipLEB(5)
	case op == opI64Const:
		r.skipLEB(10)
	case op == opF32Const:
		r.bytes(4)
	case op == opF64Const:
		r.bytes(8)
	case op == opMemorySize || op == opMemoryGrow:
		d.memoryIndex()
	default:
		d.rare(in)
	}
	in.end = r.p
}

// rare decodes control, calls, references and prefixed instructions.
func (d *decoder) rare(in *instruction) {
	r := &d.r
	switch in.op {
	case opUnreachable, opNop, opElse, opEnd, opReturn, 0x1a, opSelect, opRefIsNull, opRefAsNonNull:
	case opBlock, opLoop, opIf:
		d.blockType()
	case opBr, opBrIf, opBrOnNull, opBrOnNonNull:
		in.index = r.u32()
	case opBrTable:
		n := r.count("branch targets", maxTargets)
		in.targets, in.labels = r.p, n+1
		for range in.labels {
			r.u32()
		}
	case opCall, opReturnCall, opRefFunc:
		in.index = r.index("function", d.m.funcs())
	case opCallIndirect, opReturnIndirect:
		r.index("type", uint32(len(d.m.types)))
		r.index("table", d.m.tables)
	case opCallRef, opReturnCallRef:
		r.index("type", uint32(len(d.m.types)))
	case opSelectTyped:
		if n := r.u8(); n != 1 {
			r.fail(ErrMalformed, "select of %d types", n)
		}
		d.r.valueType(len(d.m.types))
	case opRefNull:
		d.m.nullType(r)
	case opMisc:
		in.sub = r.u32()
		d.misc(in)
	case opVector:
		d.vector(in)
	case opAtomic:
		d.atomic(in)
	default:
		r.unknownInstruction(in.op)
	}
}

func (d *decoder) misc(in *instruction) {
	r := &d.r
	switch in.sub {
	case 0, 1, 2, 3, 4, 5, 6, 7: // saturating truncation
	case miscMemoryInit:
		r.index("data segment", d.m.data)
		d.memoryIndex()
	case miscDataDrop:
		r.index("data segment", d.m.data)
	case miscMemoryCopy:
		d.memoryIndex()
		d.memoryIndex()
	case miscMemoryFill:
		d.memoryIndex()
	case miscTableInit:
		r.index("element segment", d.m.elements)
		r.index("table", d.m.tables)
	case miscElemDrop:
		r.index("element segment", d.m.elements)
	case miscTableCopy:
		r.index("table", d.m.tables)
		r.index("table", d.m.tables)
	case miscTableGrow, miscTableSize, miscTableFill:
		r.index("table", d.m.tables)
	default:
		r.fail(ErrUnsupported, "instruction 0xfc %d", in.sub)
	}
}

// vector decodes SIMD. wazero reads the second opcode as a single byte and
// the byte that follows a large one, which is always 1, as a nop.
func (d *decoder) vector(in *instruction) {
	r := &d.r
	code := r.u8()
	in.sub = uint32(code)
	if code >= 0x80 {
		switch second := r.u8(); second {
		case 1:
		case 2:
			r.fail(ErrUnsupported, "relaxed SIMD")
		default:
			r.fail(ErrMalformed, "SIMD instruction %#x %#x", code, second)
		}
		return
	}
	switch {
	case code <= 11 || code == 0x5c || code == 0x5d:
		d.memoryArgument()
	case code == vecConst || code == vecShuffle:
		r.bytes(16)
	case code >= 0x15 && code <= 0x22: // lanes
		r.u8()
	case code >= 0x54 && code <= 0x5b: // loads and stores of lanes
		d.memoryArgument()
		r.u8()
	}
}

func (d *decoder) atomic(in *instruction) {
	code := d.r.u8()
	in.sub = uint32(code)
	switch {
	case code == atomicFence:
		d.r.u8()
	case code <= atomicWait64 || code >= atomicFirst && code <= atomicLast:
		d.memoryArgument()
	default:
		d.r.fail(ErrUnsupported, "instruction 0xfe %d", code)
	}
}

// exceptions are the instructions of exception handling.
var exceptions = map[byte]string{0x06: "try", 0x07: "catch", 0x08: "throw", 0x09: "rethrow", 0x0a: "throw_ref",
	0x18: "delegate", 0x19: "catch_all", 0x1f: "try_table"}

func (r *reader) unknownInstruction(op byte) {
	switch name := exceptions[op]; {
	case name != "":
		r.fail(ErrUnsupported, "exception handling (%s)", name)
	case op == 0xd3 || op == 0xfb:
		r.fail(ErrUnsupported, "garbage collection (instruction %#x)", op)
	case op >= 0xe0 && op <= 0xe5:
		r.fail(ErrUnsupported, "stack switching (instruction %#x)", op)
	default:
		r.fail(ErrMalformed, "unknown instruction %#x", op)
	}
}

func (d *decoder) memoryArgument() {
	switch align := d.r.u32(); {
	case align < 32:
	case align&0x40 != 0:
		d.r.fail(ErrUnsupported, "multiple memories")
	default:
		d.r.fail(ErrMalformed, "alignment 2^%d", align)
	}
	d.r.u32()
}

func (d *decoder) memoryIndex() {
	if i := d.r.u8(); i != 0 {
		d.r.fail(ErrUnsupported, "multiple memories")
	}
}

func (d *decoder) blockType() {
	switch t := d.r.s33(); {
	case t == -0x40 || t >= -0x05 && t < 0 || t == -0x10 || t == -0x11:
	case t == -0x1d || t == -0x1c: // (ref null …), (ref …)
		d.r.heapType(len(d.m.types))
	case t < 0:
		d.r.unknownType(t)
	case t >= int64(len(d.m.types)):
		d.r.fail(ErrMalformed, "unknown type %d", t)
	}
}

// localTypes reads the declaration of a function's locals and returns their
// number.
func (d *decoder) localTypes() uint64 {
	var n uint64
	for range d.r.count("groups of locals", maxLocals) {
		n += uint64(d.r.u32())
		d.r.valueType(len(d.m.types))
		if d.r.err == nil && n > maxLocals {
			d.r.fail(ErrTooLarge, "%d locals, at most %d are supported", n, maxLocals)
		}
		if d.r.err != nil {
			return 0
		}
	}
	return n
}

// cost returns what an instruction adds to its region.
func (in *instruction) cost(w *Weights) int64 {
	switch in.op {
	case opNop, opBlock, opLoop, opElse, opEnd:
		return 0
	case opCallIndirect, opReturnIndirect, opCallRef, opReturnCallRef:
		return 1 + w.Indirect
	case opRefFunc:
		return 1 + refFuncCost
	}
	return 1
}
