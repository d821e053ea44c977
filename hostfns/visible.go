package hostfns

import (
	"fmt"
	"strings"
	"unicode"
)

// Visible writes text so that a person sees what is in it: control characters,
// characters that turn the direction of writing and characters that are not
// seen at all stand as \u{…}. Line breaks stay where lines is true.
func Visible(s string, lines bool) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' && lines:
			b.WriteByte('\n')
		case r == '\t' && lines:
			b.WriteByte('\t')
		case r == unicode.ReplacementChar, unicode.IsControl(r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r),
			unicode.Is(unicode.Co, r), unicode.Is(unicode.Cs, r), unicode.Is(unicode.Variation_Selector, r),
			r == 0x115f, r == 0x1160, r == 0x3164, r == 0xffa0, r == 0x2800, // blank letters
			r != ' ' && unicode.Is(unicode.Zs, r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
