//go:build !unix

package main

import "os"

// touch is not implemented on this system.
func touch(*os.File, int, int) error { return nil }
