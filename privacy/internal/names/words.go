package names

import (
	_ "embed"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/internal/nametable"
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
	listed         // ambiguous, and only in the lists of names
	saint          // San, Sint: begins the names of places
	legalForm      // Inc, GmbH: the name is that of a company
	nobody         // unknown, n/a: the whole value says that there is no name
)

// roleNames are the names of roles in words.txt.
var roleNames = map[string]Role{"first": first, "last": last, "ambiguous": ambiguous, "title": Title, "stop": stop, "particle": particle, "company": legalForm, "nobody": nobody, "saint": saint}

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

// nameTable has the names of many lists, see namegen.
//
//go:generate go run ../../../internal/tools/namegen
//go:embed names.bin
var nameTable string

// RoleOf is what a word can be in a name. The words of words.txt are decided there.
func RoleOf(word []byte) Role {
	var store [nametable.MaxName]byte
	lower := fold(&store, word)
	if len(lower) == 0 {
		return 0
	}
	if role, ok := roles()[string(lower)]; ok {
		return role
	}
	inTable := nametable.Lookup(nameTable, lower)
	if inTable == 0 {
		return 0
	}
	// A weak role does not make a sure one ambiguous.
	switch sure := inTable &^ (inTable >> 2); sure & (nametable.First | nametable.Last) {
	case 0:
		return tableRoles[inTable&3] | ambiguous | listed
	default:
		return tableRoles[sure&3]
	}
}

// tableRoles are the roles of the lowest two bits in nameTable.
var tableRoles = [4]Role{0, first, last, first | last}

// fold writes a word in small letters into store. It is empty for words that are
// longer than store.
func fold(store *[nametable.MaxName]byte, word []byte) []byte {
	if len(word) > len(store) {
		return nil
	}
	for i, c := range word {
		if c >= utf8.RuneSelf {
			return foldRunes(store, word)
		}
		if char.IsUpper(c) {
			c |= 0x20
		}
		store[i] = c
	}
	return store[:len(word)]
}

func foldRunes(store *[nametable.MaxName]byte, word []byte) []byte {
	n := 0
	for len(word) > 0 {
		r, size := utf8.DecodeRune(word)
		if r = unicode.ToLower(r); n+utf8.RuneLen(r) > len(store) {
			return nil
		}
		n += utf8.EncodeRune(store[n:], r)
		word = word[size:]
	}
	return store[:n]
}

// Ordinary reports a single word that is rarely a name outside of fields for names:
// Price, or grace in small letters.
func Ordinary(name string) bool {
	role := RoleOf([]byte(name))
	return role&stop != 0 || role&ambiguous != 0 && name != "" && char.IsLower(name[0])
}
