package checksum

import (
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
)

// vatForm is what the VAT numbers of a country look like behind its letters.
type vatForm struct {
	masks string              // the forms that are in use, see form
	sure  uint8               // what a valid number proves, in percent
	check func(w []byte) bool // the check digits, or nil if none are public
}

var vatForms = map[string]vatForm{
	"AT": {"U########", 90, vatAT},
	"BE": {"0######### 1#########", 80, func(w []byte) bool { return 97-number(w[:8])%97 == number(w[8:]) }},
	"BG": {"######### ##########", 40, nil},
	"CY": {"########@", 45, nil},
	"CZ": {"######## ######### ##########", 40, nil},
	"DE": {"+########", 80, ISO7064},
	"DK": {"+#######", 80, multiple(11, 2, 7, 6, 5, 4, 3, 2, 1)},
	"EE": {"10#######", 80, multiple(10, 3, 7, 1, 3, 7, 1, 3, 7, 1)},
	"EL": {"#########", 80, vatGR},
	"ES": {"*#######*", 80, vatES},
	"FI": {"########", 80, multiple(11, 7, 9, 10, 5, 8, 4, 2, 1)},
	"GB": {"#########", 80, vatGB},
	"GR": {"#########", 80, vatGR},
	"HR": {"###########", 80, ISO7064},
	"HU": {"########", 80, multiple(10, 9, 7, 3, 1, 9, 7, 3, 1)},
	"IE": {"#######@ #######@@", 80, vatIE},
	"IT": {"###########", 80, func(w []byte) bool { return Luhn(w) && !char.AllSame(w) }},
	"LT": {"######### ############", 40, nil},
	"LU": {"########", 80, func(w []byte) bool { return number(w[:6])%89 == number(w[6:]) }},
	"LV": {"###########", 40, nil},
	"MT": {"+#######", 80, multiple(37, 3, 4, 6, 7, 8, 9, 10, 1)},
	"NL": {"#########B##", 85, nil},
	"PL": {"##########", 80, func(w []byte) bool { return weighted(w, 6, 5, 7, 2, 3, 4, 5, 6, 7)%11 == int(w[9]-'0') }},
	"PT": {"+########", 80, func(w []byte) bool { return (11-weighted(w, 9, 8, 7, 6, 5, 4, 3, 2)%11)%11%10 == int(w[8]-'0') }},
	"RO": {"###### ####### ######## ######### ##########", 35, nil},
	"SE": {"##########01", 80, func(w []byte) bool { return Luhn(w[:10]) }},
	"SI": {"+#######", 80, vatSI},
	"SK": {"##########", 80, func(w []byte) bool { return number(w)%11 == 0 }},
	"XI": {"#########", 80, vatGB},
}

// VAT checks the part of a European VAT number behind the letters of its
// country. It returns what that proves in percent, 0 if the number is invalid.
func VAT(a, b byte, w []byte) uint8 {
	country := string([]byte{a, b})
	if country == "FR" {
		return vatFR(w)
	}
	f := vatForms[country]
	for mask := range strings.FieldsSeq(f.masks) {
		if form(w, mask) && (f.check == nil || f.check(w)) {
			return f.sure
		}
	}
	return 0
}

// multiple checks that the weighted sum of the digits is a multiple of m.
func multiple(m int, weights ...int) func(w []byte) bool {
	return func(w []byte) bool { return weighted(w, weights...)%m == 0 }
}

func vatAT(w []byte) bool {
	sum := 4
	for i, c := range w[1:8] {
		sum += crossSum(int(c-'0') * (1 + i%2))
	}
	return (10-sum%10)%10 == int(w[8]-'0')
}

// vatES checks the number of a person or of a company.
func vatES(w []byte) bool {
	if DNI(w) || w[0] < 'A' || w[0] > 'W' {
		return DNI(w)
	}
	sum := 0
	for i, c := range w[1:8] {
		sum += crossSum(int(c-'0') * (2 - i%2))
	}
	check := (10 - sum%10) % 10
	return w[8] == '0'+byte(check) || w[8] == "JABCDEFGHI"[check]
}

// vatFR checks a number with the key of the registry, or with the letters that
// newer keys may have.
func vatFR(w []byte) uint8 {
	switch {
	case !form(w, "**#########") || !Luhn(w[2:]):
		return 0
	case !form(w[:2], "##"):
		return 70
	case (12+3*(number(w[2:])%97))%97 == number(w[:2]):
		return 80
	}
	return 0
}

func vatGB(w []byte) bool {
	sum := weighted(w, 8, 7, 6, 5, 4, 3, 2) + number(w[7:])
	return sum%97 == 0 || (sum+55)%97 == 0
}

func vatGR(w []byte) bool { return weighted(w, 256, 128, 64, 32, 16, 8, 4, 2)%11%10 == int(w[8]-'0') }

func vatIE(w []byte) bool {
	sum := weighted(w, 8, 7, 6, 5, 4, 3, 2)
	if len(w) == 9 && w[8] != 'W' {
		sum += int(w[8]-'A'+1) * 9
	}
	return "WABCDEFGHIJKLMNOPQRSTUV"[sum%23] == w[7]
}

func vatSI(w []byte) bool {
	check := 11 - weighted(w, 8, 7, 6, 5, 4, 3, 2)%11
	return check != 11 && check%10 == int(w[7]-'0')
}
