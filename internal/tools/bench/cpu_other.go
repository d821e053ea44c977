//go:build !unix

package main

import "time"

// processorTime returns 0: only unix reports it.
func processorTime() time.Duration { return 0 }
