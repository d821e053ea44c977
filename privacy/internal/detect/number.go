package detect

import (
	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/contact"
	"github.com/wexec/wexec/privacy/internal/dates"
	"github.com/wexec/wexec/privacy/internal/finance"
	"github.com/wexec/wexec/privacy/internal/identity"
	"github.com/wexec/wexec/privacy/internal/match"
)

// digits reads a number or a word that begins with digits, and returns where the
// scan goes on.
func (s *scanner) digits(i int) int {
	t := s.Bytes
	j := i + 1
	for j < len(t) && char.IsDigit(t[j]) {
		j++
	}
	if j < len(t) && char.IsWord(t[j]) {
		return s.digitWord(i, j)
	}
	if j-i == 2 && j < len(t) && t[j] == '-' && contact.MAC(&s.Text, i) {
		return i + 17
	}
	if j-i == 4 && j < len(t) && t[j] == '.' {
		if end := contact.DottedMAC(&s.Text, i); end > 0 {
			return end
		}
	}
	oneGroup := j-i < 7 && (j+1 >= len(t) || !match.IsNumberSign(t[j]) || !groupFollows(t, j))
	if !oneGroup && j-i <= match.MaxDigits {
		end := s.number.Read(t, i, j)
		if !s.number.Glued && lettersFollow(t, s.number.Stop) && s.number.Context(&s.Text)&identity.AboutDocuments != 0 {
			if stop := identity.Document(&s.Text, i); stop > 0 {
				return stop
			}
		}
		if len(s.number.Groups) > 0 {
			end = max(end, s.groups(&s.number))
		}
		return end
	}
	if j-i <= 2 && j+4 < len(t) && (t[j] == ' ' || t[j] == '.') && s.Wants(match.Birthdate) {
		if end, ok := dates.At(t, i); ok {
			if end = identity.Birthdate(&s.Text, i, end); end > 0 {
				return end
			}
		}
	}
	return max(j, s.street(i, j))
}

// lettersFollow reports that the number up to end goes on with a letter at its end,
// 12345678Z, or with a group that has letters, 65 180539 W 007.
func lettersFollow(t []byte, end int) bool {
	if end+1 >= len(t) {
		return end < len(t) && char.IsLetter(t[end])
	}
	if char.IsLetter(t[end]) {
		return !char.IsWord(t[end+1])
	}
	if !match.IsNumberSign(t[end]) || !char.IsUpper(t[end+1]) {
		return false
	}
	for end++; end < len(t) && char.IsUpper(t[end]); end++ {
	}
	return end+1 < len(t) && (char.IsDigit(t[end]) || t[end] == ' ' && char.IsDigit(t[end+1]))
}

// groupFollows reports that digits follow behind one or two signs at j.
func groupFollows(t []byte, j int) bool {
	for k := j + 1; k < len(t) && k <= j+2; k++ {
		if char.IsDigit(t[k]) {
			return true
		}
		if !match.IsNumberSign(t[k]) {
			return false
		}
	}
	return false
}

// digitWord reads a word that begins with digits, up to j, and goes on with
// letters. It returns where the scan goes on.
func (s *scanner) digitWord(i, j int) int {
	t := s.Bytes
	end, letters, under := j, 0, false
	for end < len(t) && char.IsWord(t[end]) {
		if !char.IsDigit(t[end]) {
			letters++
		}
		under = under || t[end] == '_'
		end++
	}
	if end-i == 2 && contact.MAC(&s.Text, i) {
		return i + 17
	}
	if end-i == 4 && end < len(t) && t[end] == '.' {
		if stop := contact.DottedMAC(&s.Text, i); stop > 0 {
			return stop
		}
	}
	if stop := identity.Digits(&s.Text, i, end); stop > 0 {
		return stop
	}
	if end-i <= identity.MaxCode {
		if stop := identity.Document(&s.Text, i); stop > 0 {
			return stop
		}
	}
	if letters <= 2 && j-i <= 5 && !under {
		if stop := s.street(i, j); stop > 0 {
			return max(end, stop)
		}
	}
	if end-i >= 12 {
		if stop := s.longWord(i, end); stop > end {
			return stop
		}
	}
	// A phone number with its extension: 5551234x12.
	if t[j]|0x20 == 'x' && j-i >= 4 && letters == 1 {
		n := &s.number
		if n.Read(t, i, j); len(n.Groups) > 0 {
			n.Groups[0].Unit = true
			if stop := s.groups(n); stop > 0 {
				return stop
			}
		}
	}
	return end
}

// groups tries the first groups of a number, the longest run of them first. It
// returns the end of what was found, or 0.
func (s *scanner) groups(n *match.Number) int {
	if len(n.Groups) == 4 || len(n.Groups) > 4 && n.Joints[4] == ' ' {
		if end := contact.IPv4(&s.Text, n); end > 0 {
			return end
		}
	}
	if finance.IsSortCode(&s.Text, n) && s.Hit(match.Account, n.First, n.Groups[2].To, 80, "labeled as a sort code") {
		return n.Groups[2].To
	}
	if !n.Plus {
		if end, ok := dates.At(s.Bytes, n.First); ok {
			identity.Birthdate(&s.Text, n.First, end)
			return end
		}
	}
	crowded := n.Crowded
	for b := len(n.Groups); b > 0 && !n.Glued; b-- {
		if g := n.Groups[b-1]; !g.Unit || g.UpTo < 7 {
			continue
		}
		before := len(s.Spans)
		n.Crowded = crowded || b < len(n.Groups)
		s.run(n, b)
		if len(s.Spans) > before && !s.Spans[len(s.Spans)-1].Dropped {
			return s.LastEnd()
		}
	}
	if len(n.Groups) > 0 {
		return s.street(n.Groups[0].From, n.Groups[0].To)
	}
	return 0
}

// run tries each kind of number on the first b groups.
func (s *scanner) run(n *match.Number, b int) {
	to := n.Groups[b-1].To
	digits := n.Digits[:n.Groups[b-1].UpTo]
	if !n.Plus {
		for _, k := range [...]struct {
			kind  match.Kind
			judge func(*match.Text, *match.Number, int, []byte) (uint8, string)
		}{{match.Card, finance.Card}, {match.SSN, identity.SSN}, {match.NationalID, identity.National}, {match.Account, finance.Account}} {
			if sure, why := k.judge(&s.Text, n, b, digits); sure > 0 && s.Hit(k.kind, n.First, to, sure, why) {
				return
			}
		}
		if kind, sure, why := identity.DocumentDigits(&s.Text, n, digits); sure > 0 && s.Hit(kind, n.First, to, sure, why) {
			return
		}
	}
	if sure, why := s.d.Phones.Phone(&s.Text, n, b); sure > 0 {
		from := n.Start
		if n.Parens && n.Start < n.First && s.Bytes[n.Start] != '(' && s.Bytes[n.Start] != '+' {
			from = n.First
		}
		s.Hit(match.Phone, from, contact.Extension(s.Bytes, to), sure, why)
	}
}
