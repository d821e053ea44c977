package policy

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/units"
	"github.com/wexec/wexec/internal/yamldoc"
)

// Limits bound a run. Zero means the default, never unlimited. In JSON, sizes
// are bytes and Time is milliseconds; strings such as "64MiB" and "30s" are
// accepted too.
type Limits struct {
	Fuel      int64         // units of about one wasm instruction
	Memory    int64         // bytes of linear memory
	Time      time.Duration // wall time, without time spent waiting for people
	Output    int64         // bytes of stdout, stderr and value
	ToolCalls int           // number of tool calls
	Parallel  int           // tool calls at the same time
	HostBytes int64         // bytes passed through the host
	Recursion int           // depth; zero is the interpreter's own limit
	CPU       int           // percent of one core; zero is all of it
}

// LimitKind says how a limit is written.
type LimitKind uint8

// The kinds of limits.
const (
	LimitCount    LimitKind = iota // 200, 5e9
	LimitSize                      // 64MiB
	LimitDuration                  // 30s
	LimitShare                     // 10%
)

// LimitField describes one field of [Limits]: its name in every place that
// reads or writes limits.
type LimitField struct {
	Key     string // in files, requests and records: tool_calls
	Flag    string // on the command line: max-tool-calls
	Doc     string // what it bounds
	Kind    LimitKind
	Default int64 // in Limits' own unit; zero for recursion and cpu

	index int
	most  int64 // zero: any
}

// LimitFields lists the fields of [Limits] in their order.
func LimitFields() []LimitField { return slices.Clone(limitFields[:]) }

const maxInt = 1 << 30 // of the limits that are an int

// limitFields is the one table of limits. Its order is that of toArray.
var limitFields = [...]LimitField{
	{index: 0, Key: "fuel", Flag: "fuel", Kind: LimitCount, Default: 100_000_000_000, Doc: "fuel, in units of about one wasm instruction"},
	{index: 1, Key: "memory", Flag: "memory", Kind: LimitSize, Default: 512 << 20, Doc: "linear memory"},
	{index: 2, Key: "time", Flag: "time", Kind: LimitDuration, Default: int64(30 * time.Second), Doc: "wall time, without time spent waiting for people"},
	{index: 3, Key: "output", Flag: "output", Kind: LimitSize, Default: 1 << 20, Doc: "total size of stdout, stderr and value"},
	{index: 4, Key: "tool_calls", Flag: "max-tool-calls", Kind: LimitCount, Default: 200, most: maxInt, Doc: "number of tool calls"},
	{index: 5, Key: "parallel", Flag: "parallel", Kind: LimitCount, Default: 16, most: maxInt, Doc: "tool calls at the same time"},
	{index: 6, Key: "host_bytes", Flag: "host-bytes", Kind: LimitSize, Default: 256 << 20, Doc: "bytes passed through the host"},
	{index: 7, Key: "recursion", Flag: "recursion", Kind: LimitCount, most: maxInt, Doc: "recursion depth"},
	{index: 8, Key: "cpu", Flag: "cpu", Kind: LimitShare, most: 100, Doc: "share of one core"},
}

type limitArray [len(limitFields)]int64

func (l Limits) toArray() limitArray {
	return limitArray{l.Fuel, l.Memory, int64(l.Time), l.Output, int64(l.ToolCalls), int64(l.Parallel), l.HostBytes, int64(l.Recursion), int64(l.CPU)}
}

func (a limitArray) limits() Limits {
	return Limits{a[0], a[1], time.Duration(a[2]), a[3], int(a[4]), int(a[5]), a[6], int(a[7]), int(a[8])}
}

// Get returns the value of the field in l.
func (f LimitField) Get(l Limits) int64 { return l.toArray()[f.index] }

// Set stores a value of the field in l. A count that exceeds what a run could
// ever reach is lowered to that.
func (f LimitField) Set(l *Limits, value int64) {
	a := l.toArray()
	a[f.index] = min(value, cmp.Or(f.most, math.MaxInt64))
	*l = a.limits()
}

// Parse reads a value of the field as files, flags and variables write it.
func (f LimitField) Parse(text string) (int64, error) {
	switch f.Kind {
	case LimitSize:
		return units.ParseSize(text)
	case LimitDuration:
		d, err := units.ParseDuration(text)
		return int64(d), err
	case LimitShare:
		return units.ParseShare(text)
	}
	return units.ParseCount(text)
}

// Format writes a value of the field as [LimitField.Parse] reads it.
func (f LimitField) Format(value int64) string {
	switch f.Kind {
	case LimitSize:
		return units.FormatSize(value)
	case LimitDuration:
		return time.Duration(value).String()
	case LimitShare:
		return strconv.FormatInt(value, 10) + "%"
	}
	if value >= 1e9 && value%1e9 == 0 {
		return strconv.FormatInt(value/1e9, 10) + "e9"
	}
	return strconv.FormatInt(value, 10)
}

// DefaultLimits returns the limits of a run for which no limit is set.
func DefaultLimits() Limits { return Limits{}.OrDefaults() }

// OrDefaults returns l with every limit that is not set at its default.
func (l Limits) OrDefaults() Limits {
	a := l.toArray()
	for i := range a {
		if a[i] <= 0 {
			a[i] = limitFields[i].Default
		}
	}
	return a.limits()
}

// Or returns l with every limit that is not set taken from other.
func (l Limits) Or(other Limits) Limits {
	a, b := l.toArray(), other.toArray()
	for i := range a {
		if a[i] == 0 {
			a[i] = b[i]
		}
	}
	return a.limits()
}

// Tighten returns the smaller of each limit; a limit that is not set gives way
// to one that is. The limits of a run are
//
//	policy.Limits().Tighten(request).OrDefaults()
//
// so that a request can raise a default and never a limit of the policy.
func (l Limits) Tighten(other Limits) Limits {
	a, b := l.toArray(), other.toArray()
	for i := range a {
		if a[i] <= 0 || b[i] > 0 && b[i] < a[i] {
			a[i] = b[i]
		}
	}
	return a.limits()
}

// Check reports a negative limit, as usage.flag.
func (l Limits) Check() error {
	for i, v := range l.toArray() {
		if v < 0 {
			return fault.New(fault.UsageFlag, "limit %s is negative: %d", limitFields[i].Key, v).
				WithHint("leave it out, or set it to 0, for the default")
		}
	}
	return nil
}

// LimitRecord is the form of [Limits] in audit records: Time in milliseconds.
// It has the fields of audit.Limits, to which it converts.
type LimitRecord struct {
	Fuel, Memory, TimeMS, Output int64
	ToolCalls, Parallel          int
	HostBytes                    int64
	Recursion, CPU               int
}

// Record returns the limits as an audit record has them.
func (l Limits) Record() LimitRecord {
	return LimitRecord{l.Fuel, l.Memory, l.Time.Milliseconds(), l.Output, l.ToolCalls, l.Parallel, l.HostBytes, l.Recursion, l.CPU}
}

// Limits returns the limits that were recorded.
func (r LimitRecord) Limits() Limits {
	return Limits{r.Fuel, r.Memory, time.Duration(r.TimeMS) * time.Millisecond, r.Output, r.ToolCalls, r.Parallel, r.HostBytes, r.Recursion, r.CPU}
}

// MarshalJSON writes the limits that are set, in bytes and milliseconds.
func (l Limits) MarshalJSON() ([]byte, error) {
	out := append(make([]byte, 0, 192), '{')
	for i, v := range l.toArray() {
		if limitFields[i].Kind == LimitDuration {
			v = time.Duration(v).Milliseconds()
		}
		if v == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = strconv.AppendInt(append(strconv.AppendQuote(out, limitFields[i].Key), ':'), v, 10)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads limits. An unknown key is an error.
func (l *Limits) UnmarshalJSON(data []byte) error {
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(data, &raw); err != nil {
		return fault.New(fault.UsageFlag, "read limits: %w", err).WithHint(`write an object such as {"time": "30s"}`)
	}
	var out Limits
	for _, key := range slices.Sorted(maps.Keys(raw)) {
		f, err := limitField(key)
		if err != nil {
			return err
		}
		v, err := f.parseJSON(raw[key])
		if err != nil {
			return fault.New(fault.UsageFlag, "read limit %s: %w", key, err).WithHint("%s", fault.HintOf(err))
		}
		f.Set(&out, v)
	}
	*l = out
	return l.Check()
}

// parseJSON reads a number of bytes, milliseconds or things, or a string as
// files write it.
func (f LimitField) parseJSON(data json.RawMessage) (int64, error) {
	if string(data) == "null" {
		return 0, nil
	}
	var s string
	if json.Unmarshal(data, &s) == nil {
		return f.Parse(s)
	}
	if f.Kind == LimitDuration {
		d, err := units.ParseMilliseconds(string(data))
		return int64(d), err
	}
	return f.Parse(string(data))
}

// YAMLKeys lists the keys of a limits block: see yamldoc.Keyed.
func (Limits) YAMLKeys() []yamldoc.Key {
	var out []yamldoc.Key
	for _, f := range limitFields {
		key := yamldoc.Key{Name: f.Key, Doc: f.Doc, Min: 1, Value: units.Count(0)}
		switch f.Kind {
		case LimitSize:
			key.Value = units.Size(0)
		case LimitDuration:
			key.Value = units.Duration(0)
		case LimitShare:
			key.Value = units.Share(0)
		}
		out = append(out, key)
	}
	return out
}

// SetYAML stores a key of a limits block: see yamldoc.Keyed.
func (l *Limits) SetYAML(key string, value int64) {
	if f, err := limitField(key); err == nil {
		f.Set(l, value)
	}
}

// limitField finds a field by its key.
func limitField(key string) (LimitField, error) {
	var keys []string
	for _, f := range limitFields {
		if f.Key == key {
			return f, nil
		}
		keys = append(keys, f.Key)
	}
	err := fault.New(fault.UsageFlag, "unknown limit %s", clip(key))
	if near := catalogue.NearestOf(key, keys); near != "" {
		return LimitField{}, err.WithHint("did you mean %s?", near)
	}
	return LimitField{}, err.WithHint("the limits are %s", strings.Join(keys, ", "))
}
