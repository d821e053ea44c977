package meter

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
	redirected  []redirect
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

// keep marks a function that can be entered other than by a direct call, and thus
// charges for itself.
func (m *module) keep(f uint32) {
	if i := int(f) - len(m.hosts); i >= 0 && i < len(m.functions) {
		m.functions[i].entered = true
	}
}
