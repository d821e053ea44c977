// Package snapshot starts guests from the memory of one that has started
// already.
//
// [Split] takes a module and an instance of it that has initialised itself and
// rests, and gives back a module without data and without initialisers, and the
// bytes of the memory. An [Image] holds such bytes, and [Image.Memory] is what
// wazero asks for the linear memory of one new instance: on Linux a
// copy-on-write mapping of the image, elsewhere a pooled copy.
//
// Mappings live outside Go's heap. Whoever closes an instance must know that
// nothing runs in it any more: a guest that touches memory that is gone takes
// the process with it.
//
// This is the only room that uses unsafe.
package snapshot

// pageSize is the size of a WebAssembly page.
const pageSize = 64 << 10

// KernelSize is the size of the first memory that Extism makes, for its own
// kernel. An image must not be of that size, for the two could not be told
// apart.
const KernelSize = 16 * pageSize
