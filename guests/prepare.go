package guests

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/text"
)

// Source is a program as the author wrote it.
type Source struct {
	Language string // a name that Lookup knows
	Code     string
	File     string // its name in errors; empty: the language's own
}

// Program is a program in the form that its guest runs, with a map to the source.
type Program struct {
	Code string
	File string
	// Map is nil where Code is the source itself.
	Map *SourceMap

	source string
}

// Compiler runs a compiler guest. The engine implements it: each compilation has
// a new instance with its own limits, and the result may come from
// a cache.
type Compiler interface {
	Compile(ctx context.Context, r CompileRequest) (CompileResult, error)
}

// CompileRequest is one run of a compiler guest. Equal requests have equal
// results as long as the module is the same.
type CompileRequest struct {
	Module string // name of the compiler's module in package wasmmodules
	Input  []byte // its input document
}

// CompileResult is the value of the compiler guest, as JSON. It is
// untrusted.
type CompileResult struct {
	Output []byte
}

// SyntaxError is a program that cannot be parsed, found before its
// guest runs. Its fault code is guest.syntax.
type SyntaxError struct {
	Message string
	Hint    string
	File    string
	Line    int    // from 1; 0: not known
	Column  int    // in characters, from 1
	Text    string // the source line
}

// Error returns place and message.
func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

// Unwrap returns the fault.
func (e *SyntaxError) Unwrap() error {
	return fault.New(fault.GuestSyntax, "%s", e.Error()).WithHint("%s", e.Hint)
}

// fenced matches a program inside one pair of Markdown fences.
var fenced = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("^(\\s*)```[\\w+-]*[ \\t]*(\\r?\\n(?s:.*)\\n)[ \\t]*```\\s*$")
})

// inside matches a fence.
var inside = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("(?m)^[ \\t]*```") })

// unfenced removes the fences. Lines keep their numbers.
func unfenced(code string) string {
	if !strings.Contains(code, "```") {
		return code
	}
	m := fenced().FindStringSubmatch(code)
	if m == nil || inside().MatchString(m[2]) {
		return code
	}
	return m[1] + m[2]
}

const fences = "remove the ``` fences around the code"

// compileInput is the input document of the esbuild guest.
type compileInput struct {
	Code string `json:"code"`
	File string `json:"file"`
}

// compileOutput is the value of the esbuild guest.
type compileOutput struct {
	Code   string          `json:"code"`
	Map    json.RawMessage `json:"map"`
	Errors []compileError  `json:"errors"`
	JSX    bool            `json:"jsx"` // the program is valid as TSX
}

type compileError struct {
	Text   string   `json:"text"`
	Line   int      `json:"line"`
	Column int      `json:"column"`
	Source string   `json:"source"`
	Notes  []string `json:"notes"`
}

// Bundle bundles a package of npm into one CommonJS module. The files are by path,
// such as node_modules/left/index.js.
func Bundle(ctx context.Context, name string, files map[string]string, c Compiler) (string, error) {
	input, err := json.Marshal(map[string]any{"bundle": name, "files": files})
	if err != nil {
		return "", fault.New(fault.Internal, "encode compiler input: %w", err)
	}
	r, err := c.Compile(ctx, CompileRequest{Module: "esbuild", Input: input})
	if err != nil {
		return "", err
	}
	var out compileOutput
	if err := json.Unmarshal(r.Output, &out); err != nil {
		return "", fault.New(fault.Internal, "decode compiler output: %w", err)
	}
	if len(out.Errors) > 0 {
		return "", fault.New(fault.UsageFile, "bundle the package %s: %s", name, text.ClipRunes(out.Errors[0].Text, 400))
	}
	return out.Code, nil
}

// Prepare converts a source to the form that its guest runs. JavaScript and Python stay as
// they are; TypeScript is compiled by c.
func Prepare(ctx context.Context, s Source, c Compiler) (Program, error) {
	g, err := Lookup(s.Language)
	if err != nil {
		return Program{}, err
	}
	file := s.File
	if file == "" {
		file = g.File
	}
	// A byte order mark is not part of a program.
	code := strings.TrimPrefix(s.Code, "\ufeff")
	if g.Compiler == "" {
		return Program{Code: code, File: file, source: code}, nil
	}
	code = unfenced(code)
	if at := len(code) - len(strings.TrimLeft(code, " \t\r\n")); strings.HasPrefix(code[at:], "```") {
		// The compiler would take the fence for a template literal.
		line := strings.Count(code[:at], "\n") + 1
		return Program{}, &SyntaxError{Message: "a program must not start with a Markdown fence", Hint: fences,
			File: file, Line: line, Column: 1, Text: lineOf(code, line)}
	}
	if c == nil {
		return Program{}, fault.New(fault.Internal, "no compiler for %s", g.Language)
	}
	input, err := json.Marshal(compileInput{Code: code, File: file})
	if err != nil {
		return Program{}, fault.New(fault.Internal, "encode compiler input: %w", err)
	}
	r, err := c.Compile(ctx, CompileRequest{Module: g.Compiler, Input: input})
	if err != nil {
		return Program{}, err
	}
	var out compileOutput
	if err := json.Unmarshal(r.Output, &out); err != nil {
		return Program{}, fault.New(fault.Internal, "decode compiler output: %w", err)
	}
	if len(out.Errors) > 0 {
		return Program{}, syntaxError(file, code, out)
	}
	m, err := ParseSourceMap(out.Map)
	if err != nil {
		return Program{}, fault.New(fault.Internal, "decode compiler output: %w", err)
	}
	return Program{Code: out.Code, File: file, Map: m, source: code}, nil
}

// syntaxError converts the first error of a compiler.
func syntaxError(file, code string, out compileOutput) *SyntaxError {
	first := out.Errors[0]
	e := &SyntaxError{Message: text.ClipRunes(first.Text, 2000), File: file, Line: max(first.Line, 0), Column: max(first.Column, 0)}
	e.Text = lineOf(code, e.Line)
	switch {
	case out.JSX:
		e.Message = "JSX is not supported"
		e.Hint = "programs return data, not markup: build text with template literals"
	case strings.ContainsAny(e.Text, "“”‘’"):
		e.Hint = `use straight quotes (" or ') instead of typographic ones`
	default:
		if language, _, ok := GuessLanguage(code); ok && language == Python {
			e.Hint = "this looks like Python: set the language to python"
		} else if len(first.Notes) > 0 {
			e.Hint = text.ClipRunes(first.Notes[0], 400)
		}
	}
	return e
}

// Position is a place in a source.
type Position struct {
	Line, Column int    // from 1; the column in characters, 0: not known
	Text         string // the source line
}

// Origin maps a place of the program to the source. It returns
// false if the place is unknown, such as in code that a compiler added.
func (p Program) Origin(line, column int) (Position, bool) {
	if line <= 0 {
		return Position{}, false
	}
	if p.Map == nil {
		text := lineOf(p.source, line)
		return Position{line, column, text}, text != "" || line == 1
	}
	at := 0
	if column > 0 {
		at = utf16Offset(lineOf(p.Code, line), column-1)
	}
	from, fromColumn, ok := p.Map.Lookup(line, at)
	if !ok {
		return Position{}, false
	}
	text := lineOf(p.source, from)
	pos := Position{Line: from, Text: text}
	if column > 0 {
		pos.Column = characters(text, fromColumn) + 1
	}
	return pos, true
}

// LocateReferences maps the report of a guest on a checked program, rows of
// [server, tool, line, column, explicit, arguments], to places in the
// source. The report is untrusted: invalid rows are removed, and so are
// those in code that a compiler added.
func (p Program) LocateReferences(report []byte) []byte {
	if p.Map == nil {
		return report
	}
	var rows, located [][]json.RawMessage
	_ = json.Unmarshal(report, &rows)
	for _, row := range rows {
		var line, column int
		if len(row) != 6 || json.Unmarshal(row[2], &line) != nil || json.Unmarshal(row[3], &column) != nil {
			continue
		}
		if at, ok := p.Origin(line, column); ok {
			row[2], row[3] = strconv.AppendInt(nil, int64(at.Line), 10), strconv.AppendInt(nil, int64(at.Column), 10)
			located = append(located, row)
		}
	}
	out, err := json.Marshal(located)
	if err != nil {
		return nil // decoded JSON can always be encoded
	}
	return out
}

// Stack returns a guest's stack with the places of this program mapped to the
// source. Frames in code that a compiler added are removed.
func (p Program) Stack(stack string) string {
	if p.Map == nil || len(stack) > maxStack {
		return stack
	}
	// The whole name of the file: another name may end with it.
	place := regexp.MustCompile(`(^|[^\w/.\\-])` + regexp.QuoteMeta(p.File) + `:(\d{1,9})(?::(\d{1,9}))?`)
	lines := strings.Split(stack, "\n")
	kept := lines[:0]
	for _, l := range lines {
		lost := false
		l = place.ReplaceAllStringFunc(l, func(s string) string {
			m := place.FindStringSubmatch(s)
			line, _ := strconv.Atoi(m[2])
			column, _ := strconv.Atoi(m[3])
			pos, ok := p.Origin(line, column)
			switch {
			case !ok:
				lost = true
				return s
			case pos.Column > 0:
				return fmt.Sprintf("%s%s:%d:%d", m[1], p.File, pos.Line, pos.Column)
			}
			return fmt.Sprintf("%s%s:%d", m[1], p.File, pos.Line)
		})
		if !lost {
			kept = append(kept, l)
		}
	}
	return strings.Join(kept, "\n")
}

// maxStack bounds the stack that is mapped.
const maxStack = 1 << 20

// lineOf returns a line of a text, from 1, without its end.
func lineOf(text string, line int) string {
	for ; line > 1; line-- {
		_, rest, ok := strings.Cut(text, "\n")
		if !ok {
			return ""
		}
		text = rest
	}
	if line < 1 {
		return ""
	}
	text, _, _ = strings.Cut(text, "\n")
	return strings.TrimSuffix(text, "\r")
}

// utf16Offset returns the offset in UTF-16 units of the nth character of a line.
func utf16Offset(line string, n int) int {
	units := 0
	for _, r := range line {
		if n--; n < 0 {
			return units
		}
		units++
		if r > 0xffff {
			units++
		}
	}
	return units + max(n, 0)
}

// characters returns the number of characters before an offset in UTF-16 units.
func characters(line string, units int) int {
	n := 0
	for _, r := range line {
		if units <= 0 {
			return n
		}
		n++
		units--
		if r > 0xffff {
			units--
		}
	}
	return n + max(units, 0)
}
