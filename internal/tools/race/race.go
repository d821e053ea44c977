// Package race tells tests whether the race detector checks them.
package race

import (
	"runtime/debug"
	"slices"
)

// Enabled reports whether the program was built with the race detector, with
// which it takes several times the time and memory.
func Enabled() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
