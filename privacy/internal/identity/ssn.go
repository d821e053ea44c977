// Package identity finds numbers that states give to persons: social security
// and tax numbers, identity cards, passports and driver's licences.
package identity

import (
	"github.com/wexec/wexec/privacy/internal/checksum"
	"github.com/wexec/wexec/privacy/internal/match"
)

// SSN judges the first b groups of a number as a US social security number.
func SSN(t *match.Text, n *match.Number, b int, digits []byte) (sure uint8, why string) {
	if len(digits) != 9 {
		return 0, ""
	}
	if !checksum.SSN(digits) {
		// Taxpayer numbers (ITIN) are written in the same way.
		if digits[0] == '9' && n.Sizes(b, 3, 2, 4) && n.Joined(b, '-') && n.Context(t)&(match.AboutNationalID|match.AboutSSN) != 0 {
			return 75, "labeled as a tax number, in its groups"
		}
		return 0, ""
	}
	context := n.Context(t)
	if n.Sizes(b, 3, 2, 4) && n.Joined(b, 0) {
		switch {
		case context&match.AboutSSN != 0:
			return 98, "labeled as a social security number, in its groups"
		case context&(match.AboutOrder|match.AboutVersion|match.AboutPhone) != 0:
			return 45, "in the groups of a social security number, but the word before it means something else"
		case n.Joints[1] == '-':
			return 85, "the groups of a social security number"
		case n.Joints[1] == ' ' && !n.Crowded:
			return 60, "the groups of a social security number"
		}
		return 45, "the groups of a social security number"
	}
	if (b == 1 || n.DigitByDigit(b)) && context&match.AboutSSN != 0 {
		return 85, "labeled as a social security number"
	}
	return 0, ""
}

// JudgeSSN judges a value that is labeled as a social security number.
func JudgeSSN(v []byte) (end int, sure uint8, why string) {
	end, digits := match.LeadingDigits(v, 9)
	if len(digits) == 9 && checksum.SSN(digits) {
		return end, 97, "labeled as a social security number"
	}
	return 0, 0, ""
}
