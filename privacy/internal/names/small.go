package names

import (
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/match"
)

// maxSmallWords bounds a name in small letters, without its particles.
const maxSmallWords = 4

// smallReading is what the words of a value in small letters are: a name has no
// capitals that would show where it ends, so that the lists decide.
type smallReading struct {
	words, known int // without particles
	sure         int // known words that are hardly ever anything else
	particles    int
	leads        bool
	pair         int // the end of a sure first name and a surname at the start, or 0
	end          int // of the last word
	complete     bool
}

// readSmall reads the words of v up to a sign that ends the value.
func readSmall(v []byte) smallReading {
	var r smallReading
	comma := false
	for i := 0; i < len(v); {
		j := smallWordEnd(v, i)
		if j == i || r.words == maxSmallWords || r.particles > 3 {
			return r
		}
		role := RoleOf(v[i:j])
		known := role&(first|last) != 0
		behindFirst := r.words == 1 && r.leads && r.sure == 1
		switch {
		case role&particle != 0 && j+1 < len(v) && v[j] == ' ':
			r.particles++
		case role&saint != 0, !known && role != 0:
			return r // a place, or a word that no name has
		case comma && (role&first == 0 || role&ambiguous != 0):
			r.complete = true // an apposition: hans meier, born in Bonn
			return r
		default:
			r.words++
			if known {
				r.known++
			}
			if known && role&ambiguous == 0 {
				r.sure++
			}
			r.leads = r.leads || r.words == 1 && role&first != 0 && role&stop == 0
			if behindFirst && known {
				r.pair = j
			}
			r.end = j
		}
		if comma = j < len(v) && v[j] == ',' && r.words == 1; comma {
			j++
		}
		switch {
		case j >= len(v), strings.IndexByte(",;)", v[j]) >= 0, v[j] == ' ' && j+1 < len(v) && strings.IndexByte("(<|-", v[j+1]) >= 0:
			r.complete = r.end == j
			return r
		case v[j] != ' ':
			return r
		}
		i = j + 1
	}
	return r
}

// smallWordEnd is the end of the word at i, of small letters with hyphens and
// apostrophes between them. It is i if there is none.
func smallWordEnd(v []byte, i int) int {
	j := i
	for j < len(v) && j-i < 40 && (char.IsLower(v[j]) || v[j] >= 0x80 || (v[j] == '-' || v[j] == '\'') && j > i && j+1 < len(v) && (char.IsLower(v[j+1]) || v[j+1] >= 0x80)) {
		j++
	}
	return j
}

// judgeSmall is Judge for a value that begins with a small letter.
func judgeSmall(s *match.Text, label match.Label, v []byte, whole bool) (end int, sure uint8, why string) {
	r := readSmall(v)
	inRecord := whole && s.Field != nil && s.Field.Person
	named := r.words > 1 && r.sure > 0 && (r.known == r.words || r.leads && r.words == 2)
	switch {
	case whole && !(r.complete && r.end == len(v)):
		return 0, 0, ""
	case !r.complete && r.pair > 0:
		return r.pair, 60, "labeled, a first name and a surname of the lists in small letters"
	case !r.complete:
		return 0, 0, ""
	case !label.Weak && (r.sure > 0 || r.known > 1 || r.known > 0 && r.particles > 0):
		return r.end, 75, "labeled as a name, and a name of the lists in small letters"
	case label.Weak && named:
		return r.end, 65, "a label for persons, and a name of the lists in small letters"
	case label.Weak && r.words > 1 && r.particles > 0 && r.leads:
		return r.end, 60, "a label for persons, a first name and a particle"
	case inRecord && (r.leads || r.words+r.particles > 1 && r.known > 0):
		return r.end, 65, "a name in the record of a person"
	}
	return 0, 0, ""
}
