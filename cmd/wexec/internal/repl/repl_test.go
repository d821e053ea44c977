package repl

import (
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/engine"
)

// programs reads all programs of a text; an error of Line ends it.
func programs(t *testing.T, language, text string, typed bool) []string {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	r := Reader{Language: language, Typed: typed, Line: func(bool) (string, error) {
		if len(lines) == 0 {
			return "", io.EOF
		}
		line := lines[0]
		lines = lines[1:]
		return line, nil
	}}
	var out []string
	for {
		text, err := r.Next()
		if err != nil {
			return out
		}
		out = append(out, strings.TrimRight(text, "\n"))
	}
}

func TestProgramsEndWhereTheyAreComplete(t *testing.T) {
	for _, c := range []struct {
		language string
		typed    bool
		parts    []string // each is one program
	}{
		{engine.JavaScript, true, []string{"1 + 1", "function f() {\n  return [\n\n    1]\n}", "f()", "`a\n${f({\n})} b`", "'(' + \"[\" // {", "/* (\n*/ 1"}},
		{engine.JavaScript, true, []string{"x.match(/[(/]/)", "a = b / c; d = (1) / 2", "'it\\'s ('", "const r = /\\(/g"}},
		{engine.JavaScript, true, []string{"broken(\n\n"}},
		{engine.Python, false, []string{"x = 1", "def f(a):\n    b = a\n\n    return b", "f(1)", "if x:\n  1\nelse:\n  2", "y = [\n1,\n2]", "'''a\n(\n'''", "z = 1 + \\\n2"}},
		{engine.Python, false, []string{"@cache\ndef f():\n  return 1", "# only (", "'it\\'s ['", "if x: y = 1", "print(f\"{x}\")"}},
		{engine.Python, true, []string{"for i in range(3):\n  print(i)\n", "i"}},
	} {
		var want []string
		for _, p := range c.parts {
			want = append(want, strings.TrimRight(p, "\n"))
		}
		if got := programs(t, c.language, strings.Join(c.parts, "\n"), c.typed); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.language, got, want)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add("def f():\n  '''\\", true)
	f.Add("`${`${/[\\", false)
	f.Fuzz(func(t *testing.T, text string, python bool) {
		language := engine.JavaScript
		if python {
			language = engine.Python
		}
		if len(text) > 1000 {
			return
		}
		programs(t, language, text, false)
	})
}
