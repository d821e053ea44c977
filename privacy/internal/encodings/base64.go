package encodings

import (
	"bytes"
	"encoding/base64"
	"unicode/utf8"

	"github.com/wexec/wexec/privacy/internal/char"
)

// LeastBase64 is the shortest base64 that is decoded, in bytes.
const LeastBase64 = 12

// IsBase64 reports the bytes of both alphabets of base64.
func IsBase64(c byte) bool {
	return c < 0x80 && char.IsWord(c) || c == '-' || c == '+' || c == '/'
}

// BeginsBase64 is a cheap test whether text in base64 begins at i: text begins
// with readable bytes, random words hardly do.
func BeginsBase64(t []byte, i int) bool {
	if i+LeastBase64 > len(t) {
		return false
	}
	head := t[i : i+LeastBase64]
	lower, upper := false, false
	for _, c := range head {
		if !IsBase64(c) {
			return false
		}
		lower, upper = lower || char.IsLower(c), upper || char.IsUpper(c)
	}
	if !lower || !upper {
		return false
	}
	var text [LeastBase64 / 4 * 3]byte
	_, err := alphabet(head).Decode(text[:], head)
	return err == nil && readable(text[:], true)
}

func alphabet(b []byte) *base64.Encoding {
	if bytes.ContainsAny(b, "-_") {
		return base64.RawURLEncoding
	}
	return base64.RawStdEncoding
}

// DecodeBase64 decodes the text in base64 at i. It returns the encoding, and the
// ends of the digits and of the padding; text is nil if it is not base64 of
// readable text.
func DecodeBase64(t []byte, i int) (text []byte, enc *base64.Encoding, end, padded int) {
	end = i
	for end < len(t) && IsBase64(t[end]) {
		end++
	}
	enc = alphabet(t[i:end])
	text, err := enc.DecodeString(string(t[i:end]))
	if err != nil || !readable(text, false) {
		return nil, nil, end, end
	}
	padded = end
	for padded < len(t) && t[padded] == '=' && padded < end+2 {
		padded++
	}
	if padded > end {
		enc = enc.WithPadding(base64.StdPadding)
	}
	return text, enc, end, padded
}

// readable reports text: no control characters other than those of lines. The
// end of a part may cut a character.
func readable(b []byte, part bool) bool {
	for i := 0; i < len(b); {
		c := b[i]
		if c < 0x80 {
			if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7f {
				return false
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return part && i > 0 && !utf8.FullRune(b[i:])
		}
		i += n
	}
	return true
}
