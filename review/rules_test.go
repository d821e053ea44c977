package review_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/tools/testparse"
	"github.com/wexec/wexec/review"
	"github.com/wexec/wexec/review/syntax"
)

// programText is a program of a file of testdata. The file has programs, each after
// a line "-- name.extension --".
type programText struct {
	name, language, code string
}

func programsIn(t testing.TB, file string) []programText {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out []programText
	for line := range strings.Lines(string(data)) {
		if name, ok := strings.CutSuffix(strings.TrimPrefix(strings.TrimSpace(line), "-- "), " --"); ok && strings.HasPrefix(line, "-- ") {
			out = append(out, programText{name: name, language: languageOf(t, name)})
			continue
		}
		if len(out) == 0 {
			t.Fatalf("%s begins with no name", file)
		}
		out[len(out)-1].code += line
	}
	return out
}

func languageOf(t testing.TB, name string) string {
	t.Helper()
	switch filepath.Ext(name) {
	case ".js", ".mjs":
		return syntax.JavaScript
	case ".ts":
		return syntax.TypeScript
	case ".py":
		return syntax.Python
	}
	t.Fatalf("%s has no language", name)
	return ""
}

func assess(t testing.TB, language, code string, c review.Context) review.Assessment {
	t.Helper()
	c.Parser = testparse.Parser{}
	return review.Assess(t.Context(), []*syntax.Tree{testparse.Parse(t, language, code)}, c)
}

// intentOf returns what a comment says that a program is for.
func intentOf(code string) string {
	_, after, _ := strings.Cut(code, " intent: ")
	intent, _, _ := strings.Cut(after, "\n")
	return intent
}

func TestRulesFindWhatTheyNameAndNothingElse(t *testing.T) {
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for _, rule := range review.Rules() {
		t.Run(rule.ID, func(t *testing.T) {
			for _, p := range programsIn(t, filepath.Join("testdata", "rules", rule.ID+".txt")) {
				c := review.Context{Intent: intentOf(p.code), Now: now, Changed: map[string]time.Time{"fresh.list_items": now.Add(-time.Minute), "github.list_issues": now.Add(-time.Hour)}}
				kind := strings.TrimSuffix(p.name, filepath.Ext(p.name))
				if kind == "cars" {
					c.Profile = review.Cars
				}
				a := assess(t, p.language, p.code, c)
				found := slices.ContainsFunc(a.Findings, func(f review.Finding) bool { return f.Rule == rule.ID })
				if found != (kind != "not") {
					t.Errorf("found: %v in\n%s%+v", found, p.code, a.Findings)
				}
			}
		})
	}
}

var update = flag.Bool("update", false, "write the table of the documentation")

func TestTheDocumentationHasEveryRule(t *testing.T) {
	const file, start = "../docs/use/review.md", "| rule | finds | why | what to do |\n|---|---|---|---|\n"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, after, ok := strings.Cut(string(data), start)
	_, end, more := strings.Cut(after, "\n\n")
	if !ok || !more {
		t.Fatalf("%s has no table of rules", file)
	}
	var rows []string
	for _, r := range review.Rules() {
		id := "`" + r.ID + "`"
		if r.Weak {
			id += " (profile `cars`)"
		}
		rows = append(rows, "| "+strings.Join([]string{id, r.Finds, r.Reason, r.Mitigation}, " | ")+" |")
	}
	want := before + start + strings.Join(rows, "\n") + "\n\n" + end
	if want == string(data) {
		return
	}
	if !*update {
		t.Fatalf("%s differs from the rules; run the test with -update", file)
	}
	if err := os.WriteFile(file, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}
