package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Identifier turns the name of a server or tool into one that is valid in
// JavaScript and Python: compatibility forms are folded, everything that is
// neither letter, digit nor underscore becomes an underscore, and a leading
// digit gains one. Reserved words are left alone; see [PythonName].
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
	// NFKC once more: a letter and a mark that a gap had kept apart may compose.
	return norm.NFKC.String(b.String())
}

// opens reports whether an identifier of both languages may begin with r, which
// is in its compatibility form.
func opens(r rune) bool { return r == '_' || unicode.IsLetter(r) && r != verticalTilde }

// continues reports whether r may stand in one behind its first letter.
// Enclosing marks, as U+20DD, may not.
func continues(r rune) bool { return opens(r) || unicode.In(r, unicode.Nd, unicode.Mn, unicode.Mc) }

// verticalTilde is the one letter that counts as punctuation in programs.
const verticalTilde = '\u2e2f'

// PythonName is an identifier as Python code writes it: keywords gain an
// underscore.
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

// fold is what camelCase and snake_case spellings of a name have in common.
func fold(name string) string {
	return strings.ToLower(strings.ReplaceAll(Identifier(name), "_", ""))
}

// assign gives each name its identifier. The outcome depends on the set of
// names alone. Where several share an identifier the one that is spelled so
// keeps it, and every other gains an underscore and digits of its own digest.
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

// suffixed tries to tell a group of names apart by a number of hex digits.
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
