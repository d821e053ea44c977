package main

import (
	"strings"
	"unicode/utf8"
)

// The lines around a wrapped program. The name serves to find the function
// again; programs do not use it.
const (
	wrapName  = "wexec$program$body"
	wrapOpen  = "async function " + wrapName + "() {\n"
	wrapClose = "\n}"
)

// wrap wraps a program in an async function, except for its leading
// imports. It returns the line, from 1, at which the function starts in the
// result, and by how many lines the code after it moved.
func wrap(code string) (wrapped string, line, moved int) {
	at := leading(code)
	line, moved = strings.Count(code[:at], "\n")+1, 1
	before, pad := code[:at], ""
	if column := at - lineStart(code, at); column > 0 {
		// In the middle of a line: the rest of the line keeps its columns.
		before, pad = before+"\n", strings.Repeat(" ", utf8.RuneCountInString(code[at-column:at]))
		line, moved = line+1, 2
	}
	return before + wrapOpen + pad + code[at:] + wrapClose, line, moved
}

// unwrap extracts the program again. It returns the line, from 1, that is removed
// from the output.
func unwrap(code string) (body string, line int, ok bool) {
	begin := strings.Index(code, wrapOpen)
	if begin < 0 || begin > 0 && code[begin-1] != '\n' {
		return "", 0, false
	}
	rest := code[begin+len(wrapOpen):]
	end := strings.LastIndex(rest, "}\n")
	if end < 0 || end > 0 && rest[end-1] != '\n' || strings.TrimSpace(rest[end+2:]) != "" {
		return "", 0, false
	}
	return code[:begin] + rest[:end], strings.Count(code[:begin], "\n") + 1, true
}

// leading returns the offset after a hashbang, comments and imports. It
// only has to be right for valid programs; in others the compiler finds the
// error.
func leading(code string) int {
	at := 0 // the end of the last import, including the line end if nothing follows
	for p := 0; p < len(code); {
		rest := code[p:]
		trimmed := strings.TrimLeft(rest, " \t\r\n;")
		p += len(rest) - len(trimmed)
		switch {
		case strings.HasPrefix(trimmed, "//"):
			p = lineEnd(code, p)
		case p == 0 && strings.HasPrefix(trimmed, "#!"):
			p = lineEnd(code, p)
			at = p // a hashbang is valid only at the very start
		case strings.HasPrefix(trimmed, "/*"):
			n := strings.Index(trimmed[2:], "*/")
			if n < 0 {
				return at
			}
			p += n + 4
		case importing(trimmed):
			end := importEnd(code, p)
			if end < 0 {
				return at
			}
			p = end
			at = p
			for at < len(code) && strings.IndexByte(" \t;\r", code[at]) >= 0 {
				at++
			}
			if at < len(code) && code[at] == '\n' {
				at++
			}
		default:
			return at
		}
	}
	return at
}

// importing reports whether a text starts with an import declaration, which
// import(…) and import.meta are not.
func importing(s string) bool {
	rest, ok := strings.CutPrefix(s, "import")
	if !ok || rest == "" {
		return false
	}
	return strings.ContainsRune(" \t\r\n{*\"'", rune(rest[0])) && !strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), "(")
}

// importEnd returns the end of the declaration that starts at p: after the name of
// its module and its attributes, if any.
func importEnd(code string, p int) int {
	for ; p < len(code); p++ {
		if q := code[p]; q == '"' || q == '\'' {
			n := strings.IndexByte(code[p+1:], q)
			if n < 0 {
				return -1
			}
			p += n + 2
			after := strings.TrimLeft(code[p:], " \t")
			if strings.HasPrefix(after, "with") {
				if n := strings.IndexByte(code[p:], '}'); n >= 0 {
					p += n + 1
				}
			}
			return p
		}
	}
	return -1
}

func lineEnd(s string, p int) int {
	if n := strings.IndexByte(s[p:], '\n'); n >= 0 {
		return p + n + 1
	}
	return len(s)
}

func lineStart(s string, p int) int { return strings.LastIndexByte(s[:p], '\n') + 1 }
