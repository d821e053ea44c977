package policy

import (
	"bytes"
	"encoding/json"
	"time"

	"github.com/wexec/wexec/fault"
)

// Limits bound a run. Zero means the default, never unlimited. In JSON sizes
// are bytes and Time is milliseconds; texts such as "64MiB" and "30s" are read
// too.
type Limits struct {
	Fuel      int64         // units of about one wasm instruction
	Memory    int64         // bytes of linear memory
	Time      time.Duration // wall time, waiting for people not counted
	Output    int64         // bytes of stdout, stderr and value
	ToolCalls int           // calls of tools
	Parallel  int           // calls at once
	HostBytes int64         // bytes through the host
	Recursion int           // depth; zero: the interpreter's own
}

// DefaultLimits are what holds where nobody says anything.
func DefaultLimits() Limits {
	return Limits{
		Fuel:      100_000_000_000,
		Memory:    512 << 20,
		Time:      30 * time.Second,
		Output:    1 << 20,
		ToolCalls: 200,
		Parallel:  16,
		HostBytes: 256 << 20,
	}
}

// OrDefaults fills every limit that is not set with its default.
func (l Limits) OrDefaults() Limits {
	d := DefaultLimits()
	return Limits{
		Fuel:      orElse(l.Fuel, d.Fuel),
		Memory:    orElse(l.Memory, d.Memory),
		Time:      orElse(l.Time, d.Time),
		Output:    orElse(l.Output, d.Output),
		ToolCalls: orElse(l.ToolCalls, d.ToolCalls),
		Parallel:  orElse(l.Parallel, d.Parallel),
		HostBytes: orElse(l.HostBytes, d.HostBytes),
		Recursion: orElse(l.Recursion, d.Recursion),
	}
}

// Tighten takes the smaller of each limit; one that is not set gives way to
// one that is. What holds for a run is
//
//	policy.Limits().Tighten(request).OrDefaults()
//
// so that a request may raise a default and never what a policy says.
func (l Limits) Tighten(other Limits) Limits {
	return Limits{
		Fuel:      smaller(l.Fuel, other.Fuel),
		Memory:    smaller(l.Memory, other.Memory),
		Time:      smaller(l.Time, other.Time),
		Output:    smaller(l.Output, other.Output),
		ToolCalls: smaller(l.ToolCalls, other.ToolCalls),
		Parallel:  smaller(l.Parallel, other.Parallel),
		HostBytes: smaller(l.HostBytes, other.HostBytes),
		Recursion: smaller(l.Recursion, other.Recursion),
	}
}

// Check says which limit is below zero, as usage.flag, or nil.
func (l Limits) Check() error {
	for _, row := range l.rows() {
		if row.value < 0 {
			return fault.New(fault.UsageFlag, "the limit %s is %d, below zero", row.key, row.value).
				WithHint("leave it out, or give 0, for the default")
		}
	}
	return nil
}

func (l Limits) rows() []limitRow {
	return []limitRow{
		{"fuel", l.Fuel}, {"memory", l.Memory}, {"time", int64(l.Time)}, {"output", l.Output},
		{"tool_calls", int64(l.ToolCalls)}, {"parallel", int64(l.Parallel)},
		{"host_bytes", l.HostBytes}, {"recursion", int64(l.Recursion)},
	}
}

type limitRow struct {
	key   string
	value int64
}

type limitsJSON struct {
	Fuel      Count    `json:"fuel,omitempty"`
	Memory    Size     `json:"memory,omitempty"`
	Time      Duration `json:"time,omitempty"`
	Output    Size     `json:"output,omitempty"`
	ToolCalls Count    `json:"tool_calls,omitempty"`
	Parallel  Count    `json:"parallel,omitempty"`
	HostBytes Size     `json:"host_bytes,omitempty"`
	Recursion Count    `json:"recursion,omitempty"`
}

func (j limitsJSON) limits() Limits {
	return Limits{
		Fuel: int64(j.Fuel), Memory: int64(j.Memory), Time: time.Duration(j.Time), Output: int64(j.Output),
		ToolCalls: int(j.ToolCalls), Parallel: int(j.Parallel), HostBytes: int64(j.HostBytes), Recursion: int(j.Recursion),
	}
}

// MarshalJSON writes the limits that are set, in bytes and milliseconds.
func (l Limits) MarshalJSON() ([]byte, error) {
	return json.Marshal(limitsJSON{
		Fuel: Count(l.Fuel), Memory: Size(l.Memory), Time: Duration(l.Time), Output: Size(l.Output),
		ToolCalls: Count(l.ToolCalls), Parallel: Count(l.Parallel), HostBytes: Size(l.HostBytes), Recursion: Count(l.Recursion),
	})
}

// UnmarshalJSON reads limits; a key that is none is an error.
func (l *Limits) UnmarshalJSON(data []byte) error {
	var j limitsJSON
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&j); err != nil {
		return fault.New(fault.UsageFlag, "read limits: %w", err)
	}
	*l = j.limits()
	return l.Check()
}

func orElse[T ~int | ~int64](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

func smaller[T ~int | ~int64](a, b T) T {
	if a <= 0 || (b > 0 && b < a) {
		return b
	}
	return a
}
