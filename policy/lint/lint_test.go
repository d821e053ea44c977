package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

func parse(t testing.TB, text string) *policy.Policy {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func exampleFile(t testing.TB) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", "testdata", "support-triage.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func example(t testing.TB) *policy.Policy { return parse(t, exampleFile(t)) }

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
	for _, f := range Check(parse(t, text), c) {
		out = append(out, fmt.Sprintf("%s [%s]", f, f.Topic))
	}
	return out
}

func TestCheckFindings(t *testing.T) {
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
policy.yaml:4:16: error: unknown argument too in mail.send (did you mean to?) [unknown-argument]
policy.yaml:8:18: error: unknown argument lables in github.create_issue (did you mean labels?) [unknown-argument]
policy.yaml:8:60: error: unknown argument ownr in github.create_issue (did you mean owner?) [unknown-argument]
policy.yaml:12:22: error: found no matching overload for '_==_' applied to '(int, string)' in github.create_issue [wrong-type]
policy.yaml:14:32: error: unknown argument urgnt in mail.send (did you mean urgent?) [unknown-argument]
policy.yaml:14:51: error: unknown argument tto in mail.send (did you mean to?) [unknown-argument]
policy.yaml:16:18: note: unknown argument title in github.list_issues (the condition fails there: use args.?name, has(args.name), or one rule for each tool) [unknown-argument]`},
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
policy.yaml:10:13: error: the condition is never true: args.state is never "done" or "wontfix" in github.create_issue (use one of closed, open) [never-true]
policy.yaml:12:13: error: the condition is never true: tool.name is never "snd" in mail.* (did you mean send?) [never-true]
policy.yaml:13:7: warning: the rule has no effect: policy.yaml:15 always denies mail.send (remove it) [dead-rule]
policy.yaml:14:13: error: the condition is never true: it requires different values of args.to [never-true]
policy.yaml:16:13: note: the condition is always true (remove it) [never-true]`},
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
policy.yaml:6:7: warning: the rule has no effect: policy.yaml:5 always denies github.delete_* (remove it) [dead-rule]
policy.yaml:10:7: warning: the rule never decides: policy.yaml:5 always denies github.delete_* (remove one of them) [dead-rule]
policy.yaml:11:7: warning: the rule allows nothing: policy.yaml:8 always asks for mail.* (remove one of them) [dead-rule]
policy.yaml:13:7: note: the rule has no effect: policy.yaml:12 always allows free.form (remove it) [dead-rule]
policy.yaml:14:7: warning: the condition restricts nothing: policy.yaml:12 allows free.form without a condition (remove the other rule, or make this condition a deny rule) [wide-allow]`},
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
policy.yaml:6:7: note: the rule allows every tool of github, including future ones (name the tools: server.{get,list}_*) [wide-allow]
policy.yaml:6:7: warning: policy.yaml:4 stops github.delete_*, but github.* allows github.remove_member (deny github.remove_member too, or allow less) [wide-allow]
policy.yaml:6:7: warning: policy.yaml:4 stops github.delete_*, but github.* allows github.rewrite_history (deny github.rewrite_history too, or allow less) [wide-allow]`},
		"hosts, files and variables": {`
version: 1
network: {allow: ["*", "*.com", "*.example.com", 0.0.0.0/0]}
files: {read: [/, ~/**, /srv], write: ["/**/x"]}
env: {allow: ["*", "LC_*"]}
`, `
policy.yaml:3:19: warning: programs may reach every public host and send it what they have read (name the hosts) [wide-allow]
policy.yaml:3:24: warning: programs may reach every host under .com (name the hosts) [wide-allow]
policy.yaml:3:50: warning: programs may reach every address, including those of this machine (name the hosts) [wide-allow]
policy.yaml:4:16: warning: / includes keys, passwords and programs (name the folder) [wide-allow]
policy.yaml:4:19: warning: ~/** includes keys, passwords and programs (name the folder) [wide-allow]
policy.yaml:4:40: warning: /**/x includes keys, passwords and programs (name the folder) [wide-allow]
policy.yaml:5:15: warning: programs may read the whole environment, including tokens (name the variables) [wide-allow]`},
		"risk": {`
version: 1
tools:
  allow:
    - {tool: mail.send, when: 'run.risk == "hihg"'}
network: {allow: [api.example.com]}
risk:
  low: {network: none}
  medium: {network: servers, limits: {memory: 128MiB}}
  high: {limits: {memory: 256MiB}, deny: true}
  critical: {ask: true}
`, `
policy.yaml:5:32: error: the condition is never true: run.risk is never "hihg" in mail.send (did you mean high?) [never-true]
policy.yaml:8:18: warning: programs of every level have network: none, so they never reach api.example.com (put it in a higher level, or remove the hosts) [dead-rule]
policy.yaml:11:13: warning: the level critical has no effect: the level high denies programs already (remove it) [dead-rule]`},
		"risk without effect": {`
version: 1
risk:
  low: {}
  medium: {ask: true, limits: {cpu: 50%}}
  high: {ask: true, limits: {cpu: 50%}, network: policy}
  critical: {ask: true, limits: {cpu: 10%}, network: none}
`, `
policy.yaml:4:8: warning: the level low has no effect: it is not stricter than what applies below it (remove it, or make it stricter) [dead-rule]
policy.yaml:6:9: warning: the level high has no effect: it is not stricter than what applies below it (remove it, or make it stricter) [dead-rule]`},
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
policy.yaml:5:7: error: github.lst_issues matches no tool (did you mean github.list_issues?) [unknown-tool]
policy.yaml:6:7: error: Github.list_issues matches no tool (did you mean github.list_issues? case matters) [unknown-tool]
policy.yaml:7:7: error: githb.list_issues matches no tool (there is no server githb; did you mean github?) [unknown-tool]`), "\n")
				if diff := cmp.Diff(want, got[:3]); diff != "" {
					t.Error(diff)
				}
				rest := strings.Join(got[3:], "\n")
				for _, part := range []string{"8:7: warning: github.lost_issues of github.{list,lost}_issues matches no tool", "9:35: error: mail.sned matches no tool",
					"10:16: error: unknown tool mail.read", `12:35: warning: secret A goes to server githb`, "13:35: error: mial.* matches no tool"} {
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

func TestTheExampleHasNoFindings(t *testing.T) {
	for _, f := range Check(example(t), nil) {
		if f.Severity != SeverityNote {
			t.Error(f)
		}
	}
}

// Schemas may be hostile: cyclic, invalid and deep.
func TestHostileSchemasDoNotBreakCheck(t *testing.T) {
	p := parse(t, "version: 1\ntools: {allow: [{tool: \"a.*\", when: args.x.y.z == 1}]}\n")
	deep := strings.Repeat(`{"type":"object","properties":{"x":`, 200) + "{}" + strings.Repeat("}}", 200)
	for _, schema := range []string{
		`{"$ref":"#"}`, `{"properties":{"x":{"$ref":"#/properties/x"}}}`, `{"properties":{"x":{"$ref":"#"}}}`, `[]`, `null`, `{`, `{"properties":1}`,
		`{"properties":{"x":1}}`, deep, `{"properties":{"x":{"$ref":"http://x/y"}}}`, `{"properties":{"":{},"a b":{},"x":{"type":["object","null"]}}}`,
	} {
		Check(p, catalogue.New([]catalogue.Tool{tool("a.b", schema)}))
	}
}

func TestRunTestsReportsResultsAndCoverage(t *testing.T) {
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
	rep := RunTests(p, TestOptions{})
	if rep.Failed != 1 || rep.Results[2].Passed || rep.Results[2].Got != policy.Ask || rep.Results[2].Rule != "policy.yaml:5" || rep.Results[2].Case != "policy.yaml:10" {
		t.Errorf("%+v", rep)
	}
	if rep.Covered() != 0.75 || rep.Coverage[3].Matched != 0 || rep.Coverage[0].Decided != 1 {
		t.Errorf("%+v", rep.Coverage)
	}
	beside, err := policy.ParseTests("cases.yaml", []byte("- {tool: a.get, expect: allow}\n- {tool: a.unused, expect: allow}\n"))
	if err != nil || len(beside) != 2 || beside[1].Rule != "cases.yaml:2" {
		t.Fatalf("%+v %v", beside, err)
	}
	if rep := RunTests(p, TestOptions{}, beside...); rep.Failed != 0 {
		t.Errorf("%+v", rep)
	}
	if _, err := policy.ParseTests("cases.yaml", []byte("tests:\n  - {tol: a.get, expect: allow}\n")); fault.CodeOf(err) != fault.UsagePolicy || !strings.Contains(err.Error(), "cases.yaml:2:6: unknown key tol (did you mean tool?)") {
		t.Error(err)
	}
}

func TestAPolicyIsSafeForConcurrentUse(t *testing.T) {
	p, c := example(t), testCatalogue()
	mail := policy.Request{Tool: tool("mail.send", ""), Args: map[string]any{"to": "x@acme.com"}}
	want := p.Decide(mail)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				if d := p.Decide(mail); !cmp.Equal(d, want) {
					t.Errorf("%+v", d)
				}
				p.Explain(mail)
				Check(p, c)
				RunTests(p, TestOptions{}, policy.Test{Tool: "a.b"})
				p.PII()
			}
		})
	}
	wg.Wait()
}

// FuzzCheck checks that no policy makes Check or RunTests panic.
func FuzzCheck(f *testing.F) {
	f.Add(exampleFile(f))
	f.Add("version: 1\ntools: {allow: [{tool: \"a.*\", when: args.x.y.z == 1}], deny: [mcp__a__b__c]}\ntests: [{tool: \"mcp__a[\", expect: deny}]\n")
	c := testCatalogue()
	f.Fuzz(func(t *testing.T, text string) {
		p, err := policy.Parse("p.yaml", []byte(text))
		if err != nil {
			var list policy.Problems
			if !errors.As(err, &list) {
				t.Fatalf("%T %v", err, err)
			}
			return
		}
		for _, cat := range []*catalogue.Catalogue{nil, c} {
			Check(p, cat)
			Check(p.Tightening(), cat)
			RunTests(p, TestOptions{Catalogue: cat})
		}
	})
}
