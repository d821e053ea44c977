package doors

import (
	"bytes"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/wexec/wexec/engine"
)

// TestEventsAreDocumentedAsTheyArePrinted holds the events of --jsonl, their
// types and keys, against the table in docs/use/embedding.md, and a call's
// beginning against its end.
func TestEventsAreDocumentedAsTheyArePrinted(t *testing.T) {
	doc, err := os.ReadFile("../../docs/use/embedding.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(doc), "\n## Events\n")
	if !ok {
		t.Fatal("docs/use/embedding.md has no section on events")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	dir, env := furnished(t, listingPolicy)
	out, err := command(t.Context(), dir, env, "run", "--jsonl", "--mcp", "mcp.json", "--policy", "policy.yaml", "-l", "js", "-e",
		`console.log("hi"); const end = Date.now() + 700; while (Date.now() < end); await tools.github.list_commits({limit: 1}); return 1`).Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	heard := map[engine.EventType]engine.Event{}
	for _, line := range lines[:len(lines)-1] { // the last is the Result
		var e engine.Event
		keys := map[string]any{}
		if json.Unmarshal(line, &e) != nil || json.Unmarshal(line, &keys) != nil {
			t.Fatalf("%s is not an event", line)
		}
		heard[e.Type] = e
		if !strings.Contains(table, "| `"+string(e.Type)+"` |") {
			t.Errorf("the type %s is not documented", e.Type)
		}
		for key := range keys {
			if !strings.Contains(table, "`"+key+"`") {
				t.Errorf("the key %s is not documented: %s", key, line)
			}
		}
	}
	begun, ended, fuel := heard[engine.EventCalling], heard[engine.EventCall], heard[engine.EventFuel]
	if begun.Text != "github.list_commits" || begun.Number == 0 || begun.Number != ended.Number || ended.Call == nil || begun.Time.After(ended.Time) {
		t.Errorf("the call begins with %+v and ends with %+v", begun, ended)
	}
	if fuel.Fuel <= 0 || begun.Fuel < fuel.Fuel || heard[engine.EventDone].Fuel < ended.Fuel {
		t.Errorf("fuel %d, when the call began %d, at the end %d", fuel.Fuel, begun.Fuel, heard[engine.EventDone].Fuel)
	}
}
