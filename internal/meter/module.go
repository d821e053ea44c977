package meter

import "bytes"

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

// function is a function of the module and the results of its
// analysis.
type function struct {
	typ  uint32 // index of its type
	base int    // offset of body in the module
	body []byte // locals and code

	params   uint32
	locals   uint32 // parameters and locals
	code     int    // where the instructions begin in body
	cost     int64  // sum over its instructions
	calls    []uint32
	indirect bool // calls through tables or references
	heavy    bool // has a loop or separate charges: not a leaf
	entered  bool // the host or a reference can call it

	leaf  bool  // charged to its callers
	check bool  // checks the level at its entry
	free  int64 // cost of a leaf with the leaves it calls

	trampoline uint32 // index of the function that refuels and calls this one again; 0: none
}

// hostFunc is an imported function.
type hostFunc struct {
	typ   uint32
	cost  int64
	thunk uint32 // index of the function that charges and calls it; 0: not needed
}

// module is a module while it is rewritten.
type module struct {
	o    Options
	src  []byte
	info Info

	sections    []section // in order, without custom sections but "name"
	typeItems   uint32    // entries of the type section; a recursive group is one
	types       []signature
	hosts       []hostFunc
	functions   []function
	importedG   uint32 // imported globals
	globals     uint32
	tables      uint32
	ownTables   uint32 // tables that are not imported
	entries     int64  // their initial entries
	memories    uint32
	elements    uint32   // segments
	data        uint32   // segments
	start       uint32   // the start function, if info.Start
	thunks      []uint32 // imports that are reached by reference
	declare     bool     // code makes references to functions
	code        []byte   // the metered bodies
	trampolined uint32   // number of functions with a trampoline
	trampolines []byte   // bodies of the trampolines
}

func (m *module) funcs() uint32 { return uint32(len(m.hosts) + len(m.functions)) }

// refill returns the index of the refill import, which shifts the index of every function
// that the module defines by one.
func (m *module) refill() uint32 { return uint32(len(m.hosts)) }

// moved returns the index of a function in the metered module.
func (m *module) moved(f uint32) uint32 {
	if f >= m.refill() {
		return f + 1
	}
	return f
}

// referred returns the index of a function in the metered module for
// references: an import is replaced by its thunk.
func (m *module) referred(f uint32) uint32 {
	if f >= m.refill() {
		return f + 1
	}
	h := &m.hosts[f]
	if h.cost == 0 {
		return f
	}
	if h.thunk == 0 {
		h.thunk = m.funcs() + 1 + m.trampolined + uint32(len(m.thunks))
		m.thunks = append(m.thunks, f)
	}
	return h.thunk
}

// parse reads everything but the instructions.
func parse(src []byte, o Options) (*module, error) {
	m := &module{o: o, src: src}
	if len(src) > maxModule {
		return nil, errAt(ErrTooLarge, 0, "%d bytes, at most %d are supported", len(src), maxModule)
	}
	if len(src) < 8 || !bytes.Equal(src[:4], []byte("\x00asm")) {
		return nil, errAt(ErrMalformed, 0, "not a WebAssembly module")
	}
	if bytes.Equal(src[4:8], []byte{0x0d, 0, 1, 0}) {
		return nil, errAt(ErrUnsupported, 4, "a component instead of a module")
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

// split finds the sections and checks their order.
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
