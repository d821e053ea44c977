package commandline

import (
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"
)

// Present lays out help for a terminal: paragraphs and the right column of lists
// are wrapped at width, headings and the left column are painted. With width 0
// nothing is wrapped, with a nil paint nothing is painted.
func Present(help string, width int, paint func(string) string) string {
	if width > 0 {
		width = max(width, 30)
	}
	if paint == nil {
		paint = func(s string) string { return s }
	}
	var b strings.Builder
	lines := strings.Split(strings.TrimSuffix(help, "\n"), "\n")
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		switch left, right, isRow := cutRow(line); {
		case isRow:
			at := utf8.RuneCountInString(line) - utf8.RuneCountInString(right)
			rows := wrapWords(right, width-at)
			name := strings.TrimLeft(left, " ")
			gap := strings.Repeat(" ", at-utf8.RuneCountInString(left))
			b.WriteString(left[:len(left)-len(name)] + paint(name) + gap + strings.Join(rows, "\n"+strings.Repeat(" ", at)))
		case strings.HasSuffix(line, ":") && !strings.HasPrefix(line, " "):
			b.WriteString(paint(line))
		case width > 0 && line != "" && !strings.HasPrefix(line, " "):
			for i+1 < len(lines) && lines[i+1] != "" && !strings.HasPrefix(lines[i+1], " ") {
				i++
				line += " " + lines[i]
			}
			b.WriteString(strings.Join(wrapWords(line, width), "\n"))
		default:
			b.WriteString(line)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// cutRow cuts an indented line at the last two spaces after its first word into
// the two columns of a list.
func cutRow(line string) (left, right string, ok bool) {
	text := strings.TrimLeft(line, " ")
	at := strings.Index(text, "  ")
	if text == line || at < 0 {
		return "", "", false
	}
	return line[:len(line)-len(text)+at], strings.TrimLeft(text[at:], " "), true
}

// wrapWords breaks a text at spaces into lines of at most width characters. A
// width too small for a column leaves it as it is.
func wrapWords(text string, width int) []string {
	if width < 10 {
		return []string{text}
	}
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines, line = append(lines, line), word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// Void is a set of flags that have no effect with, or without, another flag.
type Void struct {
	Flags         []string
	With, Without string // one of them
	Why           string
}

// VoidFlags explains each flag of a command line that has no effect.
func VoidFlags(ctx *cli.Context, all []Void) []string {
	var out []string
	for _, v := range all {
		form := "with " + Dashed(v.With)
		if v.Without != "" {
			form = "without " + Dashed(v.Without)
		}
		for _, flag := range v.Flags {
			if ctx.IsSet(flag) && (v.With != "" && ctx.IsSet(v.With) || v.Without != "" && !ctx.IsSet(v.Without)) {
				out = append(out, Dashed(flag)+" has no effect "+form+": "+v.Why)
			}
		}
	}
	return out
}
