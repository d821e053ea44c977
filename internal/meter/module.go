package meter

import (
	"bytes"
	"strings"
)

// Section identifiers.
const (
	secCustom    = 0
	secType      = 1
	secImport    = 2
	secFunction  = 3
	secTable     = 4
	secMemory    = 5
	secGlobal    = 6
	secExport    = 7
	secStart     = 8
	secElement   = 9
	secCode      = 10
	secData      = 11
	secDataCount = 12
	secTag       = 13
)

// order is the place of each section in a module.
var order = [...]int{secType: 1, secImport: 2, secFunction: 3, secTable: 4, secMemory: 5, secGlobal: 6,
	secExport: 7, secStart: 8, secElement: 9, secDataCount: 10, secCode: 11, secData: 12, secTag: 0}

type section struct {
	id   byte
	base int // offset of body in the module
	body []byte
}

func (s section) reader() *reader { return &reader{b: s.body, base: s.base} }

// signature is a function type; the encoded value types are kept as they are.
type signature struct {
	params, results []byte // encoded
	paramCount      uint32
}

// function is one function that the module defines, and what was learned
// about it.
type function struct {
	typ  uint32 // index of its type
	base int    // offset of body in the module
	body []byte // locals and code

	locals   uint32 // parameters and locals
	code     int    // where the instructions begin in body
	cost     int64  // all its instructions together
	calls    []uint32
	indirect bool // calls through tables or references
	heavy    bool // has a loop or charges of its own: no leaf
	exported bool // the host can call it

	leaf  bool  // carries no charge: callers pay
	check bool  // looks at the level at its entry
	free  int64 // cost of a leaf with the leaves it calls
	edits []edit
	extra uint32 // further i32 locals
}

// hostFunc is an imported function.
type hostFunc struct {
	typ   uint32
	cost  int64
	thunk uint32 // index of the function that pays and calls it; 0 where none is needed
}

// module is a module while it is rewritten.
type module struct {
	o    Options
	src  []byte
	info Info

	sections  []section // in order, without custom sections but "name"
	typeItems uint32    // entries of the type section; a recursive group is one
	types     []signature
	hosts     []hostFunc
	functions []function
	importedG uint32 // imported globals
	globals   uint32
	tables    uint32
	memories  uint32
	elements  uint32 // segments
	data      uint32 // segments
	order     []uint32
	thunks    []uint32 // imports that are reached by reference
	declare   bool     // code makes references to functions
}

func (m *module) funcs() uint32 { return uint32(len(m.hosts) + len(m.functions)) }

// refill is the index of the refill import, and with it what every function
// that the module defines moves by one for.
func (m *module) refill() uint32 { return uint32(len(m.hosts)) }

// moved is the index of a function in the metered module.
func (m *module) moved(f uint32) uint32 {
	if f >= m.refill() {
		return f + 1
	}
	return f
}

// referred is the index of a function in the metered module where a reference
// to it is made: an import is replaced by the function that pays for it.
func (m *module) referred(f uint32) uint32 {
	if f >= m.refill() {
		return f + 1
	}
	h := &m.hosts[f]
	if h.cost == 0 {
		return f
	}
	if h.thunk == 0 {
		h.thunk = m.funcs() + 1 + uint32(len(m.thunks))
		m.thunks = append(m.thunks, f)
	}
	return h.thunk
}

// parse reads everything but the instructions.
func parse(src []byte, o Options) (*module, error) {
	m := &module{o: o, src: src}
	if len(src) > maxModule {
		return nil, errAt(ErrTooLarge, 0, "%d bytes, at most %d are taken", len(src), maxModule)
	}
	if len(src) < 8 || !bytes.Equal(src[:4], []byte("\x00asm")) {
		return nil, errAt(ErrMalformed, 0, "not a WebAssembly module")
	}
	if bytes.Equal(src[4:8], []byte{0x0d, 0, 1, 0}) {
		return nil, errAt(ErrUnsupported, 4, "a component, only modules are taken")
	}
	if !bytes.Equal(src[4:8], []byte{1, 0, 0, 0}) {
		return nil, errAt(ErrMalformed, 4, "unknown version")
	}
	if err := m.split(); err != nil {
		return nil, err
	}
	for _, s := range m.sections {
		r := s.reader()
		m.section(s.id, r)
		if err := r.done(); err != nil {
			return nil, err
		}
	}
	for i := range m.functions {
		if m.functions[i].body == nil {
			return nil, errAt(ErrMalformed, len(src), "function %d has no code", i)
		}
	}
	m.info.Functions = len(m.functions)
	return m, nil
}

// split finds the sections and their order.
func (m *module) split() error {
	r := &reader{b: m.src, p: 8}
	last := 0
	for r.more() {
		at := r.p
		id := r.u8()
		body := r.sub(r.u32())
		if r.err != nil {
			return r.err
		}
		s := section{id, body.base, body.b}
		switch {
		case id == secTag:
			return errAt(ErrUnsupported, at, "exception handling (tag section)")
		case int(id) >= len(order):
			return errAt(ErrMalformed, at, "unknown section %d", id)
		case id == secCustom:
			name := body.name()
			if body.err != nil {
				return body.err
			}
			if name == "name" {
				m.sections = append(m.sections, section{id, body.base + body.p, body.b[body.p:]})
			} else {
				m.info.Dropped = append(m.info.Dropped, name)
			}
		case order[id] <= last:
			return errAt(ErrMalformed, at, "section %d is out of order", id)
		default:
			last = order[id]
			m.sections = append(m.sections, s)
		}
	}
	return r.err
}

func (m *module) section(id byte, r *reader) {
	switch id {
	case secCustom:
		r.p = len(r.b) // names are read when they are written
	case secType:
		m.readTypes(r)
	case secImport:
		m.readImports(r)
	case secFunction:
		n := r.count("functions", maxFunctions)
		m.functions = make([]function, n)
		for i := range m.functions {
			m.functions[i].typ = r.index("type", uint32(len(m.types)))
		}
	case secTable:
		n := r.count("tables", maxTables)
		for range n {
			m.table(r, false, nil)
		}
	case secMemory:
		if n := r.count("memories", maxItems); n > 1 {
			r.fail(ErrUnsupported, "multiple memories")
		} else if n == 1 {
			m.memory(r, false)
		}
	case secGlobal:
		n := r.count("globals", maxItems)
		for range n {
			m.valueType(r)
			r.u8()
			m.constExpr(r, nil)
			m.globals++
			if r.err != nil {
				return
			}
		}
	case secExport:
		m.readExports(r)
	case secStart:
		f := r.index("function", m.funcs())
		m.info.Start = true
		m.keep(f)
	case secElement:
		m.elementSegments(r, nil)
	case secCode:
		m.readCode(r)
	case secData:
		m.readData(r)
	case secDataCount:
		m.data = r.u32()
		if m.data > maxItems {
			r.fail(ErrTooLarge, "%d data segments", m.data)
		}
	}
}

// keep marks a function that is entered from outside and so pays for itself.
func (m *module) keep(f uint32) {
	if i := int(f) - len(m.hosts); i >= 0 && i < len(m.functions) {
		m.functions[i].exported = true
	}
}

func (m *module) readTypes(r *reader) {
	m.typeItems = r.count("types", maxTypes)
	for range m.typeItems {
		if r.err != nil {
			return
		}
		form := r.u8()
		if form == 0x4e { // a recursive group
			for range r.count("types", maxTypes) {
				if m.functionType(r, r.u8()); r.err != nil {
					return
				}
			}
			continue
		}
		m.functionType(r, form)
	}
}

func (m *module) functionType(r *reader, form byte) {
	switch form {
	case 0x60:
	case 0x5e, 0x5f, 0x50, 0x4f:
		r.fail(ErrUnsupported, "garbage collection (type form %#x)", form)
		return
	default:
		r.fail(ErrMalformed, "unknown type form %#x", form)
		return
	}
	if len(m.types) >= maxTypes {
		r.fail(ErrTooLarge, "more than %d types", maxTypes)
		return
	}
	var s signature
	s.params, s.paramCount = m.valueTypes(r)
	s.results, _ = m.valueTypes(r)
	m.types = append(m.types, s)
}

func (m *module) valueTypes(r *reader) ([]byte, uint32) {
	n := r.count("value types", maxParams)
	from := r.p
	for range n {
		m.valueType(r)
	}
	return r.b[min(from, len(r.b)):r.p], n
}

// valueType steps over a value type. Types by index are left to the validator
// inside the type section, where they may point forward.
func (m *module) valueType(r *reader) byte {
	t := r.u8()
	switch t {
	case 0x7f, 0x7e, 0x7d, 0x7c, 0x7b, 0x70, 0x6f:
	case 0x63, 0x64:
		m.heapType(r, r.s33())
	default:
		m.unknownType(r, int64(t)-0x80)
	}
	return t
}

// heapType checks what a reference refers to.
func (m *module) heapType(r *reader, h int64) {
	switch {
	case h == -0x10 || h == -0x11: // func, extern
	case h < 0:
		m.unknownType(r, h)
	case h >= maxTypes:
		r.fail(ErrMalformed, "unknown type %d", h)
	}
}

func (m *module) unknownType(r *reader, t int64) {
	switch {
	case r.err != nil:
	case t == -0x17 || t == -0x0c:
		r.fail(ErrUnsupported, "exception handling (exnref)")
	case t >= -0x16 && t <= -0x0d:
		r.fail(ErrUnsupported, "garbage collection (type %#x)", t+0x80)
	default:
		r.fail(ErrMalformed, "unknown value type %#x", t+0x80)
	}
}

// limits reads the bounds of a memory or a table.
func (m *module) limits(r *reader) (l Limits) {
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

func (m *module) memory(r *reader, imported bool) {
	m.memories++
	if m.memories > 1 {
		r.fail(ErrUnsupported, "multiple memories")
	}
	m.info.Memory = &Memory{Limits: m.limits(r), Imported: imported}
}

// table reads a table type and writes it to w, where w is not nil, with its
// limit lowered to what is allowed.
func (m *module) table(r *reader, imported bool, w *[]byte) {
	from := r.p
	init := false
	if r.more() && r.b[r.p] == 0x40 && !imported {
		init = true
		r.u8()
		if z := r.u8(); z != 0 {
			r.fail(ErrMalformed, "unknown table form %#x", z)
		}
	}
	m.valueType(r)
	head := r.p
	l := m.limits(r)
	if limit := m.o.MaxTable; limit >= 0 && !imported {
		if int64(l.Min) > limit {
			r.fail(ErrTooLarge, "a table of %d entries, at most %d are allowed", l.Min, limit)
			return
		}
		if !l.HasMax || int64(l.Max) > limit {
			l.HasMax, l.Max = true, uint32(min(limit, 1<<32-1))
		}
	}
	if w != nil && r.err == nil {
		*w = append(*w, r.b[from:head]...)
		*w = l.append(*w)
	}
	if w == nil {
		m.tables++
		m.info.Tables = append(m.info.Tables, Table{Limits: l, Imported: imported})
		if len(m.info.Tables) > maxTables {
			r.fail(ErrTooLarge, "more than %d tables", maxTables)
		}
	}
	if init {
		m.constExpr(r, w)
	}
}

func (m *module) readImports(r *reader) {
	n := r.count("imports", maxImports)
	for range n {
		im := Import{Module: r.name(), Name: r.name()}
		at := r.p
		kind := r.u8()
		if r.err != nil {
			return
		}
		switch kind {
		case 0:
			t := r.index("type", uint32(len(m.types)))
			if r.err != nil {
				return
			}
			im.Kind, im.Type = Func, m.types[t].String()
			if im.Module == m.o.ImportModule && im.Name == m.o.ImportName {
				r.p = at
				r.fail(ErrReserved, "the module imports %s.%s, which is the meter's", im.Module, im.Name)
				return
			}
			cost, named := m.o.Weights.Hosts[im.Module+"."+im.Name]
			if !named {
				cost = m.o.Weights.Host
			}
			m.hosts = append(m.hosts, hostFunc{typ: t, cost: cost})
		case 1:
			im.Kind = TableKind
			m.table(r, true, nil)
		case 2:
			im.Kind = MemoryKind
			m.memory(r, true)
		case 3:
			im.Kind = Global
			m.valueType(r)
			r.u8()
			m.importedG++
			m.globals++
		case 4:
			r.fail(ErrUnsupported, "exception handling (imported tag)")
		default:
			r.fail(ErrMalformed, "unknown kind of import %#x", kind)
		}
		if r.err != nil {
			return
		}
		m.info.Imports = append(m.info.Imports, im)
	}
}

func (m *module) readExports(r *reader) {
	n := r.count("exports", maxItems)
	for range n {
		name := r.name()
		ex := Export{Name: name}
		at := r.p
		kind := r.u8()
		switch kind {
		case 0:
			f := r.index("function", m.funcs())
			if r.err != nil {
				return
			}
			m.keep(f)
			ex.Kind, ex.Type = Func, m.types[m.typeOf(f)].String()
		case 1:
			ex.Kind = TableKind
			r.index("table", m.tables)
		case 2:
			ex.Kind = MemoryKind
			r.index("memory", m.memories)
		case 3:
			ex.Kind = Global
			r.index("global", m.globals)
		case 4:
			r.fail(ErrUnsupported, "exception handling (exported tag)")
		default:
			r.fail(ErrMalformed, "unknown kind of export %#x", kind)
		}
		if name == FuelExport {
			r.p = at
			r.fail(ErrReserved, "the module exports %s, which is the meter's", name)
		}
		if r.err != nil {
			return
		}
		m.info.Exports = append(m.info.Exports, ex)
	}
}

func (m *module) typeOf(f uint32) uint32 {
	if n := uint32(len(m.hosts)); f >= n {
		return m.functions[f-n].typ
	}
	return m.hosts[f].typ
}

func (m *module) readCode(r *reader) {
	n := r.count("function bodies", maxFunctions)
	if int(n) != len(m.functions) {
		r.fail(ErrMalformed, "%d bodies for %d functions", n, len(m.functions))
	}
	for i := range n {
		body := r.sub(r.u32())
		if r.err != nil {
			return
		}
		if len(body.b) > maxBody {
			r.fail(ErrTooLarge, "a function of %d bytes", len(body.b))
			return
		}
		f := &m.functions[i]
		f.base, f.body = body.base, body.b
		if body.b == nil {
			f.body = []byte{}
		}
	}
}

func (m *module) readData(r *reader) {
	n := r.count("data segments", maxItems)
	for range n {
		switch mode := r.u32(); mode {
		case 0:
			m.constExpr(r, nil)
		case 1:
		case 2:
			r.index("memory", m.memories)
			m.constExpr(r, nil)
		default:
			r.fail(ErrMalformed, "unknown data segment %d", mode)
		}
		r.bytes(r.u32())
		if r.err != nil {
			return
		}
	}
}

// elementSegments reads the segments and, where w is not nil, writes them with
// the functions' new indices.
func (m *module) elementSegments(r *reader, w *[]byte) {
	n := r.count("element segments", maxItems)
	put := func(v uint32) uint32 {
		if w != nil {
			*w = appendU32(*w, v)
		}
		return v
	}
	put(n)
	for range n {
		mode := put(r.u32())
		if mode > 7 {
			r.fail(ErrMalformed, "unknown element segment %d", mode)
		}
		if r.err != nil {
			return
		}
		passive, explicit, exprs := mode&1 != 0, mode&2 != 0, mode&4 != 0
		if !passive {
			if explicit {
				put(r.index("table", m.tables))
			}
			m.constExpr(r, w)
		}
		if passive || explicit {
			from := r.p
			if exprs {
				m.valueType(r)
			} else if kind := r.u8(); kind != 0 {
				r.fail(ErrMalformed, "unknown element kind %#x", kind)
			}
			if w != nil {
				*w = append(*w, r.b[from:r.p]...)
			}
		}
		count := put(r.count("elements", maxItems))
		for range count {
			if exprs {
				m.constExpr(r, w)
			} else if f := r.index("function", m.funcs()); r.err == nil && w != nil {
				*w = appendU32(*w, m.referred(f))
			}
			if r.err != nil {
				return
			}
		}
	}
	if w == nil {
		m.elements = n
	}
}

// constExpr reads a constant expression and, where w is not nil, writes it with
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
			f := r.index("function", m.funcs())
			if r.err == nil && w != nil {
				*w = appendU32(append(*w, opRefFunc), m.referred(f))
			}
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

// String is the type as Info shows it: "(i32 i64) -> (i32)".
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
