// Package sandbox runs guests: WebAssembly modules that Extism and wazero
// execute, each in an instance with its own memory.
//
// A [Module] is compiled code, a [Guest] is a module with its memory image and
// a [Pool] of instances, an [Instance] is one sandbox, and a [Host] is the
// host's side of one run, on which the host functions of package
// wasm-modules/ABI.md work. [Admission] decides which runs have a core, and a
// [Ledger] counts the memory of all instances.
//
// A guest is hostile. It cannot exceed the fuel, memory, time and output of its
// host, sees only its [world.World], and reaches tools only through
// [hostfns.Calls]. What an instance has served is discarded, unless the engine
// keeps it for a session.
package sandbox
