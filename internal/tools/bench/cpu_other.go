//go:build !unix

package main

import "time"

// processorTime is not implemented on this system.
func processorTime() time.Duration { return 0 }
