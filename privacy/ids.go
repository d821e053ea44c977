package privacy

// nationalNumber looks at a window of digits as one of the national numbers
// that consist of digits alone.
func (s *scanner) nationalNumber(n *numeral, b int, digits []byte) (uint8, string) {
	switch len(digits) {
	case 15:
		if validNIR(digits) {
			if n.sizes(b, 1, 2, 2, 2, 3, 3, 2) || n.sizes(b, 1, 2, 2, 2, 3, 3) || s.context(n)&saysNational != 0 {
				return 97, "a French social security number with its key"
			}
			if b == 1 && s.context(n)&(saysOrder|saysCard) == 0 {
				return 75, "digits that are valid as a French social security number"
			}
		}
	case 11:
		if validSteuerID(digits) {
			if s.context(n)&saysNational != 0 {
				return 95, "named a tax number, with the check digit of a German one"
			}
			if n.sizes(b, 2, 3, 3, 3) && n.joined(b, ' ') && !n.plus {
				return 75, "the groups and check digit of a German tax number"
			}
		}
	case 10:
		if s.context(n)&saysNational != 0 && validNHS(digits) && (b == 1 || n.sizes(b, 3, 3, 4)) {
			return 90, "named a national number, with the check digit of the NHS"
		}
	}
	return 0, ""
}

// validNIR checks the key of a French number: sex, year, month, department.
func validNIR(d []byte) bool {
	m := int(d[3]-'0')*10 + int(d[4]-'0')
	if d[0] != '1' && d[0] != '2' || !(m >= 1 && m <= 12 || m >= 20 && m <= 42 || m >= 50) {
		return false
	}
	rest := 0
	for _, c := range d[:13] {
		rest = (rest*10 + int(c-'0')) % 97
	}
	return 97-rest == int(d[13]-'0')*10+int(d[14]-'0')
}

// validSteuerID checks a German tax number: one digit occurs two or three
// times among the first ten, and the last is a check digit (ISO 7064, 11,10).
func validSteuerID(d []byte) bool {
	if d[0] == '0' {
		return false
	}
	var seen [10]int
	for _, c := range d[:10] {
		seen[c-'0']++
	}
	twice := 0
	for _, n := range seen {
		if n > 3 {
			return false
		}
		if n > 1 {
			twice++
		}
	}
	return twice == 1 && check1110(d)
}

// check1110 is ISO 7064 mod 11,10.
func check1110(d []byte) bool {
	p := 10
	for _, c := range d[:len(d)-1] {
		sum := (int(c-'0') + p) % 10
		if sum == 0 {
			sum = 10
		}
		p = sum * 2 % 11
	}
	return (11-p)%10 == int(d[len(d)-1]-'0')
}

// validNHS checks a number of the British health service, mod 11.
func validNHS(d []byte) bool {
	sum := 0
	for i, c := range d[:9] {
		sum += int(c-'0') * (10 - i)
	}
	check := 11 - sum%11
	if check == 11 {
		check = 0
	}
	return check != 10 && check == int(d[9]-'0') && !same(d)
}

const dniLetters = "TRWAGMYFPDXBNJZSQVHLCKE"

// validDNI checks the letter of a Spanish number: 12345678Z, X1234567L.
func validDNI(w []byte) bool {
	if len(w) != 9 || !isUpper(w[8]&^0x20) {
		return false
	}
	n, from := 0, 0
	switch w[0] &^ 0x20 {
	case 'X', 'Y', 'Z':
		n, from = int(w[0]&^0x20-'X'), 1
	}
	for _, c := range w[from:8] {
		if !isDigit(c) {
			return false
		}
		n = n*10 + int(c-'0')
	}
	return dniLetters[n%23] == w[8]&^0x20
}

// validCodiceFiscale checks the form and the last letter of an Italian number.
func validCodiceFiscale(w []byte) bool {
	if len(w) != 16 {
		return false
	}
	const odd = "\x01\x00\x05\x07\x09\x0d\x0f\x11\x13\x15\x02\x04\x12\x14\x0b\x03\x06\x08\x0c\x0e\x10\x0a\x16\x19\x18\x17"
	sum := 0
	for i, c := range w {
		c &^= 0x20
		if isDigit(w[i]) {
			c = w[i]
		}
		letter := i < 6 || i == 8 || i == 11 || i == 15
		switch {
		case letter && !isUpper(c):
			return false
		case !letter && !isDigit(c) && !(c >= 'L' && c <= 'V'):
			return false
		}
		if i == 15 {
			return int(c-'A') == sum%26
		}
		v := int(c - '0')
		if isUpper(c) {
			v = int(c - 'A')
		}
		if i%2 == 0 {
			sum += int(odd[v])
		} else {
			sum += v
		}
	}
	return false
}

// validNINO knows which letters a British insurance number begins with.
func validNINO(w []byte) bool {
	if len(w) != 9 {
		return false
	}
	a, b, c := w[0], w[1], w[8]
	if !isUpper(a) || !isUpper(b) || c < 'A' || c > 'D' {
		return false
	}
	for _, d := range w[2:8] {
		if !isDigit(d) {
			return false
		}
	}
	for _, x := range "DFIQUV" {
		if rune(a) == x || rune(b) == x {
			return false
		}
	}
	switch string(w[:2]) {
	case "BG", "GB", "KN", "NK", "NT", "TN", "ZZ":
		return false
	}
	return b != 'O'
}

// mixed looks at a word with letters and digits that begins with a letter; it
// returns the end of what it found, or 0.
func (s *scanner) mixed(i, j, shape int) int {
	t := s.t
	if j-i >= 4 && isLetter(t[i+1]) && isDigit(t[i+2]) && isDigit(t[i+3]) && t[i] < 0x80 && t[i+1] < 0x80 {
		if end := s.iban(i); end > 0 {
			return end
		}
	}
	if shape&(hasUnder|hasHigh) != 0 || j-i > 24 {
		return 0
	}
	if end := s.vat(i, j); end > 0 {
		return end
	}
	w := t[i:j]
	switch {
	case len(w) == 16 && validCodiceFiscale(w):
		if s.hit(NationalID, i, j, 96, "an Italian tax code with its check letter") {
			return j
		}
	case len(w) == 9 && validNINO(w):
		sure, why := uint8(60), "the form of a British insurance number"
		switch context := s.before(i); {
		case context&saysNational != 0:
			sure = 95
		case context&saysOrder != 0 || s.joinedWord(i, j):
			sure = 40
		}
		if s.hit(NationalID, i, j, sure, why) {
			return j
		}
	case len(w) == 9 && isUpper(w[0]) && validDNI(w) && isUpper(w[8]):
		if s.hit(NationalID, i, j, s.checked(i, j, 75, 95, saysNational), "a Spanish number of a foreigner with its check letter") {
			return j
		}
	case len(w) == 2 && shape == hasUpper|hasDigit:
	}
	if kind, sure, why := s.documentWord(i, j); sure > 0 && s.hit(kind, i, j, sure, why) {
		return j
	}
	return 0
}

// checked is how sure a checked number is: named, alone, or named otherwise.
func (s *scanner) checked(i, j int, alone, named uint8, bit uint32) uint8 {
	context := s.before(i)
	switch {
	case context&bit != 0:
		return named
	case context&saysOrder != 0 || s.joinedWord(i, j):
		return 45
	}
	return alone
}

// joinedWord reports that a word is a part of something longer, such as
// a name with hyphens or a path.
func (s *scanner) joinedWord(i, j int) bool {
	t := s.t
	joint := func(c byte) bool { return c == '-' || c == '/' || c == '.' || c == '_' || c == '#' }
	return i > 1 && joint(t[i-1]) && isWord(t[i-2]) || i > 0 && t[i-1] == '#' || j+1 < len(t) && joint(t[j]) && isWord(t[j+1])
}

// spacedNINO reads AB 12 34 56 C.
func (s *scanner) spacedNINO(i, j int) int {
	t := s.t
	if j-i != 2 || i+13 > len(t) || t[i+2] != ' ' && t[i+2] != '-' {
		return 0
	}
	sign := t[i+2]
	var w [9]byte
	n := 0
	for k := 0; k < 13; k++ {
		if k == 2 || k == 5 || k == 8 || k == 11 {
			if t[i+k] != sign {
				return 0
			}
			continue
		}
		w[n] = t[i+k]
		n++
	}
	if i+13 < len(t) && isWord(t[i+13]) || !validNINO(w[:]) {
		return 0
	}
	if !s.hit(NationalID, i, i+13, 95, "a British insurance number in its groups") {
		return 0
	}
	return i + 13
}

// digitWord looks at a word that begins with digits and goes on with letters,
// and returns where to go on.
func (s *scanner) digitWord(i, j int) int {
	t := s.t
	end, letters, shape := j, 0, hasDigit
	for end < len(t) && isWord(t[end]) {
		if !isDigit(t[end]) {
			letters++
		}
		shape |= 1 << class[t[end]]
		end++
	}
	if end-i == 2 && s.mac(i) {
		return i + 17
	}
	w := t[i:end]
	if len(w) == 9 && letters == 1 && isUpper(w[8]) && validDNI(w) {
		if s.hit(NationalID, i, end, s.checked(i, end, 75, 95, saysNational), "a Spanish number with its check letter") {
			return end
		}
	}
	if kind, sure, why := s.documentWord(i, end); sure > 0 && s.hit(kind, i, end, sure, why) {
		return end
	}
	if letters <= 2 && j-i <= 5 && shape&hasUnder == 0 && s.shortNumber(i, j) {
		return max(end, s.hits[len(s.hits)-1].end)
	}
	if end-i >= 12 {
		if stop := s.longWord(i, end, shape); stop > end {
			return stop
		}
	}
	// 5551234x12 and the like are numbers still.
	if t[j]|0x20 == 'x' && j-i >= 4 && letters == 1 {
		n := &s.numeric
		s.read(n, i, j)
		if len(n.groups) > 0 {
			n.groups[0].unit = true
			if stop := s.numeral(n); stop > 0 {
				return stop
			}
		}
	}
	return end
}

// documentWord looks at a word with digits behind a word for a document.
func (s *scanner) documentWord(i, j int) (Kind, uint8, string) {
	w := s.t[i:j]
	if len(w) < 6 || len(w) > 18 || i > 0 && s.t[i-1] == '\\' {
		return "", 0, ""
	}
	digits, lowers := 0, 0
	for _, c := range w {
		if isDigit(c) {
			digits++
		} else if isLower(c) {
			lowers++
		} else if !isUpper(c) {
			return "", 0, ""
		}
	}
	if digits < 3 || lowers > 0 {
		return "", 0, ""
	}
	return documentBy(s.before(i), len(w), digits)
}

// document is documentWord for a number without letters.
func (s *scanner) document(n *numeral, digits []byte) (Kind, uint8, string) {
	if len(digits) < 7 || len(digits) > 14 {
		return "", 0, ""
	}
	return documentBy(s.context(n), len(digits), len(digits))
}

func documentBy(context uint32, size, digits int) (Kind, uint8, string) {
	switch {
	case context&saysPhone != 0:
		return "", 0, ""
	case context&saysPassport != 0 && size <= 10:
		return Passport, 75, "behind a word for a passport"
	case context&saysLicence != 0 && context&(saysVersion|saysSecret) == 0 && size >= 7:
		return Licence, 70, "behind a word for a driver's licence"
	case context&saysNational != 0 && context&saysOrder == 0 && digits >= 6:
		return NationalID, 55, "behind a word for a national number"
	}
	return "", 0, ""
}
