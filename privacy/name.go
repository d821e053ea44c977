package privacy

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// What a word can be in a name.
const (
	firstName = 1 << iota
	lastName
	bothWord  // also an ordinary word: Mark, Rose, Grace
	titleWord // Mr, Frau
	stopWord  // begins sentences, or names things and not persons
	linkWord  // von, de la
	monthWord // March, avril
)

// capital looks at a word that begins with a capital, and returns where to go
// on.
func (s *scanner) capital(i, j, shape int) int {
	t := s.t
	if shape == hasUpper {
		if j-i == 2 && j < len(t) && (t[j] == ' ' || t[j] == '-') {
			if end := s.spacedNINO(i, j); end > 0 {
				return end
			}
		}
		if j-i == 2 {
			if end := s.iban(i); end > 0 {
				return end
			}
			if end := s.vat(i, j); end > 0 {
				return end
			}
		}
	}
	if j-i > 24 || j >= len(t) || t[j] != ' ' && t[j] != '.' && t[j] != ',' && t[j] != '-' && t[j] != '\'' {
		return j
	}
	if shape&hasLower == 0 && shape&hasHigh == 0 && j-i > 1 && !(j+1 < len(t) && isUpper(t[j+1])) && j-i > 4 {
		return j
	}
	flags := s.nameFlags(i, j)
	if flags == 0 {
		return j
	}
	if flags&monthWord != 0 && s.d.wants(Birthdate) {
		if end, ok := monthDate(t, i, j); ok {
			if s.before(i)&saysBirth != 0 && s.hit(Birthdate, i, end, 85, "a date behind a word for birth") {
				return end
			}
		}
	}
	if !s.d.wants(Name) {
		return j
	}
	switch {
	case flags&titleWord != 0:
		if end := s.titled(i, j); end > 0 {
			return end
		}
	case flags&firstName != 0:
		if end := s.firstLast(i, j, flags, shape); end > 0 {
			return end
		}
	}
	if flags&lastName != 0 && flags&bothWord == 0 && j+2 < len(t) && t[j] == ',' && t[j+1] == ' ' {
		a, b := s.nameWord(j + 2)
		if f := s.nameFlags(a, b); b > a && f&firstName != 0 && f&bothWord == 0 {
			if s.hit(Name, i, b, 70, "a surname and a first name of the lists") {
				return b
			}
		}
	}
	return j
}

// nameFlags looks a word up in the lists.
func (s *scanner) nameFlags(i, j int) uint8 {
	if j <= i || j-i > 24 {
		return 0
	}
	var low [24]byte
	n := 0
	high := false
	for _, c := range s.t[i:j] {
		if isUpper(c) {
			c |= 0x20
		}
		high = high || c >= 0x80
		low[n] = c
		n++
	}
	if high {
		return s.d.lexicon.names[strings.ToLower(string(s.t[i:j]))]
	}
	return s.d.lexicon.names[string(low[:n])]
}

// nameWord reads one word of a name at i: a capital, then letters, with
// hyphens and apostrophes in it. Nothing else gives an empty word.
func (s *scanner) nameWord(i int) (from, to int) {
	t := s.t
	if i >= len(t) || !isUpper(t[i]) && !(t[i] >= 0x80 && upperRune(t[i:])) {
		return i, i
	}
	j := i + 1
	for j < len(t) && j-i < 40 {
		c := t[j]
		if isLetter(c) || (c == '-' || c == '\'') && j+1 < len(t) && isLetter(t[j+1]) && !(c == '\'' && t[j+1] == 's' && (j+2 >= len(t) || !isLetter(t[j+2]))) {
			j++
			continue
		}
		break
	}
	if j < len(t) && (isDigit(t[j]) || t[j] == '_' || t[j] == '(' || t[j] == '@' || t[j] == '/') {
		return i, i
	}
	if j+1 < len(t) && t[j] == '.' && isLetter(t[j+1]) && j-i > 1 {
		return i, i
	}
	return i, j
}

func upperRune(t []byte) bool {
	r, _ := utf8.DecodeRune(t)
	return unicode.IsUpper(r)
}

// restOfName goes on behind a word of a name: initials, links and words with
// capitals, four at most. It tells whether the last word is a known surname.
func (s *scanner) restOfName(j, most int) (end int, words int, flags uint8) {
	t := s.t
	end = j
	for words < most {
		k := end
		if k < len(t) && t[k] == '.' && k >= 1 && isUpper(t[k-1]) && (k < 2 || !isWord(t[k-2])) {
			k++
		}
		if k >= len(t) || t[k] != ' ' {
			break
		}
		k++
		// Links: von der, de la, van.
		links := 0
		a := k
		for links < 3 {
			b := s.wordEnd(a)
			if b == a || b-a > 4 || b >= len(t) || t[b] != ' ' || s.nameFlags(a, b)&linkWord == 0 {
				break
			}
			a = b + 1
			links++
		}
		from, to := s.nameWord(a)
		if to == from {
			break
		}
		f := s.nameFlags(from, to)
		initial := to-from == 1
		if f&stopWord != 0 && !(initial && to < len(t) && t[to] == '.') {
			break
		}
		if initial && !(to < len(t) && t[to] == '.') && !(to+1 < len(t) && t[to] == ' ' && isUpper(t[to+1])) {
			break
		}
		if !initial {
			flags = f
			words++
		} else {
			// An initial counts only when a word follows.
			next := to
			if next < len(t) && t[next] == '.' {
				next++
			}
			c, d := s.nameWord(next + 1)
			if next >= len(t) || t[next] != ' ' || d-c < 2 || s.nameFlags(c, d)&stopWord != 0 {
				break
			}
			end = to
			continue
		}
		end = to
		if f&lastName != 0 && words >= 1 && f&firstName == 0 {
			// Two surnames at most, as in Spanish.
			c, d := end+1, end+1
			if end < len(t) && t[end] == ' ' {
				c, d = s.nameWord(end + 1)
			}
			if d > c && s.nameFlags(c, d)&lastName != 0 && s.nameFlags(c, d)&(stopWord|bothWord) == 0 {
				end = d
			}
			break
		}
		if links == 0 && words >= 2 {
			break
		}
	}
	return end, words, flags
}

// titled reads the name behind a title.
func (s *scanner) titled(i, j int) int {
	t := s.t
	if string(t[i:j]) == "MX" || string(t[i:j]) == "Miss" && j < len(t) && t[j] == '.' {
		return 0 // a record of name servers; the end of a sentence
	}
	for n := 0; n < 3; n++ {
		if j < len(t) && t[j] == '.' {
			j++
		}
		if j >= len(t) || t[j] != ' ' {
			return 0
		}
		start := j + 1
		for links := 0; links < 2; links++ { // Frau von Hohenberg
			e := s.wordEnd(start)
			if e == start || e >= len(t) || t[e] != ' ' || !isLower(t[start]) || s.nameFlags(start, e)&linkWord == 0 {
				break
			}
			start = e + 1
		}
		a, b := s.nameWord(start)
		if b == a {
			return 0
		}
		f := s.nameFlags(a, b)
		a = j + 1
		if f&titleWord != 0 {
			j = b
			continue
		}
		if f&stopWord != 0 {
			return 0
		}
		end, words, _ := s.restOfName(b, 2)
		if words == 0 && (start+1 == b || start+2 == b && isUpper(t[start+1])) {
			return 0 // an initial or an abbreviation alone
		}
		if s.hit(Name, a, end, 85, "a name behind a title") {
			return end
		}
		return 0
	}
	return 0
}

// firstLast reads a known first name and what follows it.
func (s *scanner) firstLast(i, j int, flags uint8, shape int) int {
	t := s.t
	if i > 0 && (t[i-1] == '.' || t[i-1] == '/' || t[i-1] == '_' || t[i-1] == '@' || t[i-1] == '#' || t[i-1] == '$' || t[i-1] == '-' && i > 1 && isWord(t[i-2])) {
		return 0
	}
	if j < len(t) && (t[j] == '-' || t[j] == '\'') {
		_, full := s.nameWord(i)
		if full <= j {
			return 0
		}
		if t[j] == '-' && s.nameFlags(j+1, full)&firstName != 0 {
			flags &^= bothWord // Jean-Pierre is nothing else
		}
		j = full
	}
	end, words, last := s.restOfName(j, 3)
	switch {
	case words > 0 && last&lastName != 0 && last&bothWord == 0:
		sure := uint8(90)
		if flags&bothWord != 0 {
			sure = 75
		}
		if shape == hasUpper {
			sure = 70
		}
		if s.hit(Name, i, end, sure, "a first name and a surname of the lists") {
			return end
		}
	case words > 0 && last&lastName != 0 && shape != hasUpper && flags&bothWord != 0:
		if s.hit(Name, i, end, 45, "words that can be a first name and a surname") {
			return end
		}
	case words > 0 && flags&bothWord == 0 && shape != hasUpper:
		// A known first name and an unknown word with a capital.
		sure := uint8(60)
		switch {
		case last&(firstName|lastName) != 0:
			sure = 62
		case allCapitals(t[j+1 : end]):
			sure = 35
		case s.sentenceOfCapitals(end):
			sure = 40
		}
		if s.hit(Name, i, end, sure, "a first name of the list and a word with a capital") {
			return end
		}
	case flags&bothWord == 0 && shape != hasUpper && s.before(i)&saysDear != 0 && s.greeting(i):
		if s.hit(Name, i, j, 65, "a first name behind a greeting") {
			return j
		}
	default:
		s.hit(Name, i, j, 30, "a first name alone")
	}
	return 0
}

// greeting reports that the word in front is a greeting itself.
func (s *scanner) greeting(i int) bool {
	t := s.t
	k := i
	for k > 0 && (t[k-1] == ' ' || t[k-1] == ',' || t[k-1] == '\n' || t[k-1] == '\r') && i-k < 4 {
		k--
	}
	a := s.wordBack(k)
	_, bits := s.d.lexicon.labelled(t[a:k])
	return bits&saysDear != 0
}

func lastWord(v []byte) []byte { return v[bytes.LastIndexByte(v, ' ')+1:] }

func allCapitals(w []byte) bool {
	n := 0
	for _, c := range w {
		if isLower(c) || c >= 0x80 {
			return false
		}
		if isUpper(c) {
			n++
		}
	}
	return n > 1
}

// sentenceOfCapitals reports that the next word has a capital too: a headline
// or the name of a thing.
func (s *scanner) sentenceOfCapitals(i int) bool {
	t := s.t
	if i >= len(t) || t[i] != ' ' {
		return false
	}
	_, b := s.nameWord(i + 1)
	return b > i+2
}

// displayName looks at the words in front of <address> for a name.
func (s *scanner) displayName(start int) {
	t := s.t
	if start < 4 || t[start-1] != '<' || !s.d.wants(Name) {
		return
	}
	end := start - 1
	for end > 0 && (t[end-1] == ' ' || t[end-1] == '"') {
		end--
	}
	a, words := end, 0
	limit := max(0, end-60)
	for words < 4 {
		b := a
		if words > 0 {
			if b > 1 && t[b-1] == ' ' {
				b--
				if b > 1 && (t[b-1] == ',' || t[b-1] == '.') {
					b--
				}
			} else {
				break
			}
		}
		c := b
		for c > limit && (isLetter(t[c-1]) || (t[c-1] == '-' || t[c-1] == '\'') && c < b) {
			c--
		}
		if c == b || c == limit && c > 0 || c > 0 && (isDigit(t[c-1]) || t[c-1] == '_' || t[c-1] == '@') {
			break
		}
		if !(isUpper(t[c]) || t[c] >= 0x80) {
			break
		}
		f := s.nameFlags(c, b)
		if f&(stopWord|titleWord) != 0 {
			break
		}
		if c > 0 && t[c-1] == ':' {
			break
		}
		a = c
		words++
	}
	if words >= 2 || words == 1 && s.nameFlags(a, end)&(firstName|lastName) != 0 {
		s.hit(Name, a, end, 80, "the name in front of an address")
	}
}

// nameReading is what the words of a name are.
type nameReading struct {
	words, known, surnames, stops int
	loose                         uint8 // words that are names and something else too
	end                           int   // behind the last
}

// readName reads up to six words that may be a name.
func (d *Detector) readName(v []byte) nameReading {
	probe := scanner{t: v, d: d}
	var n nameReading
	pos := 0
	for n.words < 6 && pos < len(v) {
		f := probe.wordEnd(pos)
		if l := probe.nameFlags(pos, f); l&linkWord != 0 && n.words > 0 && f < len(v) && v[f] == ' ' {
			pos = f + 1
			continue
		}
		a, b := probe.nameWord(pos)
		if b == a {
			break
		}
		l := probe.nameFlags(a, b)
		if b-a == 1 {
			l = 0 // an initial
		}
		switch {
		case l&titleWord != 0 && n.words == 0:
			if b < len(v) && v[b] == '.' {
				b++
			}
			if b < len(v) && v[b] == ' ' {
				pos = b + 1
				n.known++
				continue
			}
		case l&stopWord != 0:
			n.stops++
		case l&bothWord != 0 && l&(firstName|lastName) != 0:
			if n.words == 0 {
				n.loose |= l & firstName
			} else {
				n.loose |= l & lastName
			}
		case l&firstName != 0:
			n.known++
		case l&lastName != 0:
			n.surnames++
		}
		n.words++
		n.end = b
		if b < len(v) && v[b] == '.' && b-a == 1 {
			b++
		}
		if b < len(v) && v[b] == ',' && n.words == 1 && b+1 < len(v) && v[b+1] == ' ' {
			b++
		}
		if b >= len(v) || v[b] != ' ' {
			break
		}
		pos = b + 1
	}
	return n
}

// judgeName judges a value behind a name for names.
func (s *scanner) judgeName(e evidence, context uint32, v []byte, whole bool) (int, uint8, string) {
	r := s.d.readName(v)
	words, known, surnames, loose, end := r.words, r.known, r.surnames, r.loose, r.end
	complete := end == len(v) || end == len(v)-1 && v[end] == '.'
	if words == 0 || words > 5 || r.stops > 0 {
		return 0, 0, ""
	}
	if whole && !complete {
		return 0, 0, ""
	}
	if !whole && !complete && end < len(v) && (isWord(v[end]) || v[end] == '(' || v[end] == '/' || v[end] == ':') {
		return 0, 0, ""
	}
	if !whole && words == 1 && known+surnames == 0 && loose == 0 && end+1 < len(v) && v[end] == ' ' && isLower(v[end+1]) {
		return 0, 0, "" // the first word of a sentence
	}
	n := end
	if whole {
		n = len(v)
	}
	switch {
	case !e.weak && whole:
		return n, 90, "a field for names"
	case !e.weak && (words >= 2 || known+surnames > 0 || loose > 0 || context&saysName != 0):
		return n, 82, "named a name"
	case e.weak && words >= 2 && known > 0:
		return n, 80, "named a person perhaps, with a first name of the list"
	case e.weak && words >= 2 && surnames > 0:
		return n, 65, "named a person perhaps, with a surname of the list"
	case e.weak && words == 2 && loose == firstName|lastName:
		return n, 60, "named a person perhaps, with words that can be names"
	case e.weak && words >= 2 && !whole && complete && context&saysNameWord != 0 && (allCapitals(v[:end]) || !allCapitals(lastWord(v[:end]))):
		return n, 55, "behind the word Name"
	case e.weak && words >= 2 && whole && s.f != nil && s.f.person:
		return n, 75, "a name in the record of a person"
	case e.weak && words == 1 && whole && s.f != nil && s.f.person && (known+surnames > 0 || loose > 0):
		return n, 65, "a name in the record of a person"
	}
	return 0, 0, ""
}
