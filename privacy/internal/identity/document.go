package identity

import (
	"slices"
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/checksum"
	"github.com/wexec/wexec/privacy/internal/dates"
	"github.com/wexec/wexec/privacy/internal/match"
)

// AboutDocuments are the words that a number of a document is behind.
const AboutDocuments = match.AboutPassport | match.AboutLicence | match.AboutNationalID | match.AboutVAT

// MaxCode is how many letters and digits the longest number has.
const MaxCode = 20

// code is a number of letters and digits in capitals, without the signs between
// its groups.
type code struct {
	text  []byte
	ends  []codeEnd // where the number can end: at spaces
	small bool      // a letter was small
	store [MaxCode]byte
	cuts  [8]codeEnd
}

// codeEnd is an end of a code: the offset in the text, and the size of the code.
type codeEnd struct{ at, size int }

// read reads the number at i.
func (c *code) read(t []byte, i int) {
	c.text, c.ends = c.store[:0], c.cuts[:0]
	joins := func(k int, small bool) bool {
		return k < len(t) && (char.IsDigit(t[k]) || char.IsUpper(t[k]) || small && char.IsLower(t[k]))
	}
	for len(c.ends) < len(c.cuts) {
		for ; joins(i, true); i++ {
			if len(c.text) == MaxCode {
				return
			}
			b := t[i]
			if char.IsLower(b) {
				c.small = true
				b &^= 0x20
			}
			c.text = append(c.text, b)
		}
		if i+2 < len(t) && t[i] == '(' && t[i+2] == ')' && joins(i+1, false) && len(c.text) < MaxCode { // A123456(3)
			c.text = append(c.text, t[i+1])
			i += 3
		}
		if i < len(t) && (char.IsWord(t[i]) || t[i] == '@') {
			return // longer than any number, or not a number
		}
		sign := byte(' ')
		if i < len(t) {
			sign = t[i]
		}
		joined := joins(i+1, sign != ' ' || c.small && joins(i+1, true) && (i+2 >= len(t) || !char.IsLower(t[i+2])))
		if sign != '-' && sign != '.' && sign != '/' || !joined {
			c.ends = append(c.ends, codeEnd{i, len(c.text)})
		}
		if !joined || sign != ' ' && sign != '-' && sign != '.' && sign != '/' {
			return
		}
		i++
	}
}

// Document finds a number with digits that is behind a word for a passport, a
// licence, a national or a VAT number, and begins at i. It returns the end of the
// match, or 0.
func Document(t *match.Text, i int) int {
	if i > 0 && strings.IndexByte("\\./@-", t.Bytes[i-1]) >= 0 {
		return 0 // the end of a longer word
	}
	var c code
	c.read(t.Bytes, i)
	var context match.Context
	for n, end := range slices.Backward(c.ends) {
		number := c.text[:end.size]
		word := end.at-i == end.size
		printed := n == 0 && word && !c.small // a word of capitals and digits
		if end.size < 6 || char.CountDigits(number) < 3 || !printed && !hasForm(number, word) {
			continue
		}
		if context == 0 {
			if context = t.Before(i); context&AboutDocuments == 0 {
				return 0
			}
		}
		if kind, sure, why := judgeNumber(context, number, word, printed); sure > 0 && t.Hit(kind, i, end.at, sure, why) {
			return end.at
		}
	}
	return 0
}

func hasForm(number []byte, word bool) bool {
	return checksum.Passport(number, word) || checksum.National(number) || checksum.Licence(number) || checksum.VATWithoutCountry(number)
}

// DocumentDigits judges a number without letters as that of a document.
func DocumentDigits(t *match.Text, n *match.Number, digits []byte) (kind match.Kind, sure uint8, why string) {
	if len(digits) < 7 {
		return "", 0, ""
	}
	return judgeNumber(n.Context(t), digits, false, false)
}

// judgeNumber judges a number in capitals by the words in front of it. word: it
// is one word; printed: of capitals and digits, as on documents. Other numbers must
// have the form of a country.
func judgeNumber(context match.Context, number []byte, word, printed bool) (kind match.Kind, sure uint8, why string) {
	size := len(number)
	switch {
	case context&match.AboutPhone != 0:
		return "", 0, ""
	case context&match.AboutPassport != 0 && (printed && size <= 10 || checksum.Passport(number, word)):
		return match.Passport, 75, "behind a word for a passport"
	case context&match.AboutLicence != 0 && context&(match.AboutVersion|match.AboutSecret) == 0 && (printed && size >= 7 && size <= 18 || checksum.Licence(number)):
		return match.Licence, 70, "behind a word for a driver's licence"
	case context&(match.AboutNationalID|match.AboutVAT) == 0 || context&match.AboutOrder != 0:
		return "", 0, ""
	case context&match.AboutVAT != 0 && checksum.VATWithoutCountry(number):
		return match.VAT, 70, "behind a word for VAT, of the form of a country"
	case context&match.AboutNationalID != 0 && (printed && size <= 18 && char.CountDigits(number) >= 6 || checksum.National(number)):
		return match.NationalID, 60, "behind a word for a national number"
	}
	return "", 0, ""
}

// JudgeDocument judges the start of a value that is labeled as a document, a
// national number or a VAT number: capitals and digits, or a number of the form of
// a country.
func JudgeDocument(kind match.Kind, v []byte) (end int, sure uint8, why string) {
	if _, ok := dates.At(v, 0); ok {
		return 0, 0, ""
	}
	var c code
	c.read(v, 0)
	for _, e := range slices.Backward(c.ends) {
		number := c.text[:e.size]
		digits := char.CountDigits(number)
		letters := len(number) - digits
		if digits < 4 || len(number) < 6 || c.small && !hasForm(number, true) && !national(number) || letters > digits && len(number) != 16 && kind != match.Licence && !hasForm(number, true) {
			continue
		}
		return e.at, 85, "labeled as " + strings.ToLower(string(kind))
	}
	return 0, 0, ""
}

// national reports a number with check digits or the letters of a country.
func national(number []byte) bool {
	return checksum.CodiceFiscale(number) || len(number) > 6 && checksum.VAT(number[0], number[1], number[2:]) > 0
}

// Birthdate finds a date between start and end that is behind a word for birth.
// It returns the end of the match, or 0.
func Birthdate(t *match.Text, start, end int) int {
	if t.Wants(match.Birthdate) && t.Before(start)&match.AboutBirth != 0 {
		return t.HitTo(match.Birthdate, start, end, 85, "a date behind a word for birth")
	}
	return 0
}

// JudgeBirthdate judges a value that is labeled as a date of birth. whole: it is
// the whole value of its field.
func JudgeBirthdate(v []byte, whole bool) (end int, sure uint8, why string) {
	end, ok := dates.At(v, 0)
	if !ok {
		w := 0
		for w < len(v) && char.IsLetter(v[w]) {
			w++
		}
		end, ok = dates.WithMonth(v, 0, w)
	}
	if ok {
		return end, 95, "labeled as a date of birth"
	}
	if whole && len(v) == 8 && char.CountDigits(v) == 8 {
		if y, _ := char.Number(v, 0); dates.Year(y / 10) {
			return 8, 90, "labeled as a date of birth"
		}
	}
	return 0, 0, ""
}
