package privacy

import (
	"bytes"
	"strings"
	"sync"
)

// tableStart is where the automaton of the phone table begins.
var tableStart = sync.OnceValue(func() int { return eachRegion(nil) })

// phoneNumber reads digits as a number in international form. With plus they
// begin with a calling code, else they are read in each of the regions, with
// and without its trunk prefix; with it first.
func (d *Detector) phoneNumber(digits []byte, plus bool) (country int, code string, national []byte) {
	if len(digits) < 5 || len(digits) > 17 {
		return 0, "", nil
	}
	if plus {
		return phoneCountry(digits), "", digits
	}
	for _, r := range d.regions {
		if rest, ok := bytes.CutPrefix(digits, []byte(r.trunk)); ok && r.trunk != "" {
			if c := phoneCountry([]byte(r.code), rest); c != 0 {
				return c, r.code, rest
			}
		}
		if r.trunk == "" || r.code == "1" {
			if c := phoneCountry([]byte(r.code), digits); c != 0 {
				return c, r.code, digits
			}
		}
	}
	// Only then without the prefix where one is usual.
	for _, r := range d.regions {
		if c := phoneCountry([]byte(r.code), digits); c != 0 {
			return c, r.code, digits
		}
	}
	return 0, "", nil
}

// canonicalPhone is the form in which two spellings of a number are the same:
// +4930123456, and behind it the extension.
func (d *Detector) canonicalPhone(value string) (canonical string, country int) {
	var buffer [32]byte
	number, extension := value, ""
	if i := strings.IndexAny(value, "xX#;"); i > 0 {
		number, extension = value[:i], onlyDigits(value[i:])
	} else if i := strings.Index(strings.ToLower(value), "ext"); i > 0 {
		number, extension = value[:i], onlyDigits(value[i:])
	}
	digits := buffer[:0]
	number = strings.Replace(number, "(0)", "", 1)
	for i := range len(number) {
		if isDigit(number[i]) && len(digits) < cap(digits) {
			digits = append(digits, number[i])
		}
	}
	plus := strings.Contains(number, "+")
	if !plus && len(digits) > 2 && string(digits[:2]) == "00" {
		if c := phoneCountry(digits[2:]); c != 0 {
			return "+" + string(digits[2:]) + suffixed(extension), c
		}
	}
	if c, code, national := d.phoneNumber(digits, plus); c != 0 {
		return "+" + code + string(national) + suffixed(extension), c
	}
	if plus && len(digits) > 3 {
		// The trunk prefix is often left in: +44 020 …
		if c, rest := dropTrunk(digits); c != 0 {
			return "+" + string(rest) + suffixed(extension), c
		}
	}
	return string(digits) + suffixed(extension), 0
}

func suffixed(extension string) string {
	if extension == "" {
		return ""
	}
	return "x" + extension
}

func onlyDigits(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, s)
}

// dropTrunk leaves out a zero between calling code and number, as in
// +49 (0)30 123456.
func dropTrunk(digits []byte) (int, []byte) {
	for n := 1; n <= 3 && n < len(digits); n++ {
		if digits[n] != '0' {
			continue
		}
		rest := append(append(make([]byte, 0, len(digits)), digits[:n]...), digits[n+1:]...)
		if c := phoneCountry(rest); c != 0 {
			return c, rest
		}
	}
	return 0, nil
}

// phone looks at a window of groups as a telephone number.
func (s *scanner) phone(n *numeral, b int) (sure uint8, why string) {
	g := n.groups[:b]
	digits := n.digits[:g[b-1].upTo]
	if len(digits) < 7 || len(digits) > 17 {
		return 0, ""
	}
	switch {
	case n.plus:
		if phoneCountry(digits) != 0 {
			if len(g) == 2 && n.joints[1] == '.' && g[1].to-g[1].from < 3 {
				return 40, "valid, but more like a decimal with a sign"
			}
			return 95, "a valid international number"
		}
		if c, _ := dropTrunk(digits); c != 0 && (n.parens || len(g) > 1) {
			return 90, "a valid international number with its trunk prefix"
		}
		if len(g) > 1 && len(digits) >= 9 && len(digits) <= 15 && callingCode(digits) && n.lonely(b) < 2 {
			return 60, "the form of an international number that is not in use"
		}
		return 0, ""
	case digits[0] == '0' && digits[1] == '0':
		if phoneCountry(digits[2:]) != 0 {
			if (n.crowded || s.dumped(n, b)) && s.context(n)&saysPhone == 0 {
				return 40, "valid, but in a row of numbers"
			}
			if len(g) > 1 || s.context(n)&saysPhone != 0 {
				return 85, "a valid international number"
			}
		}
		return 0, ""
	}
	return s.nationalPhone(n, b, digits)
}

// nationalPhone looks at digits without a calling code: they are read in the
// regions that are configured.
func (s *scanner) nationalPhone(n *numeral, b int, digits []byte) (sure uint8, why string) {
	g := n.groups[:b]
	context := s.context(n)
	says := context&saysPhone != 0
	if !says && n.lonely(b) > 1 && s.d.least > 40 && !s.explain {
		return 0, "" // a row of numbers: too weak at this level whatever it is
	}
	country, _, national := s.d.phoneNumber(digits, false)
	if !says && s.dumped(n, b) {
		return 40, "valid, but in a dump or a list of numbers"
	}
	if country == 0 {
		if says && context&saysOrder == 0 && len(digits) >= 7 && n.phoneLike(b) {
			if c := phoneCountry(digits); c != 0 && len(digits) >= 10 {
				return 70, "named a phone number, valid with a plus"
			}
			if n.sizes(b, 3, 4) || digits[0] == '0' && len(g) > 1 {
				return 60, "named a phone number, of a likely form"
			}
		}
		return 0, ""
	}
	if says && n.lonely(b) < 3 {
		return 90, "named a phone number and valid"
	}
	if context&(saysOrder|saysVersion) != 0 && !n.parens {
		return 40, "valid, but the word before it names something else"
	}
	if len(g) == 1 || len(g) == 2 && n.joints[1] == '.' || n.lonely(b) > 1 {
		return 35, "digits that could be a phone number"
	}
	return s.phoneGroups(n, b, country, digits, len(national) < len(digits))
}

// phoneGroups tells by its groups how sure a valid national number is of which
// nothing is said.
func (s *scanner) phoneGroups(n *numeral, b, country int, digits []byte, trunk bool) (sure uint8, why string) {
	g := n.groups[:b]
	first := g[0].to - g[0].from
	switch {
	case n.pairs(b) && b != 5, first < 2 && !n.parens && !s.d.american(country), n.sizes(b, 5, 4) && n.joints[1] == '-', n.sizes(b, 4, 4) && n.joints[1] == '-':
		return 40, "valid, but not in the groups of a phone number"
	case s.d.american(country) && n.american(b):
		if n.crowded && !n.parens {
			return 45, "valid, but in a row of numbers"
		}
		if n.parens {
			return 90, "a valid number with its area code in brackets"
		}
		if n.joints[b-1] == ' ' {
			return 65, "a valid number in its groups"
		}
		return 80, "a valid number in its groups"
	case s.d.american(country):
		return 0, ""
	case trunk && digits[0] == '0':
		if n.crowded {
			return 45, "valid, but in a row of numbers"
		}
		return 75, "a valid number with its trunk prefix"
	case n.parens:
		return 70, "a valid number with its area code in brackets"
	}
	if r := regionNumber(country); len(g) >= 3 && len(g) <= 4 && !n.crowded && n.joined(b, ' ') && r.trunk == "" && !n.thousands(b) {
		if r.id == "IT" && digits[0] != '0' && digits[0] != '3' {
			return 40, "valid, but not as numbers there begin"
		}
		return 55, "a valid number in groups"
	}
	return 35, "digits that could be a phone number"
}

// american reports whether a country has numbers of the form 212-555-0134.
func (d *Detector) american(country int) bool { return regionNumber(country).code == "1" }

// callingCode reports that a number begins with the calling code of a country.
func callingCode(digits []byte) bool {
	found := false
	eachRegion(func(_ int, r region) bool {
		found = bytes.HasPrefix(digits, []byte(r.code))
		return !found
	})
	return found
}

// thousands reports groups as they stand in large numbers, or pairs as they
// stand in lists: only groups of three, or none of three and more.
func (n *numeral) thousands(b int) bool {
	three, more := 0, 0
	for _, g := range n.groups[1:b] {
		switch size := g.to - g.from; {
		case size == 3:
			three++
		case size > 3:
			more++
		}
	}
	return three == b-1 || three+more == 0
}

// dumped reports groups as dumps and lists have them: all of four digits, words
// of hexadecimal digits beside them, or each group in brackets of its own.
func (s *scanner) dumped(n *numeral, b int) bool {
	g, t := n.groups[:b], s.t
	from, to := g[0].from, g[b-1].to
	size := g[0].to - from
	same := true
	for _, x := range g {
		same = same && x.to-x.from == size
	}
	if same && size == 4 && b > 1 {
		return true
	}
	if bytes.Count(t[from:to], []byte("(")) > 1 {
		return true
	}
	hex := func(w []byte) bool {
		letters := 0
		for _, c := range w {
			if !hexByte(c) {
				return false
			}
			if !isDigit(c) {
				letters++
			}
		}
		return letters > 0
	}
	last := g[b-1].to - g[b-1].from
	return from > size && t[from-1] == ' ' && size%2 == 0 && size <= 4 && hex(t[from-1-size:from-1]) && (from-1-size == 0 || !isWord(t[from-2-size])) ||
		to+last < len(t) && t[to] == ' ' && last%2 == 0 && last <= 4 && hex(t[to+1:to+1+last]) && (to+1+last == len(t) || !isWord(t[to+1+last]))
}

// pairs reports that all groups have two digits.
func (n *numeral) pairs(b int) bool {
	for _, g := range n.groups[:b] {
		if g.to-g.from != 2 {
			return false
		}
	}
	return true
}

// lonely counts the groups of one digit.
func (n *numeral) lonely(b int) int {
	count := 0
	for _, g := range n.groups[:b] {
		if g.to-g.from == 1 {
			count++
		}
	}
	return count
}
