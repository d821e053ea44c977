package terminal

import (
	"slices"
	"strings"
	"testing"
)

func TestDiffShowsChangedLinesWithTwoAround(t *testing.T) {
	before, after := "a\nb\nc\nd\ne\nf\n", "a\nb\nc\nx\nd\nf\n"
	want := []string{"  b", "  c", "+ x", "  d", "- e", "  f"}
	if got := Diff(before, after); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := Diff("", "a\n"); !slices.Equal(got, []string{"+ a"}) {
		t.Errorf("got %q", got)
	}
	if got := Diff(strings.Repeat("a\n", 3000), strings.Repeat("b\n", 3000)); len(got) != 6000 {
		t.Errorf("%d lines of two long texts", len(got))
	}
}

func TestNumbersAreReadable(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", 100000: "100,000"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	for n, want := range map[int64]string{1: "1 bytes", 10 << 10: "10 KiB", 3 << 19: "1.5 MiB", 20 << 20: "20 MiB", 11 << 30: "11 GiB"} {
		if got := Bytes(n); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	if got := Count(1, "tool") + ", " + Count(2, "tool"); got != "1 tool, 2 tools" {
		t.Error(got)
	}
}
