//go:build wasip1

package main

import (
	"encoding/json"
	"runtime/debug"
	"unsafe"
)

//go:wasmimport wexec input_size
func inputSize() int32

//go:wasmimport wexec input_read
func inputRead(at unsafe.Pointer, size int32) int32

//go:wasmimport wexec finish
func finish(kind int32, at unsafe.Pointer, size int32)

// maxStack bounds the stack of the parser. Ordinary programs
// need a hundredth of it.
const maxStack = 48 << 20

//go:wasmexport guest_init
func guestInit() int32 {
	debug.SetMaxStack(maxStack)
	debug.SetGCPercent(200)
	return 0
}

//go:wasmexport guest_run
func guestRun() int32 {
	input := make([]byte, inputSize())
	if len(input) == 0 {
		return 1
	}
	input = input[:inputRead(unsafe.Pointer(&input[0]), int32(len(input)))]
	var in document
	if json.Unmarshal(input, &in) != nil {
		return 2
	}
	out, err := json.Marshal(answer(in))
	if err != nil {
		return 3
	}
	finish(0, unsafe.Pointer(&out[0]), int32(len(out)))
	return 0
}
