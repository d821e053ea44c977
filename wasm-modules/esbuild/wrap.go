package main

import (
	"strings"
	"unicode/utf8"
)

// The lines round a program in its function. The name is only there to be found
// again; it is no word that programs use.
const (
	wrapName  = "wexec$program$body"
	wrapOpen  = "async function " + wrapName + "() {\n"
	wrapClose = "\n}"
)

// wrap puts a program into an async function, but for the imports it begins
// with. It gives the line, from 1, that the function begins with in what it
// makes, and by how many lines what follows has moved.
func wrap(code string) (wrapped string, line, moved int) {
	at := leading(code)
	line, moved = strings.Count(code[:at], "\n")+1, 1
	before, pad := code[:at], ""
	if column := at - lineStart(code, at); column > 0 {
		// In the middle of a line: the rest of it keeps its columns.
		before, pad = before+"\n", strings.Repeat(" ", utf8.RuneCountInString(code[at-column:at]))
		line, moved = line+1, 2
	}
	return before + wrapOpen + pad + code[at:] + wrapClose, line, moved
}

// unwrap takes the program out again. It gives the line, from 1, that is gone
// from what came out.
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

// leading is where a program goes on after a hashbang, comments and imports. It
// only has to be right for programs that are; of others the compiler finds the
// fault.
func leading(code string) int {
	at := 0 // the end of the last import, with its line where nothing follows
	for p := 0; p < len(code); {
		rest := code[p:]
		trimmed := strings.TrimLeft(rest, " \t\r\n;")
		p += len(rest) - len(trimmed)
		switch {
		case strings.HasPrefix(trimmed, "//"):
			p = lineEnd(code, p)
		case p == 0 && strings.HasPrefix(trimmed, "#!"):
			p = lineEnd(code, p)
			at = p // a hashbang is one at the very beginning alone
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

// importing reports whether a text begins with an import declaration, which
// import(…) and import.meta are not.
func importing(s string) bool {
	rest, ok := strings.CutPrefix(s, "import")
	if !ok || rest == "" {
		return false
	}
	return strings.ContainsRune(" \t\r\n{*\"'", rune(rest[0])) && !strings.HasPrefix(strings.TrimLeft(rest, " \t\r\n"), "(")
}

// importEnd is where the declaration ends that begins at p: after the name of
// its module, and attributes where it has them.
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
