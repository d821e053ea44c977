package privacy

// ibanLengths are the countries of the IBAN registry with the length of their
// numbers.
const ibanLengths = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22GI23GL18GR27GT28" +
	"HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33" +
	"SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30"

// ibanLength is the length of a country's numbers, 0 where it has none.
func ibanLength(a, b byte) int {
	for i := 0; i+4 <= len(ibanLengths); i += 4 {
		if ibanLengths[i] == a && ibanLengths[i+1] == b {
			return int(ibanLengths[i+2]-'0')*10 + int(ibanLengths[i+3]-'0')
		}
	}
	return 0
}

// validIBAN checks length and remainder of a number in capitals without
// spaces.
func validIBAN(c []byte) bool {
	if len(c) < 15 || ibanLength(c[0], c[1]) != len(c) {
		return false
	}
	rest := 0
	for i := range c {
		switch d := c[(i+4)%len(c)]; {
		case isDigit(d):
			rest = (rest*10 + int(d-'0')) % 97
		case isUpper(d):
			rest = (rest*100 + int(d-'A') + 10) % 97
		default:
			return false
		}
	}
	return rest == 1
}

// iban looks at a word that begins with two letters and two digits; 0 where it
// is none.
func (s *scanner) iban(i int) int {
	t := s.t
	if i+15 > len(t) {
		return 0
	}
	var compact [34]byte
	a, b := t[i]&^0x20, t[i+1]&^0x20
	want := ibanLength(a, b)
	if want == 0 || !isDigit(t[i+2]) {
		return 0
	}
	n, gaps, j := 0, 0, i
	small, large := 0, 0
	for j < len(t) && n < want {
		c := t[j]
		switch {
		case isDigit(c), isUpper(c):
			compact[n] = c
			n++
			if isUpper(c) {
				large++
			}
		case isLower(c):
			compact[n] = c &^ 0x20
			n++
			small++
		case (c == ' ' || c == '-' || c == '.') && j+1 < len(t) && isWord(t[j+1]) && n%4 == 0 && n > 0:
			gaps++
		default:
			return 0
		}
		j++
	}
	if n < want || small > 0 && large > 0 || j < len(t) && isWord(t[j]) || !validIBAN(compact[:n]) {
		return 0
	}
	if !s.hit(IBAN, i, j, 98, "a bank account number with its check digits") {
		return 0
	}
	return j
}

// validRouting checks the digit at the end of a US routing number.
func validRouting(d []byte) bool {
	if len(d) != 9 {
		return false
	}
	weights := [3]int{3, 7, 1}
	sum := 0
	for i, c := range d {
		sum += int(c-'0') * weights[i%3]
	}
	first := int(d[0]-'0')*10 + int(d[1]-'0')
	return sum > 0 && sum%10 == 0 && (first <= 12 || first >= 21 && first <= 32 || first >= 61 && first <= 72 || first == 80)
}

// accountNumber looks at a window of groups as a national account, sort code
// or routing number. These have little form: a word must stand in front.
func (s *scanner) accountNumber(n *numeral, b int, digits []byte) (uint8, string) {
	if len(digits) > 18 || b > 5 {
		return 0, ""
	}
	context := s.context(n)
	switch {
	case context&saysRouting != 0 && b == 1 && validRouting(digits):
		return 90, "named a routing number, with its check digit"
	case context&saysRouting != 0 && (n.sizes(b, 3, 3, 2) || b == 1 && len(digits) == 8):
		return 80, "named a sort code"
	case context&saysAccount != 0 && context&saysOrder == 0 && b <= 3 && len(digits) >= 7:
		return 65, "digits behind a word for an account"
	}
	return 0, ""
}
