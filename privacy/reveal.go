package privacy

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/wexec/wexec/fault"
)

// Reveal puts the values back in the place of their tokens, in whichever case
// they are written, also in URLs and in base64. A token that was never handed
// out stays text; an escaped one loses its escape.
func (v *Vault) Reveal(s string) string {
	if !mayReveal(s) {
		return s
	}
	if looksJSON([]byte(s)) && json.Valid([]byte(s)) {
		if doc, err := v.RevealJSON([]byte(s)); err == nil {
			return string(doc)
		}
	}
	return string(v.reveal([]byte(s), 0))
}

// RevealJSON is Reveal for the strings and names of a JSON document. A string
// that is one token of what was a number becomes that number again. Where
// nothing changes it returns doc itself.
func (v *Vault) RevealJSON(doc []byte) ([]byte, error) {
	if !json.Valid(doc) {
		return nil, fault.New(fault.GuestResult, "the text is no JSON document").WithOp("reveal tokens")
	}
	return v.revealJSON(doc, 0)
}

func mayReveal(s string) bool {
	return strings.IndexByte(s, '[') >= 0 || strings.Contains(s, "%5") || len(s) >= leastBase64
}

// reveal goes once over a text.
func (v *Vault) reveal(src []byte, nested int) []byte {
	var out []byte
	done := 0
	replace := func(from, to int, text string) {
		out = append(append(out, src[done:from]...), text...)
		done = to
	}
	tried := 0
	for i := 0; i < len(src); {
		c := src[i]
		switch {
		case c == '[':
			n, m := tokenAt(src[i:], v.d)
			if n == 0 {
				i++
				continue
			}
			if m.escapes > 0 {
				replace(i, i+n, "["+string(src[i+2:i+n]))
			} else if e, ok := v.entry(m); ok {
				replace(i, i+n, v.inner(e.value, nested))
			}
			i += n
		case c == '%':
			n, m, text := percentToken(src[i:], v.d)
			if n == 0 {
				i++
				continue
			}
			if m.escapes > 0 {
				replace(i, i+n, percentMark("["+text[2:]))
			} else if e, ok := v.entry(m); ok {
				replace(i, i+n, strings.ReplaceAll(url.QueryEscape(v.inner(e.value, nested)), "+", "%20"))
			}
			i += n
		case class[c] >= lower && class[c] <= digit && c < 0x80:
			end := i
			for end < len(src) && base64Byte(src[end]) {
				end++
			}
			if nested < maxNested && end-i >= leastBase64 && i >= tried {
				tried = end
				if to, text := v.revealBase64(src, i, end, nested); to > 0 {
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

// inner resolves the tokens within a value.
func (v *Vault) inner(value string, nested int) string {
	if nested >= maxNested || strings.IndexByte(value, '[') < 0 {
		return value
	}
	var out strings.Builder
	for i := 0; i < len(value); {
		n, m := tokenAt([]byte(value[i:min(len(value), i+200)]), v.d)
		if n == 0 {
			next := strings.IndexByte(value[i+1:], '[')
			if next < 0 {
				out.WriteString(value[i:])
				break
			}
			out.WriteString(value[i : i+1+next])
			i += 1 + next
			continue
		}
		switch e, ok := v.entry(m); {
		case m.escapes > 0:
			out.WriteString("[" + value[i+2:i+n])
		case ok:
			out.WriteString(v.inner(e.value, nested+1))
		default:
			out.WriteString(value[i : i+n])
		}
		i += n
	}
	return out.String()
}

// escapeMarks escapes what looks like a token in a value.
func escapeMarks(value string, d *Detector) string {
	if strings.IndexByte(value, '[') < 0 {
		return value
	}
	var out strings.Builder
	for i := 0; i < len(value); i++ {
		out.WriteByte(value[i])
		if value[i] == '[' {
			if n, _ := tokenAt([]byte(value[i:min(len(value), i+200)]), d); n > 0 {
				out.WriteByte('~')
			}
		}
	}
	return out.String()
}

// revealBase64 opens text in base64 that holds tokens.
func (v *Vault) revealBase64(src []byte, from, end, nested int) (int, string) {
	if from < end {
		raw := src[from:end]
		enc := base64.RawStdEncoding
		if bytes.ContainsAny(raw, "-_") {
			enc = base64.RawURLEncoding
		}
		text := make([]byte, enc.DecodedLen(len(raw)))
		n, err := enc.Decode(text, raw)
		if err != nil || !readable(text[:n], false) || bytes.IndexByte(text[:n], '[') < 0 && !bytes.Contains(text[:n], []byte("%5")) {
			return 0, ""
		}
		revealed := []byte(nil)
		if looksJSON(text[:n]) && json.Valid(text[:n]) {
			if doc, err := v.revealJSON(text[:n], nested+1); err == nil {
				revealed = doc
			}
		}
		if revealed == nil {
			revealed = v.reveal(text[:n], nested+1)
		}
		if bytes.Equal(revealed, text[:n]) {
			return 0, ""
		}
		padded := end
		for padded < len(src) && src[padded] == '=' && padded < end+2 {
			padded++
		}
		if padded > end {
			enc = enc.WithPadding(base64.StdPadding)
		}
		return padded, enc.EncodeToString(revealed)
	}
	return 0, ""
}

// percentToken reads a token as it stands in a URL: %5BEMAIL_1%5D.
func percentToken(src []byte, d *Detector) (int, mark, string) {
	if len(src) < 9 || !bytes.EqualFold(src[:3], []byte("%5B")) {
		return 0, mark{}, ""
	}
	part := src[:min(len(src), 200)]
	end := bytes.Index(bytes.ToUpper(part), []byte("%5D"))
	if end < 0 {
		return 0, mark{}, ""
	}
	end += 3
	text, err := url.PathUnescape(string(part[:end]))
	if err != nil {
		return 0, mark{}, ""
	}
	n, m := tokenAt([]byte(text), d)
	if n != len(text) {
		return 0, mark{}, ""
	}
	return end, m, text
}

// entry is what a token stands for.
func (v *Vault) entry(m mark) (entry, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if k := v.kinds[m.kind]; k != nil && m.number <= len(k.values) && k.values[m.number-1].kind != "" {
		return k.values[m.number-1], true
	}
	return entry{}, false
}

func (v *Vault) revealJSON(doc []byte, nested int) ([]byte, error) {
	var out []byte
	done := 0
	err := eachString(doc, func(from, to int, escapes bool) {
		raw := doc[from:to]
		if len(raw) < 5 || !mayReveal(string(raw)) {
			return
		}
		text := raw
		if escapes {
			text = unescape(raw).text
		}
		var revealed []byte
		if nested < maxNested && looksJSON(text) && json.Valid(text) {
			if inner, err := v.revealJSON(text, nested+1); err == nil {
				revealed = inner
			}
		}
		if revealed == nil {
			revealed = v.reveal(text, nested)
		}
		if bytes.Equal(revealed, text) {
			return
		}
		if n, m := tokenAt(text, v.d); n == len(text) && m.escapes == 0 && !isName(doc, to+1) {
			if e, ok := v.entry(m); ok && e.number {
				out = append(append(out, doc[done:from-1]...), e.value...)
				done = to + 1
				return
			}
		}
		out = append(append(out, doc[done:from]...), jsonEscaped(string(revealed))...)
		done = to
	})
	if err != nil {
		return nil, err
	}
	if out == nil {
		return doc, nil
	}
	return append(out, doc[done:]...), nil
}

// isName reports that a colon follows: the string is the name of a member.
func isName(doc []byte, i int) bool {
	for i < len(doc) && (doc[i] == ' ' || doc[i] == '\n' || doc[i] == '\t' || doc[i] == '\r') {
		i++
	}
	return i < len(doc) && doc[i] == ':'
}

// eachString goes through the strings of a document, names included, with the
// place of their inside.
func eachString(doc []byte, f func(from, to int, escapes bool)) error {
	for i := 0; i < len(doc); {
		at := bytes.IndexByte(doc[i:], '"')
		if at < 0 {
			return nil
		}
		k := walk{doc: doc, i: i + at}
		from, to, escapes, err := k.str()
		if err != nil {
			return err
		}
		f(from, to, escapes)
		i = k.i
	}
	return nil
}

// eachMark goes through what looks like tokens in a text, in every spelling
// that [Vault.Reveal] knows, base64 apart.
func eachMark(src []byte, d *Detector, f func(mark)) {
	for _, t := range append([]*view{{text: src}}, views(src)...) {
		for rest := t.text; ; {
			i := bytes.IndexByte(rest, '[')
			if i < 0 {
				break
			}
			rest = rest[i:]
			if n, m := tokenAt(rest, d); n > 0 {
				f(m)
				rest = rest[n:]
			} else {
				rest = rest[1:]
			}
		}
	}
}

// mayHoldBracket is the cheap look whether a text has the bracket of a token,
// in any encoding.
func mayHoldBracket(text string) bool {
	return strings.ContainsAny(text, "[%&\\") || !ascii([]byte(text))
}

// mayHoldMark reports that a text holds what looks like a token.
func mayHoldMark(src []byte, d *Detector) bool {
	found := false
	eachMark(src, d, func(mark) { found = true })
	return found
}

// The helpers of programs.

// Kind says what kind of personal data a token stands for, or what a text is;
// "" where it is none.
func (v *Vault) Kind(s string) Kind {
	if n, m := tokenAt([]byte(s), v.d); n == len(s) && n > 0 && m.escapes == 0 {
		e, _ := v.entry(m)
		return e.kind
	}
	spans := v.d.work().text([]byte(s), nil, maxNested)
	if len(spans) == 1 && spans[0].start == 0 && spans[0].end == len(s) {
		return spans[0].kind
	}
	return ""
}

// Equal reports whether two texts, tokens or not, are the same value.
func (v *Vault) Equal(a, b string) bool {
	ka, va := v.resolved(a)
	kb, vb := v.resolved(b)
	return va == vb && (ka == kb || ka == "" || kb == "")
}

func (v *Vault) resolved(s string) (Kind, string) {
	s = strings.TrimSpace(s)
	if n, m := tokenAt([]byte(s), v.d); n == len(s) && n > 0 && m.escapes == 0 {
		if e, ok := v.entry(m); ok {
			return e.kind, v.d.canonical(e.kind, e.value)
		}
		return "", s
	}
	k := v.Kind(s)
	return k, v.d.canonical(k, v.Reveal(s))
}

// Domain is the domain of an e-mail address or of a token of one, in small
// letters; "" where it is none.
func (v *Vault) Domain(s string) string {
	if k, value := v.resolved(s); k == Email {
		return domainOf(value)
	}
	return ""
}
