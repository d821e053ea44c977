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
func (v *Vault) Reveal(s string) string {
	if !mayHoldToken([]byte(s)) {
		return s
	}
	return string(v.revealValue([]byte(s), 0))
}

// RevealJSON is Reveal for the strings and names of a JSON document. A string
// that is exactly the token of a number becomes that number. If nothing changes
// it returns doc itself.
func (v *Vault) RevealJSON(doc []byte) ([]byte, error) {
	out, err := v.revealJSON(doc, 0)
	if err != nil {
		return nil, fault.New(fault.GuestResult, "the text is not JSON: %w", err).WithOp("reveal tokens")
	}
	return out, nil
}

// mayHoldToken is a cheap test whether a text has a token in any encoding.
func mayHoldToken(s []byte) bool {
	return len(s) >= encodings.LeastBase64 || bytes.IndexByte(s, '[') >= 0 || bytes.Contains(s, []byte("%5"))
}

// revealValue reveals a text, as JSON if it is a document.
func (v *Vault) revealValue(src []byte, nested int) []byte {
	if nested < maxNested && detect.LooksJSON(src) && jsonscan.Valid(src) {
		if doc, err := v.revealJSON(src, nested); err == nil {
			return doc
		}
	}
	return v.revealText(src, nested)
}

// revealText reveals a text that is not JSON.
func (v *Vault) revealText(src []byte, nested int) []byte {
	var out []byte
	done := 0
	replace := func(from, to int, text string) {
		out = append(append(out, src[done:from]...), text...)
		done = to
	}
	tokens := v.d.find.Tokens
	tried := 0 // base64 was tried up to here
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '[':
			n, t := tokens.Parse(src[i:])
			if n == 0 {
				i++
			} else if t.Escapes > 0 {
				replace(i, i+n, token.Unescape(string(src[i:i+n])))
			} else if o, ok := v.original(t); ok {
				replace(i, i+n, v.resolve(o.value, 0))
			}
			i += n
		case c == '%':
			n, t, text := tokens.ParsePercent(src[i:])
			if n == 0 {
				i++
			} else if t.Escapes > 0 {
				replace(i, i+n, encodings.EscapePercent(token.Unescape(text)))
			} else if o, ok := v.original(t); ok {
				replace(i, i+n, strings.ReplaceAll(url.QueryEscape(v.resolve(o.value, 0)), "+", "%20"))
			}
			i += n
		case c < 0x80 && (char.IsDigit(c) || char.IsLetter(c)):
			end := i
			for end < len(src) && encodings.IsBase64(src[end]) {
				end++
			}
			if nested < maxNested && end-i >= encodings.LeastBase64 && i >= tried {
				tried = end
				if to, text := v.revealBase64(src, i, nested); to > 0 {
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
	return append(out, src[done:]...)
}

// resolve replaces the tokens within a value.
func (v *Vault) resolve(value string, depth int) string {
	if depth >= maxNested || strings.IndexByte(value, '[') < 0 {
		return value
	}
	var out strings.Builder
	for len(value) > 0 {
		n, t := v.d.find.Tokens.ParseString(value)
		if n == 0 {
			if n = strings.IndexByte(value[1:], '[') + 1; n == 0 {
				n = len(value)
			}
			out.WriteString(value[:n])
		} else if t.Escapes > 0 {
			out.WriteString(token.Unescape(value[:n]))
		} else if o, ok := v.original(t); ok {
			out.WriteString(v.resolve(o.value, depth+1))
		} else {
			out.WriteString(value[:n])
		}
		value = value[n:]
	}
	return out.String()
}

// revealBase64 reveals the text in base64 at i. It returns the end of it and what
// takes its place; the end is 0 if nothing changes.
func (v *Vault) revealBase64(src []byte, i, nested int) (end int, encoded string) {
	text, enc, _, padded := encodings.DecodeBase64(src, i)
	if bytes.IndexByte(text, '[') < 0 && !bytes.Contains(text, []byte("%5")) {
		return 0, ""
	}
	revealed := v.revealValue(text, nested+1)
	if bytes.Equal(revealed, text) {
		return 0, ""
	}
	return padded, enc.EncodeToString(revealed)
}

// revealJSON reveals the strings and names of a document.
func (v *Vault) revealJSON(doc []byte, nested int) ([]byte, error) {
	var out []byte
	done := 0
	s := jsonscan.New(doc)
	for s.Next() {
		if s.Kind != jsonscan.String && s.Kind != jsonscan.Name {
			continue
		}
		text := doc[s.Start:s.End]
		if len(text) < 5 || !mayHoldToken(text) {
			continue
		}
		if s.Escaped {
			text = encodings.UnescapeJSON(text).Text
		}
		revealed := v.revealValue(text, nested+1)
		if bytes.Equal(revealed, text) {
			continue
		}
		from, to, replacement := s.Start, s.End, ""
		if t, ok := v.exactly(text); ok && s.Kind == jsonscan.String {
			if o, ok := v.original(t); ok && o.number {
				from, to, replacement = from-1, to+1, o.value
			}
		}
		if replacement == "" {
			replacement = encodings.EscapeJSON(string(revealed))
		}
		out = append(append(out, doc[done:from]...), replacement...)
		done = to
	}
	if out == nil {
		return doc, s.Err()
	}
	return append(out, doc[done:]...), s.Err()
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
