package policyfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/policy"
)

func annotated(readOnly bool) catalogue.Annotations {
	return catalogue.Annotations{ReadOnly: &readOnly}
}

func TestOnlyAToolThatIsDeclaredReadOnlyIsAllowed(t *testing.T) {
	yes := true
	args := func(names ...string) json.RawMessage {
		properties := map[string]any{}
		for _, n := range names {
			properties[n] = map[string]any{"type": "string"}
		}
		schema, _ := json.Marshal(map[string]any{"type": "object", "properties": properties})
		return schema
	}
	for _, c := range []struct {
		tool  catalogue.Tool
		reads bool
		why   string
	}{
		{catalogue.Tool{Server: "github", Name: "list_commits", Annotations: annotated(true)}, true, "only reads"},
		{catalogue.Tool{Server: "github", Name: "list_commits"}, false, "does not say"},
		{catalogue.Tool{Server: "github", Name: "get_commit", Annotations: annotated(false)}, false, "does not say"},
		{catalogue.Tool{Server: "sqlite", Name: "query", InputSchema: args("query")}, false, "argument query"},
		{catalogue.Tool{Server: "sqlite", Name: "read_query", Annotations: annotated(true), InputSchema: args("query")}, false, "argument query"},
		{catalogue.Tool{Server: "web", Name: "search", Annotations: annotated(true), InputSchema: args("query")}, true, "only reads"},
		{catalogue.Tool{Server: "x", Name: "look", Annotations: annotated(true), InputSchema: args("sql_text")}, false, "argument sql_text"},
		{catalogue.Tool{Server: "x", Name: "look", Annotations: annotated(true), InputSchema: args("shellCommand")}, false, "argument shellCommand"},
		{catalogue.Tool{Server: "x", Name: "look", Annotations: annotated(true), InputSchema: args("code")}, false, "argument code"},
		{catalogue.Tool{Server: "x", Name: "look", Annotations: annotated(true), InputSchema: args("country_code")}, true, "only reads"},
		{catalogue.Tool{Server: "x", Name: "look", Annotations: annotated(true),
			InputSchema: json.RawMessage(`{"properties": {"steps": {"items": {"properties": {"script": {}}}}}}`)}, false, "argument script"},
		{catalogue.Tool{Server: "x", Name: "find_and_replace", Annotations: annotated(true)}, false, "its name says it writes"},
		{catalogue.Tool{Server: "x", Name: "list_and_purge"}, false, "its name says it writes"},
		{catalogue.Tool{Server: "x", Name: "look", Annotations: catalogue.Annotations{Destructive: &yes}}, false, "destructive"},
	} {
		r := ForTools([]catalogue.Tool{c.tool})[0]
		if got := r.List[1] == "allow"; got != c.reads || !strings.Contains(r.Why, c.why) {
			t.Errorf("%s: %s", c.tool.ID(), r)
		}
	}
}

func TestAddKeepsTheFile(t *testing.T) {
	before := "# mine\nversion: 1\ntools:\n  # what asks\n  ask: [a.write] # always\n"
	rules := ForTools([]catalogue.Tool{{Server: "b", Name: "read", Annotations: annotated(true)}, {Server: "b", Name: "it's"}, {Server: "a", Name: "write"}})
	p, err := policy.Parse("policy.yaml", []byte(before))
	if err != nil {
		t.Fatal(err)
	}
	rules = New(p, rules)
	if len(rules) != 2 {
		t.Fatalf("%d rules are new: %v", len(rules), rules)
	}
	after, err := Add("policy.yaml", []byte(before), rules)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(before) {
		if kept := strings.TrimSuffix(line, "[a.write] # always\n"); !strings.Contains(string(after), kept) {
			t.Errorf("%q is gone from\n%s", line, after)
		}
	}
	if p, err = policy.Parse("policy.yaml", after); err != nil || p.BestEffect("b.read") != policy.Allow || p.BestEffect("b.it's") != policy.Ask || p.BestEffect("a.write") != policy.Ask {
		t.Errorf("%v\n%s", err, after)
	}
	if len(New(p, rules)) != 0 {
		t.Errorf("the rules are still new:\n%s", after)
	}
}

func TestStarterIsAPolicy(t *testing.T) {
	for _, rules := range [][]Rule{nil, ForTools([]catalogue.Tool{{Server: "b", Name: "read", Annotations: annotated(true)}, {Server: "b", Name: "x: y #"}})} {
		if _, err := policy.Parse("policy.yaml", []byte(Starter(rules))); err != nil {
			t.Errorf("%v\n%s", err, Starter(rules))
		}
	}
}

func TestForAskingWritesTheConditionAsItIs(t *testing.T) {
	for _, when := range []string{"", `args.to != "a'b"`, "args.n > 1 && // why\n  args.m < 2", `args.s.matches('^\\d<&>é\t')`} {
		rule, ok := ForAsking("mail.send", policy.Asking{File: "policy.yaml", When: when})
		if !ok {
			t.Fatal(when)
		}
		data, err := Add("policy.yaml", []byte("version: 1\ntools:\n  ask: [mail.send] # mine\n"), []Rule{rule})
		if err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		p, err := policy.Parse("policy.yaml", data)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Rules()[1]; got.When != when || !got.Approved || got.Effect != policy.Allow {
			t.Errorf("%q is written as %q\n%s", when, got.When, data)
		}
	}
	for _, tool := range []string{"a.*", "a.{b}", "a.b?", "a.b\n"} {
		if _, ok := ForAsking(tool, policy.Asking{}); ok {
			t.Errorf("%q is a pattern", tool)
		}
	}
}

func TestChangeSeesWhatOthersWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte("a"), 0o640); err != nil {
		t.Fatal(err)
	}
	calls := 0
	err := Change(path, func(data []byte) ([]byte, error) {
		if calls++; calls == 1 { // an editor saves the file now
			if err := os.WriteFile(path, []byte("b"), 0o640); err != nil {
				return nil, err
			}
		}
		return append(data, 'c'), nil
	})
	data, _ := os.ReadFile(path)
	info, _ := os.Stat(path)
	if err != nil || string(data) != "bc" || calls != 2 || runtime.GOOS != "windows" && info.Mode().Perm() != 0o640 {
		t.Errorf("%q after %d calls, %v, %v", data, calls, info.Mode(), err)
	}
}
