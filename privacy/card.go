package privacy

// luhn checks the digit at the end of card numbers.
func luhn(digits []byte) bool {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return sum%10 == 0
}

// issuer names the issuer of a card number by its first digits and its length;
// "" where nobody issues such numbers.
func issuer(d []byte) string {
	n := len(d)
	if n < 13 || n > 19 {
		return ""
	}
	four := int(d[0]-'0')*1000 + int(d[1]-'0')*100 + int(d[2]-'0')*10 + int(d[3]-'0')
	two, three := four/100, four/10
	switch {
	case d[0] == '4':
		if n == 13 || n == 16 || n == 19 {
			return "Visa"
		}
	case two >= 51 && two <= 55, four >= 2221 && four <= 2720:
		if n == 16 {
			return "Mastercard"
		}
	case two == 34, two == 37:
		if n == 15 {
			return "American Express"
		}
	case four == 6011, two == 65, three >= 644 && three <= 649:
		if n >= 16 {
			return "Discover"
		}
	case three >= 300 && three <= 305, two == 36, two == 38, two == 39:
		if n == 14 {
			return "Diners Club"
		}
	case four >= 3528 && four <= 3589:
		if n >= 16 {
			return "JCB"
		}
	case two == 62:
		if n >= 16 {
			return "UnionPay"
		}
	case two == 50, two >= 56 && two <= 58, two == 67:
		return "Maestro"
	}
	return ""
}

// same reports that all digits are one.
func same(digits []byte) bool {
	for _, d := range digits {
		if d != digits[0] {
			return false
		}
	}
	return true
}

// card looks at a window of groups as the number of a payment card.
func (s *scanner) card(n *numeral, b int, digits []byte) (uint8, string) {
	if len(digits) < 13 || len(digits) > 19 || same(digits) || !luhn(digits) {
		return 0, ""
	}
	name := issuer(digits)
	if name == "" {
		return 0, ""
	}
	context := s.context(n)
	if b == 1 {
		switch {
		case context&saysCard != 0, (name == "Maestro" || len(digits) < 15) && s.after(n.groups[0].to)&saysCard != 0:
			return 95, "named a card, with the check digit and range of " + name
		case context&(saysOrder|saysVersion|saysNational|saysIBAN|saysAccount) != 0:
			return 45, "valid as a card of " + name + ", but the word before it names something else"
		case len(digits) > 16:
			return 45, "valid as a card of " + name + ", but of a length that few have, without a word for cards"
		case name == "Maestro" || len(digits) == 13 || len(digits) == 14:
			return 45, "valid as a card of " + name + ", but a rare form without a word for cards"
		}
		return 85, "the check digit and range of " + name
	}
	if n.single(b) {
		return 85, "the check digit and range of " + name + ", digit by digit"
	}
	if n.joints[1] == '/' || !n.joined(b, 0) && !n.sizes(b, 4, 4, 4, 4) {
		return 0, ""
	}
	if n.sizes(b, 4, 4, 4, 4) || n.sizes(b, 4, 6, 5) || n.sizes(b, 4, 6, 4) || n.sizes(b, 4, 4, 4, 4, 3) || n.sizes(b, 4, 4, 4, 1) || n.sizes(b, 6, 13) || n.sizes(b, 4, 4, 4, 4, 2) || n.sizes(b, 4, 4, 5) {
		if name == "Maestro" && context&saysCard == 0 {
			return 60, "the check digit, range and groups of " + name
		}
		return 95, "the check digit, range and groups of " + name
	}
	if context&saysCard != 0 {
		return 80, "named a card, with the check digit and range of " + name
	}
	return 0, ""
}

// validSSN knows what was never given out.
func validSSN(d []byte) bool {
	if len(d) != 9 || d[0] == '9' || string(d[:3]) == "000" || string(d[:3]) == "666" || string(d[3:5]) == "00" || string(d[5:]) == "0000" {
		return false
	}
	return !same(d)
}

// ssn looks at a window of groups as a US social security number.
func (s *scanner) ssn(n *numeral, b int, digits []byte) (uint8, string) {
	if len(digits) != 9 {
		return 0, ""
	}
	if !validSSN(digits) {
		// Numbers for taxes alone are written in the same way.
		if digits[0] == '9' && n.sizes(b, 3, 2, 4) && n.joined(b, '-') && s.context(n)&(saysNational|saysSSN) != 0 {
			return 75, "named a tax number, in its groups"
		}
		return 0, ""
	}
	context := s.context(n)
	if n.sizes(b, 3, 2, 4) && n.joined(b, 0) {
		switch {
		case context&saysSSN != 0:
			return 98, "named a social security number, in its groups"
		case context&(saysOrder|saysVersion|saysPhone) != 0:
			return 45, "a form of social security numbers, but the word before it names something else"
		case n.joints[1] == '-':
			return 85, "the groups of a social security number"
		case n.joints[1] == ' ' && !n.crowded:
			return 60, "the groups of a social security number"
		}
		return 45, "the groups of a social security number"
	}
	if (b == 1 || n.single(b)) && context&saysSSN != 0 {
		return 85, "named a social security number"
	}
	return 0, ""
}
