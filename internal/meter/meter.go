// Package meter rewrites WebAssembly modules so that they account for what they
// execute. The result depends on the input only and is the same on every machine.
//
// # Mechanism
//
// A metered module counts its fuel in a mutable i64 global, exported under
// [FuelExport]. Its initial value is 0. Charges are subtracted from it. Where
// the level is checked and is negative, the module calls one imported
// function, refill(level i64) -> i64, which returns the new level. The host
// decides there whether the guest may continue: it returns a level that is not
// negative, or it stops the guest by panicking with an error, which
// the call into the guest returns. The first check of every run reaches
// the host. [Tank] implements the host's side.
//
// The module cannot access the counter: every function,
// global, local and type that its code refers to is checked to exist in the original.
//
// # Charges
//
// One unit is about one instruction. Charges are made at function entries and
// loop headers: the instructions of the region that follows (a function or a
// loop without the loops inside it), at most 64 of them, because large regions
// are the switches of interpreters, which take one arm. Loop-free
// functions of at most 100 instructions are charged to their
// callers. On a straight line of more than 256 instructions, and on any
// path of more than 512, a further charge is made. Growing memory and tables,
// bulk operations, indirect calls and calls of imports have separate
// weights, see [Weights].
//
// The level is checked wherever execution can repeat: at loop headers,
// at the entries of functions that recursion can reach or that lead to much
// other code, before bulk operations and before calls of imports. The amount of code
// between two checks is bounded for every module.
//
// # Limits
//
// Rewrite does not validate: validate the original too, by compiling it with
// wazero; then the result is valid and behaves like the original. Do
// so after Rewrite accepted it, not before: wazero allocates
// what a count in the module claims, gigabytes if the count is wrong, while
// here every count is checked against the available bytes. Compile without
// debug information, and without the features that are rejected here, but with
// tail calls: a function that checks at its entry delegates refill to a second one,
// which calls it again, and the stack must not grow.
//
// Work of the host for the guest is charged by weight only. A host function
// may charge more by subtracting from the fuel global. The host must handle
// one exception: memory.atomic.wait blocks, so modules with shared
// memories (see [Info]) should be rejected if blocking is not acceptable.
package meter

import "fmt"

// Rewrite returns the metered form of a module. It does not change the original.
// A module that is invalid or not supported is an [*Error].
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

// analyse applies defaults to the options and reads a module.
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
