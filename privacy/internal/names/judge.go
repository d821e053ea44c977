package names

import (
	"bytes"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/match"
)

// reading is what the words of a name are.
type reading struct {
	words, known, surnames, stops int
	ambiguous                     Role // the roles of ambiguous words
	leads                         bool // the first word is a first name or a title
	end                           int  // of the last word
}

// read reads up to six words that can be a name.
func read(v []byte) reading {
	var n reading
	pos := 0
	for n.words < 6 && pos < len(v) {
		a, b := word(v, pos)
		if next, particles := skipParticles(v, pos, 3, anyParticle); particles > 0 && (n.words > 0 || char.IsUpper(v[pos]) || startsName(v, next)) {
			if n.words == 0 {
				n.ambiguous |= last // van den Berg
				n.words++
			}
			if a, b = word(v, next); b == a && char.IsUpper(v[pos]) {
				a, b = next, char.WordEnd(v, next) // Le roux
			}
		}
		if b == a {
			break
		}
		role := RoleOf(v[a:b])
		if b-a == 1 {
			role = 0 // an initial
		}
		switch {
		case role&Title != 0 && n.words == 0:
			if at := titleEnd(v, b); at < len(v) && v[at] == ' ' {
				pos = at + 1
				n.known++
				n.leads = true
				continue
			}
		case role&listed != 0:
		case role&ambiguous != 0 && role&(first|last) != 0:
			if n.words == 0 {
				n.ambiguous |= role & first
			} else {
				n.ambiguous |= role & last
			}
		case role&stop != 0:
			n.stops++
		case role&first != 0:
			n.known++
			n.leads = n.leads || n.words == 0
		case role&last != 0:
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

// startsName reports a capital at i: what follows particles is a surname.
func startsName(v []byte, i int) bool {
	_, end := word(v, i)
	return end > i
}

// anyNamed judges the whole value of a field that is named for names: any text
// is a name there, except for words that say that there is none, types of data,
// companies and numbers.
func anyNamed(v []byte) bool {
	if len(v) > maxNamed || bytes.ContainsAny(v, "{}<>=@/\\") {
		return false
	}
	letters, words, company := 0, 0, false
	for i := 0; i < len(v); {
		j := char.WordEnd(v, i)
		if j == i {
			i++
			continue
		}
		for ; i < j; i++ {
			if char.IsLetter(v[i]) {
				letters++
			}
		}
		words++
		company = company || words > 1 && RoleOf(v[char.WordStart(v, j):j])&legalForm != 0
	}
	return letters > char.CountDigits(v) && words <= maxNamedWords && !company && RoleOf(v)&nobody == 0
}

// Bounds of a value that is a name by its field.
const (
	maxNamed      = 100
	maxNamedWords = 8
)

// Judge judges a value that is labeled as a name. A weak label, such as
// "customer", also names things. whole: v is the whole value of its field.
func Judge(s *match.Text, label match.Label, context match.Context, v []byte, whole bool) (end int, sure uint8, why string) {
	if whole && !label.Weak {
		if !anyNamed(v) {
			return 0, 0, ""
		}
		return len(v), 90, "a field for names"
	}
	if smallWordEnd(v, 0) > 0 && !char.IsUpperRune(v) {
		if end, sure, why = judgeSmall(s, label, v, whole); sure > 0 {
			return end, sure, why
		}
	}
	r := read(v)
	complete := r.end == len(v) || r.end == len(v)-1 && v[r.end] == '.'
	someKnown := r.known+r.surnames > 0 || r.ambiguous != 0
	switch {
	case r.words == 0 || r.words > 5 || r.stops > 0, whole && !complete:
		return 0, 0, ""
	case !whole && !complete && r.end < len(v) && (char.IsWord(v[r.end]) || v[r.end] == '(' || v[r.end] == '/' || v[r.end] == ':'):
		return 0, 0, ""
	case !whole && r.words == 1 && !someKnown && r.end+1 < len(v) && v[r.end] == ' ' && char.IsLower(v[r.end+1]):
		return 0, 0, "" // the first word of a sentence
	}
	if end = r.end; whole {
		end = len(v)
	}
	inRecord := whole && s.Field != nil && s.Field.Person
	switch {
	case !label.Weak && (r.words >= 2 || someKnown || context&match.AboutName != 0):
		return end, 82, "labeled as a name"
	case !label.Weak:
		return 0, 0, ""
	case r.words >= 2 && r.known > 0 && (r.leads || r.surnames > 0):
		return end, 80, "a label for persons, and a first name of the list"
	case r.words >= 2 && r.surnames > 0:
		return end, 65, "a label for persons, and a surname of the list"
	case r.words == 2 && r.ambiguous == first|last:
		return end, 60, "a label for persons, and words that can be names"
	case r.words >= 2 && !whole && complete && context&match.AboutNameLabel != 0 && (isAllCapitals(v[:r.end]) || !isAllCapitals(lastWord(v[:r.end]))):
		return end, 55, "behind the word Name"
	case r.words >= 2 && inRecord:
		return end, 75, "a name in the record of a person"
	case r.words == 1 && inRecord && someKnown:
		return end, 65, "a name in the record of a person"
	}
	return 0, 0, ""
}

func lastWord(v []byte) []byte { return v[bytes.LastIndexByte(v, ' ')+1:] }
