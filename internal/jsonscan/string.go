package jsonscan

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf16"
)

// text reads the string whose opening quote is at i. It looks for quotes,
// backslashes and control characters in eight bytes at a time.
func (s *Scanner) text(i int) bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	doc, at := s.doc, i+1
	s.Start, s.Escaped = at, false
	for at < len(doc) {
		if at+8 <= len(doc) {
			w := binary.LittleEndian.Uint64(doc[at:])
			quote, slash := w^(ones*'"'), w^(ones*'\\')
			special := ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*' ')&^w) & highs
			if special == 0 {
				at += 8
				continue
			}
			at += bits.TrailingZeros64(special) / 8 // the lowest bit is exact
		}
		switch c := doc[at]; {
		case c == '"':
			s.End, s.pos = at, at+1
			return true
		case c == '\\':
			s.Escaped = true
			size := escapeSize(doc[at:])
			if size == 0 {
				return s.fail(at, "invalid escape in a string")
			}
			at += size
		case c < ' ':
			return s.fail(at, "control character in a string")
		default:
			at++
		}
	}
	return s.fail(at, "")
}

// escapeSize is the length of the escape sequence at the start of b, 0 if it is
// invalid.
func escapeSize(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if _, ok := hex4(b); ok {
			return 6
		}
	}
	return 0
}

// Unescape decodes the escape sequence at the start of b and returns its
// length, 0 if it is invalid. A pair of surrogates is one character; an
// unpaired surrogate is returned as it is, and utf8.AppendRune writes U+FFFD
// for it.
func Unescape[T ~string | ~[]byte](b T) (r rune, size int) {
	if len(b) < 2 || b[0] != '\\' {
		return 0, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return rune(b[1]), 2
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
		r, ok := hex4(b)
		if !ok {
			return 0, 0
		}
		if utf16.IsSurrogate(r) && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' {
			if low, ok := hex4(b[6:]); ok {
				if pair := utf16.DecodeRune(r, low); pair != '\uFFFD' {
					return pair, 12
				}
			}
		}
		return r, 6
	}
	return 0, 0
}

// hex4 reads the four digits of a \u sequence.
func hex4[T ~string | ~[]byte](b T) (rune, bool) {
	if len(b) < 6 {
		return 0, false
	}
	var r rune
	for i := 2; i < 6; i++ {
		c := b[i]
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
