package privacy

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sort"
	"strconv"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// view is a text with its encodings undone, and the way back: where each of
// its bytes stood before. Between the pieces the two texts are the same.
type view struct {
	text   []byte
	pieces []piece
}

// piece is a part of a view that is written in another way in the source.
type piece struct {
	at, size     int // in the view; size 0: left out
	from, length int // in the source
	code         encoding
}

type encoding uint8

const (
	byUnicode encoding = iota // another form of the same character
	byPercent                 // %40
	byEntity                  // &#64;
	byEscape                  // \u0040
)

// maxRounds is how often a text is decoded again: twice encoded addresses turn
// up in the logs of proxies.
const maxRounds = 3

// start maps the first byte of a span back to the source.
func (v *view) start(p int) int {
	i := sort.Search(len(v.pieces), func(i int) bool { return v.pieces[i].at > p }) - 1
	if i < 0 {
		return p
	}
	b := v.pieces[i]
	if p < b.at+b.size {
		return b.from
	}
	return b.from + b.length + p - b.at - b.size
}

// end maps the place behind a span back to the source.
func (v *view) end(p int) int {
	i := sort.Search(len(v.pieces), func(i int) bool { return v.pieces[i].at >= p }) - 1
	if i < 0 {
		return p
	}
	b := v.pieces[i]
	if p <= b.at+b.size {
		return b.from + b.length
	}
	return b.from + b.length + p - b.at - b.size
}

// coded reports whether a byte of a span was written in an encoding.
func (v *view) coded(start, end int, code encoding) bool {
	i := sort.Search(len(v.pieces), func(i int) bool { return v.pieces[i].at+v.pieces[i].size > start })
	for ; i < len(v.pieces) && v.pieces[i].at < end; i++ {
		if v.pieces[i].code == code {
			return true
		}
	}
	return false
}

// views undoes the encodings of a text, round by round; none where there is
// nothing to undo.
func views(src []byte) []*view {
	var all []*view
	for range maxRounds {
		v := decode(src)
		if v == nil {
			break
		}
		all = append(all, v)
		src = v.text
	}
	return all
}

// decode is one round; nil where nothing changes.
func decode(src []byte) *view {
	if !mayDecode(src) {
		return nil
	}
	var v view
	done := 0
	replace := func(from, to int, text []byte, code encoding) {
		v.text = append(v.text, src[done:from]...)
		v.pieces = append(v.pieces, piece{at: len(v.text), size: len(text), from: from, length: to - from, code: code})
		v.text = append(v.text, text...)
		done = to
	}
	var buffer [16]byte
	for i := 0; i < len(src); {
		switch c := src[i]; {
		case c == '%':
			if b, ok := percent(src, i); ok {
				buffer[0] = b
				replace(i, i+3, buffer[:1], byPercent)
				i += 3
				continue
			}
			i++
		case c == '&':
			if r, n := entity(src[i:]); n > 0 {
				replace(i, i+n, utf8.AppendRune(buffer[:0], r), byEntity)
				i += n
				continue
			}
			i++
		case c == '\\':
			if r, n := unicodeEscape(src[i:]); n > 0 {
				replace(i, i+n, utf8.AppendRune(buffer[:0], r), byEscape)
				i += n
				continue
			}
			i++
			if i < len(src) && src[i] == '\\' {
				i++
			}
		case c >= 0x80:
			r, n := utf8.DecodeRune(src[i:])
			if text, ok := folded(r, buffer[:0]); ok {
				replace(i, i+n, text, byUnicode)
			}
			i += n
		default:
			i++
		}
	}
	if len(v.pieces) == 0 {
		return nil
	}
	v.text = append(v.text, src[done:]...)
	return &v
}

// mayDecode is the cheap look whether a text has anything to undo.
func mayDecode(src []byte) bool {
	if len(src) < 48 {
		// For a short text one look at each byte is cheaper than five searches.
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
	if !ascii(src) {
		return true
	}
	for rest := src; ; {
		i := bytes.IndexByte(rest, '%')
		if i < 0 {
			break
		}
		if _, ok := percent(rest, i); ok {
			return true
		}
		rest = rest[i+1:]
	}
	if i := bytes.IndexByte(src, '&'); i >= 0 && bytes.IndexByte(src[i:], ';') > 0 {
		return true
	}
	return bytes.Contains(src, []byte(`\u`))
}

func ascii(src []byte) bool {
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

func percent(src []byte, i int) (byte, bool) {
	if i+2 >= len(src) {
		return 0, false
	}
	hi, ok1 := hexDigit(src[i+1])
	lo, ok2 := hexDigit(src[i+2])
	b := hi<<4 | lo
	return b, ok1 && ok2 && (b >= ' ' && b != 0x7f)
}

func hexDigit(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

// entity reads an HTML entity; only those that can stand within personal data.
func entity(src []byte) (rune, int) {
	end := bytes.IndexByte(src[:min(len(src), 12)], ';')
	if end < 3 {
		return 0, 0
	}
	name := string(src[1:end])
	if name[0] == '#' {
		digits, base := name[1:], 10
		if digits[0] == 'x' || digits[0] == 'X' {
			digits, base = digits[1:], 16
		}
		n, err := strconv.ParseUint(digits, base, 32)
		if err != nil || n < ' ' || n > unicode.MaxRune || !utf8.ValidRune(rune(n)) {
			return 0, 0
		}
		return rune(n), end + 1
	}
	switch name {
	case "amp":
		return '&', end + 1
	case "lt":
		return '<', end + 1
	case "gt":
		return '>', end + 1
	case "quot":
		return '"', end + 1
	case "apos":
		return '\'', end + 1
	case "nbsp":
		return ' ', end + 1
	case "commat":
		return '@', end + 1
	case "period":
		return '.', end + 1
	case "lowbar":
		return '_', end + 1
	case "hyphen", "dash":
		return '-', end + 1
	case "plus":
		return '+', end + 1
	case "colon":
		return ':', end + 1
	case "sol":
		return '/', end + 1
	case "lbrack", "lsqb":
		return '[', end + 1
	case "rbrack", "rsqb":
		return ']', end + 1
	}
	return 0, 0
}

// unicodeEscape reads \u0040, with the second half of a pair.
func unicodeEscape(src []byte) (rune, int) {
	r, ok := fourHex(src)
	if !ok || r < ' ' {
		return 0, 0
	}
	if r >= 0xD800 && r < 0xDC00 && len(src) >= 12 {
		if low, ok := fourHex(src[6:]); ok && low >= 0xDC00 && low < 0xE000 {
			return (r-0xD800)<<10 | (low - 0xDC00) + 0x10000, 12
		}
	}
	if !utf8.ValidRune(r) {
		return 0, 0
	}
	return r, 6
}

func fourHex(src []byte) (rune, bool) {
	if len(src) < 6 || src[0] != '\\' || src[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range src[2:6] {
		h, ok := hexDigit(c)
		if !ok {
			return 0, false
		}
		r = r<<4 | rune(h)
	}
	return r, true
}

// folded is the plain form of a character that has one: digits and letters of
// other widths and styles, spaces and hyphens of typography; nothing for what
// has no width. Letters with marks stay as they are.
func folded(r rune, buffer []byte) ([]byte, bool) {
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
		// Digits of a script stand in runs of ten, the zero first.
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

// unescape reads the inside of a JSON string that has escapes. What cannot be
// read stays as it is.
func unescape(raw []byte) *view {
	v := &view{text: make([]byte, 0, len(raw))}
	done := 0
	for i := bytes.IndexByte(raw, '\\'); i >= 0 && i+1 < len(raw); {
		n := 2
		var text []byte
		var buffer [4]byte
		switch c := raw[i+1]; c {
		case '"', '\\', '/':
			text = raw[i+1 : i+2]
		case 'b':
			text = []byte{'\b'}
		case 'f':
			text = []byte{'\f'}
		case 'n':
			text = []byte{'\n'}
		case 'r':
			text = []byte{'\r'}
		case 't':
			text = []byte{'\t'}
		case 'u':
			if r, ok := fourHex(raw[i:]); ok {
				n = 6
				if r < ' ' {
					text = utf8.AppendRune(buffer[:0], r)
				} else if r, size := unicodeEscape(raw[i:]); size > 0 {
					text, n = utf8.AppendRune(buffer[:0], r), size
				} else {
					text = utf8.AppendRune(buffer[:0], utf8.RuneError)
				}
			}
		}
		v.text = append(v.text, raw[done:i]...)
		if text == nil {
			text = raw[i : i+n]
		}
		v.pieces = append(v.pieces, piece{at: len(v.text), size: len(text), from: i, length: n, code: byEscape})
		v.text = append(v.text, text...)
		done = i + n
		next := bytes.IndexByte(raw[done:], '\\')
		if next < 0 {
			break
		}
		i = done + next
	}
	v.text = append(v.text, raw[done:]...)
	v.text = slices.Clip(v.text)
	return v
}
