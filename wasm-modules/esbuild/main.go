// Command esbuild is the TypeScript compiler of wexec: esbuild,
// compiled to WebAssembly as a guest. It is a guest because
// a program of a few hundred kilobytes of parentheses can crash
// esbuild, and with it the process.
//
// The input document has code and file; the value is for package guests:
// the code as JavaScript, a source map, or errors.
package main

// main is not called: the guest is a library with the exports of guest.go.
func main() {}
