package contact

import (
	"bytes"
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/match"
)

// streetTails end the names of German and Dutch streets that are one word. The
// weak ones end the names of other things too.
var (
	streetTails = [...]string{"straße", "strasse", "str.", "straat", "laan", "gracht", "singel", "kade", "dreef", "plantsoen", "steeg", "dijk", "plein",
		"weg", "gasse", "allee", "chaussee", "damm", "ufer", "ring", "promenade", "boulevard", "baan"}
	weakTails = [...]string{"platz", "steig", "stieg", "markt", "graben", "berg", "hof", "park", "pad", "haven"}
)

// Street finds a postal address around the house number t[i:j], and reports
// whether it did. The names of streets are those of Dutch, English, French,
// German, Italian, Polish, Portuguese and Spanish addresses.
func Street(s *match.Text, i, j int) bool {
	t := s.Bytes
	if j-i > 5 || !s.Wants(match.Address) || i > 0 && char.IsWord(t[i-1]) {
		return false
	}
	if i >= 4 && t[i-1] == ' ' && (char.IsWord(t[i-2]) || t[i-2] == '.' || t[i-2] == ',') {
		if numberLast(s, i, j) {
			return true
		}
	}
	return j+3 < len(t) && numberFirst(s, i, j)
}

// numberFirst reads 12 Main Street, Springfield, IL 62704 and
// 12 bis rue de la Paix, 75002 Paris.
func numberFirst(s *match.Text, i, j int) bool {
	t := s.Bytes
	k := j
	if k < len(t) && char.IsLetter(t[k]) && t[k] < 0x80 { // 12b, 12 bis
		k++
		if k < len(t) && char.IsWord(t[k]) {
			return false
		}
	}
	if k < len(t) && t[k] == ',' {
		k++
	}
	if k >= len(t) || t[k] != ' ' || k+1 >= len(t) || !char.IsLetter(t[k+1]) && !char.IsDigit(t[k+1]) {
		return false
	}
	from, to := nextWord(t, k)
	if w := string(t[from:to]); w == "bis" || w == "ter" {
		from, to = nextWord(t, to)
	}
	if to == from {
		return false
	}
	if roleOf(t[from:to])&streetStart != 0 {
		if ok, hit := romanceStreet(s, i, from, to); ok {
			return hit
		}
	} else if char.IsLower(t[from]) {
		return false
	}
	if ok, hit := englishStreet(s, i, from, to); ok {
		return hit
	}
	return postBox(s, i, j)
}

// romanceStreet reads a street that begins with a word for streets, 12 rue de la
// Paix, with up to six words of which one has a capital. ok reports that it is a
// street, hit that it counts.
func romanceStreet(s *match.Text, i, from, to int) (ok, hit bool) {
	t := s.Bytes
	if to >= len(t) || t[to] != ' ' && t[to] != '.' {
		return false, false
	}
	end, capital := to, false
	for range 6 {
		a, b := nextWord(t, end)
		if b == a || a > end+2 {
			break
		}
		if char.IsUpper(t[a]) || t[a] >= 0x80 {
			capital = true
		} else if !isStreetParticle(string(t[a:b])) {
			break
		}
		end = b
		if b < len(t) && (t[b] == ',' || t[b] == '\n') {
			break
		}
	}
	if !capital {
		return false, false
	}
	stop := cityBehind(t, end)
	switch strings.ToLower(string(t[from:to])) {
	case "place", "square", "avenue", "plaza": // they are English too
		if a, b := nextWord(t, to); !char.IsLower(t[from]) && stop <= end && !isStreetParticle(string(t[a:b])) {
			return false, false
		}
	}
	sure := uint8(75)
	if stop > end {
		sure = 92
	} else if s.Before(i)&match.AboutAddress != 0 {
		sure = 85
	}
	return true, s.Hit(match.Address, i, stop, sure, "a house number and the name of a street")
}

// englishStreet reads words with capitals up to the last word for streets: 5 St
// James Square.
func englishStreet(s *match.Text, i, a, b int) (ok, hit bool) {
	t := s.Bytes
	end, weak := 0, false
	for n := 0; n < 5 && b > a; n++ {
		w := t[a:b]
		if n == 0 || !char.IsUpper(w[0]) {
			// It is not the last word.
		} else if role := endRole(w); role != 0 {
			end, weak = b, role == streetWeakEnd && n > 2
			if b < len(t) && t[b] == '.' {
				end = b + 1
			}
		}
		if n == 0 && string(w) == "Broadway" {
			end = b
		}
		if n > 0 && char.CountDigits(w) == len(w) || !char.IsUpper(w[0]) && !char.IsDigit(w[0]) && w[0] < 0x80 && string(w) != "of" && string(w) != "the" {
			break
		}
		if b >= len(t) || t[b] != ' ' && !(t[b] == '.' && b+1 < len(t) && t[b+1] == ' ' && len(w) <= 3) {
			break
		}
		next, stop := nextWord(t, b)
		if next > b+2 {
			break
		}
		a, b = next, stop
	}
	if end == 0 {
		return false, false
	}
	stop := cityBehind(t, end)
	sure := uint8(72)
	context := s.Before(i)
	switch {
	case stop > end:
		sure = 93
	case context&match.AboutAddress != 0:
		sure = 88
	case weak || countsThings(t, i):
		sure = 40
	}
	return true, s.Hit(match.Address, i, stop, sure, "a house number and the name of a street")
}

// isStreetParticle reports the small words in the names of streets.
func isStreetParticle(w string) bool {
	switch w {
	case "de", "du", "des", "la", "le", "les", "l", "d", "saint", "sainte", "del", "della", "dei", "delle", "di", "los", "las", "el", "y", "et", "san", "dell", "d'", "aux", "au", "do", "da", "dos", "das", "dello", "degli", "e", "św", "gen", "ks":
		return true
	}
	return strings.HasPrefix(w, "l'") || strings.HasPrefix(w, "d'") || strings.HasPrefix(w, "dell'")
}

// postBox reads PO Box 123.
func postBox(s *match.Text, i, j int) bool {
	t := s.Bytes
	if i < 7 || t[i-1] != ' ' || t[i-2]|0x20 != 'x' && t[i-2]|0x20 != 'h' && t[i-2]|0x20 != 'o' {
		return false
	}
	head := strings.ToLower(string(t[max(0, i-12):i]))
	for _, w := range []string{"p.o. box ", "po box ", "postfach ", "apartado "} {
		if strings.HasSuffix(head, w) {
			return s.Hit(match.Address, i-len(w), cityBehind(t, j), 80, "a post office box")
		}
	}
	return false
}

// numberLast reads Hauptstraße 12, 10115 Berlin and Calle Mayor 5, 28013 Madrid.
func numberLast(s *match.Text, i, j int) bool {
	t := s.Bytes
	if j < len(t) && (t[j] == ':' || t[j] == '%' || t[j] == '.' && j+1 < len(t) && char.IsDigit(t[j+1])) {
		return false
	}
	end := j
	if end < len(t) && char.IsLetter(t[end]) && t[end] < 0x80 && (end+1 >= len(t) || !char.IsWord(t[end+1])) { // 12a
		end++
	} else if end+1 < len(t) && (t[end] == '-' || t[end] == '/') && char.IsDigit(t[end+1]) {
		for end++; end < len(t) && char.IsDigit(t[end]); end++ {
		}
	}
	wordEnd := i - 1
	comma := t[wordEnd-1] == ','
	if comma {
		wordEnd--
	}
	start := wordEnd
	limit := max(0, i-40)
	for start > limit && (char.IsWord(t[start-1]) || t[start-1] == '-' || t[start-1] == '.' && start == wordEnd) {
		start--
	}
	if start == wordEnd || char.IsLower(t[start]) && t[wordEnd-1] != '.' {
		return false // the last word of the street needs a capital
	}
	last := strings.ToLower(string(t[start:wordEnd]))
	if ok, hit := romanceStreetBack(s, start, end, comma); ok || comma {
		return hit
	}
	if ok, hit := germanStreet(s, start, end, last); ok {
		return hit
	}
	return j-i < 4 && anyNameWithTown(s, start, end)
}

// countsThings reports that the word in front of i says that a number behind it
// is that of a thing: order 12 Main Street.
func countsThings(t []byte, i int) bool {
	end := i
	for end > 0 && (t[end-1] == ' ' || t[end-1] == ':' || t[end-1] == '#') {
		end--
	}
	_, context := match.ReadLabel(t[char.WordStart(t, end):end])
	return context&(match.AboutOrder|match.AboutVersion) != 0
}

// germanStreet reads a name that ends in a word for streets, Hauptstraße or
// Berliner Allee. start is that of its last word, end that of the number.
func germanStreet(s *match.Text, start, end int, last string) (ok, hit bool) {
	t := s.Bytes
	german, weak := false, true
	for n, tail := range [...][]string{streetTails[:], weakTails[:]} {
		for _, tail := range tail {
			if strings.HasSuffix(last, tail) && len(last) > len(tail)+2 && char.IsLetter(t[start]) && !char.IsLower(t[start]) && !notStreets()[last] && !strings.HasSuffix(last, "ering") {
				german, weak = true, weak && n == 1 && last[len(last)-len(tail)-1] != '-'
			}
			if last == tail && len(tail) > 2 {
				// Berliner Straße: the word in front belongs to it.
				if a := capitalBack(t, start); a < start && !notStreets()[strings.ToLower(string(t[a:start-1]))] {
					start, german, weak = a, true, weak && n == 1
				}
			}
		}
	}
	if !german {
		return false, false
	}
	sure := uint8(60)
	if strings.HasSuffix(last, "straße") || strings.HasSuffix(last, "strasse") || strings.HasSuffix(last, "str.") || strings.HasSuffix(last, "straat") {
		sure = 85
	}
	stop := cityBehind(t, end)
	switch context := s.Before(start); {
	case stop > end:
		sure = 95
	case context&match.AboutAddress != 0:
		sure = 85
	case weak || countsThings(t, start):
		sure = 45
	}
	return true, s.Hit(match.Address, start, stop, sure, "the name of a street and a house number")
}

// romanceStreetBack goes back from the last word of a street to the one that
// begins it: Via Giuseppe Garibaldi 10, ul. Kwiatowa 5, Rua das Flores, 12. comma:
// one is in front of the number.
func romanceStreetBack(s *match.Text, a, end int, comma bool) (ok, hit bool) {
	t := s.Bytes
	for n := range 6 {
		wordEnd := char.WordEnd(t, a)
		w := strings.ToLower(string(t[a:wordEnd]))
		if role := streetRoles()[w]; n > 0 && role&(streetBegin|streetCommon) != 0 && (!char.IsLower(t[a]) || role&streetSmall != 0 || w == "via" && italianParticle(t, wordEnd)) && (len(w) > 2 || t[wordEnd] == '.' || w == "av") {
			stop := cityBehind(t, end)
			sure := uint8(72)
			if stop > end {
				sure = 93
			} else if s.Before(a)&match.AboutAddress != 0 {
				sure = 85
			} else if role&streetCommon != 0 && !comma {
				sure = 45
			}
			return true, s.Hit(match.Address, a, stop, sure, "the name of a street and a house number")
		}
		if a < 2 || t[a-1] != ' ' && t[a-1] != ',' {
			break
		}
		if char.IsLower(t[a]) && !isStreetParticle(w) {
			break
		}
		b := a - 1
		for b > 0 && (t[b-1] == ',' || t[b-1] == '.') {
			b--
		}
		c := b
		for c > 0 && (char.IsWord(t[c-1]) || t[c-1] == '\'' || t[c-1] == '-' || t[c-1] == '/') && b-c < 30 {
			c--
		}
		if c == b {
			break
		}
		a = c
	}
	return false, false
}

// italianParticle reports dei, della and the like behind the word that ends at i:
// via is an English word too.
func italianParticle(t []byte, i int) bool {
	a, b := nextWord(t, i)
	switch string(t[a:b]) {
	case "di", "dei", "del", "della", "delle", "dello", "degli":
		return true
	}
	return false
}

// anyNameWithTown reads any name that a postal code and a town follow: Am Alten
// Markt 3, 14467 Potsdam.
func anyNameWithTown(s *match.Text, a, end int) bool {
	t := s.Bytes
	if stop := germanTown(t, end); stop > end && !char.IsLower(t[a]) {
		for range 3 {
			a = capitalBack(t, a)
		}
		return s.Hit(match.Address, a, stop, 75, "a house number, a postal code and a town")
	}
	return false
}

// capitalBack is the start of the word in front of i if it has a capital and is
// one space away, else i.
func capitalBack(t []byte, i int) int {
	if i < 2 || t[i-1] != ' ' {
		return i
	}
	a := i - 1
	for a > 0 && (char.IsWord(t[a-1]) || t[a-1] == '-') && i-a < 30 {
		a--
	}
	if a == i-1 || char.IsDigit(t[a]) || char.IsLower(t[a]) {
		return i
	}
	return a
}

// JudgeAddress judges a value that is labeled as an address. whole: it is the
// whole value of its field.
func JudgeAddress(v []byte, weak, whole bool) (end int, sure uint8, why string) {
	letters, digits, spaces := 0, 0, 0
	for _, c := range v {
		switch {
		case char.IsDigit(c):
			digits++
		case char.IsLetter(c):
			letters++
		case c == ' ' || c == ',':
			spaces++
		case c == '@' || c == '{' || c == '=' || c == '_' || c == '\\' || c == '[' || c == '*' || c == '|' || c == '<' || c == '(' && weak:
			return 0, 0, ""
		}
	}
	if letters < 3 || bytes.Contains(v, []byte("//")) || bytes.HasPrefix(v, []byte("0x")) || len(v) < 5 {
		return 0, 0, ""
	}
	switch {
	case digits > 0 && spaces > 0 && (letters > digits || spaces > 1) && !bytes.HasSuffix(v, []byte(":")):
		if !whole && weak && (digits > letters || spaces < 2 || !capitalWord(v) || !numberWord(v)) {
			return 0, 0, ""
		}
		return len(v), 88, "labeled as an address, with a number in it"
	case !weak && whole && char.IsUpper(v[0]) && len(v) < 80:
		return len(v), 70, "labeled as a street"
	}
	return 0, 0, ""
}

// numberWord reports a word that begins with a digit.
func numberWord(v []byte) bool {
	for i := range v {
		if char.IsDigit(v[i]) && (i == 0 || !char.IsWord(v[i-1]) && v[i-1] != '-') {
			return true
		}
	}
	return false
}

// capitalWord reports a word with a capital in it, of two letters or more.
func capitalWord(v []byte) bool {
	for i := range v {
		if (char.IsUpper(v[i]) || v[i] >= 0xc0) && (i == 0 || v[i-1] == ' ') && i+1 < len(v) && char.IsLetter(v[i+1]) {
			return true
		}
	}
	return false
}
