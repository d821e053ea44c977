package identity

import (
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/dates"
	"github.com/wexec/wexec/privacy/internal/match"
)

// DocumentWord finds a word of capitals and digits behind a word for a passport,
// a licence or an identity card. It returns the end of the match, or 0.
func DocumentWord(t *match.Text, i, j int) int {
	w := t.Bytes[i:j]
	if len(w) < 6 || len(w) > 18 || i > 0 && t.Bytes[i-1] == '\\' {
		return 0
	}
	digits := 0
	for _, c := range w {
		if char.IsDigit(c) {
			digits++
		} else if !char.IsUpper(c) {
			return 0
		}
	}
	if digits < 3 {
		return 0
	}
	if kind, sure, why := documentKind(t.Before(i), len(w), digits); sure > 0 {
		return t.HitTo(kind, i, j, sure, why)
	}
	return 0
}

// Document judges a number as that of a document.
func Document(t *match.Text, n *match.Number, digits []byte) (kind match.Kind, sure uint8, why string) {
	if len(digits) < 7 || len(digits) > 14 {
		return "", 0, ""
	}
	return documentKind(n.Context(t), len(digits), len(digits))
}

func documentKind(context match.Context, size, digits int) (kind match.Kind, sure uint8, why string) {
	switch {
	case context&match.AboutPhone != 0:
		return "", 0, ""
	case context&match.AboutPassport != 0 && size <= 10:
		return match.Passport, 75, "behind a word for a passport"
	case context&match.AboutLicence != 0 && context&(match.AboutVersion|match.AboutSecret) == 0 && size >= 7:
		return match.Licence, 70, "behind a word for a driver's licence"
	case context&match.AboutNationalID != 0 && context&match.AboutOrder == 0 && digits >= 6:
		return match.NationalID, 55, "behind a word for a national number"
	}
	return "", 0, ""
}

// JudgeDocument judges the first run of capitals and digits of a value that is
// labeled as a document, a national number or a VAT number.
func JudgeDocument(kind match.Kind, v []byte) (end int, sure uint8, why string) {
	digits, letters := 0, 0
	for i, c := range v {
		if char.IsDigit(c) {
			digits++
		} else if char.IsUpper(c) {
			letters++
		} else if (c == ' ' || c == '-' || c == '.' || c == '/') && i > 0 && i == end && i+1 < len(v) && (char.IsDigit(v[i+1]) || char.IsUpper(v[i+1]) && (c != ' ' || i+2 >= len(v) || !char.IsLower(v[i+2]))) && digits+letters < 22 {
			end = i + 1
			continue
		} else {
			if char.IsLower(c) && i == end && i > 0 {
				return 0, 0, ""
			}
			break
		}
		end = i + 1
	}
	for end > 0 && !char.IsWord(v[end-1]) {
		end--
	}
	if digits < 4 || digits+letters < 6 || digits+letters > 24 || letters > digits && digits+letters != 16 && kind != match.Licence {
		return 0, 0, ""
	}
	if _, ok := dates.At(v, 0); ok {
		return 0, 0, ""
	}
	return end, 85, "labeled as " + strings.ToLower(string(kind))
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
