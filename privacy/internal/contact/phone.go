package contact

import (
	"bytes"
	"slices"
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/dates"
	"github.com/wexec/wexec/privacy/internal/match"
)

// Phones reads telephone numbers. Numbers without a calling code are read in its
// regions.
type Phones struct{ regions []region }

// NewPhones makes a Phones for countries that KnownRegion accepts.
func NewPhones(ids []string) *Phones {
	p := &Phones{}
	for _, id := range ids {
		if r, ok := regionOf(id); ok {
			p.regions = append(p.regions, r)
		}
	}
	return p
}

// number is a valid number in international form: the digits behind code.
type number struct {
	country  int // of the phone table, 0 for an invalid number
	code     string
	national []byte
}

func (n number) region() region { return phonePlan().regions[n.country-1] }

// american reports a country with numbers of the form 212-555-0134.
func (n number) american() bool { return n.region().code == "1" }

// parse reads digits in each of the regions, with the trunk prefix first where
// one is usual.
func (p *Phones) parse(digits []byte) number {
	if len(digits) < 5 || len(digits) > 17 {
		return number{}
	}
	for _, r := range p.regions {
		if rest, ok := bytes.CutPrefix(digits, []byte(r.trunk)); ok && r.trunk != "" {
			if c := phoneCountry([]byte(r.code), rest); c != 0 {
				return number{c, r.code, rest}
			}
		}
		if r.trunk == "" || r.code == "1" {
			if c := phoneCountry([]byte(r.code), digits); c != 0 {
				return number{c, r.code, digits}
			}
		}
	}
	for _, r := range p.regions {
		if c := phoneCountry([]byte(r.code), digits); c != 0 {
			return number{c, r.code, digits}
		}
	}
	return number{}
}

// Canonical is the form in which two spellings of a number are equal,
// +4930123456 with x and the extension, and the two letters of its country, ""
// if that is unknown.
func (p *Phones) Canonical(value string) (canonical, country string) {
	text, extension := value, ""
	i := strings.IndexAny(value, "xX#;")
	if i <= 0 {
		i = strings.Index(strings.ToLower(value), "ext")
	}
	if i > 0 {
		text = value[:i]
		if extension = char.OnlyDigits(value[i:]); extension != "" {
			extension = "x" + extension
		}
	}
	var buffer [32]byte
	digits := buffer[:0]
	text = strings.Replace(text, "(0)", "", 1)
	for i := range len(text) {
		if char.IsDigit(text[i]) && len(digits) < len(buffer) {
			digits = append(digits, text[i])
		}
	}
	plus := strings.Contains(text, "+")
	n := number{national: digits}
	switch {
	case !plus && len(digits) > 2 && string(digits[:2]) == "00" && phoneCountry(digits[2:]) != 0:
		n = number{country: phoneCountry(digits[2:]), national: digits[2:]}
	case !plus:
		if parsed := p.parse(digits); parsed.country != 0 {
			n = parsed
		}
	case len(digits) >= 5 && len(digits) <= 17 && phoneCountry(digits) != 0:
		n.country = phoneCountry(digits)
	case len(digits) > 3: // the trunk prefix is often left in: +44 020 …
		n = withoutTrunk(digits)
	}
	if n.country == 0 {
		return string(digits) + extension, ""
	}
	return "+" + n.code + string(n.national) + extension, strings.TrimPrefix(n.region().id, "ZZ")
}

// withoutTrunk leaves out a zero behind the calling code, as in +49 (0)30 123456.
func withoutTrunk(digits []byte) number {
	for n := 1; n <= 3 && n < len(digits); n++ {
		if digits[n] == '0' {
			rest := slices.Delete(slices.Clone(digits), n, n+1)
			if c := phoneCountry(rest); c != 0 {
				return number{country: c, national: rest}
			}
		}
	}
	return number{}
}

// Phone judges the first b groups of a number as a telephone number.
func (p *Phones) Phone(s *match.Text, n *match.Number, b int) (sure uint8, why string) {
	g := n.Groups[:b]
	digits := n.Digits[:g[b-1].UpTo]
	if len(digits) < 7 || len(digits) > 17 {
		return 0, ""
	}
	switch {
	case n.Plus && phoneCountry(digits) != 0:
		if len(g) == 2 && n.Joints[1] == '.' && g[1].Len() < 3 {
			return 40, "valid, but more like a decimal with a sign"
		}
		return 95, "a valid international number"
	case n.Plus && (n.Parens || len(g) > 1) && withoutTrunk(digits).country != 0:
		return 90, "a valid international number with its trunk prefix"
	case n.Plus:
		if len(g) > 1 && len(digits) >= 9 && len(digits) <= 15 && hasCallingCode(digits) && n.Singles(b) < 2 {
			return 60, "the form of an international number that is not in use"
		}
		return 0, ""
	case digits[0] == '0' && digits[1] == '0':
		labeled := n.Context(s)&match.AboutPhone != 0
		switch {
		case phoneCountry(digits[2:]) == 0:
		case (n.Crowded || inDump(s, n, b)) && !labeled:
			return 40, "valid, but in a row of numbers"
		case len(g) > 1 || labeled:
			return 85, "a valid international number"
		}
		return 0, ""
	}
	return p.national(s, n, b, digits)
}

// national judges digits without a calling code.
func (p *Phones) national(s *match.Text, n *match.Number, b int, digits []byte) (sure uint8, why string) {
	g := n.Groups[:b]
	context := n.Context(s)
	labeled := context&match.AboutPhone != 0
	if !labeled && n.Singles(b) > 1 && s.Rules.Least > 40 && !s.Explain {
		return 0, "" // a row of numbers is too weak at this level in any case
	}
	number := p.parse(digits)
	if !labeled && inDump(s, n, b) {
		return 40, "valid, but in a dump or a list of numbers"
	}
	switch {
	case number.country != 0:
	case !labeled || context&match.AboutOrder != 0:
		return 0, ""
	case len(digits) >= 10 && phoneCountry(digits) != 0:
		return 70, "labeled as a phone number, valid with a plus"
	case n.Sizes(b, 3, 4) || digits[0] == '0' && len(g) > 1:
		return 60, "labeled as a phone number, of a likely form"
	default:
		return 0, ""
	}
	switch {
	case labeled && n.Singles(b) < 3:
		return 90, "labeled as a phone number, and valid"
	case context&(match.AboutOrder|match.AboutVersion) != 0 && !n.Parens:
		return 40, "valid, but the word before it means something else"
	case len(g) == 1 || len(g) == 2 && n.Joints[1] == '.' || n.Singles(b) > 1:
		return 35, "digits that could be a phone number"
	}
	return judgeGroups(n, b, number, digits)
}

// judgeGroups judges a valid national number without a label by its groups.
func judgeGroups(n *match.Number, b int, number number, digits []byte) (sure uint8, why string) {
	g := n.Groups[:b]
	trunk := len(number.national) < len(digits)
	switch american := number.american(); {
	case n.EachOf(b, 2) && b != 5, g[0].Len() < 2 && !n.Parens && !american, n.Sizes(b, 5, 4) && n.Joints[1] == '-', n.Sizes(b, 4, 4) && n.Joints[1] == '-':
		return 40, "valid, but not in the groups of a phone number"
	case american && americanGroups(n, b):
		switch {
		case n.Parens:
			return 90, "a valid number with its area code in brackets"
		case n.Crowded:
			return 45, "valid, but in a row of numbers"
		case n.Joints[b-1] == ' ':
			return 65, "a valid number in its groups"
		}
		return 80, "a valid number in its groups"
	case american:
		return 0, ""
	case trunk && digits[0] == '0':
		if n.Crowded {
			return 45, "valid, but in a row of numbers"
		}
		return 75, "a valid number with its trunk prefix"
	case n.Parens:
		return 70, "a valid number with its area code in brackets"
	}
	if r := number.region(); len(g) >= 3 && len(g) <= 4 && !n.Crowded && n.Joined(b, ' ') && r.trunk == "" && (!likeThousands(n, b) || n.Sizes(b, 3, 2, 2, 2)) {
		if r.id == "IT" && digits[0] != '0' && digits[0] != '3' {
			return 40, "valid, but not as numbers there begin"
		}
		return 55, "a valid number in groups"
	}
	return 35, "digits that could be a phone number"
}

// americanGroups reports groups of the form 212-555-0134, with or without a 1.
func americanGroups(n *match.Number, b int) bool {
	return n.Sizes(b, 3, 3, 4) || n.Sizes(b, 1, 3, 3, 4) || n.Sizes(b, 3, 7) && n.Parens
}

// hasCallingCode reports that a number begins with the calling code of a
// country.
func hasCallingCode(digits []byte) bool {
	return slices.ContainsFunc(phonePlan().regions, func(r region) bool { return bytes.HasPrefix(digits, []byte(r.code)) })
}

// likeThousands reports groups as in large numbers or in lists: behind the first
// group only groups of three digits, or only smaller ones.
func likeThousands(n *match.Number, b int) bool {
	three, more := 0, 0
	for _, g := range n.Groups[1:b] {
		switch size := g.Len(); {
		case size == 3:
			three++
		case size > 3:
			more++
		}
	}
	return three == b-1 || three+more == 0
}

// inDump reports groups as dumps and lists have them: all of four digits, next
// to words of hexadecimal digits, or more than one group in brackets.
func inDump(s *match.Text, n *match.Number, b int) bool {
	t := s.Bytes
	from, to := n.Groups[0].From, n.Groups[b-1].To
	if b > 1 && n.EachOf(b, 4) || bytes.Count(t[from:to], []byte("(")) > 1 {
		return true
	}
	hex := func(w []byte) bool { return char.AllHex(w) && char.CountDigits(w) < len(w) }
	size, last := n.Groups[0].Len(), n.Groups[b-1].Len()
	return from > size && t[from-1] == ' ' && size%2 == 0 && size <= 4 && hex(t[from-1-size:from-1]) && (from-1-size == 0 || !char.IsWord(t[from-2-size])) ||
		to+last < len(t) && t[to] == ' ' && last%2 == 0 && last <= 4 && hex(t[to+1:to+1+last]) && (to+1+last == len(t) || !char.IsWord(t[to+1+last]))
}

// Extension is the end of an extension that is written behind a phone number,
// ext. 12 or x12, or to.
func Extension(t []byte, to int) int {
	i := to
	for i < len(t) && i < to+2 && (t[i] == ' ' || t[i] == ',') {
		i++
	}
	rest := t[i:min(len(t), i+12)]
	n := 0
	for n < len(rest) && char.IsLetter(rest[n]) && rest[n] < 0x80 {
		n++
	}
	switch string(rest[:n]) {
	case "x", "X", "ext", "Ext", "EXT", "extension":
	default:
		return to
	}
	for n < len(rest) && (rest[n] == '.' || rest[n] == ' ' || rest[n] == ':') {
		n++
	}
	from := n
	for n < len(rest) && char.IsDigit(rest[n]) {
		n++
	}
	if n == from || n-from > 6 || i+n < len(t) && char.IsWord(t[i+n]) {
		return to
	}
	return i + n
}

// JudgePhone judges a value that is labeled as a phone number. whole: it is the
// whole value of its field.
func JudgePhone(v []byte, whole bool) (end int, sure uint8, why string) {
	digits := 0
	for i, c := range v {
		if char.IsDigit(c) {
			digits++
			end = i + 1
			continue
		}
		if !match.IsNumberSign(c) && c != '+' || digits >= 17 {
			if c|0x20 == 'x' || c|0x20 == 'e' {
				end = Extension(v, end)
			} else if char.IsWord(c) && i == end {
				return 0, 0, ""
			}
			break
		}
		if c == ' ' && i > 0 && v[i-1] == ' ' {
			break
		}
	}
	if digits < 5 || digits > 17 || digits < 6 && !whole {
		return 0, 0, ""
	}
	if stop, ok := dates.At(v, 0); ok && stop >= end {
		return 0, 0, ""
	}
	if end < len(v) && v[end] == ')' {
		end++
	}
	return end, 85, "labeled as a phone number"
}
