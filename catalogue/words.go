package catalogue

import (
	"strings"
	"unicode"
)

// Words splits an identifier or a sentence into lower-case words: at anything
// that is no letter or digit, between a small and a capital letter, before the
// last capital of an abbreviation, and between letters and digits.
func Words(s string) []string {
	var out []string
	rs := []rune(s)
	start := -1
	flush := func(end int) {
		if start >= 0 && end > start {
			out = append(out, strings.ToLower(string(rs[start:end])))
		}
		start = -1
	}
	for i, r := range rs {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			flush(i)
			continue
		}
		if start >= 0 && boundary(rs, i) {
			flush(i)
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(rs))
	return out
}

// boundary reports whether a new word begins at i, within letters and digits.
func boundary(rs []rune, i int) bool {
	a, b := rs[i-1], rs[i]
	switch {
	case unicode.IsLower(a) && unicode.IsUpper(b):
		return true
	case unicode.IsDigit(a) != unicode.IsDigit(b):
		return true
	case unicode.IsUpper(a) && unicode.IsUpper(b) && i+1 < len(rs) && unicode.IsLower(rs[i+1]):
		return true
	}
	return false
}
