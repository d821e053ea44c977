package detect

import (
	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/contact"
	"github.com/wexec/wexec/privacy/internal/names"
	"github.com/wexec/wexec/privacy/internal/secrets"
)

// scan reads the whole text, or until it is stopped.
func (s *scanner) scan() {
	const stride = 32 << 10 // bytes between two checks
	t := s.Bytes
	for i, check := 0, stride; i < len(t); {
		if i >= check {
			if check = i + stride; s.stopped() {
				return
			}
		}
		switch char.ClassOf[t[i]] {
		case char.Digit:
			i = s.digits(i)
		case char.LowerCase, char.UpperCase, char.High, char.Underscore:
			j, shape := i+1, char.Shape(1)<<char.ClassOf[t[i]]
			for j < len(t) {
				c := char.ClassOf[t[j]]
				if c < char.LowerCase || c > char.Underscore {
					break
				}
				shape |= 1 << c
				j++
			}
			i = s.word(i, j, shape)
		case char.At:
			next, start := contact.Email(&s.Text, i)
			if start >= 0 {
				names.BeforeAddress(&s.Text, start)
			}
			i = next
		case char.Colon:
			s.label(i)
			i = s.colon(i)
		case char.Equals:
			s.label(i)
			i++
		case char.Bracket:
			i = s.token(i)
		case char.Dash:
			i = secrets.PEM(&s.Text, i)
		default:
			i++
		}
	}
}

// colon reads around a colon, and returns where the scan goes on.
func (s *scanner) colon(i int) int {
	t := s.Bytes
	switch {
	case i+3 < len(t) && t[i+1] == '/' && t[i+2] == '/':
		return max(i+3, secrets.Connection(&s.Text, i))
	case i+1 >= len(t) || t[i+1] != ':' && !char.IsHex(t[i+1]):
		return i + 1
	case i >= 2 && i+3 < len(t) && t[i+1] != ':' && contact.MAC(&s.Text, i-2):
		return i + 15
	}
	return contact.IPv6(&s.Text, i)
}
