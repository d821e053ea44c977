package meter

// Names in a metered module.
const (
	// RefillModule and RefillName are the default name of the imported
	// function of a metered module, of type (i64) -> i64.
	RefillModule = "wexec"
	RefillName   = "refill"
	// FuelExport is the name under which the fuel global is exported.
	FuelExport = "wexec_fuel"
)

// Options configure metering. wexec uses the zero value for
// its guests.
type Options struct {
	// ImportModule and ImportName are the names of the refill function; empty means
	// RefillModule and RefillName.
	ImportModule, ImportName string
	// Weights are the costs of operations that cost more than an instruction.
	Weights Weights
	// MaxTable bounds the entries of the module's tables, which are outside the
	// memory limit. A module whose tables start with more in total is rejected. Each
	// table may grow to an equal share, beyond which table.grow returns -1.
	// Zero means DefaultMaxTable; a negative value keeps the module's limits as they
	// are.
	MaxTable int64
	// Redirect has the modules that functions are imported from instead, by
	// "module.name" as the module has them. Info.Imports and Weights.Hosts name
	// what the module has.
	Redirect map[string]string
	// Start is the name under which the module's start function is exported, so
	// that the host can call it when a run pays for it: then it does not run
	// when the module is instantiated. Empty keeps the start function.
	// Info.Start reports whether there is one.
	Start string
}

// DefaultMaxTable is the default of Options.MaxTable.
const DefaultMaxTable = 1 << 20

// Weights are costs in fuel, in addition to one unit for the instruction.
// Zero means the default, a negative value means no cost.
type Weights struct {
	// Indirect is for a call through a table or a reference; default 4. It is
	// part of its region and subject to the region's cap.
	Indirect int64
	// Host is for a call of an imported function, and for the instructions
	// that leave compiled code as such a call does; default 100.
	Host int64
	// Hosts overrides Host for imported functions by "module.name"; zero means
	// free.
	Hosts map[string]int64
	// Page is for a page that memory.grow added; default 2048.
	Page int64
}

// Bulk operations cost by length: bytes and entries per unit, as
// powers of two.
const (
	bulkBytesShift   = 5
	bulkEntriesShift = 1
)

const (
	regionCap     = 64   // maximum cost of a function entry or a loop header
	leafMax       = 100  // maximum cost of a function that is charged to its callers
	lineMax       = 256  // instructions on a straight line between two charges
	pathMax       = 512  // instructions on any path between two charges
	throughMax    = 4096 // instructions that a function may lead to without a check
	trampolineMax = 6    // parameters of a function with a trampoline: they are in registers
	refFuncCost   = 32   // ref.func leaves compiled code
	growCost      = 100  // memory.grow and table.grow do, too
)

// Bounds of accepted modules, similar to those of web browsers.
const (
	maxModule    = 64 << 20
	maxBody      = 8 << 20
	maxCode      = 96 << 20 // after metering
	maxFunctions = 1 << 18
	maxTypes     = 1 << 18
	maxItems     = 1 << 20 // globals, exports, segments, entries of a segment
	maxImports   = 1 << 16
	maxTables    = 1 << 12
	maxParams    = 1000
	maxLocals    = 50_000
	maxAllLocals = 1 << 22 // sum over all functions: wazero allocates a word for each
	maxNesting   = 50_000
	maxTargets   = 1 << 17
	maxName      = 100_000
)

func weight(given, normal int64) int64 {
	switch {
	case given == 0:
		return normal
	case given < 0:
		return 0
	}
	return given
}

// maxWeight prevents overflow of sums of charges.
const maxWeight = 1 << 30
