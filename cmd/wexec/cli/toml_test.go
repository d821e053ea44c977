package cli

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTOMLIsRead(t *testing.T) {
	got, err := readTOML(`# a comment
model = "o4" # behind
"quoted key" = 'C:\new'
a.b.c = 1_000
[mcp_servers."my github"]
command = "npx"
args = [ "-y", # with a comment
  "github\u00e9\t", ]
env = { TOKEN = "${TOKEN}", N.M = true, }
enabled = false
[mcp_servers.jira.env]
A = """
one \
   two "quoted"""" # four quotes
B = '''
raw\n'''
[[profiles]]
name = "x"
[[profiles]]
name = "y"
[profiles.deep]
at = 2026-01-01
`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"model": "o4", "quoted key": `C:\new`, "a": map[string]any{"b": map[string]any{"c": "1_000"}},
		"mcp_servers": map[string]any{
			"my github": map[string]any{"command": "npx", "args": []any{"-y", "githubé\t"}, "env": map[string]any{"TOKEN": "${TOKEN}", "N": map[string]any{"M": true}}, "enabled": false},
			"jira":      map[string]any{"env": map[string]any{"A": `one two "quoted"`, "B": `raw\n`}},
		},
		"profiles": []any{map[string]any{"name": "x"}, map[string]any{"name": "y", "deep": map[string]any{"at": "2026-01-01"}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDamagedTOMLSaysTheLine(t *testing.T) {
	for _, bad := range []string{"a", "a =", "a = \"x", "a = [1", "a = {b = 1", "[a", "[[a]", "= 1", "a = 1 2", "a = 1\na.b = 2", "a = \"\\q\"", "a = \"\\u12\"",
		"a = " + strings.Repeat("[", 100000), strings.Repeat("a.", 100000) + "b = 1"} {
		if _, err := readTOML(bad); err == nil || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func FuzzTOML(f *testing.F) {
	f.Add("[a]\nb = [1, {c = '''x'''}]\n\"d\".e = \"\\u00e9\" # f\n[[g]]")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := readTOML(text); err != nil && !strings.HasPrefix(err.Error(), "line ") {
			t.Error(err)
		}
	})
}
