package policy

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
)

// Count is a number of things: 200, 5_000_000_000, 5e9.
type Count int64

// Size is a number of bytes: 65536, 64KiB, 256MiB, 1.5GB. In JSON it is a
// number of bytes.
type Size int64

// Duration is a time: 30s, 15m, 1h30m, 250ms, 2d. In JSON it is a number of
// milliseconds.
type Duration time.Duration

// ParseSize reads a number of bytes. KiB, MiB, GiB and the one-letter forms
// count in 1024s; KB, MB and GB in 1000s.
func ParseSize(text string) (int64, error) {
	num, unit := splitUnit(text)
	factor, ok := sizeUnits[strings.ToLower(unit)]
	n, err := parseNumber(num)
	if err != nil || !ok {
		return 0, fault.New(fault.UsageFlag, "%q is not a size", clip(text)).WithHint("write it as 65536, 64KiB or 256MiB")
	}
	return scaled(n, factor, text)
}

var sizeUnits = map[string]float64{
	"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gib": 1 << 30,
	"t": 1 << 40, "tib": 1 << 40, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
}

// ParseDuration reads a time. Days ("2d") are 24 hours; a number without a
// unit is none, since nobody could tell which.
func ParseDuration(text string) (time.Duration, error) {
	bad := fault.New(fault.UsageFlag, "%q is not a time", clip(text)).WithHint("write it as 500ms, 30s, 15m or 1h30m")
	s := strings.TrimSpace(text)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		n, err := parseNumber(days)
		if err != nil {
			return 0, bad
		}
		ns, err := scaled(n, float64(24*time.Hour), text)
		if err != nil {
			return 0, bad
		}
		return time.Duration(ns), nil
	}
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, bad
	}
	return d, nil
}

// ParseCount reads a whole number that is not below zero.
func ParseCount(text string) (int64, error) {
	n, err := parseNumber(text)
	if err != nil || n != math.Trunc(n) {
		return 0, fault.New(fault.UsageFlag, "%q is not a whole number from 0 on", clip(text)).WithHint("write it as 200 or 5_000_000_000")
	}
	return scaled(n, 1, text)
}

// ParseRate reads a number of calls in a time: 5/min, 100/h, 2/s, 10/30s.
func ParseRate(text string) (Rate, error) {
	bad := fault.New(fault.UsageFlag, "%q is not a rate", clip(text)).WithHint("write it as 5/min, 100/h or 10/30s")
	num, per, ok := strings.Cut(text, "/")
	if !ok {
		return Rate{}, bad
	}
	n, err := ParseCount(strings.TrimSpace(num))
	if err != nil || n < 1 || n > math.MaxInt32 {
		return Rate{}, bad
	}
	per = strings.TrimSpace(per)
	if d, ok := rateUnits[per]; ok {
		return Rate{N: int(n), Per: d}, nil
	}
	d, err := ParseDuration(per)
	if err != nil || d <= 0 {
		return Rate{}, bad
	}
	return Rate{N: int(n), Per: d}, nil
}

var rateUnits = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "second": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hour": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour,
}

// String is the rate as a policy file writes it.
func (r Rate) String() string {
	if r.N == 0 {
		return ""
	}
	for _, u := range []struct {
		word string
		per  time.Duration
	}{{"s", time.Second}, {"min", time.Minute}, {"h", time.Hour}, {"day", 24 * time.Hour}} {
		if r.Per == u.per {
			return strconv.Itoa(r.N) + "/" + u.word
		}
	}
	return strconv.Itoa(r.N) + "/" + r.Per.String()
}

// MarshalJSON writes a number.
func (c Count) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(c), 10), nil }

// UnmarshalJSON reads a number, or a text as files write it.
func (c *Count) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	n, err := ParseCount(unquote(data))
	*c = Count(n)
	return err
}

// MarshalJSON writes a number of bytes.
func (s Size) MarshalJSON() ([]byte, error) { return strconv.AppendInt(nil, int64(s), 10), nil }

// UnmarshalJSON reads a number of bytes, or a text as files write it.
func (s *Size) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	n, err := ParseSize(unquote(data))
	*s = Size(n)
	return err
}

// MarshalJSON writes milliseconds.
func (d Duration) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, time.Duration(d).Milliseconds(), 10), nil
}

// UnmarshalJSON reads milliseconds, or a text as files write it.
func (d *Duration) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if len(data) > 0 && data[0] == '"' {
		t, err := ParseDuration(unquote(data))
		*d = Duration(t)
		return err
	}
	n, err := parseNumber(string(data))
	if err != nil {
		return fault.New(fault.UsageFlag, "%q is not a number of milliseconds", clip(string(data)))
	}
	ns, err := scaled(n, float64(time.Millisecond), string(data))
	*d = Duration(ns)
	return err
}

func unquote(data []byte) string {
	var s string
	if len(data) > 0 && data[0] == '"' && json.Unmarshal(data, &s) == nil {
		return s
	}
	return string(data)
}

// splitUnit cuts "64MiB" into "64" and "MiB".
func splitUnit(text string) (num, unit string) {
	s := strings.TrimSpace(text)
	i := len(s)
	for i > 0 && (s[i-1]|0x20 >= 'a' && s[i-1]|0x20 <= 'z') {
		i--
	}
	return strings.TrimSpace(s[:i]), s[i:]
}

func parseNumber(text string) (float64, error) {
	s := strings.TrimSpace(text)
	if len(s) > 40 || s == "" || s[0] < '0' || s[0] > '9' || strings.ContainsAny(s, "xXpP") {
		return 0, strconv.ErrSyntax
	}
	for i := 0; i < len(s); i++ {
		if s[i] == '_' && (i+1 == len(s) || s[i-1] < '0' || s[i-1] > '9' || s[i+1] < '0' || s[i+1] > '9') {
			return 0, strconv.ErrSyntax
		}
	}
	return strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
}

func scaled(n, factor float64, text string) (int64, error) {
	v := n * factor
	if !(v >= 0 && v < math.MaxInt64) {
		return 0, fault.New(fault.UsageFlag, "%q is too large", clip(text))
	}
	return int64(v), nil
}

func clip(s string) string {
	if len(s) > 60 {
		return strings.ToValidUTF8(s[:60], "") + "…"
	}
	return s
}
