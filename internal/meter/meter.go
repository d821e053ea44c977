// Package meter rewrites WebAssembly modules so that they pay for what they
// do. It is pure: bytes in, bytes out, the same on every machine.
//
// # What is added
//
// A metered module counts its fuel in a mutable i64 global, exported under
// [FuelExport]. Its first value is 0. Charges are subtracted from it, and where
// the level is looked at and found below zero the module calls one imported
// function, refill(level i64) -> i64, whose result is the new level. The host
// decides there whether the guest may go on: it returns a level that is not
// below zero, or it stops the guest by panicking with an error of its own, which
// comes out of the call into the guest. So the first look of every run reaches
// the host. [Tank] is the arithmetic of the host's side.
//
// Nothing the module could do before reaches the counter: every function,
// global, local and type that its code names is checked to be one of its own.
//
// # What is charged
//
// One unit is about one instruction. Charges are made at function entries and
// loop headers: the instructions of the region that follows (a function or a
// loop without the loops inside it), at most 64 of them, since large regions
// are the switches of interpreters of which one arm is taken. Loop-free
// functions of at most 100 instructions carry no charge of their own, their
// callers pay. On a straight line of more than 256 instructions, and on any
// path of more than 512, a further charge is made. Growing memory and tables,
// bulk operations, indirect calls and calls of imports have weights of their
// own, see [Weights].
//
// The level is looked at wherever a program can come back to: at loop headers,
// at the entries of functions that recursion can reach or that lead to much
// other code, before bulk operations and before calls of imports. Between two
// looks lies a bounded amount of code, whatever the module.
//
// # What it does not do
//
// Rewrite is no validator: validate the original too, by compiling it with
// wazero; what is rewritten then is valid, and does what the original did. Do
// so after [Inspect] or Rewrite took it and not before: wazero makes room for
// what a count in the module claims, gigabytes where the count is a lie, while
// here every count is held against the bytes that are there. Compile without
// debug information, and without the features that are refused here, but with
// tail calls: a function that looks at its entry leaves refill to a second one,
// which calls it again, and the stack must not be deeper after it.
//
// What the host does for the guest is charged by weight only. A host function
// may charge more by subtracting from the fuel global. Exceptions to a limit
// stay with the host: memory.atomic.wait blocks, so modules with shared
// memories (see [Info]) should not be let in where one cannot wait for them.
package meter

import "fmt"

// Names in a metered module.
const (
	// RefillModule and RefillName are the default name of the imported
	// function of a metered module, of type (i64) -> i64.
	RefillModule = "wexec"
	RefillName   = "refill"
	// FuelExport is the name under which the fuel global is exported.
	FuelExport = "wexec_fuel"
)

// Options say how a module is metered. The zero value is what wexec uses for
// its guests.
type Options struct {
	// ImportModule and ImportName name the refill function; empty is
	// RefillModule and RefillName.
	ImportModule, ImportName string
	// Weights are the prices of what costs more than an instruction.
	Weights Weights
	// MaxTable bounds the entries of the module's tables, which are outside the
	// memory cap. A module whose tables start with more in all is refused. Each
	// table may grow to its equal share, beyond which table.grow returns -1.
	// Zero is DefaultMaxTable; below zero leaves the module's limits as they
	// are.
	MaxTable int64
	// Start is a name under which the module's start function is exported, so
	// that the host calls it when there is somebody to pay: it does not run by
	// itself while the module is instantiated then. Empty leaves it as it is.
	// Info.Start says whether there is one.
	Start string
}

// DefaultMaxTable is how many entries the tables of a module may have unless
// Options say otherwise.
const DefaultMaxTable = 1 << 20

// Weights are prices in fuel, beside the one unit of the instruction itself.
// Zero is the default, below zero is nothing.
type Weights struct {
	// Indirect is for a call through a table or a reference; default 4. It is
	// part of its region and under the region's cap.
	Indirect int64
	// Host is for a call of an imported function, and for the instructions
	// which leave compiled code as such a call does; default 100.
	Host int64
	// Hosts holds other prices of imported functions by "module.name"; zero is
	// free here.
	Hosts map[string]int64
	// Page is for a page that memory.grow added; default 2048.
	Page int64
}

// The bulk operations cost by length: bytes and entries that a unit covers, as
// powers of two.
const (
	bulkBytesShift   = 5
	bulkEntriesShift = 1
)

const (
	regionCap   = 64   // the most that a function entry or a loop header costs
	leafMax     = 100  // the largest function without a charge of its own
	lineMax     = 256  // instructions on a straight line between two charges
	pathMax     = 512  // instructions on any path between two charges
	throughMax  = 4096 // instructions a function may stand for without a look at the level
	doubleMax   = 6    // parameters of a function that has a double: they are in registers
	refFuncCost = 32   // ref.func leaves compiled code
	growCost    = 100  // so do memory.grow and table.grow
)

// Bounds of what is taken. Web browsers have bounds of the same size.
const (
	maxModule    = 64 << 20
	maxBody      = 8 << 20
	maxCode      = 96 << 20 // once metered
	maxFunctions = 1 << 18
	maxTypes     = 1 << 18
	maxItems     = 1 << 20 // globals, exports, segments, entries of a segment
	maxImports   = 1 << 16
	maxTables    = 1 << 12
	maxParams    = 1000
	maxLocals    = 50_000
	maxAllLocals = 1 << 22 // of all functions: wazero keeps a word for each
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

// Inspect reads a module as Rewrite does and says what it is, without metering
// it. What Rewrite would refuse, it refuses.
func Inspect(original []byte, o Options) (Info, error) {
	m, err := analyse(original, o)
	if err != nil {
		return Info{}, err
	}
	return m.info, nil
}

// Rewrite returns the metered form of a module. The original is left as it is.
// What is wrong with a module is an [*Error]; it names what is not known.
func Rewrite(original []byte, o Options) ([]byte, Info, error) {
	m, err := analyse(original, o)
	if err != nil {
		return nil, Info{}, err
	}
	if err := m.plan(); err != nil {
		return nil, Info{}, err
	}
	out, err := m.write()
	if err != nil {
		return nil, Info{}, err
	}
	return out, m.info, nil
}

// analyse settles the options and reads a module.
func analyse(original []byte, o Options) (*module, error) {
	if o.ImportModule == "" && o.ImportName == "" {
		o.ImportModule, o.ImportName = RefillModule, RefillName
	}
	for name, w := range o.Weights.Hosts {
		if w < 0 || w > maxWeight {
			return nil, fmt.Errorf("meter: weight %d of %s is out of range", w, name)
		}
	}
	o.Weights.Indirect = weight(o.Weights.Indirect, 4)
	o.Weights.Host = weight(o.Weights.Host, 100)
	o.Weights.Page = weight(o.Weights.Page, 2048)
	if max(o.Weights.Indirect, o.Weights.Host, o.Weights.Page) > maxWeight {
		return nil, fmt.Errorf("meter: a weight is above %d", maxWeight)
	}
	if o.MaxTable == 0 {
		o.MaxTable = DefaultMaxTable
	}
	m, err := parse(original, o)
	if err != nil {
		return nil, err
	}
	if err := m.scan(); err != nil {
		return nil, err
	}
	m.rank()
	return m, nil
}

// maxWeight keeps sums of charges far from the ends of an int64.
const maxWeight = 1 << 30
