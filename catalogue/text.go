package catalogue

import (
	"strings"
	"unicode"

	"github.com/wexec/wexec/internal/text"
)

// Summary shortens a text to its first sentences, at most n bytes. A sentence
// that is cut ends with an ellipsis.
func Summary(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= n {
		return s
	}
	cut := text.Prefix(s, n)
	for _, end := range []string{". ", "! ", "? ", "; "} {
		if i := strings.LastIndex(cut, end); i >= n/3 {
			return strings.TrimRight(cut[:i+1], ";")
		}
	}
	if i := strings.LastIndexByte(cut, ' '); i > n/2 {
		cut = cut[:i]
	}
	return strings.TrimRight(cut, " ,:") + text.Ellipsis
}

// oneLine makes a text safe in a comment: one line, no end of comment, no
// control characters (the parser of Python rejects NUL).
func oneLine(s string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text.OneLine(s), "*/", "* /"), `"""`, `'''`)
}

// invisible reports whether a character in a name or a value must be escaped,
// so that people and models can see it.
func invisible(r rune) bool {
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == 0x2028 || r == 0x2029
}
