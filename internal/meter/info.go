package meter

// Info describes the original module: what a host
// needs to decide whether to accept a foreign module.
type Info struct {
	Imports []Import
	Exports []Export
	Memory  *Memory // nil if there is none
	Tables  []Table
	Start   bool     // there is a start function, which runs at instantiation
	Dropped []string // removed custom sections
	// Statistics of metering.
	Functions    int // defined functions
	Leaves       int // functions that are charged to their callers
	Checked      int // functions that check the level at their entry
	ChargePoints int
}

// Kind is the kind of an import or export.
type Kind uint8

// The kinds, in the order of the binary format.
const (
	Func Kind = iota
	TableKind
	MemoryKind
	Global
)

// String returns the keyword of the text format.
func (k Kind) String() string {
	return [...]string{"func", "table", "memory", "global"}[k]
}

// Import is an import of the module.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         string // of a function: "(i32 i64) -> (i32)"
}

// Export is an export of the module.
type Export struct {
	Name string
	Kind Kind
	Type string // of a function: "(i32 i64) -> (i32)"
}

// Limits are the bounds of a memory in pages or of a table in entries.
type Limits struct {
	Min, Max uint32
	HasMax   bool
	Shared   bool
}

// Memory is the module's linear memory.
type Memory struct {
	Limits
	Imported bool
}

// Table is one of the module's tables, with the limits it has after metering.
type Table struct {
	Limits
	Imported bool
}

func (l Limits) append(b []byte) []byte {
	var flag byte
	if l.HasMax {
		flag |= 1
	}
	if l.Shared {
		flag |= 2
	}
	b = appendU32(append(b, flag), l.Min)
	if l.HasMax {
		b = appendU32(b, l.Max)
	}
	return b
}
