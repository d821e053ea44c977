package privacy

import (
	"strconv"
	"strings"
)

// token writes a token: [EMAIL_1], with a part that may be seen
// [EMAIL_1:example.org]. The kind is in capitals.
func token(kind string, number int, part string) string {
	var store [64]byte
	b := append(store[:0], '[')
	b = append(b, kind...)
	b = append(b, '_')
	b = strconv.AppendInt(b, int64(number), 10)
	if part != "" {
		b = append(b, ':')
		b = append(b, part...)
	}
	return string(append(b, ']'))
}

// upperKind is the name of a kind as tokens have it.
func upperKind(k Kind) string {
	switch k {
	case Email:
		return "EMAIL"
	case Phone:
		return "PHONE"
	case Name:
		return "NAME"
	case Address:
		return "ADDRESS"
	}
	return strings.ToUpper(string(k))
}

// escaped is a literal that looks like a token, made unlike one.
func escaped(literal string) string { return "[~" + literal[1:] }

// markKind finds the kind of a token by its name in capitals.
func (d *Detector) markKind(name []byte) (string, bool) {
	k, ok := d.marks[string(name)]
	return k, ok
}

// marks are the names in capitals of all kinds a token can have.
func marks(own []ownKind) map[string]string {
	m := make(map[string]string, 24)
	for _, k := range known() {
		m[strings.ToUpper(string(k))] = strings.ToUpper(string(k))
	}
	for _, o := range own {
		m[strings.ToUpper(string(o.kind))] = strings.ToUpper(string(o.kind))
	}
	return m
}

// canonical is the form in which two spellings of a value are the same value.
func (d *Detector) canonical(kind Kind, value string) string {
	switch kind {
	case Email:
		return strings.ToLower(strings.TrimSpace(value))
	case Phone:
		c, _ := d.canonicalPhone(value)
		return c
	case IBAN, Card, SSN, NationalID, VAT, Passport, Licence, Account:
		return strings.ToUpper(strings.Map(func(r rune) rune {
			switch r {
			case ' ', '-', '.', '/':
				return -1
			}
			return r
		}, value))
	case MAC, IP:
		return strings.ToLower(strings.ReplaceAll(value, "-", ":"))
	}
	return value
}

// part is what of a value may be seen in mode partial: what is useful for work
// and names nobody.
func (d *Detector) part(kind Kind, value string) string {
	part := ""
	switch kind {
	case Email:
		part = domainOf(value)
	case Card:
		if digits := onlyDigits(value); len(digits) >= 12 {
			part = digits[len(digits)-4:]
		}
	case Phone:
		if _, country := d.canonicalPhone(value); country != 0 {
			if part = regionNumber(country).id; part == "ZZ" {
				part = ""
			}
		}
	case IBAN, VAT:
		if len(value) > 2 && isLetter(value[0]) && isLetter(value[1]) {
			part = strings.ToUpper(value[:2])
		}
	case Birthdate:
		for i := 0; i+4 <= len(value); i++ {
			if y, n := digitsAt([]byte(value), i); n == 4 && year(y) {
				part = value[i : i+4]
				break
			}
		}
	}
	if len(part) > maxMarkPart || strings.ContainsAny(part, "[]\"\\\n") {
		return ""
	}
	return part
}

func domainOf(value string) string {
	at := strings.LastIndexByte(value, '@')
	if at < 0 {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(value[at+1:]))
}
