package policy

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

func parse(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func example(t testing.TB) *Policy {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "support-triage.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(data))
}

func call(tool string, args map[string]any) Request {
	server, name, _ := strings.Cut(tool, ".")
	return Request{
		Tool: catalogue.Tool{Server: server, Name: name}, Args: args,
		Run: RunFacts{ID: "r1", Trigger: "cli"}, Now: time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC),
	}
}

func TestExampleDecisions(t *testing.T) {
	p := example(t)
	inside, outside := map[string]any{"to": "ann@acme.com"}, map[string]any{"to": "bob@else.org"}
	night := call("mail.send", inside)
	night.Now = time.Date(2026, 1, 15, 22, 0, 0, 0, time.UTC)
	scheduled := call("search.web", nil)
	scheduled.Run.Trigger = "schedule"
	for _, c := range []struct {
		name    string
		req     Request
		effect  Effect
		rule    string
		message string
	}{
		{"a reading tool", call("github.list_commits", nil), Allow, "policy.yaml:23", ""},
		{"a deleting tool", call("github.delete_repo", nil), Deny, "policy.yaml:13", "the policy denies github.delete_*"},
		{"mail inside in office hours", call("mail.send", inside), Allow, "policy.yaml:24", ""},
		{"mail inside at night", night, Deny, "policy.yaml:5", "no rule allows mail.send"},
		{"mail outside", call("mail.send", outside), Ask, "policy.yaml:18", "mail to bob@else.org leaves the company"},
		{"mail with files", call("mail.send", map[string]any{"to": "ann@acme.com", "attachments": []any{"x"}}), Ask, "policy.yaml:18", "mail to ann@acme.com leaves the company"},
		{"mail to nobody", call("mail.send", map[string]any{}), Ask, "policy.yaml:18", "mail.send needs approval"},
		{"a ticket that is closed", call("crm.update_ticket", map[string]any{"status": "closed", "ticket_id": "T-1"}), Deny, "policy.yaml:5", "no rule allows crm.update_ticket"},
		{"an open ticket", call("crm.update_ticket", map[string]any{"status": "open", "ticket_id": "T-1"}), Allow, "policy.yaml:27", ""},
		{"a tool nobody named", call("shop.buy", nil), Deny, "policy.yaml:5", "no rule allows shop.buy"},
		{"a scheduled run", scheduled, Deny, "policy.yaml:14", "scheduled runs never call destructive tools"},
	} {
		d := p.Decide(c.req)
		if d.Effect != c.effect || d.Rule != c.rule || d.Message != c.message {
			t.Errorf("%s: %v by %s %q, want %v by %s %q", c.name, d.Effect, d.Rule, d.Message, c.effect, c.rule, c.message)
		}
	}
	if d := p.Decide(call("search.web", nil)); d.Cache != 10*time.Minute || d.Limits.Result() != 256<<10 || d.Limits.Timeout() != 20*time.Second || d.Limits[0].Calls != 50 {
		t.Errorf("limits and cache of search: %+v", d)
	}
	if d := p.Decide(call("mail.send", inside)); d.Limits[0].Rate != (Rate{5, time.Minute}) || d.Limits[0].Calls != 20 {
		t.Errorf("limits of mail: %+v", d.Limits)
	}
	if d := p.Decide(call("mail.send", outside)); d.Timeout != 15*time.Minute {
		t.Errorf("timeout of the question: %v", d.Timeout)
	}
}

func TestExampleBlocks(t *testing.T) {
	p := example(t)
	want := Limits{Fuel: 5e9, Memory: 256 << 20, Time: 30 * time.Second, Output: 4 << 20, ToolCalls: 200, Parallel: 8, HostBytes: 256 << 20, Recursion: 1000}
	if diff := cmp.Diff(want, p.Limits()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"javascript", "python", "typescript"}, p.Languages()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Approvals{Via: []string{"terminal", "mcp", "socket"}, Timeout: 10 * time.Minute, Remember: "run"}, p.Approvals()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Audit{DetailHash, DetailHash, DetailHash}, p.Audit()); diff != "" {
		t.Error(diff)
	}
	if s := p.Secrets(); len(s) != 3 || s[1].As != "header:Authorization: Bearer {}" || s[2].To[0] != "crm.*" {
		t.Errorf("secrets: %+v", s)
	}
	if !p.AllowsEnv("TZ") || p.AllowsEnv("HOME") {
		t.Error("environment")
	}
	pii := p.PII()
	if pii.Mode != "tokenize" || len(pii.Detect) != 7 || !pii.Reveals("crm.find") || pii.Reveals("github.list") || pii.Patterns["employee"] == "" {
		t.Errorf("pii: %+v", pii)
	}
	if p.Name() != "support-triage" || len(p.Digest()) != 64 {
		t.Errorf("name %q, digest %q", p.Name(), p.Digest())
	}
}

// The problems have line, column and the nearest word.
func TestParseReportsEveryProblemWithItsPosition(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown keys at every level": {`
version: 1
tols: {}
tools:
  allw: [x.y]
  allow:
    - tool: a.b
      wen: "true"
limits: {tme: 3s}
pii: {feilds: {nevr: [x]}}
network: {allow: [{hst: x}]}
`, `
policy.yaml:3:1: unknown key tols (did you mean tools?)
policy.yaml:5:3: unknown key allw (did you mean allow?)
policy.yaml:8:7: unknown key wen (did you mean when?)
policy.yaml:9:10: unknown key tme (did you mean time?)
policy.yaml:10:7: unknown key feilds (did you mean fields?)
policy.yaml:11:19: allow: missing key host
policy.yaml:11:20: unknown key hst (did you mean host?)`},
		"words": {`
version: 2
default: denny
languages: [pythn, python]
audit: {code: ful}
approvals: {via: [trminal], remember: once}
pii: {mode: tokenise, detect: [emial], level: strickt}
`, `
policy.yaml:2:10: version: must be 1, not "2"
policy.yaml:3:10: default: must be deny, ask or allow, not "denny" (did you mean deny?)
policy.yaml:4:13: languages: must be javascript, typescript or python, not "pythn" (did you mean python?)
policy.yaml:5:15: code: must be hash, full or none, not "ful" (did you mean full?)
policy.yaml:6:19: via: must be terminal, mcp, socket, page or api, not "trminal" (did you mean terminal?)
policy.yaml:6:39: remember: must be never, run or session, not "once"
policy.yaml:7:13: mode: must be off, detect, tokenize, redact, block or partial, not "tokenise" (did you mean tokenize?)
policy.yaml:7:32: unknown kind "emial" (did you mean email?)
policy.yaml:7:47: level: must be strict, balanced or relaxed, not "strickt" (did you mean strict?)`},
		"quantities": {`
version: 1
limits: {time: 30, fuel: -1, memory: 5x, parallel: 0, tool_calls: 1.5}
tools:
  allow:
    - {tool: a.b, limits: {rate: 5 per min, result: lots}, cache: soon}
`, `
policy.yaml:3:16: time: "30" is not a duration (write it as 500ms, 30s, 15m or 1h30m)
policy.yaml:3:26: fuel: "-1" is not a whole number of 0 or more (write it as 200 or 5_000_000_000)
policy.yaml:3:38: memory: "5x" is not a size (write it as 65536, 64KiB or 256MiB)
policy.yaml:3:52: parallel: must be at least 1 (remove the key for the default)
policy.yaml:3:67: tool_calls: "1.5" is not a whole number of 0 or more (write it as 200 or 5_000_000_000)
policy.yaml:6:34: rate: "5 per min" is not a rate (write it as 5/min, 100/h or 10/30s)
policy.yaml:6:53: result: "lots" is not a size (write it as 65536, 64KiB or 256MiB)
policy.yaml:6:67: cache: "soon" is not a duration (write it as 500ms, 30s, 15m or 1h30m)`},
		"conditions": {`
version: 1
vars:
  inside: args.to.endsWth("x")
  loop: vars.pool
  pool: vars.loop
tools:
  deny:
    - tool: a.b
      when: run.triger == "cli" || varz.inside
    - tool: a.c
      when: |
        args.x == 1 &&
          tool.annotations.destructive
    - {tool: a.d, when: "1 + 1"}
  ask:
    - tool: a.e
      when: 'now.getHours("Eurpe/Berlin") > args.n'
      messageExpression: "args.size() > 1"
    - tool: a.f
      when: args.x ==
    - tool: a.g
      when: vars.insde
`, `
policy.yaml:4:26: unknown name endsWth (did you mean endsWith?)
policy.yaml:6:9: variable pool uses itself
policy.yaml:10:17: unknown field triger (did you mean trigger?)
policy.yaml:10:36: unknown name varz (did you mean vars?)
policy.yaml:14:28: unknown field destructive (did you mean destructiveHint?)
policy.yaml:15:26: the expression must return bool, not int
policy.yaml:18:27: unknown time zone "Eurpe/Berlin" (write "Europe/Berlin", "UTC" or "+02:00")
policy.yaml:19:27: the expression must return string, not bool
policy.yaml:21:22: unexpected end of expression
policy.yaml:23:18: unknown field insde (did you mean inside?)`},
		"shapes": {`
version: 1
tools:
  allow: github.*
  deny:
    - [a.b]
    - tool: github
    - tool: "a.[bc]"
    - tool: "a.{b"
    - {tool: a.b, cache: 1m}
network: {allow: ["https://x.com", private], deny: [{host: x.com, ports: [70000]}]}
files: {read: ["a/b**c"], write: [/../x]}
env: {allow: ["A=B"]}
secrets:
  - {name: A, from: GITHUB, to: [crm], as: "header:X {}"}
  - {name: A, from: "env:B", to: [crm.*], as: "env:B"}
tests:
  - {tool: x, args: [1], expect: maybe}
vars: {"a-b": "1"}
`, `
policy.yaml:4:10: allow: must be a list, not a string (write [github.*])
policy.yaml:6:7: deny: must be a mapping, not a list (its keys are tool, when, message, messageExpression, limits, cache, timeout, idempotent, on_unknown, approved)
policy.yaml:7:13: "github" matches no tool: tools are named server.tool (write github.* for all tools of a server)
policy.yaml:8:13: "a.[bc]" uses [ ], which patterns do not support (write {a,b} for either)
policy.yaml:9:13: "a.{b" has an unmatched {
policy.yaml:10:7: a deny rule cannot have limits or cache (move the rule to ask or allow)
policy.yaml:11:19: invalid host "https://x.com": this is a URL (write api.example.com, *.example.com, 10.0.0.0/8 or an address)
policy.yaml:11:36: private cannot be allowed: it is a class for deny (allow an address or a network: 127.0.0.1, 10.0.0.0/8)
policy.yaml:11:75: invalid port 70000
policy.yaml:12:16: "a/b**c" has ** next to other characters (write ** between slashes, or use *)
policy.yaml:13:15: invalid name of an environment variable "A=B" (write a name such as TZ or LC_*)
policy.yaml:15:21: from: must be env:NAME or file:PATH
policy.yaml:15:34: "crm" matches no tool: tools are named server.tool (write crm.* for all tools of a server)
policy.yaml:15:44: as: a header must have a name and a text (write "header:Authorization: Bearer {}")
policy.yaml:16:12: duplicate secret A, first defined on line 15
policy.yaml:16:35: a tool can receive a secret only in an argument (write as: arg:NAME, or to: server:NAME)
policy.yaml:18:12: invalid name of a tool "x" (write server.tool)
policy.yaml:18:21: args: must be a mapping, not a list
policy.yaml:18:34: expect: must be deny, ask or allow, not "maybe"
policy.yaml:19:8: invalid variable name "a-b" (use letters, digits and _)`},
		"yaml that policies do without": {`
version: 1
name: &a x
description: *a
default: !x deny
`, `
policy.yaml:3:7: anchors and aliases are not supported (quote a string that begins with * or &)
policy.yaml:4:14: anchors and aliases are not supported (quote a string that begins with * or &)
policy.yaml:5:10: tags are not supported (quote a string that begins with !)`},
		"twice":         {"version: 1\nname: a\nname: b\n", "policy.yaml:3:1: duplicate key name, first set on line 2"},
		"empty":         {"# nothing\n", "policy.yaml:1:1: the file is empty (set the key version)"},
		"two documents": {"version: 1\n---\nversion: 1\n", "policy.yaml:3:1: the file has more than one YAML document (keep one document)"},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Parse("policy.yaml", []byte(c.text))
			if err == nil || p != nil {
				t.Fatal("the file was taken")
			}
			var list Problems
			if !errors.Is(err, fault.UsagePolicy) || !errors.As(err, &list) {
				t.Fatalf("%T %v", err, err)
			}
			if diff := cmp.Diff(strings.Split(strings.TrimSpace(c.want), "\n"), strings.Split(list.Error(), "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
}
