// Package names finds names of persons: behind titles and greetings, in front of
// mail addresses, and as first names and surnames of its lists. Names have no
// form, so this is the least sure of the detectors; a field that is named for
// names is the best evidence, see [Judge].
package names

import (
	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/match"
)

// MayBegin reports whether a name can begin with the word t[i:j], whose first
// letter is a capital.
func MayBegin(s *match.Text, i, j int, shape char.Shape) bool {
	t := s.Bytes
	if j-i > 24 || j >= len(t) || t[j] != ' ' && t[j] != '.' && t[j] != ',' && t[j] != '-' && t[j] != '\'' {
		return false
	}
	allCapitals := shape&(char.HasLower|char.HasHigh) == 0
	return !(allCapitals && j-i > 4 && !(j+1 < len(t) && char.IsUpper(t[j+1])))
}

// Find finds a name that begins with the word t[i:j], which has the given roles.
// It returns where the scan goes on.
func Find(s *match.Text, i, j int, role Role, shape char.Shape) int {
	if !s.Wants(match.Name) {
		return j
	}
	t := s.Bytes
	switch {
	case role&Title != 0:
		if end := Titled(s, i, j); end > 0 {
			return end
		}
	case role&first != 0:
		if end := firstAndLast(s, i, j, role, shape); end > 0 {
			return end
		}
	}
	if role&last != 0 && role&ambiguous == 0 && j+2 < len(t) && t[j] == ',' && t[j+1] == ' ' {
		a, b := word(t, j+2)
		if r := RoleOf(t[a:b]); b > a && r&first != 0 && r&ambiguous == 0 && s.Hit(match.Name, i, b, 70, "a surname and a first name of the lists") {
			return b
		}
	}
	return j
}

// word reads one word of a name at i: a capital, then letters, with hyphens and
// apostrophes in it. It is empty if there is none.
func word(t []byte, i int) (from, to int) {
	if i >= len(t) || !char.IsUpper(t[i]) && !(t[i] >= 0x80 && char.IsUpperRune(t[i:])) {
		return i, i
	}
	j := i + 1
	for j < len(t) && j-i < 40 {
		c := t[j]
		if char.IsLetter(c) || (c == '-' || c == '\'') && j+1 < len(t) && char.IsLetter(t[j+1]) && !(c == '\'' && t[j+1] == 's' && (j+2 >= len(t) || !char.IsLetter(t[j+2]))) {
			j++
			continue
		}
		break
	}
	if j < len(t) && (char.IsDigit(t[j]) || t[j] == '_' || t[j] == '(' || t[j] == '@' || t[j] == '/') {
		return i, i
	}
	if j+1 < len(t) && t[j] == '.' && char.IsLetter(t[j+1]) && j-i > 1 {
		return i, i
	}
	return i, j
}

// skipParticles skips particles such as "von der" at i, each with the space
// behind it.
func skipParticles(t []byte, i, most int, ok func(start, end int) bool) (at, count int) {
	for count < most {
		end := char.WordEnd(t, i)
		if end == i || end >= len(t) || t[end] != ' ' || !ok(i, end) || RoleOf(t[i:end])&particle == 0 {
			break
		}
		i = end + 1
		count++
	}
	return i, count
}

// rest reads on behind a word of a name: initials, particles and words with
// capitals. It returns where the name ends, how many words it has, and the roles
// of the last one.
func rest(t []byte, j, most int) (end, words int, role Role) {
	end = j
	for words < most {
		k := end
		if k < len(t) && t[k] == '.' && k >= 1 && char.IsUpper(t[k-1]) && (k < 2 || !char.IsWord(t[k-2])) {
			k++
		}
		if k >= len(t) || t[k] != ' ' {
			break
		}
		k, particles := skipParticles(t, k+1, 3, func(a, b int) bool { return b-a <= 4 })
		from, to := word(t, k)
		if to == from {
			break
		}
		r := RoleOf(t[from:to])
		initial, dot := to-from == 1, to < len(t) && t[to] == '.'
		if r&stop != 0 && !(initial && dot) || r&Month != 0 && isMonth(t, j) {
			break
		}
		if initial {
			if !dot && !(to+1 < len(t) && t[to] == ' ' && char.IsUpper(t[to+1])) {
				break
			}
			// An initial only counts if a word follows.
			next := to
			if dot {
				next++
			}
			c, d := word(t, next+1)
			if next >= len(t) || t[next] != ' ' || d-c < 2 || RoleOf(t[c:d])&stop != 0 {
				break
			}
			end = to
			continue
		}
		role = r
		words++
		end = to
		if r&last != 0 && r&first == 0 {
			// Two surnames, as in Spanish.
			if end < len(t) && t[end] == ' ' {
				if c, d := word(t, end+1); d > c && RoleOf(t[c:d])&(last|stop|ambiguous) == last {
					end = d
				}
			}
			break
		}
		if particles == 0 && words >= 2 {
			break
		}
	}
	return end, words, role
}

// isMonth reports that the word that ends at i is the name of a month.
func isMonth(t []byte, i int) bool { return RoleOf(t[char.WordStart(t, i):i])&Month != 0 }

// Titled finds the name behind the title t[i:j]. It returns the end of the
// match, or 0.
func Titled(s *match.Text, i, j int) int {
	t := s.Bytes
	if w := string(t[i:j]); w == "MX" || w == "MS" || w == "Miss" && j < len(t) && t[j] == '.' {
		return 0 // a record of name servers; a company; the end of a sentence
	}
	for range 3 {
		if j = titleEnd(t, j); j >= len(t) || t[j] != ' ' {
			return 0
		}
		// Frau von Hohenberg
		start, _ := skipParticles(t, j+1, 2, func(a, _ int) bool { return char.IsLower(t[a]) })
		a, b := word(t, start)
		if b == a {
			return 0
		}
		r := RoleOf(t[a:b])
		if r&Title != 0 {
			j = b
			continue
		}
		if r&stop != 0 && r&(first|last) == 0 {
			return 0
		}
		end, words, _ := rest(t, b, 2)
		if words == 0 && (start+1 == b || start+2 == b && char.IsUpper(t[start+1])) {
			return 0 // only an initial or an abbreviation
		}
		return s.HitTo(match.Name, j+1, end, 85, "a name behind a title")
	}
	return 0
}

// titleEnd is the end of a title whose word ends at i: the dot of an abbreviation
// belongs to it, and a short ending behind the dot, as in Sig.ra.
func titleEnd(t []byte, i int) int {
	if i >= len(t) || t[i] != '.' {
		return i
	}
	i++
	if end := char.WordEnd(t, i); end-i <= 3 && end < len(t) && t[end] == ' ' {
		return end
	}
	return i
}

// anyParticle accepts each particle of the list.
func anyParticle(_, _ int) bool { return true }

// firstAndLast reads the known first name t[i:j] and what follows it.
func firstAndLast(s *match.Text, i, j int, role Role, shape char.Shape) int {
	t := s.Bytes
	if i > 0 && (t[i-1] == '.' || t[i-1] == '/' || t[i-1] == '_' || t[i-1] == '@' || t[i-1] == '#' || t[i-1] == '$' || t[i-1] == '-' && i > 1 && char.IsWord(t[i-2])) {
		return 0
	}
	if j < len(t) && (t[j] == '-' || t[j] == '\'') {
		_, full := word(t, i)
		if full <= j || t[j] == '\'' && RoleOf(t[i:full])&first == 0 {
			return 0
		}
		if t[j] == '-' && RoleOf(t[j+1:full])&(first|ambiguous) == first {
			role &^= ambiguous // Jean-Pierre
		}
		j = full
	}
	if before := char.WordStart(t, max(0, i-1)); i > 0 && t[i-1] == ' ' && RoleOf(t[before:i-1])&saint != 0 {
		return 0 // São Paulo
	}
	end, words, lastRole := rest(t, j, 3)
	capitals, sureName := shape == char.HasUpper, role&ambiguous == 0
	switch {
	case words > 0 && lastRole&last != 0 && lastRole&ambiguous == 0:
		sure := uint8(90)
		if !sureName {
			sure = 75
		}
		if capitals {
			sure = 70
		}
		return s.HitTo(match.Name, i, end, sure, "a first name and a surname of the lists")
	case words > 0 && lastRole&last != 0 && !capitals && !sureName:
		return s.HitTo(match.Name, i, end, 45, "words that can be a first name and a surname")
	case words > 0 && sureName && !capitals:
		sure := uint8(60)
		switch {
		case lastRole&(first|last) != 0:
			sure = 62
		case isAllCapitals(t[j+1 : end]):
			sure = 35
		case capitalFollows(t, end):
			sure = 40
		}
		return s.HitTo(match.Name, i, end, sure, "a first name of the list and a word with a capital")
	case sureName && !capitals && s.Before(i)&match.AboutGreeting != 0 && behindGreeting(s, i):
		return s.HitTo(match.Name, i, j, 65, "a first name behind a greeting")
	}
	s.Hit(match.Name, i, j, 30, "only a first name")
	return 0
}

// behindGreeting reports that the word in front of i is a greeting.
func behindGreeting(s *match.Text, i int) bool {
	t := s.Bytes
	k := i
	for k > 0 && (t[k-1] == ' ' || t[k-1] == ',' || t[k-1] == '\n' || t[k-1] == '\r') && i-k < 4 {
		k--
	}
	_, context := match.ReadLabel(t[char.WordStart(t, k):k])
	return context&match.AboutGreeting != 0
}

func isAllCapitals(w []byte) bool {
	n := 0
	for _, c := range w {
		if char.IsLower(c) || c >= 0x80 {
			return false
		}
		if char.IsUpper(c) {
			n++
		}
	}
	return n > 1
}

// capitalFollows reports that the next word has a capital too: the words are a
// headline or the name of a thing.
func capitalFollows(t []byte, i int) bool {
	if i >= len(t) || t[i] != ' ' {
		return false
	}
	_, b := word(t, i+1)
	return b > i+2
}

// BeforeAddress finds the name in front of a mail address in angle brackets that
// begins at start: Jane Roe <jane@example.org>.
func BeforeAddress(s *match.Text, start int) {
	t := s.Bytes
	if start < 4 || t[start-1] != '<' || !s.Wants(match.Name) {
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
			if b < 2 || t[b-1] != ' ' {
				break
			}
			b--
			if b > 1 && (t[b-1] == ',' || t[b-1] == '.') {
				b--
			}
		}
		c := b
		for c > limit && (char.IsLetter(t[c-1]) || (t[c-1] == '-' || t[c-1] == '\'') && c < b) {
			c--
		}
		if c == b || c == limit && c > 0 || c > 0 && (char.IsDigit(t[c-1]) || t[c-1] == '_' || t[c-1] == '@' || t[c-1] == ':') {
			break
		}
		if !(char.IsUpper(t[c]) || t[c] >= 0x80) || RoleOf(t[c:b])&(stop|Title) != 0 {
			break
		}
		a = c
		words++
	}
	if words >= 2 || words == 1 && RoleOf(t[a:end])&(first|last) != 0 {
		s.Hit(match.Name, a, end, 80, "the name in front of an address")
	}
}
