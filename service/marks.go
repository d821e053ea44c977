package service

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/privacy"
)

// A mark is how a value is found in texts by those who do not have it: its length, a
// rolling hash that is cheap to compute at every place of a text, and the HMAC that
// makes certain. Marks are kept sealed.
type mark struct {
	Size    int    `json:"size"`
	Sum     uint64 `json:"sum"`
	Digest  string `json:"digest"`
	Letters bool   `json:"letters,omitempty"` // only letters and digits count
}

// leastLetters is how many digits a value has that is also searched without the signs
// between them, such as the number of a card or a telephone.
const leastLetters = 7

// marksOf returns the marks of spellings of a value.
func (k *Keys) marksOf(spellings ...string) (all []mark) {
	add := func(text []byte, letters bool) {
		if len(text) == 0 {
			return
		}
		m := mark{Size: len(text), Sum: sum(text), Digest: k.Digest("mark", string(text)), Letters: letters}
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	for _, s := range spellings {
		text := folded([]byte(s))
		add(text, false)
		if bare := lettersOf(text); strings.Count(strings.Map(digitOnly, s), "0") >= leastLetters {
			add(bare, true)
		}
	}
	return all
}

func digitOnly(r rune) rune {
	if r >= '0' && r <= '9' {
		return '0'
	}
	return -1
}

// base is that of the rolling hash, an odd number with bits all over.
const base = 0x9E3779B97F4A7C15

// sum is the rolling hash of a text.
func sum(text []byte) (h uint64) {
	for _, c := range text {
		h = h*base + uint64(c) + 1
	}
	return h
}

// found reports whether a text has one of the marks, as it is or in an encoding.
func (k *Keys) found(text []byte, marks []mark) bool {
	found := false
	readings(text, 0, func(reading []byte) bool {
		plain := folded(reading)
		var bare []byte
		for _, m := range marks {
			in := plain
			if m.Letters {
				if bare == nil {
					bare = lettersOf(plain)
				}
				in = bare
			}
			if found = k.has(in, m); found {
				return false
			}
		}
		return true
	})
	return found
}

// has reports whether a folded text has a mark, not in the middle of a word.
func (k *Keys) has(text []byte, m mark) bool {
	if len(text) < m.Size {
		return false
	}
	power := uint64(1) // of what leaves the window
	for range m.Size - 1 {
		power *= base
	}
	h := sum(text[:m.Size])
	for end := m.Size; ; end++ {
		start := end - m.Size
		if h == m.Sum && (m.Letters || isWhole(text, start, end)) && k.Digest("mark", string(text[start:end])) == m.Digest {
			return true
		}
		if end == len(text) {
			return false
		}
		h = (h-(uint64(text[start])+1)*power)*base + uint64(text[end]) + 1
	}
}

// isWhole reports whether a part of a text begins and ends where words do.
func isWhole(text []byte, start, end int) bool {
	return (start == 0 || !isLetter(text[start-1]) || !isLetter(text[start])) && (end == len(text) || !isLetter(text[end]) || !isLetter(text[end-1]))
}

// isLetter reports letters, digits, and the bytes of all characters beyond ASCII.
func isLetter(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= utf8.RuneSelf
}

// folded is a text in lower case and without NUL bytes, which UTF-16 has.
func folded(text []byte) []byte {
	if bytes.IndexByte(text, 0) >= 0 {
		text = bytes.ReplaceAll(text, []byte{0}, nil)
	}
	return bytes.ToLower(text)
}

// lettersOf is a text without all but letters and digits.
func lettersOf(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for _, c := range text {
		if isLetter(c) {
			out = append(out, c)
		}
	}
	return out
}

// Bounds of readings.
const (
	maxReading   = 3  // encodings in each other
	leastEncoded = 12 // bytes of base64 or hexadecimal digits
)

// readings visits what a text says: as it is, as a JSON document, without the
// encodings of URLs and pages, and what is in it as base64 or hexadecimal digits. It
// ends when visit returns false.
func readings(text []byte, depth int, visit func([]byte) bool) bool {
	if !visit(text) {
		return false
	}
	if depth == maxReading {
		return true
	}
	if !eachString(text, func(s []byte) bool { return readings(s, depth+1, visit) }) {
		return false
	}
	if plain := privacy.Plain(text); plain != nil && !visit(plain) {
		return false
	}
	within := func(decoded []byte) bool { return readings(decoded, depth+1, visit) }
	return eachEncoded(text, isBase64, 4, decodeBase64, within) && eachEncoded(text, isHex, 2, decodeHex, within)
}

// eachEncoded visits what the digits of an encoding in a text decode to. Digits in
// front may belong to something else, so they are read from each place of a group.
func eachEncoded(text []byte, isDigit func(byte) bool, group int, decode func([]byte) []byte, visit func([]byte) bool) bool {
	for i := 0; i < len(text); {
		end := i
		for end < len(text) && isDigit(text[end]) {
			end++
		}
		for from := i; end-from >= leastEncoded && from < i+group; from++ {
			if decoded := decode(text[from:end]); len(decoded) > 0 && !visit(decoded) {
				return false
			}
		}
		i = end + 1
	}
	return true
}

// eachString visits the strings of a JSON document, unless it is only one.
func eachString(text []byte, visit func([]byte) bool) bool {
	if begin := bytes.TrimLeft(text, " \t\r\n"); len(begin) == 0 || bytes.IndexByte([]byte(`{["`), begin[0]) < 0 {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(text))
	for {
		token, err := d.Token()
		if err != nil {
			return true // the end, or not JSON
		}
		if s, ok := token.(string); ok && s != "" && !visit([]byte(s)) {
			return false
		}
	}
}

// isBase64 reports the digits of both alphabets of base64.
func isBase64(c byte) bool {
	return isLetter(c) && c < utf8.RuneSelf || c == '+' || c == '/' || c == '-' || c == '_'
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

func decodeBase64(digits []byte) []byte {
	digits = bytes.Map(func(r rune) rune {
		switch r {
		case '-':
			return '+'
		case '_':
			return '/'
		}
		return r
	}, digits)
	data := make([]byte, base64.RawStdEncoding.DecodedLen(len(digits)))
	n, _ := base64.RawStdEncoding.Decode(data, digits) // a digit too many ends it
	return data[:n]
}

func decodeHex(digits []byte) []byte {
	data := make([]byte, len(digits)/2)
	n, _ := hex.Decode(data, digits[:len(digits)&^1])
	return data[:n]
}
