package clients

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pelletier/go-toml/v2"
)

func TestTOMLIsRead(t *testing.T) {
	got, err := parseTOML(`# a comment
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
		"model": "o4", "quoted key": `C:\new`, "a": map[string]any{"b": map[string]any{"c": int64(1000)}},
		"mcp_servers": map[string]any{
			"my github": map[string]any{"command": "npx", "args": []any{"-y", "githubé\t"}, "env": map[string]any{"TOKEN": "${TOKEN}", "N": map[string]any{"M": true}}, "enabled": false},
			"jira":      map[string]any{"env": map[string]any{"A": `one two "quoted"`, "B": `raw\n`}},
		},
		"profiles": []any{map[string]any{"name": "x"}, map[string]any{"name": "y", "deep": map[string]any{"at": toml.LocalDate{Year: 2026, Month: 1, Day: 1}}}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAnErrorInTOMLHasItsPlace(t *testing.T) {
	for _, bad := range []string{"a", "a =", "a = \"x", "a = [1", "a = {b = 1", "[a", "[[a]", "= 1", "a = 1 2", "a = 1\na.b = 2", "a = \"\\q\"", "a = \"\\u12\"",
		"a = " + strings.Repeat("[", 100000), strings.Repeat("a.", 100000) + "b = 1"} {
		if _, err := parseTOML(bad); !errors.As(err, new(*SyntaxError)) {
			t.Errorf("%.20q: %v", bad, err)
		}
	}
}

func FuzzTOML(f *testing.F) {
	f.Add("[a]\nb = [1, {c = '''x'''}]\n\"d\".e = \"\\u00e9\" # f\n[[g]]")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseTOML(text); err != nil && !errors.As(err, new(*SyntaxError)) {
			t.Error(err)
		}
		after, err := Install(codex, text, launch)
		if err != nil {
			return
		}
		if !Has(codex, after) {
			t.Errorf("%q became %q", text, after)
		}
		if back, err := Remove(codex, after, Self); err == nil && Has(codex, back) {
			t.Errorf("%q became %q", after, back)
		}
	})
}

func TestOtherTablesStay(t *testing.T) {
	text := "[mcp_servers.a]\ncommand = \"x\"\n\n[mcp_servers.wexec]\ncommand = \"old\"\n[mcp_servers.wexec.env]\nA = \"1\"\n\n[other]\nb = 2\n"
	after, err := Install(codex, text, launch)
	if err != nil || strings.Contains(after, "old") || strings.Contains(after, "A = ") || !strings.Contains(after, `command = "/opt/wexec"`) ||
		!strings.Contains(after, "[other]\nb = 2\n") || !strings.Contains(after, "[mcp_servers.a]") {
		t.Errorf("it became\n%s", after)
	}
	if back, err := Remove(codex, after, Self); err != nil || strings.Contains(back, "wexec") || !strings.Contains(back, "[other]") {
		t.Errorf("it became\n%s", back)
	}
}

func TestAServerThatIsNoTableIsReplacedToo(t *testing.T) {
	for _, text := range []string{
		"mcp_servers.wexec.command = \"old\"\nmodel = \"o4\"\n",
		"[mcp_servers]\nwexec = {command = \"old\"} # here\n[other]\nb = 2\n",
		"a = \"\"\"\n[mcp_servers.wexec]\n\"\"\"\n[mcp_servers.'wexec']\ncommand = 'old'\n",
	} {
		after, err := Install(codex, text, launch)
		if err != nil || strings.Contains(after, "old") || !strings.Contains(after, "[mcp_servers.wexec]\ncommand = \"/opt/wexec\"") {
			t.Errorf("%v in\n%s", err, after)
		}
	}
}

func TestDeepNestingIsAnError(t *testing.T) {
	for _, text := range []string{
		"mcp_servers.x." + strings.Repeat("a.", 100_000) + "b = 1", "[mcp_servers.x]\nb = {" + strings.Repeat("a.", 100_000) + "b = 1}",
		"[mcp_servers.x]\nb = " + strings.Repeat("[", 100_000),
	} {
		if _, err := Servers(codex, text); !errors.As(err, new(*SyntaxError)) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
	if _, err := Servers(cursor, strings.Repeat("[", 1_000_000)); !errors.As(err, new(*SyntaxError)) {
		t.Errorf("%v", err)
	}
}
