package finance

import (
	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/checksum"
	"github.com/wexec/wexec/privacy/internal/match"
)

// IBAN finds an account number that begins with the two letters and two digits
// at i. It returns the end of the match, or 0.
func IBAN(s *match.Text, i int) int {
	t := s.Bytes
	if i+15 > len(t) {
		return 0
	}
	var compact [34]byte
	want := checksum.IBANLength(t[i]&^0x20, t[i+1]&^0x20)
	if want == 0 || !char.IsDigit(t[i+2]) {
		return 0
	}
	n, j := 0, i
	small, large := false, false
	for j < len(t) && n < want {
		c := t[j]
		switch {
		case char.IsDigit(c), char.IsUpper(c):
			large = large || char.IsUpper(c)
			compact[n] = c
			n++
		case char.IsLower(c):
			small = true
			compact[n] = c &^ 0x20
			n++
		case (c == ' ' || c == '-' || c == '.') && j+1 < len(t) && char.IsWord(t[j+1]) && n%4 == 0 && n > 0:
		default:
			return 0
		}
		j++
	}
	if n < want || small && large || j < len(t) && char.IsWord(t[j]) || !checksum.IBAN(compact[:n]) {
		return 0
	}
	return s.HitTo(match.IBAN, i, j, 98, "a bank account number with its check digits")
}

// IsSortCode reports a number in the groups of a sort code, 20-30-40, behind a
// word for one.
func IsSortCode(t *match.Text, n *match.Number) bool {
	return n.Sizes(min(len(n.Groups), 3), 2, 2, 2) && n.Joined(3, '-') && n.Context(t)&match.AboutRouting != 0
}

// Account judges the first b groups of a number as a national account number,
// sort code or routing number. These have little form: a word must be in front.
func Account(t *match.Text, n *match.Number, b int, digits []byte) (sure uint8, why string) {
	if len(digits) > 18 || b > 5 {
		return 0, ""
	}
	context := n.Context(t)
	switch {
	case context&match.AboutRouting != 0 && b == 1 && checksum.Routing(digits):
		return 90, "labeled as a routing number, with its check digit"
	case context&match.AboutRouting != 0 && (n.Sizes(b, 3, 3, 2) || b == 1 && len(digits) == 8):
		return 80, "labeled as a sort code"
	case context&match.AboutAccount != 0 && context&match.AboutOrder == 0 && b <= 3 && len(digits) >= 7:
		return 65, "digits behind a word for an account"
	}
	return 0, ""
}

// JudgeAccount judges a value that is labeled as an account number.
func JudgeAccount(context match.Context, v []byte) (end int, sure uint8, why string) {
	end, digits := match.LeadingDigits(v, 20)
	if len(digits) >= 5 && context&match.AboutOrder == 0 {
		return end, 75, "labeled as an account"
	}
	return 0, 0, ""
}

// VAT finds a European VAT number whose first word, t[i:j], begins with the two
// letters of a country. It returns the end of the match, or 0.
func VAT(s *match.Text, i, j int) int {
	t := s.Bytes
	small := j-i >= 2 && char.IsLower(t[i])
	if j-i < 2 || !char.IsLetter(t[i]) || char.IsUpper(t[i]) == small || char.IsUpper(t[i+1]) == small || t[i] >= 0x80 || t[i+1] >= 0x80 {
		return 0
	}
	var rest [14]byte
	n, gaps := 0, 0
	for end := i + 2; end < len(t) && n < len(rest); {
		c := t[end]
		if char.IsDigit(c) || char.IsUpper(c) != small && char.IsLetter(c) && c < 0x80 {
			if small && c >= 'a' {
				c &^= 0x20
			}
			rest[n] = c
			n++
		} else if (c == ' ' || c == '.' || c == '-') && end+1 < len(t) && (char.IsDigit(t[end+1]) || c == '.' && n == 9) && gaps < 4 && n <= 9 {
			gaps++
		} else {
			break
		}
		end++
		if end < j || end < len(t) && char.IsWord(t[end]) {
			continue
		}
		// The whole number, or a part of one that is written in groups.
		if sure := checksum.VAT(t[i]&^0x20, t[i+1]&^0x20, rest[:n]); sure > 0 {
			if end+1 < len(t) && (t[end] == ' ' || t[end] == '.') && char.IsDigit(t[end+1]) && n < 8 {
				continue
			}
			switch context := s.Before(i); {
			case context&match.AboutVAT != 0:
				sure = 97
			case context&match.AboutOrder != 0 || s.PartOfLonger(i, end):
				sure = min(sure, 40)
			case small:
				sure = min(sure, 45) // identifiers of programs have small letters
			}
			return s.HitTo(match.VAT, i, end, sure, "the form and check digits of a VAT number")
		}
	}
	return 0
}
