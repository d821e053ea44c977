package meter

// Info is what Rewrite learned about a module, as it was before: what a host
// looks at before it lets a module in that it did not build.
type Info struct {
	Imports []Import
	Exports []Export
	Memory  *Memory // nil where there is none
	Tables  []Table
	Start   bool     // it has a start function, which runs while it is instantiated
	Dropped []string // custom sections that were left out
	// What was done to it.
	Functions    int // functions it defines
	Leaves       int // of them, those whose callers pay
	Checked      int // those that look at the level at their entry
	ChargePoints int
}

// Kind is what is imported or exported.
type Kind uint8

// The kinds, in the order of the binary format.
const (
	Func Kind = iota
	TableKind
	MemoryKind
	Global
)

// String is the word of the text format.
func (k Kind) String() string {
	switch k {
	case Func:
		return "func"
	case TableKind:
		return "table"
	case MemoryKind:
		return "memory"
	}
	return "global"
}

// Import is something the module wants from the host.
type Import struct {
	Module, Name string
	Kind         Kind
	Type         string // of a function: "(i32 i64) -> (i32)"
}

// Export is something the module offers.
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
