package engine

import "time"

// Limits bound a run. Zero means the default, never unlimited.
type Limits struct {
	Fuel      int64
	Memory    int64
	Time      time.Duration
	Output    int64
	ToolCalls int
	Parallel  int
	HostBytes int64
	Recursion int
}
