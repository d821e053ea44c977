package privacy

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/jsonscan"
	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/detect"
	"github.com/wexec/wexec/privacy/internal/encodings"
	"github.com/wexec/wexec/privacy/internal/token"
)

// maxNested is how many encodings and tokens within each other are resolved.
const maxNested = 4

// Reveal replaces tokens with their values. Tokens may be written in any case, in
// URLs and in base64. A token that was never issued stays, and an escaped one
// loses its escape.
//
// A short text can stand for a very long one. Reveal calls grow before it makes
// n more bytes of text, and from time to time with 0, and ends with its error.
func (v *Vault) Reveal(s string, grow func(n int) error) (string, error) {
	if !mayHoldToken([]byte(s)) {
		return s, nil
	}
	r := revealing{v: v, grow: grow}
	out := r.value([]byte(s), 0)
	return string(out), r.err
}

// RevealJSON is Reveal for the strings and names of a JSON document. A string
// that is exactly the token of a number becomes that number. If nothing changes
// it returns doc itself.
func (v *Vault) RevealJSON(doc []byte, grow func(n int) error) ([]byte, error) {
	r := revealing{v: v, grow: grow}
	out, err := r.json(doc, 0)
	if r.err != nil {
		return nil, r.err
	}
	if err != nil {
		return nil, fault.New(fault.GuestResult, "the text is not JSON: %w", err).WithOp("reveal tokens")
	}
	return out, nil
}

// mayHoldToken is a cheap test whether a text has a token in any encoding.
func mayHoldToken(s []byte) bool {
	return len(s) >= encodings.LeastBase64 || bytes.IndexByte(s, '[') >= 0 || bytes.Contains(s, []byte("%5"))
}

// revealing is one call of Reveal or RevealJSON. After an error it does nothing
// more, and its results are of no use.
type revealing struct {
	v     *Vault
	moves bool // the values take the places of tokens of another vault; see [Vault.Reissue]
	grow  func(n int) error
	err   error
}

// moved returns what takes the place of a token of another vault: text that is only
// written like one is escaped.
func (r *revealing) moved(t token.Token, written string) string {
	if t.Escapes > 0 {
		return written
	}
	if o, ok := r.v.original(t); ok {
		return o.value
	}
	return token.Escape(written)
}

// ask asks whether n more bytes may be made.
func (r *revealing) ask(n int) bool {
	if r.err == nil {
		r.err = r.grow(n)
	}
	return r.err == nil
}

// add appends text if it may.
func add[T ~string | ~[]byte](r *revealing, out []byte, text T) []byte {
	if r.ask(len(text)) {
		out = append(out, text...)
	}
	return out
}

// askEvery is how many bytes are searched between two calls of grow.
const askEvery = 64 << 10

// value reveals a text, as JSON if it is a document.
func (r *revealing) value(src []byte, nested int) []byte {
	if nested < maxNested && detect.LooksJSON(src) && jsonscan.Valid(src) {
		if doc, err := r.json(src, nested); err == nil {
			return doc
		}
	}
	return r.text(src, nested)
}

// text reveals a text that is not JSON.
func (r *revealing) text(src []byte, nested int) []byte {
	var out []byte
	done := 0
	replace := func(from, to int, text string) {
		out = add(r, add(r, out, src[done:from]), text)
		done = to
	}
	tokens := r.v.d.find.Tokens
	tried := 0 // base64 was tried up to here
	asked := 0
	for i := 0; i < len(src); {
		if i >= asked {
			asked = i + askEvery
			r.ask(0)
		}
		if r.err != nil {
			return nil
		}
		c := src[i]
		switch {
		case c == '[':
			n, t := tokens.Parse(src[i:])
			if n == 0 {
				i++
			} else if r.moves {
				replace(i, i+n, r.moved(t, string(src[i:i+n])))
			} else if t.Escapes > 0 {
				replace(i, i+n, token.Unescape(string(src[i:i+n])))
			} else if o, ok := r.v.original(t); ok {
				replace(i, i+n, "")
				out = r.resolve(out, o.value, 0)
			}
			i += n
		case c == '%':
			n, t, text := tokens.ParsePercent(src[i:])
			if n == 0 {
				i++
			} else if r.moves {
				replace(i, i+n, encodings.EscapePercent(r.moved(t, text)))
			} else if t.Escapes > 0 {
				replace(i, i+n, encodings.EscapePercent(token.Unescape(text)))
			} else if o, ok := r.v.original(t); ok {
				resolved := string(r.resolve(nil, o.value, 0))
				replace(i, i+n, strings.ReplaceAll(url.QueryEscape(resolved), "+", "%20"))
			}
			i += n
		case c < 0x80 && (char.IsDigit(c) || char.IsLetter(c)):
			end := i
			for end < len(src) && encodings.IsBase64(src[end]) {
				end++
			}
			if nested < maxNested && end-i >= encodings.LeastBase64 && i >= tried {
				tried = end
				if to, text := r.base64(src, i, nested); to > 0 {
					replace(i, to, text)
					end = to
				}
			}
			i = end
		default:
			i++
		}
	}
	if out == nil {
		return src
	}
	return add(r, out, src[done:])
}

// resolve appends a value with the tokens in it replaced.
func (r *revealing) resolve(out []byte, value string, depth int) []byte {
	if depth >= maxNested || strings.IndexByte(value, '[') < 0 {
		return add(r, out, value)
	}
	for len(value) > 0 && r.err == nil {
		n, t := r.v.d.find.Tokens.ParseString(value)
		if n == 0 {
			if n = strings.IndexByte(value[1:], '[') + 1; n == 0 {
				n = len(value)
			}
			out = add(r, out, value[:n])
		} else if t.Escapes > 0 {
			out = add(r, out, token.Unescape(value[:n]))
		} else if o, ok := r.v.original(t); ok {
			out = r.resolve(out, o.value, depth+1)
		} else {
			out = add(r, out, value[:n])
		}
		value = value[n:]
	}
	return out
}

// base64 reveals the text in base64 at i. It returns the end of it and what takes
// its place; the end is 0 if nothing changes.
func (r *revealing) base64(src []byte, i, nested int) (end int, encoded string) {
	text, enc, _, padded := encodings.DecodeBase64(src, i)
	if bytes.IndexByte(text, '[') < 0 && !bytes.Contains(text, []byte("%5")) || !r.ask(len(text)) {
		return 0, ""
	}
	revealed := r.value(text, nested+1)
	if r.err != nil || bytes.Equal(revealed, text) {
		return 0, ""
	}
	return padded, enc.EncodeToString(revealed)
}

// json reveals the strings and names of a document.
func (r *revealing) json(doc []byte, nested int) ([]byte, error) {
	var out []byte
	done := 0
	asked := 0
	s := jsonscan.New(doc)
	for s.Next() {
		if s.Start >= asked {
			asked = s.Start + askEvery
			r.ask(0)
		}
		if r.err != nil {
			return nil, r.err
		}
		if s.Kind != jsonscan.String && s.Kind != jsonscan.Name {
			continue
		}
		text := doc[s.Start:s.End]
		if len(text) < 5 || !mayHoldToken(text) {
			continue
		}
		if s.Escaped {
			text = encodings.TextOfJSON(text)
		}
		revealed := r.value(text, nested+1)
		if r.err != nil || bytes.Equal(revealed, text) {
			continue
		}
		from, to, replacement := s.Start, s.End, ""
		if t, ok := r.v.exactly(text); ok && s.Kind == jsonscan.String {
			if o, ok := r.v.original(t); ok && o.number {
				from, to, replacement = from-1, to+1, o.value
			}
		}
		if replacement == "" {
			replacement = encodings.EscapeJSON(string(revealed))
		}
		out = add(r, out, doc[done:from])
		if r.ask(max(0, len(replacement)-len(revealed))) { // asked for revealed before
			out = append(out, replacement...)
		}
		done = to
	}
	if out == nil {
		return doc, s.Err()
	}
	return add(r, out, doc[done:]), s.Err()
}

// exactly parses a text that is one token and nothing else.
func (v *Vault) exactly(text []byte) (token.Token, bool) {
	n, t := v.d.find.Tokens.Parse(text)
	return t, n > 0 && n == len(text) && t.Escapes == 0
}

// Kind says what kind of personal data a token stands for, or what a text is; ""
// for neither.
func (v *Vault) Kind(s string) Kind {
	if t, ok := v.exactly([]byte(s)); ok {
		o, _ := v.original(t)
		return o.kind
	}
	if spans := v.d.find.NewPass().Text([]byte(s)); len(spans) == 1 && spans[0].Start == 0 && spans[0].End == len(s) {
		return spans[0].Kind
	}
	return ""
}

// IsToken reports whether a text is one token and nothing else.
func (v *Vault) IsToken(s string) bool {
	_, ok := v.exactly([]byte(strings.TrimSpace(s)))
	return ok
}

// Equal reports whether two texts, each a token or without tokens, are the same
// value.
func (v *Vault) Equal(a, b string) bool {
	ka, va := v.resolved(a)
	kb, vb := v.resolved(b)
	return va == vb && (ka == kb || ka == "" || kb == "")
}

// resolved is the kind and the canonical form of a token or a text. Tokens within
// a longer text are not revealed.
func (v *Vault) resolved(s string) (Kind, string) {
	s = strings.TrimSpace(s)
	if t, ok := v.exactly([]byte(s)); ok {
		if o, ok := v.original(t); ok {
			return o.kind, v.d.canonical(o.kind, o.value)
		}
		return "", s
	}
	k := v.Kind(s)
	return k, v.d.canonical(k, s)
}

// Domain is the domain of an email address or of a token of one, in lower case,
// or "".
func (v *Vault) Domain(s string) string {
	if k, value := v.resolved(s); k == Email {
		return domainOf(value)
	}
	return ""
}
