package detect

import (
	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/contact"
	"github.com/wexec/wexec/privacy/internal/dates"
	"github.com/wexec/wexec/privacy/internal/encodings"
	"github.com/wexec/wexec/privacy/internal/finance"
	"github.com/wexec/wexec/privacy/internal/identity"
	"github.com/wexec/wexec/privacy/internal/match"
	"github.com/wexec/wexec/privacy/internal/names"
	"github.com/wexec/wexec/privacy/internal/secrets"
)

// word reads a word that begins with a letter and returns where the scan goes on.
func (s *scanner) word(i, j int, shape char.Shape) int {
	t := s.Bytes
	if shape == char.HasLower {
		if j+1 >= len(t) {
			return j
		}
		switch c := t[j]; {
		case c == ' ' && (char.IsUpper(t[j+1]) || t[j+1] == 'v') && j-i >= 4 && j-i <= 10:
			return s.title(i, j)
		case c == '-' && j-i < 9, c == '.' && j-i == 3 && t[i] == 'h':
			return max(j, s.key(i, j))
		}
		return j
	}
	if shape&char.HasDigit != 0 {
		if end := s.mixed(i, j, shape); end > j {
			return end
		}
	}
	if j-i >= 12 || j < len(t) && (t[j] == '-' || t[j] == '.' && j-i <= 7) {
		if end := s.longWord(i, j); end > j {
			return end
		}
	}
	switch {
	case shape&char.HasHigh != 0 && char.IsLower(t[i]) && j+1 < len(t) && t[j] == ' ' && char.IsUpper(t[j+1]):
		return s.title(i, j)
	case (char.IsUpper(t[i]) || t[i] >= 0x80) && shape&(char.HasDigit|char.HasUnder) == 0:
		return s.capital(i, j, shape)
	}
	return j
}

// title reads a title in small letters and the name behind it, which begins with
// a capital or with van or von.
func (s *scanner) title(i, j int) int {
	if s.Wants(match.Name) && names.RoleOf(s.Bytes[i:j])&names.Title != 0 {
		return max(j, names.Titled(&s.Text, i, j))
	}
	return j
}

// capital reads a word that begins with a capital.
func (s *scanner) capital(i, j int, shape char.Shape) int {
	t := s.Bytes
	if shape == char.HasUpper && j-i == 2 {
		if end := identity.SpacedNINO(&s.Text, i, j); end > 0 {
			return end
		}
		if end := finance.IBAN(&s.Text, i); end > 0 {
			return end
		}
		if end := finance.VAT(&s.Text, i, j); end > 0 {
			return end
		}
	}
	if j-i <= 4 && shape == char.HasUpper && j+1 < len(t) && match.IsNumberSign(t[j]) && char.IsDigit(t[j+1]) {
		if _, context := match.ReadLabel(t[i:j]); context == 0 {
			if end := identity.Document(&s.Text, i); end > 0 {
				return end
			}
		}
	}
	if !names.MayBegin(&s.Text, i, j, shape) {
		return j
	}
	role := names.RoleOf(t[i:j])
	if role == 0 {
		return j
	}
	if role&names.Month != 0 {
		if end, ok := dates.WithMonth(t, i, j); ok {
			if end = identity.Birthdate(&s.Text, i, end); end > 0 {
				return end
			}
		}
	}
	return names.Find(&s.Text, i, j, role, shape)
}

// mixed reads a word with letters and digits that begins with a letter. It
// returns the end of what it found, or 0.
func (s *scanner) mixed(i, j int, shape char.Shape) int {
	t := s.Bytes
	if j-i >= 4 && char.IsLetter(t[i+1]) && char.IsDigit(t[i+2]) && char.IsDigit(t[i+3]) && t[i] < 0x80 && t[i+1] < 0x80 {
		if end := finance.IBAN(&s.Text, i); end > 0 {
			return end
		}
	}
	if shape&(char.HasUnder|char.HasHigh) != 0 || j-i > 24 {
		return 0
	}
	if j-i == 4 && j < len(t) && t[j] == '.' && char.IsHex(t[i]) {
		if end := contact.DottedMAC(&s.Text, i); end > 0 {
			return end
		}
	}
	for _, find := range [...]func(*match.Text, int, int) int{finance.VAT, identity.Letters} {
		if end := find(&s.Text, i, j); end > 0 {
			return end
		}
	}
	if j-i > identity.MaxCode {
		return 0
	}
	return identity.Document(&s.Text, i)
}

// key reads a word for a hardware address or a key with a known prefix. It
// returns the end of what it found, or 0.
func (s *scanner) key(i, j int) int {
	if t := s.Bytes; j-i == 2 && t[j] == '-' && char.IsHex(t[i]) && contact.MAC(&s.Text, i) {
		return i + 17
	}
	return secrets.Key(&s.Text, i)
}

// longWord reads a long word, or one with a hyphen behind it, as a key or as text
// in base64. It returns the end of what it found, or 0.
func (s *scanner) longWord(i, j int) int {
	t := s.Bytes
	if i > 1 && (t[i-1] == '-' || t[i-1] == '_') && char.IsWord(t[i-2]) {
		return 0
	}
	if end := s.key(i, j); end > 0 {
		return end
	}
	if end := secrets.Telegram(&s.Text, i, j); end > 0 {
		return end
	}
	return s.base64(i)
}

// base64 finds personal data in text that is encoded in base64. It returns the
// end of the text, or 0.
func (s *scanner) base64(i int) int {
	t := s.Bytes
	if i < s.decoded || s.nested >= maxNested || s.pass == nil || !encodings.BeginsBase64(t, i) {
		return 0
	}
	text, enc, end, padded := encodings.DecodeBase64(t, i)
	s.decoded = end
	if text == nil {
		return 0
	}
	spans := s.pass.value(text, s.node, s.nested+1)
	h := match.Span{Start: i, End: padded, Settled: true}
	for _, x := range spans {
		if x.Sure > h.Sure && x.Kind != "" && !x.Dropped {
			h.Kind, h.Sure, h.Why = x.Kind, x.Sure, x.Why+", in base64"
		}
		h.Replaced = h.Replaced || x.Replaced
	}
	if h.Kind == "" && !h.Replaced {
		return 0
	}
	if h.Replaced {
		h.Put = enc.EncodeToString(match.Edited(text, spans))
	}
	s.Spans = append(s.Spans, h)
	return padded
}
