package checksum

import (
	"bytes"
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
)

// SSN excludes US social security numbers that were never assigned.
func SSN(d []byte) bool {
	if len(d) != 9 || d[0] == '9' || string(d[:3]) == "000" || string(d[:3]) == "666" || string(d[3:5]) == "00" || string(d[5:]) == "0000" {
		return false
	}
	return !char.AllSame(d)
}

// NIR checks the key of a French social security number: sex, year, month,
// department, town, serial, key.
func NIR(d []byte) bool {
	m := number(d[3:5])
	if d[0] != '1' && d[0] != '2' || !(m >= 1 && m <= 12 || m >= 20 && m <= 42 || m >= 50) {
		return false
	}
	return 97-number(d[:13])%97 == number(d[13:15])
}

// SteuerID checks a German tax number: one digit occurs two or three times
// among the first ten, and the last is a check digit.
func SteuerID(d []byte) bool {
	if d[0] == '0' {
		return false
	}
	repeated := 0
	for digit := byte('0'); digit <= '9'; digit++ {
		switch n := bytes.Count(d[:10], []byte{digit}); {
		case n > 3:
			return false
		case n > 1:
			repeated++
		}
	}
	return repeated == 1 && ISO7064(d)
}

// NHS checks a number of the British health service.
func NHS(d []byte) bool {
	check := 11 - weighted(d, 10, 9, 8, 7, 6, 5, 4, 3, 2)%11
	return check != 10 && check%11 == int(d[9]-'0') && !char.AllSame(d)
}

// DNI checks the letter of a Spanish number: 12345678Z, or X1234567L of a
// foreigner. Letters may be in either case.
func DNI(w []byte) bool {
	if len(w) != 9 || !char.IsUpper(w[8]&^0x20) {
		return false
	}
	n, from := 0, 0
	switch w[0] &^ 0x20 {
	case 'X', 'Y', 'Z':
		n, from = int(w[0]&^0x20-'X'), 1
	}
	for _, c := range w[from:8] {
		if !char.IsDigit(c) {
			return false
		}
		n = n*10 + int(c-'0')
	}
	return "TRWAGMYFPDXBNJZSQVHLCKE"[n%23] == w[8]&^0x20
}

// CodiceFiscale checks the form and the last letter of an Italian tax code. It
// may be in either case.
func CodiceFiscale(w []byte) bool {
	if len(w) != 16 {
		return false
	}
	const odd = "\x01\x00\x05\x07\x09\x0d\x0f\x11\x13\x15\x02\x04\x12\x14\x0b\x03\x06\x08\x0c\x0e\x10\x0a\x16\x19\x18\x17"
	sum := 0
	for i, c := range w {
		v := int(c - '0')
		if !char.IsDigit(c) {
			c &^= 0x20
			v = int(c - 'A')
		}
		letter := i < 6 || i == 8 || i == 11 || i == 15
		switch {
		case letter && !char.IsUpper(c):
			return false
		case !letter && !char.IsDigit(c) && !(c >= 'L' && c <= 'V'): // letters that stand for digits
			return false
		case i == 15:
			return v == sum%26
		case i%2 == 0:
			v = int(odd[v])
		}
		sum += v
	}
	return false
}

// NINO checks the form and the first letters of a British insurance number.
func NINO(w []byte) bool {
	if !form(w, "@@######@") || w[8] > 'D' || w[1] == 'O' || bytes.ContainsAny(w[:2], "DFIQUV") {
		return false
	}
	return !strings.Contains("BG GB KN NK NT TN ZZ", string(w[:2]))
}

// form compares a number with a mask: # is a digit, + a digit but 0, @ a
// capital, * a digit or a capital; others stand for themselves.
func form(w []byte, mask string) bool {
	if len(w) != len(mask) {
		return false
	}
	for i, c := range w {
		digit, capital := char.IsDigit(c), char.IsUpper(c)
		switch m := mask[i]; m {
		case '#':
			if !digit {
				return false
			}
		case '+':
			if !digit || c == '0' {
				return false
			}
		case '@':
			if !capital {
				return false
			}
		case '*':
			if !digit && !capital {
				return false
			}
		default:
			if c != m {
				return false
			}
		}
	}
	return true
}
