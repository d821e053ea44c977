package terminal

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/internal/text"
)

// Visible returns s on one line, with every character that a person cannot see,
// or that moves others, written as an escape.
func Visible(s string) string {
	return strings.NewReplacer("\n", `\n`, "\t", `\t`).Replace(text.VisibleLines(s))
}

// Clip returns the first n characters of s, and how many s has if it has more.
func Clip(s string, n int) string {
	if size := utf8.RuneCountInString(s); size > n {
		return fmt.Sprintf("%s (%d characters)", text.ClipRunes(s, n), size)
	}
	return s
}

// Count is a number of things, such as "1 tool" and "2 tools".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Thousands is a number with a comma between groups of three digits.
func Thousands(n int64) string {
	s := fmt.Sprint(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Bytes is a size in the unit that reads best.
func Bytes(n int64) string {
	switch {
	case n >= 10<<30:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// Kinds is a count for each kind, such as "3 email, 1 phone".
func Kinds(counts map[string]int) string {
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, Thousands(int64(counts[kind]))+" "+kind)
	}
	return strings.Join(parts, ", ")
}
