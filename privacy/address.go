package privacy

import (
	"bytes"
	"strings"
)

// What a word can be in the name of a street.
const (
	streetEnd   = 1 << iota // Main Street
	streetStart             // rue de la Paix, Via Roma
	streetUnit              // Apt 5
)

func streetWords() map[string]uint8 {
	x := make(map[string]uint8, 120)
	for _, w := range strings.Fields("street st avenue ave road rd boulevard blvd lane ln drive dr court ct place pl square sq terrace ter way parkway pkwy circle cir highway hwy trail trl close crescent cres grove mews row walk gardens hill loop alley plaza turnpike pike crossing expressway run ridge path point broadway strand") {
		x[w] |= streetEnd
	}
	for _, w := range strings.Fields("rue avenue av boulevard bd bld place allée allee impasse chemin quai cours route square passage via viale piazza corso vicolo largo calle c/ avenida avda plaza paseo carrer camino ronda travesía") {
		x[w] |= streetStart
	}
	for _, w := range strings.Fields("apt apartment unit suite ste floor fl room rm flat bldg building #") {
		x[w] |= streetUnit
	}
	return x
}

// streetTails end the names of German streets, in one word.
var streetTails = [...]string{"straße", "strasse", "str.", "weg", "platz", "allee", "gasse", "ring", "damm", "ufer", "steig", "stieg", "chaussee", "markt", "graben", "berg", "hof", "promenade"}

// shortNumber looks around a number of few digits for a postal address, and
// reports whether it found one.
func (s *scanner) shortNumber(i, j int) bool {
	t := s.t
	if j-i > 5 || !s.d.wants(Address) || i > 0 && isWord(t[i-1]) {
		return false
	}
	if i >= 4 && t[i-1] == ' ' && (isWord(t[i-2]) || t[i-2] == '.') {
		if s.streetBefore(i, j) {
			return true
		}
	}
	if j+3 < len(t) && j-i <= 5 {
		return s.streetBehind(i, j)
	}
	return false
}

// nextWord is the word behind spaces and a comma or a dot at most.
func (s *scanner) nextWord(i int) (from, to int) {
	t := s.t
	for i < len(t) && (t[i] == ' ' || t[i] == '.') {
		i++
	}
	from = i
	for i < len(t) && (isWord(t[i]) || (t[i] == '-' || t[i] == '\'') && i > from && i+1 < len(t) && isLetter(t[i+1])) && i-from < 40 {
		i++
	}
	return from, i
}

// streetFlags looks a word up in any case.
func (s *scanner) streetFlags(i, j int) uint8 {
	var low [24]byte
	if j-i > len(low) {
		return 0
	}
	for k, c := range s.t[i:j] {
		if isUpper(c) {
			c |= 0x20
		}
		low[k] = c
	}
	return s.d.lexicon.streets[string(low[:j-i])]
}

// streetBehind reads 12 Main Street, Springfield, IL 62704 and
// 12 bis rue de la Paix, 75002 Paris.
func (s *scanner) streetBehind(i, j int) bool {
	t := s.t
	k := j
	if k < len(t) && isLetter(t[k]) && t[k] < 0x80 { // 12b, 12 bis
		k++
		if k < len(t) && isWord(t[k]) {
			return false
		}
	}
	if k < len(t) && t[k] == ',' {
		k++
	}
	if k >= len(t) || t[k] != ' ' || k+1 >= len(t) || !isLetter(t[k+1]) && !isDigit(t[k+1]) {
		return false
	}
	from, to := s.nextWord(k)
	if w := string(t[from:to]); w == "bis" || w == "ter" {
		from, to = s.nextWord(to)
	}
	if to == from {
		return false
	}
	starts := s.streetFlags(from, to)&streetStart != 0
	if !starts && isLower(t[from]) {
		return false
	}
	if starts {
		if is, hit := s.romanceStreet(i, from, to); is {
			return hit
		}
	}
	if is, hit := s.englishStreet(i, from, to); is {
		return hit
	}
	return s.postBox(i, j)
}

// romanceStreet reads what begins with a word for streets: 12 rue de la Paix.
// Up to six words follow, among them one with a capital.
func (s *scanner) romanceStreet(i, from, to int) (is, hit bool) {
	t := s.t
	if to >= len(t) || t[to] != ' ' && t[to] != '.' {
		return false, false
	}
	end, capital := to, false
	for n := 0; n < 6; n++ {
		a, b := s.nextWord(end)
		if b == a || a > end+2 {
			break
		}
		if isUpper(t[a]) || t[a] >= 0x80 {
			capital = true
		} else if !frenchLink(string(t[a:b])) {
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
	stop := s.cityBehind(end)
	switch strings.ToLower(string(t[from:to])) {
	case "place", "square", "avenue", "plaza": // which are English too
		if !isLower(t[from]) && stop <= end {
			return false, false
		}
	}
	sure := uint8(75)
	if stop > end {
		sure = 92
	} else if s.before(i)&saysAddress != 0 {
		sure = 85
	}
	return true, s.hit(Address, i, stop, sure, "a house number and the name of a street")
}

// englishStreet reads capitals up to a word for streets: 5 St James Square.
func (s *scanner) englishStreet(i, a, b int) (is, hit bool) {
	t := s.t
	end := 0
	for n := 0; n < 5 && b > a; n++ {
		w := t[a:b]
		if n > 0 && isUpper(w[0]) && s.streetFlags(a, b)&streetEnd != 0 {
			end = b
			if b < len(t) && t[b] == '.' {
				end = b + 1
			}
			// The last word for streets counts: 5 St James Square.
		} else if n == 0 && string(w) == "Broadway" {
			end = b
		}
		if !isUpper(w[0]) && !isDigit(w[0]) && w[0] < 0x80 && string(w) != "of" && string(w) != "the" {
			break
		}
		if b >= len(t) || t[b] != ' ' && !(t[b] == '.' && b+1 < len(t) && t[b+1] == ' ' && len(w) <= 3) {
			break
		}
		next, stop := s.nextWord(b)
		if next > b+2 {
			break
		}
		a, b = next, stop
	}
	if end == 0 {
		return false, false
	}
	stop := s.cityBehind(end)
	sure := uint8(72)
	context := s.before(i)
	switch {
	case stop > end:
		sure = 93
	case context&saysAddress != 0:
		sure = 88
	case context&(saysOrder|saysVersion) != 0:
		sure = 40
	}
	return true, s.hit(Address, i, stop, sure, "a house number and the name of a street")
}

func frenchLink(w string) bool {
	switch w {
	case "de", "du", "des", "la", "le", "les", "l", "d", "saint", "sainte", "del", "della", "dei", "delle", "di", "los", "las", "el", "y", "et", "san", "dell", "d'", "aux", "au":
		return true
	}
	return strings.HasPrefix(w, "l'") || strings.HasPrefix(w, "d'") || strings.HasPrefix(w, "dell'")
}

func (s *scanner) postBox(i, j int) bool {
	t := s.t
	if i < 7 || t[i-1] != ' ' || t[i-2]|0x20 != 'x' && t[i-2]|0x20 != 'h' && t[i-2]|0x20 != 'o' {
		return false
	}
	head := strings.ToLower(string(t[max(0, i-12):i]))
	for _, w := range []string{"p.o. box ", "po box ", "postfach ", "apartado "} {
		if strings.HasSuffix(head, w) {
			stop := s.cityBehind(j)
			return s.hit(Address, i-len(w), stop, 80, "a post office box")
		}
	}
	return false
}

// streetBefore reads Hauptstraße 12, 10115 Berlin and Calle Mayor 5, 28013
// Madrid, with the number behind the street.
func (s *scanner) streetBefore(i, j int) bool {
	t := s.t
	if j < len(t) && (t[j] == ':' || t[j] == '%' || t[j] == '.' && j+1 < len(t) && isDigit(t[j+1])) {
		return false
	}
	end := j
	if end < len(t) && isLetter(t[end]) && t[end] < 0x80 && (end+1 >= len(t) || !isWord(t[end+1])) { // 12a
		end++
	} else if end+1 < len(t) && t[end] == '-' && isDigit(t[end+1]) {
		for end++; end < len(t) && isDigit(t[end]); end++ {
		}
	}
	wordEnd := i - 1
	start := wordEnd
	limit := max(0, i-40)
	for start > limit && (isWord(t[start-1]) || t[start-1] == '-' || t[start-1] == '.' && start == wordEnd) {
		start--
	}
	if start == wordEnd || isLower(t[start]) && t[wordEnd-1] != '.' {
		return false // streets in front of their number end in a word with a capital
	}
	last := strings.ToLower(string(t[start:wordEnd]))
	if is, hit := s.germanStreet(start, end, last); is {
		return hit
	}
	if is, hit := s.romanceStreetBefore(start, end); is {
		return hit
	}
	if j-i < 4 {
		return s.namedWithTown(start, end)
	}
	return false
}

// germanStreet reads a name that ends as streets do, Hauptstraße or Berliner
// Allee, with the place of its last word and the end of its number.
func (s *scanner) germanStreet(start, end int, last string) (is, hit bool) {
	t := s.t
	german := false
	for _, tail := range streetTails {
		if strings.HasSuffix(last, tail) && len(last) > len(tail)+2 && isLetter(t[start]) && !isLower(t[start]) {
			german = true
		}
		if last == tail && len(tail) > 2 {
			// Berliner Straße 5: the word in front belongs to it.
			if a := s.capitalBack(start); a < start {
				start, german = a, true
			}
		}
	}
	weak := german && !strings.HasSuffix(last, "straße") && !strings.HasSuffix(last, "strasse") && !strings.HasSuffix(last, "str.")
	if !german {
		return false, false
	}
	stop := s.cityBehind(end)
	sure := uint8(85)
	switch {
	case stop > end:
		sure = 95
	case weak && s.before(start)&saysAddress == 0:
		sure = 45
	}
	return true, s.hit(Address, start, stop, sure, "the name of a street and a house number")
}

// romanceStreetBefore goes back from a word to one that begins a street: Via
// Giuseppe Garibaldi 10.
func (s *scanner) romanceStreetBefore(a, end int) (is, hit bool) {
	t := s.t
	for n := 0; n < 6; n++ {
		w := strings.ToLower(string(t[a:s.wordEnd(a)]))
		if n > 0 && s.d.lexicon.streets[w]&streetStart != 0 && isUpper(t[a]) && w != "place" && w != "square" && w != "avenue" && w != "passage" && w != "route" {
			stop := s.cityBehind(end)
			sure := uint8(70)
			if stop > end {
				sure = 93
			} else if s.before(a)&saysAddress != 0 {
				sure = 85
			} else if w == "via" || w == "plaza" || w == "largo" || w == "cours" {
				sure = 55
			}
			return true, s.hit(Address, a, stop, sure, "the name of a street and a house number")
		}
		if a < 2 || t[a-1] != ' ' && t[a-1] != ',' {
			break
		}
		if isLower(t[a]) && !frenchLink(w) {
			break
		}
		b := a - 1
		for b > 0 && t[b-1] == ',' {
			b--
		}
		c := b
		for c > 0 && (isWord(t[c-1]) || t[c-1] == '\'' || t[c-1] == '/') && b-c < 30 {
			c--
		}
		if c == b {
			break
		}
		a = c
	}
	return false, false
}

// namedWithTown reads any name when a town with its code follows: Am Alten
// Markt 3, 14467 Potsdam.
func (s *scanner) namedWithTown(a, end int) bool {
	if stop := s.germanTown(end); stop > end && !isLower(s.t[a]) {
		for n := 0; n < 3; n++ {
			b := s.capitalBack(a)
			if b == a {
				break
			}
			a = b
		}
		return s.hit(Address, a, stop, 75, "a house number, a postal code and a town")
	}
	return false
}

func (s *scanner) wordEnd(i int) int {
	for i < len(s.t) && isWord(s.t[i]) {
		i++
	}
	return i
}

// capitalBack is the start of the word in front, where it has a capital and
// one space between; else i itself.
func (s *scanner) capitalBack(i int) int {
	t := s.t
	if i < 2 || t[i-1] != ' ' {
		return i
	}
	a := i - 1
	for a > 0 && (isWord(t[a-1]) || t[a-1] == '-') && i-a < 30 {
		a--
	}
	if a == i-1 || isDigit(t[a]) || isLower(t[a]) {
		return i
	}
	return a
}

// cityBehind takes in what follows a street: a unit, a town, a state and a
// postal code. It returns the end of what belongs to it.
func (s *scanner) cityBehind(i int) int {
	t := s.t
	i = s.unitBehind(i)
	if stop := s.germanTown(i); stop > i {
		return stop
	}
	k := i
	if k < len(t) && t[k] == ',' {
		k++
	}
	if k < len(t) && t[k] == '\n' {
		k++
	}
	for k < len(t) && t[k] == ' ' {
		k++
	}
	// Up to four words of a town, then a state and a code, or a British code.
	end := i
	comma := k > i && t[i] == ','
	for n := 0; n < 5; n++ {
		a, b := s.nextWord(k)
		if b == a {
			break
		}
		if stop := s.britishCode(a); stop > 0 {
			return stop
		}
		if b-a == 2 && isUpper(t[a]) && isUpper(t[a+1]) && n > 0 {
			c, d := s.nextWord(b)
			if d-c == 5 && len(onlyDigits(string(t[c:d]))) == 5 && c <= b+2 {
				if d+4 < len(t) && t[d] == '-' && isDigit(t[d+1]) && isDigit(t[d+4]) {
					d += 5
				}
				return d
			}
			return b
		}
		if !isUpper(t[a]) && t[a] < 0x80 {
			break
		}
		if comma && n < 2 && b-a > 2 && (b >= len(t) || t[b] == '.' || t[b] == ';' || t[b] == '\n' || t[b] == '"' || t[b] == ')') {
			return b // a town at the end of a sentence or a line
		}
		k = b
		if k < len(t) && t[k] == ',' {
			k++
		}
		if k < len(t) && t[k] == '\n' && n > 0 {
			k++
		}
	}
	return end
}

func (s *scanner) unitBehind(i int) int {
	t := s.t
	k := i
	if k < len(t) && t[k] == ',' {
		k++
	}
	for k < len(t) && t[k] == ' ' {
		k++
	}
	if k < len(t) && t[k] == '#' && k+1 < len(t) && isDigit(t[k+1]) {
		return s.wordEnd(k + 1)
	}
	a, b := s.nextWord(k)
	if b > a && s.streetFlags(a, b)&streetUnit != 0 {
		if b < len(t) && t[b] == '.' {
			b++
		}
		c, d := s.nextWord(b)
		if d > c && d-c <= 5 && (isDigit(t[c]) || d-c <= 2) {
			return d
		}
	}
	return i
}

// germanTown reads ", 10115 Berlin": four or five digits and a name.
func (s *scanner) germanTown(i int) int {
	t := s.t
	k := i
	if k < len(t) && t[k] == ',' {
		k++
	}
	for k < len(t) && (t[k] == ' ' || t[k] == '\n') && k < i+3 {
		k++
	}
	if k == i+1 && k+4 < len(t) && string(t[k:k+3]) == "in " && isDigit(t[k+3]) {
		k += 3
	}
	if k+2 < len(t) && (t[k] == 'D' || t[k] == 'F') && t[k+1] == '-' {
		k += 2
	}
	_, n := digitsAt(t, k)
	if n < 4 || n > 5 || k+n+1 >= len(t) || t[k+n] != ' ' || k == i {
		return i
	}
	a, b := s.nextWord(k + n)
	if b-a < 3 || !isUpper(t[a]) && !upperRune(t[a:]) || a != k+n+1 || !townWord(t[a:b]) {
		return i
	}
	// Second words of towns: Bad Homburg, Frankfurt am Main, New York.
	for range 3 {
		c, d := s.nextWord(b)
		if c != b+1 || t[b] != ' ' || d == c {
			break
		}
		w := string(t[c:d])
		if w == "am" || w == "an" || w == "im" || w == "der" || w == "sur" || w == "de" || w == "la" || w == "sous" || w == "en" {
			b = d
			continue
		}
		prev := t[b-2 : b]
		if isUpper(t[c]) && (string(prev) == "am" || string(prev) == "an" || string(prev) == "er" || string(prev) == "ur" || string(prev) == "de" || string(prev) == "la" || string(prev) == "en" || b-a == 3) {
			b = d
			continue
		}
		break
	}
	return b
}

// townWord reports letters that are not all capitals.
func townWord(w []byte) bool {
	small := false
	for _, c := range w {
		if isDigit(c) || c == '_' {
			return false
		}
		small = small || isLower(c) || c >= 0x80
	}
	return small
}

// britishCode reads SW1A 2AA; 0 where there is none.
func (s *scanner) britishCode(i int) int {
	t := s.t
	k := i
	for k < len(t) && isUpper(t[k]) {
		k++
	}
	if k-i < 1 || k-i > 2 || k >= len(t) || !isDigit(t[k]) {
		return 0
	}
	k++
	if k < len(t) && (isDigit(t[k]) || isUpper(t[k])) {
		k++
	}
	if k+3 >= len(t)+0 && k+4 > len(t) || k >= len(t) || t[k] != ' ' {
		return 0
	}
	k++
	if k+3 > len(t) || !isDigit(t[k]) || !isUpper(t[k+1]) || !isUpper(t[k+2]) || k+3 < len(t) && isWord(t[k+3]) {
		return 0
	}
	return k + 3
}

// judgeAddress judges a value in a field for addresses.
func judgeAddress(v []byte, weak, whole bool) (int, uint8, string) {
	letters, digits, spaces := 0, 0, 0
	for _, c := range v {
		switch {
		case isDigit(c):
			digits++
		case isLetter(c):
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
		return len(v), 88, "named an address, with a number in it"
	case !weak && whole && isUpper(v[0]) && len(v) < 80:
		return len(v), 70, "named a street"
	}
	return 0, 0, ""
}

// numberWord reports a word that begins with a digit.
func numberWord(v []byte) bool {
	for i := range v {
		if isDigit(v[i]) && (i == 0 || !isWord(v[i-1]) && v[i-1] != '-') {
			return true
		}
	}
	return false
}

// capitalWord reports a word with a capital in it, of two letters or more.
func capitalWord(v []byte) bool {
	for i := range v {
		if (isUpper(v[i]) || v[i] >= 0xc0) && (i == 0 || v[i-1] == ' ') && i+1 < len(v) && isLetter(v[i+1]) {
			return true
		}
	}
	return false
}
