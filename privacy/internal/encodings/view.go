// Package encodings undoes the encodings that personal data can be written in,
// percent-encoding, HTML entities, \u escapes, look-alike characters and base64,
// and maps what is found in the plain text back to the source.
package encodings

import (
	"bytes"
	"encoding/json"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/internal/jsonscan"
)

// View is a text without its encodings, and the way back: where each of its
// bytes was in the source. Between the pieces the two texts are equal.
type View struct {
	Text   []byte
	pieces []piece
}

// piece is a part of a View that is written differently in the source. It is small,
// since a hostile text has one for every few bytes; texts are shorter than 4 GiB.
type piece struct {
	at       uint32 // in the view
	from     uint32 // in the source
	size     uint8  // in the view; 0: left out
	length   uint8  // in the source
	encoding encoding
}

// end is the offset after the piece in the view.
func (p piece) end() int { return int(p.at) + int(p.size) }

type encoding uint8

const (
	unicodeForm   encoding = iota // another form of the same character
	percent                       // %40
	entity                        // &#64;
	unicodeEscape                 // \u0040
)

// Start maps the first byte of a span to the source.
func (v *View) Start(p int) int {
	i := sort.Search(len(v.pieces), func(i int) bool { return int(v.pieces[i].at) > p }) - 1
	if i < 0 {
		return p
	}
	b := v.pieces[i]
	if p < b.end() {
		return int(b.from)
	}
	return int(b.from) + int(b.length) + p - b.end()
}

// End maps the end of a span to the source.
func (v *View) End(p int) int {
	i := sort.Search(len(v.pieces), func(i int) bool { return int(v.pieces[i].at) >= p }) - 1
	if i < 0 {
		return p
	}
	b := v.pieces[i]
	return int(b.from) + int(b.length) + max(0, p-b.end())
}

// Encode encodes the replacement of a span as the span is written in the source.
func (v *View) Encode(replacement string, start, end int) string {
	var used [unicodeEscape + 1]bool
	i := sort.Search(len(v.pieces), func(i int) bool { return v.pieces[i].end() > start })
	for ; i < len(v.pieces) && int(v.pieces[i].at) < end; i++ {
		used[v.pieces[i].encoding] = true
	}
	switch {
	case used[percent]:
		return EscapePercent(replacement)
	case used[unicodeEscape]:
		return EscapeJSON(replacement)
	}
	return replacement
}

// replace appends the source up to from, and text in the place of what is between
// from and to. It returns to.
func (v *View) replace(src []byte, done, from, to int, text []byte, e encoding) int {
	v.Text = append(v.Text, src[done:from]...)
	v.pieces = append(v.pieces, piece{uint32(len(v.Text)), uint32(from), uint8(len(text)), uint8(to - from), e})
	v.Text = append(v.Text, text...)
	return to
}

// TextOfJSON decodes the inside of a JSON string. Invalid escapes stay as they are.
func TextOfJSON(raw []byte) []byte {
	out := make([]byte, 0, len(raw))
	done := 0
	escapes(raw, func(from, to int, text []byte) {
		out = append(append(out, raw[done:from]...), text...)
		done = to
	})
	return append(out, raw[done:]...)
}

// PlacesInJSON converts spans of TextOfJSON(raw) to spans of raw. The offsets are
// the start and the end of each span in turn, in rising order. A View would take
// much memory where many escapes are.
func PlacesInJSON(raw []byte, offsets []int) {
	next, shift := 0, 0 // the next offset; what the escapes before it add
	upTo := func(from, size, to int) {
		for ; next < len(offsets); next++ {
			at := offsets[next] + shift
			switch isEnd := next%2 == 1; {
			case at < from || isEnd && at == from:
				offsets[next] = at
			case at < from+size && !isEnd:
				offsets[next] = from
			case at <= from+size && isEnd:
				offsets[next] = to
			default:
				return
			}
		}
	}
	escapes(raw, func(from, to int, text []byte) {
		upTo(from, len(text), to)
		shift += to - from - len(text)
	})
	upTo(len(raw)+1, 0, 0)
}

// escapes visits the escapes in a JSON string, and the text of each.
func escapes(raw []byte, visit func(from, to int, text []byte)) {
	var buffer [4]byte
	for i := 0; ; {
		next := bytes.IndexByte(raw[i:], '\\')
		if i += next; next < 0 || i+1 == len(raw) {
			return
		}
		text, n := raw[i:i+2], 2
		if r, size := jsonscan.Unescape(raw[i:]); size > 0 {
			text, n = utf8.AppendRune(buffer[:0], r), size
		}
		visit(i, i+n, text)
		i += n
	}
}

// EscapeJSON writes a text as the inside of a JSON string.
func EscapeJSON(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r >= 0x7f }) {
		return s
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil { // it never fails for a string
		return ""
	}
	return string(out.Bytes()[1 : out.Len()-2]) // without quotes and the line end
}

// EscapePercent writes a token as it is written in a URL.
func EscapePercent(s string) string {
	return strings.NewReplacer("[", "%5B", "]", "%5D", ":", "%3A", " ", "%20", "@", "%40").Replace(s)
}
