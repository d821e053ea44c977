// Package units reads and writes amounts as configuration files, flags and
// environment variables have them: counts (5_000_000_000, 5e9), sizes (64KiB,
// 1.5GB), durations (30s, 2d) and rates (5/min). No amount is negative. Errors
// have the code usage.flag and a hint with examples.
package units

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/text"
)

// Count is a number of things: 200, 5_000_000_000, 5e9.
type Count int64

// Share is a part of a whole in percent: 10%, 100%.
type Share int64

// Size is a number of bytes: 65536, 64KiB, 256MiB, 1.5GB.
type Size int64

// Money is an amount in millionths of a currency: 20, 0.5.
type Money int64

// Duration is a time span: 250ms, 30s, 1h30m, 2d.
type Duration time.Duration

// Rate is a number of events per time span: 5/min, 100/h, 10/30s.
type Rate struct {
	N   int
	Per time.Duration
}

// UnmarshalText reads a count with [ParseCount].
func (c *Count) UnmarshalText(text []byte) error {
	n, err := ParseCount(string(text))
	*c = Count(n)
	return err
}

// UnmarshalText reads an amount of the currency.
func (m *Money) UnmarshalText(text []byte) error {
	n, err := parseNumber(string(text))
	if err != nil || n*1e6 < 1 {
		return fault.New(fault.UsageFlag, "%q is not an amount above 0", clip(string(text))).WithHint("write it as 20 or 0.5")
	}
	micros, err := scale(math.Round(n*1e6), 1, string(text))
	*m = Money(micros)
	return err
}

// Float returns the amount in the currency.
func (m Money) Float() float64 { return float64(m) / 1e6 }

// String returns the amount as files write it.
func (m Money) String() string { return strconv.FormatFloat(m.Float(), 'f', -1, 64) }

// UnmarshalText reads a share with [ParseShare].
func (s *Share) UnmarshalText(text []byte) error {
	n, err := ParseShare(string(text))
	*s = Share(n)
	return err
}

// UnmarshalText reads a size with [ParseSize].
func (s *Size) UnmarshalText(text []byte) error {
	n, err := ParseSize(string(text))
	*s = Size(n)
	return err
}

// UnmarshalText reads a duration with [ParseDuration].
func (d *Duration) UnmarshalText(text []byte) error {
	t, err := ParseDuration(string(text))
	*d = Duration(t)
	return err
}

// UnmarshalText reads a rate with [ParseRate].
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}

// ParseCount reads a whole number.
func ParseCount(s string) (int64, error) {
	n, err := parseNumber(s)
	if err != nil || n != math.Trunc(n) {
		return 0, fault.New(fault.UsageFlag, "%q is not a whole number of 0 or more", clip(s)).WithHint("write it as 200 or 5_000_000_000")
	}
	return scale(n, 1, s)
}

// ParseShare reads a whole number of percent, from 1% to 100%. The sign may be left out.
func ParseShare(s string) (int64, error) {
	n, err := ParseCount(strings.TrimSuffix(strings.TrimSpace(s), "%"))
	if err != nil || n < 1 || n > 100 {
		return 0, fault.New(fault.UsageFlag, "%q is not a share from 1%% to 100%%", clip(s)).WithHint("write it as 10%% or 50%%")
	}
	return n, nil
}

// ParseSize reads a number of bytes. KiB, MiB, GiB and the one-letter units are
// powers of 1024; KB, MB and GB are powers of 1000.
func ParseSize(s string) (int64, error) {
	trimmed := strings.TrimSpace(s)
	number := strings.TrimRight(trimmed, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
	factor, ok := sizeUnits[strings.ToLower(trimmed[len(number):])]
	n, err := parseNumber(number)
	if err != nil || !ok {
		return 0, fault.New(fault.UsageFlag, "%q is not a size", clip(s)).WithHint("write it as 65536, 64KiB or 256MiB")
	}
	return scale(n, factor, s)
}

var sizeUnits = map[string]float64{
	"": 1, "b": 1, "k": 1 << 10, "kib": 1 << 10, "m": 1 << 20, "mib": 1 << 20, "g": 1 << 30, "gib": 1 << 30,
	"t": 1 << 40, "tib": 1 << 40, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
}

// FormatSize writes a size with the largest unit that divides it: 64MiB, 1500B.
func FormatSize(n int64) string {
	for _, u := range []struct {
		name  string
		shift int
	}{{"GiB", 30}, {"MiB", 20}, {"KiB", 10}} {
		if n >= 1<<u.shift && n%(1<<u.shift) == 0 {
			return strconv.FormatInt(n>>u.shift, 10) + u.name
		}
	}
	return strconv.FormatInt(n, 10) + "B"
}

// ParseDuration reads a duration as [time.ParseDuration] does, and days ("2d")
// of 24 hours. A number without a unit is an error.
func ParseDuration(s string) (time.Duration, error) {
	trimmed := strings.TrimSpace(s)
	if days, ok := strings.CutSuffix(trimmed, "d"); ok {
		if n, err := parseNumber(days); err == nil {
			if ns, err := scale(n, float64(24*time.Hour), s); err == nil {
				return time.Duration(ns), nil
			}
		}
	} else if d, err := time.ParseDuration(trimmed); err == nil && d >= 0 {
		return d, nil
	}
	return 0, fault.New(fault.UsageFlag, "%q is not a duration", clip(s)).WithHint("write it as 500ms, 30s, 15m or 1h30m")
}

// ParseMilliseconds reads a number of milliseconds without a unit.
func ParseMilliseconds(s string) (time.Duration, error) {
	n, err := parseNumber(s)
	if err != nil {
		return 0, fault.New(fault.UsageFlag, "%q is not a number of milliseconds", clip(s))
	}
	ns, err := scale(n, float64(time.Millisecond), s)
	return time.Duration(ns), err
}

// ParseRate reads a number of events per time span.
func ParseRate(s string) (Rate, error) {
	if count, span, ok := strings.Cut(s, "/"); ok {
		n, err := ParseCount(strings.TrimSpace(count))
		span = strings.TrimSpace(span)
		per, named := rateUnits[span]
		if !named {
			per, _ = ParseDuration(span)
		}
		if err == nil && n >= 1 && n <= math.MaxInt32 && per > 0 {
			return Rate{N: int(n), Per: per}, nil
		}
	}
	return Rate{}, fault.New(fault.UsageFlag, "%q is not a rate", clip(s)).WithHint("write it as 5/min, 100/h or 10/30s")
}

var rateUnits = map[string]time.Duration{
	"s": time.Second, "sec": time.Second, "second": time.Second,
	"m": time.Minute, "min": time.Minute, "minute": time.Minute,
	"h": time.Hour, "hour": time.Hour, "d": 24 * time.Hour, "day": 24 * time.Hour,
}

// parseNumber reads a decimal number that is not negative, with _ between
// digits.
func parseNumber(s string) (float64, error) {
	s = strings.TrimSpace(s)
	if len(s) > 40 || s == "" || !isDigit(s[0]) || strings.ContainsAny(s, "xXpP") {
		return 0, strconv.ErrSyntax
	}
	for i := range len(s) {
		if s[i] == '_' && (i+1 == len(s) || !isDigit(s[i-1]) || !isDigit(s[i+1])) {
			return 0, strconv.ErrSyntax
		}
	}
	return strconv.ParseFloat(strings.ReplaceAll(s, "_", ""), 64)
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func scale(n, factor float64, written string) (int64, error) {
	v := n * factor
	if !(v >= 0 && v < math.MaxInt64) {
		return 0, fault.New(fault.UsageFlag, "%q is too large", clip(written))
	}
	return int64(v), nil
}

// clip shortens a text for a message.
func clip(s string) string { return text.Clip(s, 60) }
