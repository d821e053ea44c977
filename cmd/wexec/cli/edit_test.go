package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

func own() entry {
	return entry{section: "mcpServers", name: "wexec", value: map[string]any{"command": "/opt/wexec", "args": []string{"mcp"}},
		command: "/opt/wexec", args: []string{"mcp"}}
}

func gone() entry { return entry{section: "mcpServers", name: "wexec"} }

// serversOf reads a client's file the way clients do.
func serversOf(t *testing.T, text string) map[string]json.RawMessage {
	t.Helper()
	var file struct {
		Servers map[string]json.RawMessage `json:"mcpServers"`
	}
	if err := json.Unmarshal([]byte(strictJSON(text)), &file); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return file.Servers
}

func TestWhatWasPutInCanBeTakenOutAgain(t *testing.T) {
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
		after, err := edited(before, own(), false)
		if err != nil {
			t.Errorf("%q: %v", before, err)
			continue
		}
		if s := serversOf(t, after); len(s["wexec"]) == 0 || len(s) != len(serversOf(t, before))+1 {
			t.Errorf("%q became\n%s", before, after)
		}
		if again, err := edited(after, own(), false); err != nil || again != after {
			t.Errorf("putting it in twice changes\n%s\ninto\n%s", after, again)
		}
		back, err := edited(after, gone(), false)
		if err != nil {
			t.Fatal(err)
		}
		if s := serversOf(t, back); len(s) != len(serversOf(t, before)) {
			t.Errorf("%q comes back as\n%s", before, back)
		}
		for _, comment := range []string{"// mine", "// work", "/* last */"} {
			if strings.Contains(before, comment) && !strings.Contains(back, comment) {
				t.Errorf("%s is lost in\n%s", comment, back)
			}
		}
	}
}

func TestACommentStaysWithTheServerBeforeIt(t *testing.T) {
	for before, want := range map[string]string{
		"{\n  \"mcpServers\": {\n    \"a\": {}, // work\n  },\n}\n": "\"a\": {}, // work\n    \"wexec\": {",
		"{\n  \"mcpServers\": {\n    \"a\": {} // work\n  }\n}\n":   "\"a\": {}, // work\n    \"wexec\": {",
		"{\n  \"mcpServers\": {\n    \"a\": {}, /* b */\n  },\n}\n": "\"a\": {}, /* b */\n    \"wexec\": {",
	} {
		after, err := edited(before, own(), false)
		if err != nil || !strings.Contains(after, want) {
			t.Errorf("%v\n%s", err, after)
		}
		taken, err := edited(before, entry{section: "mcpServers", name: "a"}, false)
		if err != nil || strings.Contains(taken, "work") || strings.Contains(taken, "b */") {
			t.Errorf("%v: the comment outlives its server\n%s", err, taken)
		}
	}
}

func TestTheOnlyOtherServersStay(t *testing.T) {
	text := "[mcp_servers.a]\ncommand = \"x\"\n\n[mcp_servers.wexec]\ncommand = \"old\"\n[mcp_servers.wexec.env]\nA = \"1\"\n\n[other]\nb = 2\n"
	e := own()
	e.section = "mcp_servers"
	after := editedTOML(text, e)
	if strings.Contains(after, "old") || strings.Contains(after, "A = ") || !strings.Contains(after, `command = "/opt/wexec"`) ||
		!strings.Contains(after, "[other]\nb = 2\n") || !strings.Contains(after, "[mcp_servers.a]") {
		t.Errorf("it became\n%s", after)
	}
	e.value = nil
	if back := editedTOML(after, e); strings.Contains(back, "wexec") || !strings.Contains(back, "[other]") {
		t.Errorf("it became\n%s", back)
	}
}

func FuzzClientFilesAreNeverDamaged(f *testing.F) {
	for _, seed := range []string{"{}", `{"mcpServers": {"a": {}, }, }`, "{\"mcpServers\": {\"wexec\": 1}}", "/**/{", `{"a`, `{"a":"\`, `{"mcpServers": [1]}`, "{a: 1}", "// x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, before string) {
		after, err := edited(before, own(), false)
		if err != nil {
			return
		}
		var was, is map[string]any
		if json.Unmarshal([]byte(strictJSON(before)), &was) != nil {
			return // it was damaged before
		}
		if err := json.Unmarshal([]byte(strictJSON(after)), &is); err != nil {
			t.Fatalf("%q became %q: %v", before, after, err)
		}
		servers, _ := is["mcpServers"].(map[string]any)
		if servers["wexec"] == nil {
			t.Fatalf("%q became %q", before, after)
		}
	})
}
