package names

import (
	_ "embed"
	"strings"
	"sync"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/dates"
)

// Role is a set of bits: what a word can be in a name.
type Role uint16

// The bits of a Role.
const (
	first     Role = 1 << iota
	last           // a surname
	ambiguous      // an ordinary word too: Mark, Rose, Grace
	Title          // Mr, Frau
	stop           // begins sentences, or names things
	particle       // von, de la
	Month          // March, avril
	legalForm      // Inc, GmbH: the name is that of a company
	nobody         // unknown, n/a: the whole value says that there is no name
)

// roleNames are the names of roles in words.txt.
var roleNames = map[string]Role{"first": first, "last": last, "ambiguous": ambiguous, "title": Title, "stop": stop, "particle": particle, "company": legalForm, "nobody": nobody}

//go:embed words.txt
var words string

var roles = sync.OnceValue(func() map[string]Role {
	m := make(map[string]Role, 2400)
	var role Role
	var sure []string // plain first names
	for line := range strings.Lines(words) {
		switch line[0] {
		case '#':
		case '[':
			role = 0
			for name := range strings.FieldsSeq(strings.Trim(line, "[]\n")) {
				role |= roleNames[name]
			}
		default:
			for w := range strings.FieldsSeq(line) {
				m[w] |= role
				if role == first {
					sure = append(sure, w)
				}
			}
		}
	}
	for w := range strings.FieldsSeq(dates.Months) {
		m[w] |= Month
	}
	// A plain first name is not ambiguous, even if it is in another list.
	for _, w := range sure {
		m[w] &^= stop | ambiguous
	}
	return m
})

// RoleOf is what a word of up to 24 bytes can be in a name.
func RoleOf(word []byte) Role {
	var store [24]byte
	lower := char.Lower(&store, word)
	for _, c := range lower {
		if c >= 0x80 {
			return roles()[strings.ToLower(string(word))]
		}
	}
	return roles()[string(lower)]
}

// Ordinary reports a single word that is rarely a name outside of fields for names.
func Ordinary(name string) bool { return RoleOf([]byte(name))&stop != 0 }
