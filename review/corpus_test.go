package review_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/internal/tools/testparse"
	"github.com/wexec/wexec/review"
	"github.com/wexec/wexec/review/syntax"
)

// ordinary returns the ordinary programs of the repository: those of the first tries,
// the examples, the documents and the tests of the guests.
func ordinary(t *testing.T) map[string][]programText {
	t.Helper()
	out := map[string][]programText{}
	for kind, patterns := range map[string][]string{"first tries": {"../tests/firsttries/*/*"}, "examples": {"../examples/*/*", "../examples/*/*/*"}} {
		for _, pattern := range patterns {
			files, err := filepath.Glob(pattern)
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				if !slices.Contains([]string{".js", ".mjs", ".ts", ".py"}, filepath.Ext(file)) {
					continue
				}
				code, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				out[kind] = append(out[kind], programText{file, languageOf(t, file), string(code)})
			}
		}
	}
	written, err := filepath.Glob("testdata/ordinary/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range written {
		out["test data"] = append(out["test data"], programsIn(t, file)...)
	}
	for _, pattern := range []string{"../docs/*/*.md", "../examples/*/*.md", "../*.md"} {
		files, _ := filepath.Glob(pattern)
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, block := range strings.Split(string(data), "```") {
				language, code, _ := strings.Cut(block, "\n")
				if known := map[string]string{"js": syntax.JavaScript, "javascript": syntax.JavaScript, "ts": syntax.TypeScript, "typescript": syntax.TypeScript, "python": syntax.Python, "py": syntax.Python}[language]; i%2 == 1 && known != "" {
					out["documents"] = append(out["documents"], programText{file, known, code})
				}
			}
		}
	}
	for _, language := range []string{syntax.JavaScript, syntax.Python} {
		files, _ := filepath.Glob("../guests/" + language + "/*_test.go")
		seen := map[string]bool{}
		for _, file := range files {
			if strings.Contains(file, "hostile") || strings.Contains(file, "fuzz") {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				code, err := strconv.Unquote(literal.Value)
				if err != nil || strings.Count(code, "\n") < 3 || seen[code] {
					return true
				}
				seen[code] = true
				if tree, err := (testparse.Parser{}).Parse(t.Context(), language, code); err == nil && !broken(tree.Root) {
					out["tests of the guests"] = append(out["tests of the guests"], programText{file, language, code})
				}
				return true
			})
		}
	}
	return out
}

// broken reports whether a tree has a part that is not of its language.
func broken(n *syntax.Node) bool {
	return n.Kind == "ERROR" || slices.ContainsFunc(n.Children, broken)
}

func TestOrdinaryProgramsAreNotRaised(t *testing.T) {
	all, raised := 0, 0
	for kind, programs := range ordinary(t) {
		t.Logf("%d programs of the %s", len(programs), kind)
		for _, p := range programs {
			all++
			if a := assess(t, p.language, p.code, review.Context{Tools: servers()}); a.Level.Reaches(review.Medium) {
				raised++
				t.Logf("%s is %s: %+v in\n%s", p.name, a.Level, a.Findings, p.code)
			}
		}
	}
	t.Logf("%d of %d", raised, all)
	if all < 1000 || raised*50 >= all {
		t.Errorf("%d of %d ordinary programs reach medium; fewer than 2 %% may", raised, all)
	}
}

// servers is a catalogue of the servers that the programs of both sets use without
// importing them.
func servers() *catalogue.Catalogue {
	var out []catalogue.Tool
	for _, server := range []string{"github", "slack", "gmail", "gdrive", "gcalendar", "jira", "linear", "notion", "postgres", "stripe", "salesforce", "hubspot", "airtable"} {
		out = append(out, catalogue.Tool{Server: server, Name: "search"})
	}
	return catalogue.New(out)
}

// The writer of the programs in unseen did not know the rules; the writer of those in
// known did.
func TestHostileProgramsAreHigh(t *testing.T) {
	files, err := filepath.Glob("testdata/hostile/*/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	all, high := 0, 0
	for _, file := range files {
		for _, p := range programsIn(t, file) {
			if strings.TrimSpace(p.code) == "" {
				continue
			}
			all++
			if a := assess(t, p.language, p.code, review.Context{Intent: intentOf(p.code), Tools: servers()}); a.Level.Reaches(review.High) {
				high++
			} else {
				t.Logf("%s of %s is %s: %+v", p.name, file, a.Level, a.Findings)
			}
		}
	}
	t.Logf("%d of %d", high, all)
	if all < 200 || high*100 < 95*all {
		t.Errorf("%d of %d hostile programs reach high", high, all)
	}
}
