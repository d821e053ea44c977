package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Identifier converts the name of a server or tool to an identifier of JavaScript
// and Python: compatibility forms are folded, characters other than letters,
// digits and underscores become underscores, and a leading digit gets one.
// Reserved words are kept; see [PythonName].
func Identifier(name string) string {
	var b strings.Builder
	gap := false
	for _, r := range norm.NFKC.String(name) {
		switch {
		case opens(r) || (b.Len() > 0 && continues(r)):
			if gap {
				b.WriteByte('_')
				gap = false
			}
			b.WriteRune(r)
		case unicode.Is(unicode.Nd, r):
			b.WriteByte('_')
			b.WriteRune(r)
			gap = false
		default:
			gap = true
		}
	}
	if gap || b.Len() == 0 {
		b.WriteByte('_')
	}
	// A letter and a mark that a gap separated may compose now.
	return norm.NFKC.String(b.String())
}

// opens reports whether an identifier of both languages may start with r, which
// must be in its compatibility form.
func opens(r rune) bool { return r == '_' || unicode.IsLetter(r) && r != verticalTilde }

// continues reports whether r may follow in an identifier. Enclosing marks, such
// as U+20DD, may not.
func continues(r rune) bool { return opens(r) || unicode.In(r, unicode.Nd, unicode.Mn, unicode.Mc) }

// verticalTilde is a letter that programming languages treat as punctuation.
const verticalTilde = '\u2e2f'

// PythonName returns an identifier for Python: keywords get an underscore.
func PythonName(identifier string) string {
	if pythonKeywords[identifier] {
		return identifier + "_"
	}
	return identifier
}

var pythonKeywords = map[string]bool{
	"False": true, "None": true, "True": true, "and": true, "as": true, "assert": true, "async": true,
	"await": true, "break": true, "class": true, "continue": true, "def": true, "del": true, "elif": true,
	"else": true, "except": true, "finally": true, "for": true, "from": true, "global": true, "if": true,
	"import": true, "in": true, "is": true, "lambda": true, "nonlocal": true, "not": true, "or": true,
	"pass": true, "raise": true, "return": true, "try": true, "while": true, "with": true, "yield": true,
}

// fold maps the camelCase and snake_case spellings of a name to the same text.
func fold(name string) string {
	return strings.ToLower(strings.ReplaceAll(Identifier(name), "_", ""))
}

// assign returns the identifier of each name. It depends only on the set of
// names. If several have the same identifier, the name that equals it keeps it;
// the others get an underscore and hex digits of their SHA-256.
func assign(names []string) map[string]string {
	groups := map[string][]string{}
	for _, n := range names {
		id := Identifier(n)
		groups[id] = append(groups[id], n)
	}
	taken := map[string]bool{}
	for id := range groups {
		taken[id] = true
	}
	out := make(map[string]string, len(names))
	for id, group := range groups {
		if len(group) == 1 {
			out[group[0]] = id
			continue
		}
		for digits := 4; ; digits += 4 {
			if given, ok := suffixed(id, group, digits, taken); ok {
				for n, ident := range given {
					out[n] = ident
				}
				break
			}
		}
	}
	return out
}

// suffixed distinguishes a group of names by a number of hex digits. It returns
// false if that is not enough.
func suffixed(id string, group []string, digits int, taken map[string]bool) (map[string]string, bool) {
	given := map[string]string{}
	seen := map[string]bool{}
	for _, n := range group {
		if n == id {
			given[n] = id
			continue
		}
		sum := sha256.Sum256([]byte(n))
		ident := id + "_" + hex.EncodeToString(sum[:])[:digits]
		if digits < 64 && (seen[ident] || taken[ident]) {
			return nil, false
		}
		seen[ident] = true
		given[n] = ident
	}
	return given, true
}
