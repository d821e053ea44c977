package identity

import (
	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/checksum"
	"github.com/wexec/wexec/privacy/internal/match"
)

// National judges the first b groups of a number as a national number that has
// only digits.
func National(t *match.Text, n *match.Number, b int, digits []byte) (sure uint8, why string) {
	switch len(digits) {
	case 15:
		if checksum.NIR(digits) {
			if n.Sizes(b, 1, 2, 2, 2, 3, 3, 2) || n.Sizes(b, 1, 2, 2, 2, 3, 3) || n.Context(t)&match.AboutNationalID != 0 {
				return 97, "a French social security number with its key"
			}
			if b == 1 && n.Context(t)&(match.AboutOrder|match.AboutCard) == 0 {
				return 75, "digits that are valid as a French social security number"
			}
		}
	case 11:
		if checksum.SteuerID(digits) {
			if n.Context(t)&match.AboutNationalID != 0 {
				return 95, "labeled as a tax number, with the check digit of a German one"
			}
			if n.Sizes(b, 2, 3, 3, 3) && n.Joined(b, ' ') && !n.Plus {
				return 75, "the groups and check digit of a German tax number"
			}
		}
	case 10:
		if n.Context(t)&match.AboutNationalID != 0 && checksum.NHS(digits) && (b == 1 || n.Sizes(b, 3, 3, 4)) {
			return 90, "labeled as a national number, with the check digit of the NHS"
		}
	}
	return 0, ""
}

// Letters finds a national number in a word that begins with a letter. It
// returns the end of the match, or 0.
func Letters(t *match.Text, i, j int) int {
	w := t.Bytes[i:j]
	switch {
	case checksum.CodiceFiscale(w):
		return t.HitTo(match.NationalID, i, j, 96, "an Italian tax code with its check letter")
	case checksum.NINO(w):
		return t.HitTo(match.NationalID, i, j, confidence(t, i, j, 60, 95, 40), "the form of a British insurance number")
	}
	return spanish(t, i, j, "a Spanish number of a foreigner with its check letter")
}

// Digits finds a national number in a word of digits with one letter. It
// returns the end of the match, or 0.
func Digits(t *match.Text, i, j int) int {
	return spanish(t, i, j, "a Spanish number with its check letter")
}

func spanish(t *match.Text, i, j int, why string) int {
	w := t.Bytes[i:j]
	if !checksum.DNI(w) {
		return 0
	}
	plain := uint8(75)
	if char.IsLower(w[8]) || char.IsLower(w[0]) {
		plain = 45 // identifiers of programs have small letters
	}
	return t.HitTo(match.NationalID, i, j, confidence(t, i, j, plain, 95, 45), why)
}

// confidence is how sure a valid number is without a word in front, behind a
// word for national numbers, and behind a word for something else.
func confidence(t *match.Text, i, j int, plain, labeled, other uint8) uint8 {
	context := t.Before(i)
	switch {
	case context&match.AboutNationalID != 0:
		return labeled
	case context&match.AboutOrder != 0 || t.PartOfLonger(i, j):
		return other
	}
	return plain
}

// SpacedNINO finds a British insurance number in groups, AB 12 34 56 C, whose
// first word is t[i:j]. It returns the end of the match, or 0.
func SpacedNINO(s *match.Text, i, j int) int {
	t := s.Bytes
	if j-i != 2 || i+13 > len(t) || t[i+2] != ' ' && t[i+2] != '-' {
		return 0
	}
	sign := t[i+2]
	w := make([]byte, 0, 9)
	for k := range 13 {
		if k%3 != 2 {
			w = append(w, t[i+k])
		} else if t[i+k] != sign {
			return 0
		}
	}
	if i+13 < len(t) && char.IsWord(t[i+13]) || !checksum.NINO(w) {
		return 0
	}
	return s.HitTo(match.NationalID, i, i+13, 95, "a British insurance number in its groups")
}
