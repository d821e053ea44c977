// Package machine describes the machine that figures come from, without its name.
package machine

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// Processor returns the model name of the processor, or "".
func Processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(data)) {
		if k, v, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(k) == "model name" {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// Load returns the load averages over one, five and fifteen minutes, or "".
func Load() string {
	data, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	f := strings.Fields(string(data))
	return strings.Join(f[:min(3, len(f))], " ")
}

// Describe returns the platform, the processors and the Go version.
func Describe() string {
	model := Processor()
	if model != "" {
		model = " (" + model + ")"
	}
	return fmt.Sprintf("%s/%s, %d processors%s, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model, runtime.Version())
}
