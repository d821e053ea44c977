package privacy

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/nyaruka/phonenumbers"
)

// generator makes values with real formats and right check digits.
type generator struct{ r *rand.Rand }

func (g *generator) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *generator) digits(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(byte('0' + g.r.IntN(10)))
	}
	return b.String()
}

func (g *generator) from(alphabet string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(alphabet[g.r.IntN(len(alphabet))])
	}
	return b.String()
}

const (
	upperLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	lowerLetters = "abcdefghijklmnopqrstuvwxyz"
	alnum        = upperLetters + lowerLetters + "0123456789"
	hexDigits    = "0123456789abcdef"
)

func luhnDigit(s string) string {
	sum := 0
	for i := range len(s) {
		d := int(s[len(s)-1-i] - '0')
		if i%2 == 0 {
			if d *= 2; d > 9 {
				d -= 9
			}
		}
		sum += d
	}
	return strconv.Itoa((10 - sum%10) % 10)
}

func groups(s, sign string, sizes ...int) string {
	var parts []string
	for _, n := range sizes {
		if len(s) < n {
			break
		}
		parts = append(parts, s[:n])
		s = s[n:]
	}
	if s != "" {
		parts = append(parts, s)
	}
	return strings.Join(parts, sign)
}

func (g *generator) card() string {
	prefix := g.pick("4", "4", "4", "51", "53", "55", "2221", "2720", "34", "37", "6011", "65", "3530", "6221")
	n := 16
	if prefix == "34" || prefix == "37" {
		n = 15
	}
	s := prefix + g.digits(n-1-len(prefix))
	s += luhnDigit(s)
	switch g.r.IntN(3) {
	case 0:
		return s
	case 1:
		if n == 15 {
			return groups(s, " ", 4, 6, 5)
		}
		return groups(s, " ", 4, 4, 4, 4)
	}
	if n == 15 {
		return groups(s, "-", 4, 6, 5)
	}
	return groups(s, "-", 4, 4, 4, 4)
}

func (g *generator) iban() string {
	layout := g.pick("DE:18", "FR:10A10:2", "GB:AAAA14", "ES:20", "IT:A22", "NL:AAAA10", "CH:17", "AT:16", "BE:12", "PL:24", "SE:20")
	country, form, _ := strings.Cut(layout, ":")
	var body strings.Builder
	for i := 0; i < len(form); {
		switch {
		case form[i] == 'A':
			body.WriteString(g.from(upperLetters, 1))
			i++
		case form[i] == ':':
			i++
		default:
			j := i
			for j < len(form) && form[j] >= '0' && form[j] <= '9' {
				j++
			}
			n, _ := strconv.Atoi(form[i:j])
			body.WriteString(g.digits(n))
			i = j
		}
	}
	rest := 0
	for _, c := range body.String() + country + "00" {
		if c >= 'A' {
			rest = (rest*100 + int(c-'A') + 10) % 97
		} else {
			rest = (rest*10 + int(c-'0')) % 97
		}
	}
	s := fmt.Sprintf("%s%02d%s", country, 98-rest, body.String())
	if g.r.IntN(2) == 0 {
		return groups(s, " ", 4, 4, 4, 4, 4, 4, 4, 4)
	}
	return s
}

func (g *generator) ssn() string {
	for {
		area := 1 + g.r.IntN(899)
		if area == 666 {
			continue
		}
		return fmt.Sprintf("%03d-%02d-%04d", area, 1+g.r.IntN(99), 1+g.r.IntN(9999))
	}
}

var phoneRegions = []string{"US", "GB", "DE", "FR", "ES", "IT"}

// phone makes a valid number: the plan's example with other last digits.
func (g *generator) phone(international bool) string {
	region := phoneRegions[g.r.IntN(len(phoneRegions))]
	if international && g.r.IntN(3) == 0 {
		region = g.pick("CH", "AT", "NL", "PL", "SE", "IN", "BR", "AU", "JP", "MX", "PT", "BE", "DK")
	}
	kind := phonenumbers.MOBILE
	if g.r.IntN(2) == 0 {
		kind = phonenumbers.FIXED_LINE
	}
	for {
		n := phonenumbers.GetExampleNumberForType(region, kind)
		national := phonenumbers.GetNationalSignificantNumber(n)
		keep := len(national) - 5
		p, err := phonenumbers.Parse("+"+strconv.Itoa(int(n.GetCountryCode()))+national[:keep]+g.digits(5), region)
		if err != nil || !phonenumbers.IsValidNumber(p) {
			continue
		}
		if !international {
			return phonenumbers.Format(p, phonenumbers.NATIONAL)
		}
		if g.r.IntN(3) == 0 {
			return phonenumbers.Format(p, phonenumbers.E164)
		}
		return phonenumbers.Format(p, phonenumbers.INTERNATIONAL)
	}
}

func (g *generator) ip() string {
	if g.r.IntN(4) == 0 {
		return fmt.Sprintf("2001:db8:%x:%x::%x", g.r.IntN(0xffff), g.r.IntN(0xffff), 1+g.r.IntN(0xfffe))
	}
	return fmt.Sprintf("%d.%d.%d.%d", g.pickInt(23, 52, 81, 91, 104, 151, 172, 185, 192, 203), g.r.IntN(256), g.r.IntN(256), 1+g.r.IntN(254))
}

func (g *generator) pickInt(list ...int) int { return list[g.r.IntN(len(list))] }

func (g *generator) mac() string {
	sign := g.pick(":", ":", "-")
	var parts []string
	for range 6 {
		parts = append(parts, g.from(hexDigits, 2))
	}
	parts[1] = g.from("abcdef", 2)
	s := strings.Join(parts, sign)
	if g.r.IntN(2) == 0 {
		return strings.ToUpper(s)
	}
	return s
}

// national makes a number with its check digits, and a word that names it.
func (g *generator) national() (value, name string) {
	switch g.r.IntN(6) {
	case 0:
		s := g.pick("AB", "CE", "JK", "PW", "ST", "WL") + g.digits(6) + g.pick("A", "B", "C", "D")
		if g.r.IntN(2) == 0 {
			return groups(s, " ", 2, 2, 2, 2, 1), "National Insurance number"
		}
		return s, "NINO"
	case 1:
		return g.steuerID(), g.pick("Steuer-ID", "Steueridentifikationsnummer", "IdNr.")
	case 2:
		s := g.pick("1", "2") + fmt.Sprintf("%02d%02d%02d", g.r.IntN(100), 1+g.r.IntN(12), 1+g.r.IntN(90)) + g.digits(6)
		n, _ := strconv.ParseInt(s, 10, 64)
		s += fmt.Sprintf("%02d", 97-n%97)
		if g.r.IntN(2) == 0 {
			return groups(s, " ", 1, 2, 2, 2, 3, 3, 2), "numéro de sécurité sociale"
		}
		return s, "NIR"
	case 3:
		n := g.r.IntN(100_000_000)
		return fmt.Sprintf("%08d%c", n, "TRWAGMYFPDXBNJZSQVHLCKE"[n%23]), "DNI"
	case 4:
		n := g.r.IntN(10_000_000)
		first := g.r.IntN(3)
		return fmt.Sprintf("%c%07d%c", "XYZ"[first], n, "TRWAGMYFPDXBNJZSQVHLCKE"[(first*10_000_000+n)%23]), "NIE"
	}
	return g.codiceFiscale(), "codice fiscale"
}

func (g *generator) steuerID() string {
	for {
		order := g.r.Perm(10)
		d := append([]int(nil), order...)
		d[1+g.r.IntN(9)] = d[0]
		if d[0] == 0 {
			continue
		}
		p := 10
		var b strings.Builder
		for _, x := range d {
			b.WriteByte(byte('0' + x))
			sum := (x + p) % 10
			if sum == 0 {
				sum = 10
			}
			p = sum * 2 % 11
		}
		b.WriteString(strconv.Itoa((11 - p) % 10))
		if g.r.IntN(2) == 0 {
			return groups(b.String(), " ", 2, 3, 3, 3)
		}
		return b.String()
	}
}

func (g *generator) codiceFiscale() string {
	s := g.from("BCDFGLMNPRSTVZ", 6) + fmt.Sprintf("%02d", g.r.IntN(100)) + g.from("ABCDEHLMPRST", 1) + fmt.Sprintf("%02d", 1+g.r.IntN(28)) + g.from("ABCDEFGH", 1) + g.digits(3)
	odd := map[byte]int{'0': 1, '1': 0, '2': 5, '3': 7, '4': 9, '5': 13, '6': 15, '7': 17, '8': 19, '9': 21, 'A': 1, 'B': 0, 'C': 5, 'D': 7, 'E': 9, 'F': 13, 'G': 15, 'H': 17, 'I': 19, 'J': 21, 'K': 2, 'L': 4, 'M': 18, 'N': 20, 'O': 11, 'P': 3, 'Q': 6, 'R': 8, 'S': 12, 'T': 14, 'U': 16, 'V': 10, 'W': 22, 'X': 25, 'Y': 24, 'Z': 23}
	sum := 0
	for i := range len(s) {
		switch c := s[i]; {
		case i%2 == 0:
			sum += odd[c]
		case c >= 'A':
			sum += int(c - 'A')
		default:
			sum += int(c - '0')
		}
	}
	return s + string(rune('A'+sum%26))
}

func (g *generator) vat() string {
	switch g.r.IntN(6) {
	case 0: // DE, ISO 7064 mod 11,10
		s := strconv.Itoa(1+g.r.IntN(9)) + g.digits(7)
		p := 10
		for _, c := range s {
			sum := (int(c-'0') + p) % 10
			if sum == 0 {
				sum = 10
			}
			p = sum * 2 % 11
		}
		return "DE" + s + strconv.Itoa((11-p)%10)
	case 1:
		siren := g.digits(8)
		siren += luhnDigit(siren)
		n, _ := strconv.Atoi(siren)
		return fmt.Sprintf("FR%02d%s", (12+3*(n%97))%97, siren)
	case 2:
		s := "0" + g.digits(9)
		return "IT" + s + luhnDigit(s)
	case 3:
		s := g.digits(7)
		sum := 0
		for i, c := range s {
			d := int(c - '0')
			if i%2 == 1 {
				d = d*2/10 + d*2%10
			}
			sum += d
		}
		return "ATU" + s + strconv.Itoa((10-(sum+4)%10)%10)
	case 4:
		n := 1_000_000 + g.r.IntN(9_000_000)
		s := fmt.Sprintf("0%07d", n)
		return fmt.Sprintf("BE%s%02d", s, 97-n%97)
	}
	return "NL" + g.digits(9) + "B" + fmt.Sprintf("%02d", 1+g.r.IntN(98))
}

func (g *generator) secret() string {
	switch g.r.IntN(9) {
	case 0:
		return "AKIA" + g.from(upperLetters+"234567", 16)
	case 1:
		return "ghp_" + g.from(alnum, 36)
	case 2:
		return "xoxb-" + g.digits(12) + "-" + g.digits(12) + "-" + g.from(alnum, 24)
	case 3:
		return "sk_live_" + g.from(alnum, 24)
	case 4:
		return "eyJhbGciOiJIUzI1NiJ9.eyJ" + g.from(alnum, 40) + "." + g.from(alnum+"-_", 43)
	case 5:
		return "AIza" + g.from(alnum+"-_", 34) + "x"
	case 6:
		return g.pick("postgres", "mysql", "mongodb+srv", "redis", "amqp") + "://app:" + g.from(alnum, 14) + "@db." + g.from(lowerLetters, 6) + ".net:5432/main"
	case 7:
		return "-----BEGIN RSA PRIVATE KEY-----\n" + g.from(alnum+"+/", 64) + "\n" + g.from(alnum+"+/", 64) + "\n-----END RSA PRIVATE KEY-----"
	}
	return "glpat-" + g.from(alnum, 20)
}
