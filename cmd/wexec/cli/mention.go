package cli

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode/utf8"
)

// mention is a tool that a program names. It is sure where it stands under
// tools; else it may be something of the program's own.
type mention struct {
	server, tool string
	line, column int
	sure         bool
}

// mentionsOf reads what the Python guest found: it knows its own syntax.
func mentionsOf(value json.RawMessage) []mention {
	var rows [][5]any
	if json.Unmarshal(value, &rows) != nil {
		return nil
	}
	var out []mention
	for _, row := range rows {
		server, _ := row[0].(string)
		tool, _ := row[1].(string)
		line, _ := row[2].(float64)
		column, _ := row[3].(float64)
		sure, _ := row[4].(bool)
		if server != "" && tool != "" {
			out = append(out, mention{server, tool, int(line), int(column), sure})
		}
	}
	return out
}

// mentions finds the tools that are written out in JavaScript or TypeScript.
// It looks at words and not at syntax, which only the guest may parse.
func mentions(code string) []mention {
	plain := withoutText(code)
	call := regexp.MustCompile(`(?:\btools\s*\??\.\s*)?\b([A-Za-z_$][\w$]*)\s*\??\.\s*([A-Za-z_$][\w$]*)\s*\(`)
	var out []mention
	own := ownNames(plain)
	line, at := 1, 0
	for _, m := range call.FindAllStringSubmatchIndex(plain, -1) {
		server, tool := plain[m[2]:m[3]], plain[m[4]:m[5]]
		sure := strings.HasPrefix(plain[m[0]:], "tools") && m[0] != m[2]
		before := strings.TrimRight(plain[:m[0]], " \t\r\n?")
		if server == "tools" || strings.HasSuffix(before, ".") && !strings.HasSuffix(before, "...") || !sure && own[server] {
			continue
		}
		line, at = line+strings.Count(plain[at:m[0]], "\n"), m[0]
		start := strings.LastIndexByte(plain[:m[0]], '\n') + 1
		out = append(out, mention{server, tool, line, 1 + utf8.RuneCountInString(code[start:m[0]]), sure})
	}
	return out
}

// ownNames are the names that a program declares itself, or seems to: plain and
// in patterns, and as parameters. What it names twice is taken for its own, as
// a false alarm is worse than a mistake that the run will tell.
func ownNames(plain string) map[string]bool {
	const name = `[A-Za-z_$][\w$]*`
	own := map[string]bool{}
	for _, declares := range []string{
		`\b(?:const|let|var|function|class|import)\s+(` + name + `)`,
		`\b(?:const|let|var|import)\s*([{\[][^=;]*?[}\]])\s*(?:=|from\b|of\b)`,
		`\bfunction\b[^()]*\(([^()]*)\)`,
		`\(([^()]*)\)\s*=>`,
		`(` + name + `)\s*=>`,
		`\bcatch\s*\(([^()]*)\)`,
	} {
		for _, m := range regexp.MustCompile(declares).FindAllStringSubmatch(plain, -1) {
			for _, n := range regexp.MustCompile(name).FindAllString(m[1], -1) {
				own[n] = true
			}
		}
	}
	return own
}

// withoutText is a program with comments and the insides of strings and regular
// expressions blanked: every byte keeps its place. What stands in ${} of a template is code.
func withoutText(code string) string {
	out := []byte(code)
	blank := func(from, to int) {
		for i := from; i < to && i < len(out); i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	var open []int // braces that are open in each ${} that is open
	for i := 0; i < len(code); i++ {
		c := code[i]
		switch {
		case strings.HasPrefix(code[i:], "//"), i == 0 && strings.HasPrefix(code, "#!"):
			end := i + strings.IndexByte(code[i:]+"\n", '\n')
			blank(i, end)
			i = end - 1
		case strings.HasPrefix(code[i:], "/*"):
			end := len(code)
			if n := strings.Index(code[i+2:], "*/"); n >= 0 {
				end = i + 2 + n + 2
			}
			blank(i, end)
			i = end - 1
		case c == '/' && beginsExpression(string(out[max(0, i-64):i])):
			end := patternEnd(code, i+1)
			blank(i+1, end)
			i = end
		case c == '"' || c == '\'':
			end := stringEnd(code, i+1, c)
			blank(i+1, end)
			i = end
		case c == '`', c == '}' && len(open) > 0 && open[len(open)-1] == 0:
			if c == '}' {
				open = open[:len(open)-1]
			}
			end, code := templateEnd(code, i+1)
			blank(i+1, end)
			if i = end; code {
				i++ // the brace of ${
				open = append(open, 0)
			}
		case len(open) > 0 && c == '{':
			open[len(open)-1]++
		case len(open) > 0 && c == '}':
			open[len(open)-1]--
		}
	}
	return string(out)
}

// beginsExpression reports whether what follows some code begins an expression,
// so that a slash there begins a regular expression and divides nothing.
func beginsExpression(before string) bool {
	before = strings.TrimRight(before, " \t\r\n")
	if before == "" || strings.ContainsRune("(,=:[!&|?{;+-*%~^<>}", rune(before[len(before)-1])) {
		return true
	}
	for _, word := range []string{"return", "typeof", "case", "in", "of", "await", "yield", "void", "delete", "do", "else"} {
		if rest, ok := strings.CutSuffix(before, word); ok && (rest == "" || !isWord(rest[len(rest)-1])) {
			return true
		}
	}
	return false
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// patternEnd is where a regular expression ends: at its slash, or with its line.
func patternEnd(code string, i int) int {
	for class := false; i < len(code); i++ {
		switch c := code[i]; {
		case c == '\n' || c == '/' && !class:
			return i
		case c == '\\':
			i++
		case c == '[':
			class = true
		case c == ']':
			class = false
		}
	}
	return len(code)
}

// stringEnd is where a string ends: at its quote, or with its line.
func stringEnd(code string, i int, quote byte) int {
	for ; i < len(code); i++ {
		switch code[i] {
		case '\\':
			i++
		case quote, '\n':
			return i
		}
	}
	return len(code)
}

// templateEnd is where the text of a template ends, and whether code follows.
func templateEnd(code string, i int) (end int, follows bool) {
	for ; i < len(code); i++ {
		switch {
		case code[i] == '\\':
			i++
		case code[i] == '`':
			return i, false
		case strings.HasPrefix(code[i:], "${"):
			return i, true
		}
	}
	return len(code), false
}
