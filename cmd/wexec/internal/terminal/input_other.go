//go:build !linux && !darwin && !windows

package terminal

import "io"

// discardInput does nothing: no other system is supported.
func discardInput(io.Reader) {}
