// Package finance finds payment cards, bank accounts and VAT numbers. A number
// counts by its check digits, the groups it is written in and the words in
// front of it; package checksum has the check digits.
package finance

import (
	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/checksum"
	"github.com/wexec/wexec/privacy/internal/match"
)

// cardGroups are the groups in which card numbers are written.
var cardGroups = [][]int{{4, 4, 4, 4}, {4, 6, 5}, {4, 6, 4}, {4, 4, 4, 4, 3}, {4, 4, 4, 1}, {6, 13}, {4, 4, 4, 4, 2}, {4, 4, 5}}

// Card judges the first b groups of a number as the number of a payment card.
func Card(t *match.Text, n *match.Number, b int, digits []byte) (sure uint8, why string) {
	if len(digits) < 13 || len(digits) > 19 || char.AllSame(digits) || !checksum.Luhn(digits) {
		return 0, ""
	}
	issuer := checksum.CardIssuer(digits)
	if issuer == "" {
		return 0, ""
	}
	context := n.Context(t)
	if b == 1 {
		switch {
		case context&match.AboutCard != 0, (issuer == "Maestro" || len(digits) < 15) && t.After(n.Groups[0].To)&match.AboutCard != 0:
			return 95, "labeled as a card, with the check digit and range of " + issuer
		case context&(match.AboutOrder|match.AboutVersion|match.AboutNationalID|match.AboutIBAN|match.AboutAccount) != 0:
			return 45, "valid as a card of " + issuer + ", but the word before it means something else"
		case len(digits) > 16:
			return 45, "valid as a card of " + issuer + ", but of a rare length and without a word for cards"
		case issuer == "Maestro" || len(digits) < 15:
			return 45, "valid as a card of " + issuer + ", but of a rare form and without a word for cards"
		}
		return 85, "the check digit and range of " + issuer
	}
	if n.DigitByDigit(b) {
		return 85, "the check digit and range of " + issuer + ", digit by digit"
	}
	if n.Joints[1] == '/' || !n.Joined(b, 0) && !n.Sizes(b, 4, 4, 4, 4) {
		return 0, ""
	}
	for _, sizes := range cardGroups {
		if !n.Sizes(b, sizes...) {
			continue
		}
		if issuer == "Maestro" && context&match.AboutCard == 0 {
			return 60, "the check digit, range and groups of " + issuer
		}
		return 95, "the check digit, range and groups of " + issuer
	}
	if context&match.AboutCard != 0 {
		return 80, "labeled as a card, with the check digit and range of " + issuer
	}
	return 0, ""
}

// JudgeCard judges a value that is labeled as a card.
func JudgeCard(v []byte) (end int, sure uint8, why string) {
	end, digits := match.LeadingDigits(v, 19)
	if len(digits) >= 12 && checksum.Luhn(digits) && !char.AllSame(digits) {
		return end, 95, "labeled as a card, with its check digit"
	}
	return 0, 0, ""
}
