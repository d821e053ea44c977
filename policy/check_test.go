package policy

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

func tool(id, schema string) catalogue.Tool {
	server, name, _ := strings.Cut(id, ".")
	t := catalogue.Tool{Server: server, Name: name}
	if schema != "" {
		t.InputSchema = json.RawMessage(schema)
	}
	return t
}

func testCatalogue() *catalogue.Catalogue {
	yes := true
	destructive := tool("github.rewrite_history", "")
	destructive.Annotations.Destructive = &yes
	return catalogue.New([]catalogue.Tool{
		tool("github.create_issue", `{"type":"object","properties":{"title":{"type":"string"},"labels":{"type":"array","items":{"type":"string"}},
			"limit":{"type":"integer"},"state":{"enum":["open","closed"]},"meta":{"$ref":"#/$defs/meta"}},
			"$defs":{"meta":{"type":"object","properties":{"owner":{"type":"string"}}}}}`),
		tool("github.list_issues", `{"type":"object","properties":{"state":{"enum":["open","closed"]},"limit":{"type":"integer"}}}`),
		tool("github.delete_repo", ""), tool("github.remove_member", ""), destructive,
		tool("mail.send", `{"type":"object","properties":{"to":{"type":"string"},"urgent":{"type":"boolean"}},"additionalProperties":false}`),
		tool("free.form", `{"type":"object"}`),
	})
}

func findings(t *testing.T, text string, c *catalogue.Catalogue) []string {
	t.Helper()
	var out []string
	for _, f := range parse(t, text).Check(c) {
		out = append(out, fmt.Sprintf("%s [%s]", f, f.Topic))
	}
	return out
}

func TestCheckFindsWhatDoesNotDoWhatItSays(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"tools that are not there": {`
version: 1
tools:
  allow:
    - github.lst_issues
    - Github.list_issues
    - githb.list_issues
    - github.{list,lost}_issues
pii: {mode: tokenize, reveal_to: [mail.sned]}
tests: [{tool: mail.read, expect: deny}]
secrets:
  - {name: A, from: "env:A", to: ["server:githb"], as: "env:A"}
  - {name: B, from: "env:A", to: [mial.*], as: "arg:A"}
`, ``},
		"arguments": {`
version: 1
vars:
  inside: args.too.endsWith("x")
tools:
  allow:
    - tool: github.create_issue
      when: args.lables.exists(l, l == "bug") && args.meta.ownr == "x"
    - tool: github.create_issue
      when: |
        has(args.title) &&
          args.limit == "ten"
    - tool: mail.send
      when: vars.inside && args["urgnt"] && "tto" in args
    - tool: "github.*_issue*"
      when: args.title != ""
    - tool: free.form
      when: args.anything == 1
`, `
policy.yaml:4:16: error: there is no argument too in mail.send (did you mean to?) [unknown-argument]
policy.yaml:8:18: error: there is no argument lables in github.create_issue (did you mean labels?) [unknown-argument]
policy.yaml:8:60: error: there is no argument ownr in github.create_issue (did you mean owner?) [unknown-argument]
policy.yaml:12:22: error: found no matching overload for '_==_' applied to '(int, string)' in github.create_issue [wrong-type]
policy.yaml:14:32: error: there is no argument urgnt in mail.send (did you mean urgent?) [unknown-argument]
policy.yaml:14:51: error: there is no argument tto in mail.send (did you mean to?) [unknown-argument]
policy.yaml:16:18: note: there is no argument title in github.list_issues (the condition fails there: use args.?name, has(args.name), or a rule for each) [unknown-argument]`},
		"conditions that cannot be true": {`
version: 1
tools:
  deny:
    - tool: mail.send
      when: 1 > 2
    - tool: github.list_issues
      when: args.state == "opened"
    - tool: github.create_issue
      when: args.state in ["done", "wontfix"]
    - tool: mail.*
      when: tool.name == "snd"
    - tool: mail.send
      when: args.to == "a" && args.urgent && args.to == "b"
    - tool: mail.send
      when: 1 < 2
`, `
policy.yaml:6:13: error: the condition is never true [never-true]
policy.yaml:8:13: error: the condition is never true: args.state is never "opened" in github.list_issues (did you mean open?) [never-true]
policy.yaml:10:13: error: the condition is never true: args.state is never "done" or "wontfix" in github.create_issue (one of closed, open) [never-true]
policy.yaml:12:13: error: the condition is never true: tool.name is never "snd" in mail.* (did you mean send?) [never-true]
policy.yaml:13:7: warning: the rule adds nothing: policy.yaml:15 denies mail.send always (take it out) [dead-rule]
policy.yaml:14:13: error: the condition is never true: args.to cannot be all of that at once [never-true]
policy.yaml:16:13: note: the condition is always true (take it out) [never-true]`},
		"dead rules": {`
version: 1
tools:
  deny:
    - github.delete_*
    - github.delete_repo
  ask:
    - mail.*
  allow:
    - github.delete_repo
    - mail.send
    - free.form
    - free.form
    - {tool: free.form, when: args.x == 1}
`, `
policy.yaml:6:7: warning: the rule adds nothing: policy.yaml:5 denies github.delete_* always (take it out) [dead-rule]
policy.yaml:10:7: warning: the rule never decides: policy.yaml:5 denies github.delete_* always (take one of the two out) [dead-rule]
policy.yaml:11:7: warning: the rule lets nothing pass: policy.yaml:8 asks for mail.* always (take one of the two out) [dead-rule]
policy.yaml:13:7: note: the rule adds nothing: policy.yaml:12 allows free.form always (take it out) [dead-rule]
policy.yaml:14:7: warning: the condition keeps nothing back: policy.yaml:12 allows free.form without one (take the other out, or make this condition a deny) [wide-allow]`},
		"wide allows": {`
version: 1
tools:
  deny: [github.delete_*]
  allow:
    - github.*
    - "*"
    - tool: mail.send
      when: tool.annotations.readOnlyHint
`, `
policy.yaml:6:7: note: the rule allows every tool of github, also those it gets later (name the tools: server.{get,list}_*) [wide-allow]
policy.yaml:6:7: warning: policy.yaml:4 stops github.delete_*, and github.* lets github.remove_member pass (deny github.remove_member too, or allow less) [wide-allow]
policy.yaml:6:7: warning: policy.yaml:4 stops github.delete_*, and github.* lets github.rewrite_history pass (deny github.rewrite_history too, or allow less) [wide-allow]`},
		"hosts, files and variables": {`
version: 1
network: {allow: ["*", "*.com", "*.example.com", 0.0.0.0/0]}
files: {read: [/, ~/**, /srv], write: ["/**/x"]}
env: {allow: ["*", "LC_*"]}
`, `
policy.yaml:3:19: warning: programs may reach every public host, and send there what they have read (name the hosts) [wide-allow]
policy.yaml:3:24: warning: programs may reach every host under .com (name the hosts) [wide-allow]
policy.yaml:3:50: warning: programs may reach every address, this machine's own included (name the hosts) [wide-allow]
policy.yaml:4:16: warning: / opens keys, passwords and programs too (name the folder) [wide-allow]
policy.yaml:4:19: warning: ~/** opens keys, passwords and programs too (name the folder) [wide-allow]
policy.yaml:4:40: warning: /**/x opens keys, passwords and programs too (name the folder) [wide-allow]
policy.yaml:5:15: warning: programs see the whole environment, tokens in it included (name the variables) [wide-allow]`},
		"nothing": {`
version: 1
tools:
  deny: [github.delete_*, github.remove_*]
  allow:
    - github.list_issues
    - {tool: mail.send, when: "args.?urgent.orValue(false) && args.to.endsWith('@acme.com')"}
    - {tool: github.create_issue, when: "size(args.labels) < 3 && args.meta.owner == 'x' && args.limit + 1 < 9"}
`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			got := findings(t, c.text, testCatalogue())
			switch name {
			case "tools that are not there":
				want := strings.Split(strings.TrimSpace(`
policy.yaml:5:7: error: github.lst_issues fits no tool (did you mean github.list_issues?) [unknown-tool]
policy.yaml:6:7: error: Github.list_issues fits no tool (did you mean github.list_issues? capital and small letters count) [unknown-tool]
policy.yaml:7:7: error: githb.list_issues fits no tool (there is no server githb; did you mean github?) [unknown-tool]`), "\n")
				if diff := cmp.Diff(want, got[:3]); diff != "" {
					t.Error(diff)
				}
				rest := strings.Join(got[3:], "\n")
				for _, part := range []string{"8:7: warning: github.lost_issues of github.{list,lost}_issues fits no tool", "9:35: error: mail.sned fits no tool",
					"10:16: error: there is no tool mail.read", `12:35: warning: the secret A goes to server githb`, "13:35: error: mial.* fits no tool"} {
					if !strings.Contains(rest, part) {
						t.Errorf("%s is not told in\n%s", part, rest)
					}
				}
				return
			case "wide allows":
				for _, line := range strings.Split(strings.TrimSpace(c.want), "\n") {
					if !strings.Contains(strings.Join(got, "\n"), line) {
						t.Errorf("not told: %s", line)
					}
				}
				all := strings.Join(got, "\n")
				if !strings.Contains(all, "policy.yaml:7:7: warning: the rule allows every tool of every server") || !strings.Contains(all, "[annotations]") {
					t.Errorf("%s", all)
				}
				return
			}
			var want []string
			if w := strings.TrimSpace(c.want); w != "" {
				want = strings.Split(w, "\n")
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// One policy serves any number of goroutines.
func TestAPolicyIsSafeForConcurrentUse(t *testing.T) {
	p, c := example(t), testCatalogue()
	want := p.Decide(call("mail.send", map[string]any{"to": "x@acme.com"}))
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				r := call("mail.send", map[string]any{"to": "x@acme.com"})
				if d := p.Decide(r); !cmp.Equal(d, want) {
					t.Errorf("%+v", d)
				}
				p.Explain(r)
				p.Check(c)
				p.Test(TestOptions{}, Test{Tool: "a.b"})
				p.PII()
			}
		})
	}
	wg.Wait()
}

func TestTheExampleHasNoFaultsOfItsOwn(t *testing.T) {
	for _, f := range example(t).Check(nil) {
		if f.Severity != SeverityNote {
			t.Error(f)
		}
	}
}

// Schemas are hostile: cycles, nonsense and depth cost their own check alone.
func TestHostileSchemasCostTheirOwnCheck(t *testing.T) {
	p := parse(t, "version: 1\ntools: {allow: [{tool: \"a.*\", when: args.x.y.z == 1}]}\n")
	deep := strings.Repeat(`{"type":"object","properties":{"x":`, 200) + "{}" + strings.Repeat("}}", 200)
	for _, schema := range []string{
		`{"$ref":"#"}`, `{"properties":{"x":{"$ref":"#/properties/x"}}}`, `{"properties":{"x":{"$ref":"#"}}}`, `[]`, `null`, `{`, `{"properties":1}`,
		`{"properties":{"x":1}}`, deep, `{"properties":{"x":{"$ref":"http://x/y"}}}`, `{"properties":{"":{},"a b":{},"x":{"type":["object","null"]}}}`,
	} {
		p.Check(catalogue.New([]catalogue.Tool{tool("a.b", schema)}))
	}
}

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
   "why": "github.delete_* does not fit crm.update_ticket"
  },
  {
   "rule": "policy.yaml:14",
   "effect": "deny",
   "matched": false,
   "why": "* fits, but this is not true: run.trigger == \"schedule\""
  },
  {
   "rule": "policy.yaml:18",
   "effect": "ask",
   "matched": false,
   "why": "mail.send does not fit crm.update_ticket"
  },
  {
   "rule": "policy.yaml:23",
   "effect": "allow",
   "matched": false,
   "why": "github.{get,list,search}_* does not fit crm.update_ticket"
  },
  {
   "rule": "policy.yaml:24",
   "effect": "allow",
   "matched": false,
   "why": "mail.send does not fit crm.update_ticket"
  },
  {
   "rule": "policy.yaml:27",
   "effect": "allow",
   "matched": false,
   "why": "crm.update_ticket fits, but this is not true: args.status in [\"open\", \"pending\"]"
  },
  {
   "rule": "policy.yaml:29",
   "effect": "allow",
   "matched": false,
   "why": "search.* does not fit crm.update_ticket"
  },
  {
   "rule": "policy.yaml:5",
   "effect": "deny",
   "matched": true,
   "why": "deny is the default for what no rule names"
  }
 ]
}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
	if e := (*Policy)(nil).Explain(call("a.b", nil)); e.Decision != Deny || e.Message == "" || e.Considered == nil {
		t.Errorf("%+v", e)
	}
	if why := p.Explain(call("crm.update_ticket", nil)).Considered[5].Why; !strings.Contains(why, "the condition failed: no such key: status") {
		t.Error(why)
	}
	faulty := parse(t, "version: 1\ntools: {deny: [{tool: a.b, when: args.x == 1}]}\n")
	if e := faulty.Explain(call("a.b", nil)); !e.Considered[0].Matched || !strings.Contains(e.Considered[0].Why, "counts against the caller") {
		t.Errorf("%+v", e)
	}
}

func TestExplainDecidesAsDecideDoes(t *testing.T) {
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

func TestCasesOfAFileAreCheckedWithCoverage(t *testing.T) {
	p := parse(t, `
version: 1
tools:
  deny: [{tool: a.drop, message: never}]
  ask: [a.ask]
  allow: [a.get, a.unused]
tests:
  - {tool: a.get, args: {n: 1}, expect: allow}
  - {tool: mcp__a__drop, expect: deny}
  - {tool: a.ask, expect: allow}
`)
	rep := p.Test(TestOptions{})
	if rep.Failed != 1 || rep.Results[2].Passed || rep.Results[2].Got != Ask || rep.Results[2].Rule != "policy.yaml:5" || rep.Results[2].Case != "policy.yaml:10" {
		t.Errorf("%+v", rep)
	}
	if rep.Covered() != 0.75 || rep.Coverage[3].Matched != 0 || rep.Coverage[0].Decided != 1 {
		t.Errorf("%+v", rep.Coverage)
	}
	beside, err := ParseTests("cases.yaml", []byte("- {tool: a.get, expect: allow}\n- {tool: a.unused, expect: allow}\n"))
	if err != nil || len(beside) != 2 || beside[1].Rule != "cases.yaml:2" {
		t.Fatalf("%+v %v", beside, err)
	}
	if rep := p.Test(TestOptions{}, beside...); rep.Failed != 0 {
		t.Errorf("%+v", rep)
	}
	if _, err := ParseTests("cases.yaml", []byte("tests:\n  - {tol: a.get, expect: allow}\n")); fault.CodeOf(err) != fault.UsagePolicy || !strings.Contains(err.Error(), "cases.yaml:2:6: unknown key tol (did you mean tool?)") {
		t.Error(err)
	}
}

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
	if notes := strings.Join(p.Notes, "\n"); !strings.Contains(notes, "Bash(ls:*) is a tool of the client itself") || !strings.Contains(notes, "limited by arguments") {
		t.Error(notes)
	}
	for _, bad := range []string{"", "[]", "{}", `{"permissions": {}}`} {
		if _, err := Import("x", []byte(bad)); fault.CodeOf(err) != fault.UsageFile {
			t.Errorf("%q: %v", bad, err)
		}
	}
}
