// Command esbuild is the TypeScript compiler of wexec as a guest: esbuild,
// compiled to WebAssembly, behind the ABI of every guest. It exists because
// esbuild in the host's own process can be made to end it, with a few hundred
// kilobytes of parentheses.
//
// The input document has code and file; the value is what package guests reads:
// the code as JavaScript, a source map, or errors.
package main

// main is never called: the guest is a library with the exports of guest.go.
func main() {}
