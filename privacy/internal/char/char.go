// Package char classifies the bytes of texts that are searched for personal
// data, and has the small operations on them that the detectors share. Bytes
// above ASCII count as letters: most of them are parts of letters.
package char

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Class is the class of a byte.
type Class uint8

// The classes. The scan of a text dispatches on them.
const (
	Other      Class = iota
	LowerCase        // a-z
	UpperCase        // A-Z
	High             // above ASCII
	Digit            // 0-9
	Underscore       // _
	At               // @
	Colon            // :
	Equals           // =
	Bracket          // [
	Dash             // -
)

// ClassOf has the class of each byte.
var ClassOf = func() (c [256]Class) {
	for i := range c {
		switch b := byte(i); {
		case IsLower(b):
			c[i] = LowerCase
		case IsUpper(b):
			c[i] = UpperCase
		case IsDigit(b):
			c[i] = Digit
		case b >= 0x80:
			c[i] = High
		}
	}
	for b, class := range map[byte]Class{'_': Underscore, '@': At, ':': Colon, '=': Equals, '[': Bracket, '-': Dash} {
		c[b] = class
	}
	return c
}()

// Shape is the set of classes that occur in a word.
type Shape uint16

// The members of a Shape.
const (
	HasLower Shape = 1 << LowerCase
	HasUpper Shape = 1 << UpperCase
	HasHigh  Shape = 1 << High
	HasDigit Shape = 1 << Digit
	HasUnder Shape = 1 << Underscore
)

// IsDigit reports 0-9.
func IsDigit(c byte) bool { return c >= '0' && c <= '9' }

// IsUpper reports A-Z.
func IsUpper(c byte) bool { return c >= 'A' && c <= 'Z' }

// IsLower reports a-z.
func IsLower(c byte) bool { return c >= 'a' && c <= 'z' }

// IsLetter reports letters, and all bytes above ASCII.
func IsLetter(c byte) bool { return IsLower(c|0x20) || c >= 0x80 }

// IsWord reports letters, digits, underscores and bytes above ASCII.
func IsWord(c byte) bool { return ClassOf[c]-LowerCase <= Underscore-LowerCase }

// IsHex reports hexadecimal digits.
func IsHex(c byte) bool { _, ok := HexValue(c); return ok }

// IsUpperRune reports that t begins with a capital of any script.
func IsUpperRune(t []byte) bool {
	r, _ := utf8.DecodeRune(t)
	return unicode.IsUpper(r)
}

// HexValue is the value of a hexadecimal digit.
func HexValue(c byte) (value byte, ok bool) {
	switch {
	case IsDigit(c):
		return c - '0', true
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return c | 0x20 - 'a' + 10, true
	}
	return 0, false
}

// Number is the value of a few digits at i, five at most, and their count.
func Number(t []byte, i int) (value, n int) {
	for i+n < len(t) && IsDigit(t[i+n]) && n < 5 {
		value = value*10 + int(t[i+n]-'0')
		n++
	}
	return value, n
}

// OnlyDigits is s without everything but ASCII digits.
func OnlyDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// CountDigits counts the digits in s.
func CountDigits[T ~string | ~[]byte](s T) int {
	n := 0
	for i := range len(s) {
		if IsDigit(s[i]) {
			n++
		}
	}
	return n
}

// AllSame reports that all bytes of b are equal.
func AllSame(b []byte) bool {
	for _, c := range b {
		if c != b[0] {
			return false
		}
	}
	return true
}

// Lower writes a word with its ASCII letters in lower case into store, and
// returns it. It is empty for words that are longer than store.
func Lower(store *[24]byte, word []byte) []byte {
	if len(word) > len(store) {
		return nil
	}
	for i, c := range word {
		if IsUpper(c) {
			c |= 0x20
		}
		store[i] = c
	}
	return store[:len(word)]
}

// Set is the words of a list as the keys of a map.
func Set[V any](value V, lists ...string) map[string]V {
	m := make(map[string]V)
	for _, list := range lists {
		for w := range strings.FieldsSeq(list) {
			m[w] = value
		}
	}
	return m
}

// AllHex reports that b has only hexadecimal digits.
func AllHex(b []byte) bool {
	for _, c := range b {
		if !IsHex(c) {
			return false
		}
	}
	return true
}

// WordEnd is the end of the word at i.
func WordEnd(t []byte, i int) int {
	for i < len(t) && IsWord(t[i]) {
		i++
	}
	return i
}

// WordStart is the start of the word that ends at i.
func WordStart(t []byte, i int) int {
	for i > 0 && IsWord(t[i-1]) {
		i--
	}
	return i
}
