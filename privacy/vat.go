package privacy

// vat looks at a word that begins with a country's two letters as a European
// VAT number; it returns the end, or 0.
func (s *scanner) vat(i, j int) int {
	t := s.t
	if j-i < 2 || !isUpper(t[i]) || !isUpper(t[i+1]) {
		return 0
	}
	var rest [14]byte
	n, end := 0, i+2
	gaps := 0
	for end < len(t) && n < len(rest) {
		c := t[end]
		if isDigit(c) || isUpper(c) {
			rest[n] = c
			n++
		} else if (c == ' ' || c == '.' || c == '-') && end+1 < len(t) && isDigit(t[end+1]) && gaps < 4 && n <= 9 {
			gaps++
		} else {
			break
		}
		end++
		if end >= j && (end >= len(t) || !isWord(t[end])) {
			// A whole number, or a part of one written in groups.
			if sure := validVAT(t[i], t[i+1], rest[:n]); sure > 0 {
				if more := end; more+1 < len(t) && (t[more] == ' ' || t[more] == '.') && isDigit(t[more+1]) && n < 8 {
					continue
				}
				return s.vatHit(i, end, sure)
			}
		}
	}
	return 0
}

func (s *scanner) vatHit(i, end int, sure uint8) int {
	context := s.before(i)
	switch {
	case context&saysVAT != 0:
		sure = 97
	case context&saysOrder != 0 || s.joinedWord(i, end):
		sure = min(sure, 40)
	}
	if !s.hit(VAT, i, end, sure, "the form and check digits of a VAT number") {
		return 0
	}
	return end
}

// validVAT checks the part behind the country and says how much that proves:
// few countries' numbers have no check digit that is public.
func validVAT(a, b byte, w []byte) uint8 {
	digits := func(from, to int) bool {
		for _, c := range w[from:to] {
			if !isDigit(c) {
				return false
			}
		}
		return true
	}
	n := len(w)
	ok := false
	sure := uint8(80)
	switch string([]byte{a, b}) {
	case "DE":
		ok = n == 9 && digits(0, 9) && w[0] != '0' && check1110(w)
	case "AT":
		ok = n == 9 && w[0] == 'U' && digits(1, 9) && weightedAT(w[1:])
		sure = 90
	case "BE":
		ok = n == 10 && digits(0, 10) && (w[0] == '0' || w[0] == '1') && 97-number(w[:8])%97 == number(w[8:])
	case "BG":
		ok, sure = (n == 9 || n == 10) && digits(0, n), 40
	case "CY":
		ok, sure = n == 9 && digits(0, 8) && isUpper(w[8]), 45
	case "CZ":
		ok, sure = n >= 8 && n <= 10 && digits(0, n), 40
	case "DK":
		ok = n == 8 && digits(0, 8) && weighted(w, 2, 7, 6, 5, 4, 3, 2, 1)%11 == 0 && w[0] != '0'
	case "EE":
		ok = n == 9 && digits(0, 9) && string(w[:2]) == "10" && weighted(w, 3, 7, 1, 3, 7, 1, 3, 7, 1)%10 == 0
	case "EL", "GR":
		ok = n == 9 && digits(0, 9) && weighted(w, 256, 128, 64, 32, 16, 8, 4, 2)%11%10 == int(w[8]-'0')
	case "ES":
		ok = n == 9 && (validDNI(w) || validCIF(w))
	case "FI":
		ok = n == 8 && digits(0, 8) && weighted(w, 7, 9, 10, 5, 8, 4, 2, 1)%11 == 0
	case "FR":
		if n == 11 && digits(2, 11) && luhn(w[2:]) {
			if digits(0, 2) {
				ok = (12+3*(number(w[2:])%97))%97 == number(w[:2])
			} else {
				ok, sure = true, 70
			}
		}
	case "GB", "XI":
		if n == 9 && digits(0, 9) {
			sum := weighted(w, 8, 7, 6, 5, 4, 3, 2) + number(w[7:])
			ok = sum%97 == 0 || (sum+55)%97 == 0
		}
	case "HR":
		ok = n == 11 && digits(0, 11) && check1110(w)
	case "HU":
		ok = n == 8 && digits(0, 8) && weighted(w, 9, 7, 3, 1, 9, 7, 3, 1)%10 == 0
	case "IE":
		ok = (n == 8 || n == 9) && digits(0, 7) && isUpper(w[7]) && validIE(w)
	case "IT":
		ok = n == 11 && digits(0, 11) && luhn(w) && !same(w)
	case "LT":
		ok, sure = (n == 9 || n == 12) && digits(0, n), 40
	case "LU":
		ok = n == 8 && digits(0, 8) && number(w[:6])%89 == number(w[6:])
	case "LV":
		ok, sure = n == 11 && digits(0, 11), 40
	case "MT":
		ok = n == 8 && digits(0, 8) && w[0] != '0' && weighted(w, 3, 4, 6, 7, 8, 9, 10, 1)%37 == 0
	case "NL":
		ok = n == 12 && digits(0, 9) && w[9] == 'B' && digits(10, 12)
		sure = 85
	case "PL":
		ok = n == 10 && digits(0, 10) && weighted(w, 6, 5, 7, 2, 3, 4, 5, 6, 7)%11 == int(w[9]-'0')
	case "PT":
		ok = n == 9 && digits(0, 9) && w[0] != '0' && (11-weighted(w, 9, 8, 7, 6, 5, 4, 3, 2)%11)%11%10 == int(w[8]-'0')
	case "RO":
		ok, sure = n >= 6 && n <= 10 && digits(0, n), 35
	case "SE":
		ok = n == 12 && digits(0, 12) && string(w[10:]) == "01" && luhn(w[:10])
	case "SI":
		if n == 8 && digits(0, 8) && w[0] != '0' {
			c := 11 - weighted(w, 8, 7, 6, 5, 4, 3, 2)%11
			ok = c != 11 && c%10 == int(w[7]-'0')
		}
	case "SK":
		ok = n == 10 && digits(0, 10) && number(w)%11 == 0
	}
	if !ok {
		return 0
	}
	return sure
}

func weighted(w []byte, weights ...int) int {
	sum := 0
	for i, x := range weights {
		sum += int(w[i]-'0') * x
	}
	return sum
}

func number(w []byte) int {
	n := 0
	for _, c := range w {
		n = n*10 + int(c-'0')
	}
	return n
}

// weightedAT is the check digit of Austria: sums of digits, 4 added.
func weightedAT(w []byte) bool {
	sum := 0
	for i, c := range w[:7] {
		d := int(c - '0')
		if i%2 == 1 {
			d = d*2/10 + d*2%10
		}
		sum += d
	}
	return (10-(sum+4)%10)%10 == int(w[7]-'0')
}

// validCIF checks a Spanish company's number.
func validCIF(w []byte) bool {
	if len(w) != 9 || w[0] < 'A' || w[0] > 'W' {
		return false
	}
	sum := 0
	for i, c := range w[1:8] {
		if !isDigit(c) {
			return false
		}
		d := int(c - '0')
		if i%2 == 0 {
			d = d*2/10 + d*2%10
		}
		sum += d
	}
	check := (10 - sum%10) % 10
	return isDigit(w[8]) && int(w[8]-'0') == check || w[8] == "JABCDEFGHI"[check]
}

// validIE checks the letter of an Irish number.
func validIE(w []byte) bool {
	sum := weighted(w, 8, 7, 6, 5, 4, 3, 2)
	if len(w) == 9 {
		if !isUpper(w[8]) {
			return false
		}
		if w[8] != 'W' {
			sum += int(w[8]-'A'+1) * 9
		}
	}
	return "WABCDEFGHIJKLMNOPQRSTUV"[sum%23] == w[7]
}
