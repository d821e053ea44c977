package policy

import (
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
)

func TestImportProposesWhatAPersonReviews(t *testing.T) {
	p, err := Import("settings.json", []byte(`{
  // Claude's
  "permissions": {
    "allow": ["mcp__github__list_issues", "mcp__github__create_issue", "mcp__jira", "Bash(ls:*)", "Mcp(slack:history)",],
    "deny": ["mcp__github__delete_repo", "mcp__x\u0007__y z"],
    "ask": ["mcp__mail__send(to:*)"]
  },
  "mcpServers": {"crm": {"command": "x", "autoApprove": ["find", "delete_all"], "alwaysAllow": ["find"], "disabledTools": ["wipe"]}},
}`))
	if err != nil {
		t.Fatal(err)
	}
	policy := parse(t, string(p.Policy))
	for id, want := range map[string]Effect{
		"github.list_issues": Allow, "github.create_issue": Ask, "jira.anything": Ask, "slack.history": Allow,
		"github.delete_repo": Deny, "mail.send": Ask, "crm.find": Allow, "crm.delete_all": Ask, "crm.wipe": Deny, "other.tool": Deny,
	} {
		if got := policy.Decide(call(id, nil)).Effect; got != want {
			t.Errorf("%s: %v, want %v", id, got, want)
		}
	}
	if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, "Bash(ls:*) is a built-in tool of the client") || !strings.Contains(notes, "restricted by arguments") {
		t.Error(notes)
	}
	for _, bad := range []string{"", "[]", "{}", `{"permissions": {}}`} {
		if _, err := Import("x", []byte(bad)); fault.CodeOf(err) != fault.UsageFile {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
