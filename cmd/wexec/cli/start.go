package cli

import (
	"runtime"
	"runtime/debug"
)

// startMemory is what a command may hold in Go's memory before the collector
// begins its work.
const startMemory = 64 << 20

// holdCollector keeps Go's collector from running until the process holds
// startMemory. Most commands never do, and what they allocate while they start
// is needed to their end. From the first collection on everything is as it was.
func holdCollector() {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	if percent < 0 || limit < startMemory { // somebody has said how it should be
		debug.SetGCPercent(percent)
		return
	}
	debug.SetMemoryLimit(startMemory)
	type sentinel struct{ _ [16]byte }
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
}
