package guests

import (
	"regexp"
	"strings"
	"sync"
)

// mark is syntax that only some languages have.
type mark struct {
	pattern *regexp.Regexp
	name    string
}

// marks compiles pairs of pattern and name on first use: most
// processes do not guess.
func marks(pairs ...string) func() []mark {
	return sync.OnceValue(func() []mark {
		var all []mark
		for i := 0; i < len(pairs); i += 2 {
			all = append(all, mark{regexp.MustCompile(pairs[i]), pairs[i+1]})
		}
		return all
	})
}

// Marks are matched against lines without strings and comments.
var (
	pythonMarks = marks(
		`^\s*(async\s+)?def\s+\w+\s*\(.*\)\s*(->.*)?:`, "a def",
		`^\s*from\s+[\w.]+\s+import\b`, "from … import",
		`^\s*import\s+[\w.]+(\s+as\s+\w+)?(\s*,\s*[\w.]+)*\s*$`, "import without quotes",
		`^\s*class\s+\w+(\([^)]*\))?\s*:\s*$`, "a class with a colon",
		`^\s*(el)?if\s+[^({].*:\s*$`, "an if with a colon",
		`^\s*(for\s+.+\s+in\s+[^{]+|while\s+[^({].*|with\s+[^({].*|try|except(\s+[\w.() ,]+)?(\s+as\s+\w+)?|else|finally)\s*:\s*$`, "a block with a colon",
		`^\s*print\s*\(`, "print",
		`\bNone\b|\bTrue\b|\bFalse\b`, "None, True or False",
		`\blambda\b[\w\s,*]*:`, "a lambda",
		`[\])\w]\s+for\s+\w+(\s*,\s*\w+)*\s+in\s+`, "a comprehension",
	)
	javascriptMarks = marks(
		`^\s*(export\s+)?(const|let|var)\s+[\w${\[]`, "const, let or var",
		`=>`, "an arrow function",
		`\bfunction\b\s*\*?\s*\w*\s*\(`, "function",
		`===|!==|&&|\|\||\?\.|\?\?`, "an operator of JavaScript",
		`\bconsole\.\w+\(`, "console",
		`\bnew\s+[A-Z]\w*\s*\(`, "new",
		`^\s*(if|for|while|switch)\s*\(.*\)\s*\{`, "a block with braces",
		`^\s*import\s+(.+\s+from\s+)?(""|''|`+"``"+`)`, "import with quotes",
		`^\s*export\s+(default|async|function|class|\{)`, "export",
		`\b(null|undefined|true|false)\b`, "null, undefined, true or false",
		`;\s*$`, "a line that ends in a semicolon",
		`^\s*\}\s*(else|catch|finally)?\b`, "a closing brace",
	)
	typescriptMarks = marks(
		`^\s*(export\s+)?(declare\s+)?interface\s+\w+.*\{`, "an interface",
		`^\s*(export\s+)?type\s+\w+(<.*>)?\s*=`, "a type",
		`^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s+\w+\s*\{`, "an enum",
		`^\s*(export\s+)?(declare\s+)?namespace\s+[\w.]+\s*\{`, "a namespace",
		`\bimport\s+type\b|\bas\s+const\b|\bsatisfies\s+\w`, "keywords of TypeScript",
		`^\s*(const|let|var)\s+(\w+|\{[^}]*\}|\[[^\]]*\])\s*:\s*[\w{\[(]`, "a declared type",
		`[(,]\s*\w+\??\s*:\s*(string|number|boolean|any|unknown|void|never|null|undefined|Record<|Array<|Promise<|Map<|Set<)(\[\])*\s*[\w,)=|<]`, "a typed parameter",
		`\(\s*\w+\??\s*:\s*[A-Z]\w*(\[\])*\s*[,)=|<]`, "a typed parameter",
		`\)\s*:\s*(string|number|boolean|any|unknown|void|never|Promise<|Record<|Array<|[A-Z]\w*)[^?]*(\{|=>)\s*$`, "a typed result",
		`^\s*(public|private|protected|readonly)\s+\w+`, "a member's access",
	)
)

// maxGuess is how many bytes of a program GuessLanguage reads.
const maxGuess = 64 << 10

// GuessLanguage returns the language of a program if it is certain: the program has a
// first line with its interpreter (then why is empty), or syntax of one
// language only (then why names the first mark). A program is TypeScript only
// if it has types.
func GuessLanguage(code string) (language, why string, ok bool) {
	if first, _, _ := strings.Cut(code, "\n"); strings.HasPrefix(first, "#!") {
		switch {
		case strings.Contains(first, "python"):
			return Python, "", true
		case strings.Contains(first, "ts-node"), strings.Contains(first, "tsx"), strings.Contains(first, "deno"):
			return TypeScript, "", true
		case strings.Contains(first, "node"), strings.Contains(first, "bun"), strings.Contains(first, "qjs"):
			return JavaScript, "", true
		}
	}
	if len(code) > maxGuess {
		code = code[:maxGuess]
	}
	lines := plainLines(code)
	python := first(pythonMarks(), lines)
	script := first(javascriptMarks(), lines)
	typed := first(typescriptMarks(), lines)
	switch {
	case python != "" && script == "" && typed == "":
		return Python, "it has " + python, true
	case typed != "" && python == "":
		return TypeScript, "it has " + typed, true
	case script != "" && python == "":
		return JavaScript, "it has " + script, true
	}
	return "", "", false
}

// first returns the name of the first mark that a line has.
func first(all []mark, lines []string) string {
	for _, m := range all {
		for _, l := range lines {
			if m.pattern.MatchString(l) {
				return m.name
			}
		}
	}
	return ""
}

// plainLines returns the lines of a program without strings and
// comments, as far as possible without knowing the language.
func plainLines(code string) []string {
	var out strings.Builder
	for i := 0; i < len(code); {
		rest := code[i:]
		c := code[i]
		switch {
		case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, `'''`):
			i += skipTo(rest, rest[:3])
			out.WriteString(`""`)
		case c == '"', c == '\'', c == '`':
			n := skipString(rest, c)
			out.WriteByte(c)
			out.WriteByte(c)
			i += n
		case strings.HasPrefix(rest, "//"), c == '#' && !strings.HasPrefix(rest, "#!") && (i == 0 || code[i-1] == ' ' || code[i-1] == '\n' || code[i-1] == '\t'):
			n := strings.IndexByte(rest, '\n')
			if n < 0 {
				n = len(rest)
			}
			i += n
		case strings.HasPrefix(rest, "/*"):
			i += skipTo(rest, "*/")
		default:
			out.WriteByte(c)
			i++
		}
	}
	return strings.Split(out.String(), "\n")
}

// skipTo returns the length up to an end mark, included, that starts after the first
// two bytes.
func skipTo(rest, end string) int {
	if n := strings.Index(rest[2:], end); n >= 0 && len(rest) > 2 {
		if n == 0 && len(end) == 3 { // the third quote of the beginning
			if m := strings.Index(rest[3:], end); m >= 0 {
				return 3 + m + len(end)
			}
			return len(rest)
		}
		return 2 + n + len(end)
	}
	return len(rest)
}

// skipString returns the length of a string with its quotes. A quote
// without a second one on its line has length 1.
func skipString(rest string, quote byte) int {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case quote:
			return i + 1
		case '\n':
			if quote != '`' {
				return 1
			}
		}
	}
	if quote == '`' {
		return len(rest)
	}
	return 1
}
