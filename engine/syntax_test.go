package engine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/review/syntax"
)

// outline writes the kinds of a tree with the texts of its leaves.
func outline(t *syntax.Tree, n *syntax.Node) string {
	out := n.Kind
	if n.Field != "" {
		out = n.Field + ":" + out
	}
	if len(n.Children) == 0 {
		return fmt.Sprintf("(%s %q)", out, t.Text(n))
	}
	for _, c := range n.Children {
		out += " " + outline(t, c)
	}
	return "(" + out + ")"
}

func TestTheSyntaxOfEachLanguage(t *testing.T) {
	e := newReal(t, Config{})
	for _, c := range []struct{ language, source, want string }{
		{syntax.JavaScript, "return a?.b + 'é' // c", `(program (return_statement (binary_expression (left:member_expression (object:identifier "a") (optional_chain:optional_chain "?.") (property:property_identifier "b")) (operator:+ "+") (right:string (string_fragment "é"))) (comment "// c")))`},
		{syntax.TypeScript, "let a: number = <any>f()", `(program (lexical_declaration (kind:let "let") (variable_declarator (name:identifier "a") (type:type_annotation (predefined_type "number")) (value:type_assertion (type_arguments (predefined_type "any")) (call_expression (function:identifier "f") (arguments:arguments "()"))))))`},
		{syntax.Python, "return f(a=1) # c", `(module (return_statement (call (function:identifier "f") (arguments:argument_list (keyword_argument (name:identifier "a") (value:integer "1"))))) (comment "# c"))`},
		{syntax.Python, "f(", `(module (ERROR (identifier "f")))`},
		{syntax.JavaScript, "", `(program "")`},
	} {
		tree, err := e.Syntax(t.Context(), c.language, c.source)
		if err != nil {
			t.Fatal(err)
		}
		if got := outline(tree, tree.Root); got != c.want {
			t.Errorf("%s %q:\n got %s\nwant %s", c.language, c.source, got, c.want)
		}
	}
	if _, err := e.Syntax(t.Context(), "cobol", "1"); !errors.Is(err, fault.UsageLanguage) {
		t.Errorf("%v", err)
	}
}

// Programs that are made to cost much end with a tree or an error, and the next one is
// parsed.
func TestTheParserIsBounded(t *testing.T) {
	e := newReal(t, Config{})
	for name, source := range map[string]string{
		"parentheses":  strings.Repeat("(", 200_000),
		"both":         strings.Repeat("(", 50_000) + strings.Repeat(")", 50_000),
		"negations":    strings.Repeat("!", 200_000) + "1",
		"arrows":       strings.Repeat("x=>", 20_000) + "1",
		"generics":     strings.Repeat("a<", 20_000),
		"templates":    strings.Repeat("`${", 20_000),
		"indentation":  strings.Repeat("if 1:\n ", 20_000),
		"strings":      strings.Repeat("f'{", 20_000),
		"one line":     strings.Repeat("a+", 250_000) + "a",
		"no text":      string(make([]byte, 100_000)),
		"invalid UTF8": strings.Repeat("\xff\xfe", 50_000),
	} {
		for _, language := range []string{syntax.JavaScript, syntax.TypeScript, syntax.Python} {
			tree, err := e.Syntax(t.Context(), language, source)
			var wrong *guests.SyntaxError
			if err != nil && fault.CodeOf(err).Class() != fault.ClassLimit && !errors.As(err, &wrong) {
				t.Errorf("%s in %s: %v", name, language, err)
			}
			if err == nil && tree.Root.End > len(source) {
				t.Errorf("%s in %s: the tree ends at %d", name, language, tree.Root.End)
			}
		}
	}
	if _, err := e.Syntax(t.Context(), syntax.Python, "x = 1"); err != nil {
		t.Error(err)
	}
}

// The preludes of the guests are parsed without errors.
func TestThePreludesAreParsed(t *testing.T) {
	e := newReal(t, Config{})
	for ext, language := range map[string]string{"javascript/*.js": syntax.JavaScript, "python/*.py": syntax.Python} {
		files, err := filepath.Glob("../guests/" + ext)
		if err != nil || len(files) == 0 {
			t.Fatal(files, err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := e.Syntax(t.Context(), language, string(data))
			if err != nil || broken(tree.Root) {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

func broken(n *syntax.Node) bool {
	return n.Kind == "ERROR" || n.Missing || slices.ContainsFunc(n.Children, broken)
}

func BenchmarkSyntax(b *testing.B) {
	e := newReal(b, Config{})
	for _, file := range []string{"../guests/javascript/64-streams.js", "../guests/python/dropins.py"} {
		data, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		lines := strings.SplitAfter(string(data), "\n")
		source := strings.Join(lines[:min(200, len(lines))], "")
		language := map[string]string{".js": syntax.JavaScript, ".py": syntax.Python}[filepath.Ext(file)]
		b.Run(language, func(b *testing.B) {
			for b.Loop() {
				if _, err := e.Syntax(b.Context(), language, source); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
