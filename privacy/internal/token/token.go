// Package token has the syntax of the tokens that take the place of personal
// data: [EMAIL_1], or [EMAIL_1:example.org] with a part of the value. Text that
// is written like a token without being one is escaped: [~EMAIL_1].
package token

import (
	"bytes"
	"net/url"
	"strconv"
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
)

// Bounds of a token: [~~KIND_123456789:part].
const (
	maxKind   = 32
	MaxPart   = 80
	maxEscape = 16
	maxToken  = 200
)

// Token is a token as it is written.
type Token struct {
	Kind    string // in capitals
	Number  int
	Escapes int // the ~ in front
}

// Kinds has the kinds that tokens can have, in capitals, as keys and values.
type Kinds map[string]string

// NewKinds makes a Kinds of names in any case.
func NewKinds[K ~string](names []K) Kinds {
	k := make(Kinds, len(names))
	for _, name := range names {
		upper := strings.ToUpper(string(name))
		k[upper] = upper
	}
	return k
}

// Parse reads a token at the start of t. It returns the length, 0 if there is
// none.
func (k Kinds) Parse(t []byte) (int, Token) {
	var tok Token
	if len(t) < 5 || t[0] != '[' {
		return 0, tok
	}
	i := 1
	for i < len(t) && t[i] == '~' && tok.Escapes < maxEscape {
		i++
		tok.Escapes++
	}
	from, last := i, -1 // the last underscore
	for i < len(t) && i-from < maxKind+12 && char.IsWord(t[i]) && t[i] < 0x80 {
		if t[i] == '_' {
			last = i
		}
		i++
	}
	if last <= from || i == last+1 || i-last > 10 || i >= len(t) || t[last+1] == '0' || last-from > maxKind {
		return 0, tok
	}
	for _, c := range t[last+1 : i] {
		if !char.IsDigit(c) {
			return 0, tok
		}
		tok.Number = tok.Number*10 + int(c-'0')
	}
	var name [maxKind]byte
	for j, c := range t[from:last] {
		if char.IsLower(c) {
			c -= 'a' - 'A'
		}
		name[j] = c
	}
	var ok bool
	if tok.Kind, ok = k[string(name[:last-from])]; !ok {
		return 0, tok
	}
	if t[i] == ':' {
		i++
		part := i
		for i < len(t) && i-part < MaxPart && t[i] != ']' && t[i] != '[' && t[i] != '\n' && t[i] != '"' && t[i] != '\\' {
			i++
		}
		if i == part || i >= len(t) {
			return 0, tok
		}
	}
	if t[i] != ']' {
		return 0, tok
	}
	return i + 1, tok
}

// ParseString is Parse for the start of a string.
func (k Kinds) ParseString(s string) (int, Token) {
	if len(s) == 0 || s[0] != '[' {
		return 0, Token{}
	}
	return k.Parse([]byte(s[:min(len(s), maxToken)]))
}

// ParsePercent reads a token as it is written in a URL, %5BEMAIL_1%5D. It also
// returns the text of the token.
func (k Kinds) ParsePercent(t []byte) (int, Token, string) {
	if len(t) < 9 || !bytes.EqualFold(t[:3], []byte("%5B")) {
		return 0, Token{}, ""
	}
	end := bytes.Index(bytes.ToUpper(t[:min(len(t), maxToken)]), []byte("%5D")) + 3
	if end < 3 {
		return 0, Token{}, ""
	}
	text, err := url.PathUnescape(string(t[:end]))
	if err != nil {
		return 0, Token{}, ""
	}
	n, tok := k.Parse([]byte(text))
	if n != len(text) {
		return 0, Token{}, ""
	}
	return end, tok, text
}

// Format writes a token. The kind is in capitals; part may be empty.
func Format(kind string, number int, part string) string {
	var store [64]byte
	b := append(store[:0], '[')
	b = append(b, kind...)
	b = append(b, '_')
	b = strconv.AppendInt(b, int64(number), 10)
	if part != "" {
		b = append(b, ':')
		b = append(b, part...)
	}
	return string(append(b, ']'))
}

// Escape makes text that is written like a token unlike one.
func Escape(literal string) string { return "[~" + literal[1:] }

// Unescape undoes Escape.
func Unescape(literal string) string { return "[" + literal[2:] }

// EscapeAll escapes everything in a value that is written like a token.
func (k Kinds) EscapeAll(value string) string {
	if strings.IndexByte(value, '[') < 0 {
		return value
	}
	var out strings.Builder
	for i := range len(value) {
		out.WriteByte(value[i])
		if n, _ := k.ParseString(value[i:]); n > 0 {
			out.WriteByte('~')
		}
	}
	return out.String()
}
