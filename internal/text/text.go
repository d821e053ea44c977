// Package text prepares foreign text for people, models and logs: it shortens
// text at character boundaries, removes characters that control a terminal or
// hide content, and makes them visible instead where a person has to see what
// is there. Every function returns valid UTF-8.
package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Ellipsis marks text that was shortened.
const Ellipsis = "…"

// Valid returns s with invalid UTF-8 replaced by U+FFFD.
func Valid(s string) string { return strings.ToValidUTF8(s, string(utf8.RuneError)) }

// Prefix returns the longest prefix of s that has at most n bytes and splits no
// character.
func Prefix(s string, n int) string {
	if len(s) > n {
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return Valid(s)
}

// Clip returns s if it has at most n bytes, and else its Prefix and an
// ellipsis.
func Clip(s string, n int) string {
	if len(s) <= n {
		return Valid(s)
	}
	return Prefix(s, n) + Ellipsis
}

// ClipRunes returns s if it has at most n characters, and else its first n and
// an ellipsis.
func ClipRunes(s string, n int) string {
	for at := range s {
		if n == 0 {
			return Valid(s[:at]) + Ellipsis
		}
		n--
	}
	return Valid(s)
}

// OneLine returns s with each run of white space and control characters
// replaced by one space, and none at the ends.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(Valid(s), func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// Clean returns s without characters that control a terminal, change the
// direction of writing or are invisible. Line feeds and tabs stay.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && Unsafe(r) {
			return -1
		}
		return r
	}, Valid(s))
}

// Unsafe reports whether r is a control or format character, which includes
// those that change the direction of writing, or a line or paragraph separator.
func Unsafe(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp) || r >= 0xe0000 && r <= 0xe007f // tags
}

// Visible returns s with every character that a person cannot see written as
// \u{…}: control and format characters, blank letters, and all white space but
// the space. A reader can tell two texts apart, and no text can draw over
// another.
func Visible(s string) string { return visible(s, "") }

// VisibleLines is Visible, but line feeds and tabs stay.
func VisibleLines(s string) string { return visible(s, "\n\t") }

func visible(s, keep string) string {
	var b strings.Builder
	for _, r := range s {
		if invisible(r) && !strings.ContainsRune(keep, r) {
			fmt.Fprintf(&b, `\u{%x}`, r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

func invisible(r rune) bool {
	switch r {
	case utf8.RuneError, 0x2800, 0x1d159: // the last two are blank symbols
		return true
	}
	return !unicode.IsPrint(r) || unicode.In(r, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// Name returns a foreign name fit for one line of a message: at most n bytes,
// and quoted if it holds a character that cannot be printed.
func Name(s string, n int) string {
	s = Clip(s, n)
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(s)
	}
	return s
}
