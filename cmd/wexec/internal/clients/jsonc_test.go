package clients

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/wexec/wexec/config"
)

var (
	cursor = config.Client{Name: "cursor", Path: "mcp.json", Key: "mcpServers"}
	codex  = config.Client{Name: "codex", Path: "config.toml", Key: "mcp_servers"}
	launch = Launch{Command: "/opt/wexec", Args: []string{"mcp"}}
)

func install(text string) (string, error) { return Install(cursor, text, launch) }

// serversIn reads a client's file the way clients do.
func serversIn(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	d, err := parseJSON(text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	d.root.Minimize()
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal(d.root.Pack(), &file); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return file.Servers
}

func TestInstallThenRemoveKeepsTheRest(t *testing.T) {
	for _, before := range []string{
		"{}",
		"{ }\n",
		"{\n  \"theme\": \"dark\"\n}\n",
		`{"mcpServers":{}}`,
		`{"mcpServers":{"a":{"command":"x"}}}`,
		"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}\n  }\n}\n",
		"{\n\t// mine\n\t\"mcpServers\": {\n\t\t\"a\": {\"command\": \"x\"}, // work\n\t\t\"b\": {\"args\": [\"}\", \"//\"],},\n\t},\n}\n",
		"\ufeff{\"mcpServers\": {\"a\": {} /* last */ } }",
	} {
		after, err := install(before)
		if err != nil {
			t.Errorf("%q: %v", before, err)
			continue
		}
		if s := serversIn(t, after); len(s["wexec"]) == 0 || len(s) != len(serversIn(t, before))+1 {
			t.Errorf("%q became\n%s", before, after)
		}
		if again, err := install(after); err != nil || again != after {
			t.Errorf("installing twice changes\n%s\ninto\n%s", after, again)
		}
		back, err := Remove(cursor, after, Self)
		if err != nil {
			t.Fatal(err)
		}
		if s := serversIn(t, back); len(s) != len(serversIn(t, before)) {
			t.Errorf("%q comes back as\n%s", before, back)
		}
		for _, comment := range []string{"// mine", "// work", "/* last */"} {
			if strings.Contains(before, comment) && !strings.Contains(back, comment) {
				t.Errorf("%s is lost in\n%s", comment, back)
			}
		}
	}
}

func TestACommentStaysWithItsServer(t *testing.T) {
	for before, want := range map[string]string{
		"{\n  \"mcpServers\": {\n    \"a\": {}, // work\n  },\n}\n": "\"a\": {}, // work\n    \"wexec\": {",
		"{\n  \"mcpServers\": {\n    \"a\": {} // work\n  }\n}\n":   "\"a\": {}, // work\n    \"wexec\": {",
		"{\n  \"mcpServers\": {\n    \"a\": {}, /* b */\n  },\n}\n": "\"a\": {}, /* b */\n    \"wexec\": {",
	} {
		after, err := install(before)
		if err != nil || !strings.Contains(after, want) {
			t.Errorf("%v\n%s", err, after)
		}
		taken, err := Remove(cursor, before, "a")
		if err != nil || strings.Contains(taken, "work") || strings.Contains(taken, "b */") {
			t.Errorf("%v: the comment outlives its server\n%s", err, taken)
		}
	}
}

func FuzzClientFilesAreNeverDamaged(f *testing.F) {
	for _, seed := range []string{"{}", `{"mcpServers": {"a": {}, }, }`, "{\"mcpServers\": {\"wexec\": 1}}", "/**/{", `{"a`, `{"a":"\`, `{"mcpServers": [1]}`, "{a: 1}", "// x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, before string) {
		after, err := install(before)
		if err != nil {
			return
		}
		if len(serversIn(t, after)["wexec"]) == 0 {
			t.Fatalf("%q became %q", before, after)
		}
		if back, err := Remove(cursor, after, Self); err != nil || len(serversIn(t, back)["wexec"]) != 0 {
			t.Fatalf("%q became %q: %v", after, back, err)
		}
	})
}
