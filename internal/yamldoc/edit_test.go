package yamldoc

import (
	"strings"
	"testing"
)

func TestAppend(t *testing.T) {
	items := []Item{{"a.b", "why"}, {"'c d'", ""}}
	for name, c := range map[string]struct{ before, after string }{
		"block": {
			"version: 1 # one\ntools:\n  # these are read\n  allow: # list\n    # first\n    - x.y # y\n  deny: [z.*]\n",
			"version: 1 # one\ntools:\n  # these are read\n  allow: # list\n    - a.b # why\n    - 'c d'\n    # first\n    - x.y # y\n  deny: [z.*]\n"},
		"list as deep as its key": {
			"tools:\n  allow:\n  - x.y\n",
			"tools:\n  allow:\n  - a.b # why\n  - 'c d'\n  - x.y\n"},
		"empty list":  {"tools:\n  allow: [] # none\n", "tools:\n  allow: # none\n    - a.b # why\n    - 'c d'\n"},
		"no value":    {"tools:\n  allow:\n  deny: [q]\n", "tools:\n  allow:\n    - a.b # why\n    - 'c d'\n  deny: [q]\n"},
		"no list":     {"tools:\n    deny: [q]\n", "tools:\n    allow:\n      - a.b # why\n      - 'c d'\n    deny: [q]\n"},
		"no block":    {"version: 1", "version: 1\n\ntools:\n  allow:\n    - a.b # why\n    - 'c d'\n"},
		"empty block": {"tools: # all\nversion: 1\n", "tools: # all\n  allow:\n    - a.b # why\n    - 'c d'\nversion: 1\n"},
		"flow":        {"tools: {allow: [x.y], deny: [q]} # mine\n", "# a.b: why\ntools: {allow: [a.b, 'c d', x.y], deny: [q]} # mine\n"},
		"flow list":   {"tools:\n  allow: [x.y]\n", "tools:\n  # a.b: why\n  allow: [a.b, 'c d', x.y]\n"},
		"flow block":  {"tools: {deny: [q]}\n", "# a.b: why\ntools: {allow: [a.b, 'c d'], deny: [q]}\n"},
		"flow file":   {"{version: 1}\n", "# a.b: why\n{tools: {allow: [a.b, 'c d']}, version: 1}\n"},
		"CRLF":        {"tools:\r\n  allow:\r\n    - x\r\n", "tools:\r\n  allow:\r\n    - a.b # why\r\n    - 'c d'\r\n    - x\r\n"},
		"empty file":  {"# nothing yet\n", "# nothing yet\n\ntools:\n  allow:\n    - a.b # why\n    - 'c d'\n"},
	} {
		got, err := Append([]byte(c.before), []string{"tools", "allow"}, items...)
		if err != nil || string(got) != c.after {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, c.after)
		}
	}
	got, err := Append([]byte("mcp: .mcp.json # mine\nlog: warn\n"), []string{"mcp"}, Item{"two.json", ""})
	if want := "mcp:\n  - two.json\n  - .mcp.json # mine\nlog: warn\n"; err != nil || string(got) != want {
		t.Errorf("a scalar as a list: %v\n%s", err, got)
	}
}

func TestAppendRefusesWhatItCannotEdit(t *testing.T) {
	for _, text := range []string{"tools: text\n", "- a\n", "tools: {allow: }\n", "tools: &x {allow: [a]}\n", "a: [\n", "tools: null\n"} {
		if got, err := Append([]byte(text), []string{"tools", "allow"}, Item{"a.b", ""}); err == nil && !strings.Contains(string(got), "a.b") {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func FuzzAppend(f *testing.F) {
	for _, text := range []string{"tools:\n  allow: [] # none\n", "tools: {allow: [x.y], deny: [q]}", "mcp: x\ntools:\n  allow:\n  - a: b\n    c: |\n      d\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = Append([]byte(text), []string{"tools", "allow"}, Item{"a.b", "why"})
	})
}
