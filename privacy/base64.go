package privacy

import (
	"encoding/base64"
	"unicode/utf8"
)

// Bounds of text in base64.
const (
	leastBase64 = 12
	maxNested   = 4
)

func base64Byte(c byte) bool {
	return c < 0x80 && isWord(c) || c == '-' || c == '+' || c == '/'
}

// base64 looks at a word for text in base64 that holds personal data, and
// returns the end of it, or 0.
func (s *scanner) base64(i int) int {
	t := s.t
	if i < s.coded || s.nested >= maxNested || s.work == nil || i+leastBase64 > len(t) {
		return 0
	}
	// Text begins with bytes that can be read; random words hardly do.
	var head [9]byte
	url := false
	lowers, uppers := 0, 0
	for _, c := range t[i : i+leastBase64] {
		if !base64Byte(c) {
			return 0
		}
		url = url || c == '-' || c == '_'
		if isLower(c) {
			lowers++
		} else if isUpper(c) {
			uppers++
		}
	}
	if lowers == 0 || uppers == 0 {
		return 0
	}
	enc := base64.RawStdEncoding
	if url {
		enc = base64.RawURLEncoding
	}
	if _, err := enc.Decode(head[:], t[i:i+leastBase64]); err != nil || !readable(head[:], true) {
		return 0
	}
	end := i
	std := false
	for end < len(t) && base64Byte(t[end]) {
		url = url || t[end] == '-' || t[end] == '_'
		std = std || t[end] == '+' || t[end] == '/'
		end++
	}
	s.coded = end
	if url && std || (end-i)%4 == 1 {
		return 0
	}
	enc = base64.RawStdEncoding
	if url {
		enc = base64.RawURLEncoding
	}
	decoded, err := enc.DecodeString(string(t[i:end]))
	if err != nil || !readable(decoded, false) {
		return 0
	}
	padded := end
	for padded < len(t) && t[padded] == '=' && padded < end+2 {
		padded++
	}
	if padded > end {
		enc = enc.WithPadding(base64.StdPadding)
	}
	spans := s.work.value(decoded, s.f, s.nested+1)
	h := span{start: i, end: padded, ready: true}
	for _, x := range spans {
		if x.sure > h.sure && x.kind != "" && !x.dropped {
			h.kind, h.sure, h.why = x.kind, x.sure, x.why+", in base64"
		}
		h.changed = h.changed || x.changed
	}
	if h.kind == "" && !h.changed {
		return 0
	}
	if h.changed {
		h.put = enc.EncodeToString(edited(decoded, spans))
	}
	s.hits = append(s.hits, h)
	return padded
}

// readable reports text: no control characters but those of lines. The end of
// a part may cut a character.
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
