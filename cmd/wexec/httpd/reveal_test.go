package httpd

import (
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/store"
)

// TestAPersonSeesValuesOnRequest reveals the values of a question to a person with the
// scope reveal, while it waits, and records it.
func TestAPersonSeesValuesOnRequest(t *testing.T) {
	a, runs := seeded(t)
	const value = "ada@engine.example"
	for name, token := range map[string]store.Token{
		"robot":  {Tenant: "default", Name: "r2", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRead, store.ScopeReveal}},
		"viewer": {Tenant: "default", Name: "vi", Type: store.TypePerson, Scopes: []store.Scope{store.ScopeRead, store.ScopeReveal}},
	} {
		secret, _, err := a.service.CreateToken(t.Context(), token)
		if err != nil {
			t.Fatal(err)
		}
		a.tokens[name] = secret
	}
	var id string
	for _, q := range a.approvals("waiting") {
		if q.Run == runs["mail"] {
			id = q.ID
		}
	}
	way := "/approvals/" + id + "/reveal"
	for name, offered := range map[string]bool{"admin": false, "robot": false, "viewer": true, "owner": true} {
		_, body := a.visit(name, "GET", "/approvals", nil)
		if strings.Contains(body, way) != offered || !strings.Contains(body, "[EMAIL_1]") || strings.Contains(body, value) {
			t.Errorf("the page of %s offers values: %v", name, !offered)
		}
		if res, body := a.visit(name, "POST", way, url.Values{}); res.StatusCode != map[bool]int{true: 200, false: 403}[offered] || strings.Contains(body, value) != offered {
			t.Errorf("%s: %d", name, res.StatusCode)
		}
	}
	if res, _ := a.visit("other", "POST", way, url.Values{}); res.StatusCode != 403 && res.StatusCode != 404 {
		t.Error("another tenant:", res.StatusCode)
	}
	row, err := a.store.Approval(t.Context(), "default", id)
	if err != nil || strings.Contains(string(row.Question), value) {
		t.Error("the store has the value:", err)
	}
	recorded := 0
	for e, err := range audit.Read(t.Context(), filepath.Join(a.data, "tenants/default/audit"), audit.Filter{Run: runs["mail"]}) {
		if d := e.Decision; err == nil && d != nil && d.Kind == "reveal" {
			recorded++
			if d.Approval.ID != id || !strings.HasPrefix(d.Approval.By, "actor_") || d.Tool != "mail.send" {
				t.Errorf("%+v %+v", d, d.Approval)
			}
		}
	}
	if recorded != 2 {
		t.Errorf("%d records of 2 reveals", recorded)
	}
	if res, _ := a.visit("owner", "POST", "/approvals/"+id, url.Values{"decision": {"deny"}, "reason": {"not today"}}); res.StatusCode != 303 {
		t.Error(res.StatusCode)
	}
	if res, body := a.visit("owner", "POST", way, url.Values{}); res.StatusCode != 409 || strings.Contains(body, value) {
		t.Error("after the answer:", res.StatusCode)
	}
}

// TestAQuestionSaysWhatIsKnown has the review of the program, earlier answers with their
// reasons, and who answered first.
func TestAQuestionSaysWhatIsKnown(t *testing.T) {
	a, _ := seeded(t)
	waiting := a.approvals("waiting")
	_, body := a.visit("admin", "GET", "/approvals", nil)
	for _, want := range []string{"Review of the program:", "Answered before: approved, approved", `href="/policy?file=policy.yaml#L6"`, "amount", "240", "tools.allow"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
	a.call("admin", "POST", "/v1/approvals/"+waiting[0].ID, `{"decision":"deny","reason":"too much"}`).is(200)
	res, _ := a.visit("admin", "POST", "/approvals/"+waiting[0].ID, url.Values{"decision": {"approve"}})
	if res.StatusCode != 303 || res.Header.Get("Location") != "/approvals?late="+waiting[0].ID {
		t.Fatal(res.StatusCode, res.Header.Get("Location"))
	}
	if _, body := a.visit("admin", "GET", res.Header.Get("Location"), nil); !strings.Contains(body, "came too late") || !strings.Contains(body, "was denied by ada through api") || !strings.Contains(body, "too much") {
		t.Error("the page does not say who answered")
	}
}
