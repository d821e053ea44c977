package policy

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExplainSaysWhyEachRuleMatchedOrDidNot(t *testing.T) {
	p := example(t)
	e := p.Explain(call("crm.update_ticket", map[string]any{"status": "closed", "ticket_id": "T-1"}))
	got, err := json.MarshalIndent(e, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want := `{
 "tool": "crm.update_ticket",
 "decision": "deny",
 "rule": "policy.yaml:5",
 "message": "no rule allows crm.update_ticket",
 "considered": [
  {
   "rule": "policy.yaml:13",
   "effect": "deny",
   "matched": false,
   "why": "github.delete_* does not match crm.update_ticket"
  },
  {
   "rule": "policy.yaml:14",
   "effect": "deny",
   "matched": false,
   "why": "* matches, but this is not true: run.trigger == \"schedule\""
  },
  {
   "rule": "policy.yaml:18",
   "effect": "ask",
   "matched": false,
   "why": "mail.send does not match crm.update_ticket"
  },
  {
   "rule": "policy.yaml:23",
   "effect": "allow",
   "matched": false,
   "why": "github.{get,list,search}_* does not match crm.update_ticket"
  },
  {
   "rule": "policy.yaml:24",
   "effect": "allow",
   "matched": false,
   "why": "mail.send does not match crm.update_ticket"
  },
  {
   "rule": "policy.yaml:27",
   "effect": "allow",
   "matched": false,
   "why": "crm.update_ticket matches, but this is not true: args.status in [\"open\", \"pending\"]"
  },
  {
   "rule": "policy.yaml:29",
   "effect": "allow",
   "matched": false,
   "why": "search.* does not match crm.update_ticket"
  },
  {
   "rule": "policy.yaml:5",
   "effect": "deny",
   "matched": true,
   "why": "deny is the default for tools that no rule matches"
  }
 ]
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if e := (*Policy)(nil).Explain(call("a.b", nil)); e.Decision != Deny || e.Message == "" || e.Considered == nil {
		t.Errorf("%+v", e)
	}
	if why := p.Explain(call("crm.update_ticket", nil)).Considered[5].Why; !strings.Contains(why, "but the condition failed, which counts as false: no such key: status") {
		t.Error(why)
	}
	faulty := parse(t, "version: 1\ntools: {deny: [{tool: a.b, when: args.x == 1}]}\n")
	if e := faulty.Explain(call("a.b", nil)); !e.Considered[0].Matched || !strings.Contains(e.Considered[0].Why, "the condition failed, which counts as true: no such key: x") {
		t.Errorf("%+v", e)
	}
}

func TestExplainAgreesWithDecide(t *testing.T) {
	p := example(t)
	for _, id := range []string{"mail.send", "github.get_x", "github.delete_x", "crm.update_ticket", "x.y", "search.z"} {
		for _, args := range []map[string]any{nil, {"to": "a@acme.com"}, {"to": "b@c.d", "status": "open", "ticket_id": "T-1"}} {
			d, e := p.Decide(call(id, args)), p.Explain(call(id, args))
			if e.Decision != d.Effect || e.Rule != d.Rule || e.Message != d.Message {
				t.Errorf("%s %v: %v and %v", id, args, d, e)
			}
		}
	}
}
