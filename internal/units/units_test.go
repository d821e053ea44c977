package units

import (
	"slices"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	sizes := map[string]int64{"0": 0, "65536": 65536, "64KiB": 64 << 10, "64 KiB": 64 << 10, "1.5GiB": 3 << 29, "2k": 2 << 10, "10MB": 10_000_000, "1_000": 1000, "3b": 3}
	for text, want := range sizes {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("%s: %d %v", text, got, err)
		}
	}
	times := map[string]time.Duration{"30s": 30 * time.Second, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour, "250ms": 250 * time.Millisecond, "0": 0}
	for text, want := range times {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	rates := map[string]Rate{"5/min": {5, time.Minute}, "100 / h": {100, time.Hour}, "10/30s": {10, 30 * time.Second}, "1/day": {1, 24 * time.Hour}}
	for text, want := range rates {
		got, err := ParseRate(text)
		if err != nil || got != want {
			t.Errorf("%s: %v %v", text, got, err)
		}
	}
	counts := map[string]int64{"5_000_000_000": 5e9, "5e9": 5e9, "0": 0}
	for text, want := range counts {
		if got, err := ParseCount(text); err != nil || got != want {
			t.Errorf("%s: %d %v", text, got, err)
		}
	}
	for text, want := range map[string]int64{"1%": 1, "10 %": 10, "100": 100} {
		if got, err := ParseShare(text); err != nil || got != want {
			t.Errorf("%s: %d %v", text, got, err)
		}
	}
	for _, text := range []string{"0", "101%", "1.5%", "%", "10%%", "-1"} {
		if _, err := ParseShare(text); err == nil {
			t.Errorf("%s is a share", text)
		}
	}
	for text, want := range map[string]Money{"20": 20e6, "0.29": 290_000, "1_000.5": 1000.5e6} {
		var got Money
		if err := got.UnmarshalText([]byte(text)); err != nil || got != want {
			t.Errorf("%s: %d %v", text, got, err)
		}
	}
	if text := Money(290_000).String(); text != "0.29" {
		t.Error(text)
	}
	wrong := []string{"", "x", "-1", "1_", "_1", "1__0", "0x10", "1e400", "NaN", "Inf", "1 2", "9e30", "1.5.5"}
	for _, text := range wrong {
		if n, err := ParseSize(text); err == nil {
			t.Errorf("size %q is %d", text, n)
		}
		if n, err := ParseCount(text); err == nil {
			t.Errorf("count %q is %d", text, n)
		}
		if err := new(Money).UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is an amount", text)
		}
		if n, err := ParseRate(text + "/s"); err == nil {
			t.Errorf("rate %q is %v", text, n)
		}
	}
	for _, text := range append(slices.Clone(wrong), "30", "-5s", "s") {
		if d, err := ParseDuration(text); err == nil {
			t.Errorf("time %q is %v", text, d)
		}
	}
}
