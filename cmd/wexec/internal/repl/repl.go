// Package repl finds where a program ends that is entered line by line: at the
// first line after which no bracket, string or block is open.
package repl

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/wexec/wexec/engine"
)

// Reader puts lines together into programs.
type Reader struct {
	Language string // of the engine
	// Line returns the next line, without its end, or io.EOF. It is told whether
	// the line continues a program.
	Line func(continues bool) (string, error)
	// Typed is set if a person types the lines: an empty line then ends a block,
	// and two end any program. In a file, a block ends before the first line that
	// is not indented.
	Typed bool

	ahead *string // a line that was read too far
}

// Next returns the next program, or the error of Line.
func (r *Reader) Next() (string, error) {
	text := ""
	for {
		line, err := r.line(text != "")
		if errors.Is(err, io.EOF) && text != "" {
			return text, nil
		}
		if err != nil {
			return "", err
		}
		empty := strings.TrimSpace(line) == ""
		switch inBlock := r.Language == engine.Python && startsBlock(text) && !openPython(text); {
		case text == "" && empty:
			continue
		case inBlock && empty && r.Typed:
			return text, nil
		case inBlock && !empty && !continuesBlock(text, line):
			r.ahead = &line
			return text, nil
		}
		text += line + "\n"
		if r.Typed && strings.HasSuffix(text, "\n\n\n") || !r.continues(text) {
			return text, nil
		}
	}
}

func (r *Reader) line(continues bool) (string, error) {
	if r.ahead != nil {
		line := *r.ahead
		r.ahead = nil
		return line, nil
	}
	return r.Line(continues)
}

// continues reports whether a program needs more lines.
func (r *Reader) continues(text string) bool {
	if r.Language == engine.Python {
		return openPython(text) || startsBlock(text)
	}
	return openScript(text)
}

// startsBlock reports whether the last line that is not indented begins a block
// of Python or decorates one.
func startsBlock(text string) bool {
	var head string
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "\t") {
			head = line
		}
	}
	code, _, _ := strings.Cut(head, "#")
	return strings.HasPrefix(head, "@") || strings.HasSuffix(strings.TrimSpace(code), ":")
}

// continuesBlock reports whether a line belongs to a block of Python.
func continuesBlock(text, line string) bool {
	if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") {
		return true
	}
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if strings.HasPrefix(lines[len(lines)-1], "@") { // what is decorated follows
		return true
	}
	word := line[:len(line)-len(strings.TrimLeft(line, "abcdefghijklmnopqrstuvwxyz"))]
	return slices.Contains([]string{"else", "elif", "except", "finally"}, word)
}

// openPython reports whether a bracket or a string of Python is open, or its
// last line is continued.
func openPython(text string) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '#':
			i = endOf(text, i, "\n") - 1
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		case '\\':
			i++
			if strings.TrimSpace(text[min(i, len(text)):]) == "" {
				return true
			}
		case '"', '\'':
			if quotes := strings.Repeat(string(c), 3); strings.HasPrefix(text[i:], quotes) {
				end := closing(text, i+3, quotes)
				if end < 0 {
					return true
				}
				i = end + 2
				continue
			}
			i = quoted(text, i)
		}
	}
	return depth > 0
}

// openScript reports whether a bracket, a comment or a template of JavaScript or
// TypeScript is open.
func openScript(text string) bool {
	var open []byte // brackets; a backquote for a template, $ for an expression in one
	top := func() byte {
		if len(open) == 0 {
			return 0
		}
		return open[len(open)-1]
	}
	pop := func() {
		if len(open) > 0 {
			open = open[:len(open)-1]
		}
	}
	last := byte(0) // character before, without spaces
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case top() == '`' && c == '\\':
			i++
		case top() == '`' && c == '`':
			pop()
		case top() == '`':
			if strings.HasPrefix(text[i:], "${") {
				open = append(open, '$')
				i++
			}
		case strings.HasPrefix(text[i:], "//"):
			i = endOf(text, i, "\n") - 1
			continue
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return true
			}
			i += end + 3
			continue
		case c == '/' && (last == 0 || strings.IndexByte("(,=:[!&|?{};+-*%<>~^", last) >= 0):
			i = pattern(text, i)
		case c == '\'' || c == '"':
			i = quoted(text, i)
		case strings.IndexByte("([{`", c) >= 0:
			open = append(open, c)
		case strings.IndexByte(")]}", c) >= 0:
			pop()
		}
		if c > ' ' {
			last = c
		}
	}
	return len(open) > 0
}

// endOf returns where a mark next begins, or the end of the text.
func endOf(text string, from int, mark string) int {
	if n := strings.Index(text[from:], mark); n >= 0 {
		return from + n
	}
	return len(text)
}

// closing returns where closing quotes begin that are not escaped, or -1.
func closing(text string, from int, quotes string) int {
	for i := from; i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case strings.HasPrefix(text[i:], quotes):
			return i
		}
	}
	return -1
}

// quoted returns the place of the last character of a string that begins at a
// place. It ends with its line, unless the line end is escaped.
func quoted(text string, at int) int {
	for i := at + 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '\n', text[at]:
			return i
		}
	}
	return len(text)
}

// pattern returns the place of the last character of a regular expression that
// begins at a place.
func pattern(text string, at int) int {
	class := false
	for i := at + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		case c == '\n' || c == '/' && !class:
			return i
		}
	}
	return len(text)
}
