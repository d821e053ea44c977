package harness

import (
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

type issue map[string]any

// bench returns a bench with fakes for Jira, with some issues, and Slack.
func bench(t *testing.T, issues ...issue) *Bench {
	t.Helper()
	rules, err := os.ReadFile("policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return New(t, string(rules), map[string]Fake{
		"jira.search":        func(map[string]any) (any, error) { return map[string]any{"issues": issues}, nil },
		"jira.update_issue":  func(args map[string]any) (any, error) { return args, nil },
		"slack.post_message": func(map[string]any) (any, error) { return map[string]any{"ok": true}, nil },
	})
}

func TestIdleIssuesAreTakenUpAndTold(t *testing.T) {
	b := bench(t, issue{"key": "A-1", "assignee": "ann"}, issue{"key": "A-2"}, issue{"key": "A-3"})
	res := b.Run("triage.js", map[string]any{"channel": "incidents"})
	if res.Status != engine.StatusOK || string(res.Value) != "2" {
		t.Fatalf("%s %s %+v", res.Status, res.Value, res.Error)
	}
	var tools []string
	calls := b.Calls()
	for _, c := range calls {
		tools = append(tools, c.Tool)
	}
	if want := []string{"jira.search", "jira.update_issue", "jira.update_issue", "slack.post_message"}; !slices.Equal(tools, want) {
		t.Fatalf("it calls %v, want %v", tools, want)
	}
	if text := calls[3].Args["text"]; text != "now in progress: A-2, A-3" {
		t.Errorf("it posts %q", text)
	}
}

func TestNothingIsToldWhereNothingChanged(t *testing.T) {
	b := bench(t, issue{"key": "A-1", "assignee": "ann"})
	b.Run("triage.js", map[string]any{"channel": "incidents"})
	if calls := b.Calls(); len(calls) != 1 {
		t.Errorf("it calls %v", calls)
	}
}

func TestThePolicyKeepsItToOneChannel(t *testing.T) {
	b := bench(t, issue{"key": "A-2"})
	res := b.Run("triage.js", map[string]any{"channel": "general"})
	if res.Error == nil || !errors.Is(res.Error, fault.DeniedTool) {
		t.Errorf("posting elsewhere gives %+v", res.Error)
	}
}

func TestAFailingToolIsNotPassedOver(t *testing.T) {
	b := New(t, "version: 1\ntools: {allow: [\"*\"]}\n", map[string]Fake{
		"jira.search": func(map[string]any) (any, error) { return nil, errors.New("jira is down") },
	})
	res := b.Run("triage.js", nil)
	if res.Status != engine.StatusError || res.Error.Message != "jira is down" {
		t.Errorf("%s %+v", res.Status, res.Error)
	}
}

func TestTheSameRunCostsTheSame(t *testing.T) {
	b := bench(t, issue{"key": "A-2"})
	args := map[string]any{"channel": "incidents"}
	if one, two := b.Run("triage.js", args).Usage.Fuel, b.Run("triage.js", args).Usage.Fuel; one != two || one == 0 {
		t.Errorf("two runs cost %d and %d", one, two)
	}
}
