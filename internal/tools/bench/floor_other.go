//go:build !unix

package main

import "os"

// touch is not known here.
func touch(*os.File, int, int) error { return nil }
