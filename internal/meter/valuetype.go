package meter

import "strings"

// valueType skips a value type. A reference by index must be below types: in
// code the number of types, in sections maxTypes, because a type may refer to
// later ones; the validator checks those.
func (r *reader) valueType(types int) {
	switch t := r.u8(); t {
	case 0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f:
	case 0x63, 0x64:
		r.heapType(types)
	default:
		r.unknownType(int64(t) - 0x80)
	}
}

// heapType skips the target of a reference type.
func (r *reader) heapType(types int) {
	switch h := r.s33(); {
	case h == -0x10 || h == -0x11: // func, extern
	case h < 0:
		r.unknownType(h)
	case h >= int64(types):
		r.fail(ErrMalformed, "unknown type %d", h)
	}
}

func (r *reader) unknownType(t int64) {
	switch {
	case t == -0x17 || t == -0x0c:
		r.fail(ErrUnsupported, "exception handling (exnref)")
	case t >= -0x16 && t <= -0x0d:
		r.fail(ErrUnsupported, "garbage collection (type %#x)", t+0x80)
	default:
		r.fail(ErrMalformed, "unknown value type %#x", t+0x80)
	}
}

// limits reads the bounds of a memory or a table.
func (r *reader) limits() (l Limits) {
	flag := r.u8()
	switch {
	case flag > 0x0f:
		r.fail(ErrMalformed, "unknown limits %#x", flag)
	case flag&0x08 != 0:
		r.fail(ErrUnsupported, "custom page sizes")
	case flag&0x04 != 0:
		r.fail(ErrUnsupported, "64-bit memories and tables")
	}
	l.Min = r.u32()
	l.Shared = flag&2 != 0
	if l.HasMax = flag&1 != 0; l.HasMax {
		l.Max = r.u32()
	}
	return l
}

// constExpr reads a constant expression and, if w is not nil, writes it with
// the functions' new indices.
func (m *module) constExpr(r *reader, w *[]byte) {
	for r.err == nil {
		from := r.p
		op := r.u8()
		switch op {
		case opEnd, opI32Add, opI32Sub, opI32Mul, opI64Add, opI64Sub, opI64Mul:
		case opI32Const:
			r.skipLEB(5)
		case opI64Const:
			r.skipLEB(10)
		case opF32Const:
			r.bytes(4)
		case opF64Const:
			r.bytes(8)
		case opGlobalGet:
			r.index("global", m.globals)
		case opRefNull:
			m.nullType(r)
		case opRefFunc:
			if w != nil {
				*w = append(*w, opRefFunc)
			}
			m.reference(r, w)
			continue
		case opVector:
			if r.u8() != vecConst {
				r.fail(ErrMalformed, "not a constant vector instruction")
			}
			r.bytes(16)
		default:
			r.fail(ErrMalformed, "instruction %#x is not constant", op)
		}
		if w != nil {
			*w = append(*w, r.b[from:r.p]...)
		}
		if op == opEnd {
			return
		}
	}
}

// reference reads the index of a referenced function.
func (m *module) reference(r *reader, w *[]byte) {
	f := r.index("function", m.funcs())
	switch {
	case r.err != nil:
	case w == nil:
		m.keep(f)
	default:
		*w = appendU32(*w, m.referred(f))
	}
}

// nullType reads the type of ref.null.
func (m *module) nullType(r *reader) {
	switch t := r.u32(); {
	case t == 0x70 || t == 0x6f:
	case t == 0x69 && int(t) >= len(m.types):
		r.fail(ErrUnsupported, "exception handling (exnref)")
	case int(t) >= len(m.types):
		r.fail(ErrMalformed, "unknown type %d", t)
	}
}

var valueTypeNames = map[byte]string{0x7f: "i32", 0x7e: "i64", 0x7d: "f32", 0x7c: "f64", 0x7b: "v128",
	0x70: "funcref", 0x6f: "externref"}

// String returns the type as in Info: "(i32 i64) -> (i32)".
func (s signature) String() string {
	list := func(b []byte) string {
		var names []string
		for r := (&reader{b: b}); r.more(); {
			t := r.u8()
			name, ok := valueTypeNames[t]
			if !ok {
				r.s33()
				name = "ref"
			}
			names = append(names, name)
		}
		return "(" + strings.Join(names, " ") + ")"
	}
	return list(s.params) + " -> " + list(s.results)
}
