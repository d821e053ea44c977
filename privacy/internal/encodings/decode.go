package encodings

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/wexec/wexec/internal/jsonscan"
	"github.com/wexec/wexec/privacy/internal/char"
)

// maxRounds is how often a text is decoded: logs of proxies have text that is
// encoded twice.
const maxRounds = 3

// Rounds undoes the encodings of a text, round by round. It is empty if there is
// nothing to undo.
func Rounds(src []byte) []*View {
	var all []*View
	for range maxRounds {
		v := decode(src)
		if v == nil {
			break
		}
		all = append(all, v)
		src = v.Text
	}
	return all
}

// decode is one round. It returns nil if nothing changes.
func decode(src []byte) *View {
	if !mayDecode(src) {
		return nil
	}
	var v View
	var buffer [16]byte
	done := 0
	for i := 0; i < len(src); {
		var text []byte
		n, encoding := 0, unicodeForm
		switch c := src[i]; {
		case c == '%':
			if b, ok := percentByte(src[i:]); ok {
				text, n, encoding = append(buffer[:0], b), 3, percent
			}
		case c == '&':
			var r rune
			r, n = htmlEntity(src[i:])
			text, encoding = utf8.AppendRune(buffer[:0], r), entity
		case c == '\\' && i+1 < len(src) && src[i+1] == 'u':
			if r, size := jsonscan.Unescape(src[i:]); r >= ' ' && utf8.ValidRune(r) {
				text, n, encoding = utf8.AppendRune(buffer[:0], r), size, unicodeEscape
			}
		case c == '\\' && i+1 < len(src) && src[i+1] == '\\':
			i++
		case c >= 0x80:
			r, size := utf8.DecodeRune(src[i:])
			if plain, ok := plainForm(r, buffer[:0]); ok {
				text, n = plain, size
			} else {
				i += size - 1
			}
		}
		if n == 0 {
			i++
			continue
		}
		done = v.replace(src, done, i, i+n, text, encoding)
		i = done
	}
	if len(v.pieces) == 0 {
		return nil
	}
	v.Text = append(v.Text, src[done:]...)
	return &v
}

// mayDecode is a cheap test whether a text has anything to undo.
func mayDecode(src []byte) bool {
	if len(src) < 48 {
		// For a short text one test of each byte is cheaper than five searches.
		rare := false
		for _, c := range src {
			if c == '%' || c == '&' || c == '\\' || c >= 0x80 {
				rare = true
				break
			}
		}
		if !rare {
			return false
		}
	}
	if !IsASCII(src) {
		return true
	}
	for rest := src; ; {
		i := bytes.IndexByte(rest, '%')
		if i < 0 {
			break
		}
		if _, ok := percentByte(rest[i:]); ok {
			return true
		}
		rest = rest[i+1:]
	}
	if i := bytes.IndexByte(src, '&'); i >= 0 && bytes.IndexByte(src[i:], ';') > 0 {
		return true
	}
	return bytes.Contains(src, []byte(`\u`))
}

// IsASCII reports that a text has no byte above ASCII.
func IsASCII(src []byte) bool {
	i := 0
	for ; i+8 <= len(src); i += 8 {
		if binary.LittleEndian.Uint64(src[i:])&0x8080808080808080 != 0 {
			return false
		}
	}
	for ; i < len(src); i++ {
		if src[i] >= 0x80 {
			return false
		}
	}
	return true
}

// percentByte reads %40. Control characters stay encoded.
func percentByte(src []byte) (b byte, ok bool) {
	if len(src) < 3 {
		return 0, false
	}
	high, ok1 := char.HexValue(src[1])
	low, ok2 := char.HexValue(src[2])
	b = high<<4 | low
	return b, ok1 && ok2 && b >= ' ' && b != 0x7f
}

// entities are the HTML entities that can be part of personal data.
var entities = map[string]rune{
	"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\'', "nbsp": ' ', "commat": '@', "period": '.', "lowbar": '_', "hyphen": '-', "dash": '-',
	"plus": '+', "colon": ':', "sol": '/', "lbrack": '[', "lsqb": '[', "rbrack": ']', "rsqb": ']',
}

// htmlEntity reads an entity and returns its length, or 0.
func htmlEntity(src []byte) (r rune, size int) {
	end := bytes.IndexByte(src[:min(len(src), 12)], ';')
	if end < 3 {
		return 0, 0
	}
	name := string(src[1:end])
	if name[0] != '#' {
		r, ok := entities[name]
		if !ok {
			return 0, 0
		}
		return r, end + 1
	}
	digits, base := name[1:], 10
	if digits[0]|0x20 == 'x' {
		digits, base = digits[1:], 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n < ' ' || n > unicode.MaxRune || !utf8.ValidRune(rune(n)) {
		return 0, 0
	}
	return rune(n), end + 1
}

// plainForm is the plain form of a character that has one: digits and letters of
// other widths and styles, typographic spaces and hyphens. Characters without a
// width have an empty one. Letters with accents stay as they are.
func plainForm(r rune, buffer []byte) (plain []byte, ok bool) {
	switch {
	case r < 0xA0:
		return nil, false
	case r == 0xA0, r == 0x202F, r >= 0x2000 && r <= 0x200A, r == 0x205F, r == 0x3000:
		return append(buffer, ' '), true
	case r == 0xAD, r >= 0x200B && r <= 0x200F, r >= 0x2060 && r <= 0x2064, r == 0xFEFF, r == 0x180E,
		r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069, r >= 0xFE00 && r <= 0xFE0F, r == 0x034F:
		return buffer, true
	case r >= 0x2010 && r <= 0x2015, r == 0x2212, r == 0xFE63, r == 0xFF0D:
		return append(buffer, '-'), true
	case r == 0x2024, r == 0x3002, r == 0xFF61:
		return append(buffer, '.'), true
	case r == 0x2018, r == 0x2019:
		return append(buffer, '\''), true
	case r >= 0xFF01 && r <= 0xFF5E:
		return append(buffer, byte(r-0xFF01+'!')), true
	case r < 0x660, r >= 0x2E80 && r < 0xA620, r >= 0xAC00 && r < 0xD7A4:
		return nil, false
	case r >= 0x2070 && r <= 0x209C, r >= 0x2100 && r <= 0x2188, r >= 0x2460 && r <= 0x24EA, r >= 0x1D400 && r <= 0x1D7FF, r >= 0x1F100 && r <= 0x1F16F:
		text := norm.NFKC.AppendString(buffer, string(r))
		return text, len(text) == 1 && text[0] < 0x80
	case unicode.Is(unicode.Nd, r):
		// The digits of a script are in runs of ten that begin with the zero.
		for _, run := range unicode.Nd.R16 {
			if r >= rune(run.Lo) && r <= rune(run.Hi) {
				return append(buffer, byte('0'+(r-rune(run.Lo))%10)), true
			}
		}
		for _, run := range unicode.Nd.R32 {
			if r >= rune(run.Lo) && r <= rune(run.Hi) {
				return append(buffer, byte('0'+(r-rune(run.Lo))%10)), true
			}
		}
	}
	return nil, false
}
