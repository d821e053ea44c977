// Package checksum validates numbers that carry check digits or have a fixed
// form: cards, bank accounts, and national identity and tax numbers. It knows
// nothing about the text around a number.
package checksum

import "github.com/wexec/wexec/privacy/internal/char"

// Luhn checks the last digit of card numbers and of many other numbers.
func Luhn(digits []byte) bool {
	sum := 0
	for i := range digits {
		d := int(digits[len(digits)-1-i] - '0')
		if i%2 == 1 {
			d = crossSum(2 * d)
		}
		sum += d
	}
	return sum%10 == 0
}

// crossSum is the sum of the digits of a number below 20.
func crossSum(n int) int { return n/10 + n%10 }

// ISO7064 checks the last digit by ISO 7064, MOD 11,10.
func ISO7064(digits []byte) bool {
	p := 10
	for _, c := range digits[:len(digits)-1] {
		sum := (int(c-'0') + p) % 10
		if sum == 0 {
			sum = 10
		}
		p = sum * 2 % 11
	}
	return (11-p)%10 == int(digits[len(digits)-1]-'0')
}

// weighted is the sum of the digits, each multiplied by its weight.
func weighted(w []byte, weights ...int) int {
	sum := 0
	for i, x := range weights {
		sum += int(w[i]-'0') * x
	}
	return sum
}

// number is the value of digits.
func number(w []byte) int {
	n := 0
	for _, c := range w {
		n = n*10 + int(c-'0')
	}
	return n
}

// ibanLengths has the countries of the IBAN registry with the lengths of their
// numbers.
const ibanLengths = "AD24AE23AL28AT20AZ28BA20BE16BG22BH22BI27BR29BY28CH21CR22CY28CZ24DE22DJ27DK18DO28EE20EG29ES24FI18FK18FO18FR27GB22GE22GI23GL18GR27GT28" +
	"HN28HR21HU28IE22IL23IQ23IS26IT27JO30KW30KZ20LB28LC32LI21LT20LU20LV21LY25MC27MD24ME22MK19MN20MR27MT31MU30NI28NL18NO15OM23PK24PL28PS29PT25QA29RO24RS22RU33" +
	"SA24SC31SD18SE24SI19SK24SM27SO23ST25SV28TL23TN24TR26UA29VA22VG24XK20YE30"

// IBANLength is the length of the numbers of a country, 0 if it has none.
func IBANLength(a, b byte) int {
	for i := 0; i+4 <= len(ibanLengths); i += 4 {
		if ibanLengths[i] == a && ibanLengths[i+1] == b {
			return int(ibanLengths[i+2]-'0')*10 + int(ibanLengths[i+3]-'0')
		}
	}
	return 0
}

// IBAN checks the length and the remainder of a number in capitals without
// spaces.
func IBAN(c []byte) bool {
	if len(c) < 15 || IBANLength(c[0], c[1]) != len(c) {
		return false
	}
	rest := 0
	for i := range c {
		switch d := c[(i+4)%len(c)]; {
		case char.IsDigit(d):
			rest = (rest*10 + int(d-'0')) % 97
		case char.IsUpper(d):
			rest = (rest*100 + int(d-'A') + 10) % 97
		default:
			return false
		}
	}
	return rest == 1
}

// Routing checks a US routing number.
func Routing(d []byte) bool {
	if len(d) != 9 {
		return false
	}
	first, sum := number(d[:2]), weighted(d, 3, 7, 1, 3, 7, 1, 3, 7, 1)
	return sum > 0 && sum%10 == 0 && (first <= 12 || first >= 21 && first <= 32 || first >= 61 && first <= 72 || first == 80)
}

// CardIssuer names the issuer of a card number by its first digits and its
// length, "" if nobody issues such numbers.
func CardIssuer(d []byte) string {
	n := len(d)
	if n < 13 || n > 19 {
		return ""
	}
	four := number(d[:4])
	two, three := four/100, four/10
	switch {
	case d[0] == '4' && (n == 13 || n == 16 || n == 19):
		return "Visa"
	case (two >= 51 && two <= 55 || four >= 2221 && four <= 2720) && n == 16:
		return "Mastercard"
	case (two == 34 || two == 37) && n == 15:
		return "American Express"
	case (four == 6011 || two == 65 || three >= 644 && three <= 649) && n >= 16:
		return "Discover"
	case (three >= 300 && three <= 305 || two == 36 || two == 38 || two == 39) && n == 14:
		return "Diners Club"
	case four >= 3528 && four <= 3589 && n >= 16:
		return "JCB"
	case two == 62 && n >= 16:
		return "UnionPay"
	case two == 50, two >= 56 && two <= 58, two == 67:
		return "Maestro"
	}
	return ""
}
