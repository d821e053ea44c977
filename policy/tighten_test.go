package policy

import (
	"math/rand/v2"
	"testing"
)

// TestATighteningOnlyForbids combines the tightening part of a random policy with
// another random policy: no call is allowed that was not, what it denies is
// denied, and it asks only for what was allowed.
func TestATighteningOnlyForbids(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	changed := 0
	for range 200 {
		trusted, project := randomPolicy(r), randomPolicy(r)
		a, err := Parse("trusted.yaml", []byte(trusted.text))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Parse("project.yaml", []byte(project.text))
		if err != nil {
			t.Fatal(err)
		}
		both := Layer(Layered{a, User}, Layered{b.Tightening(), Project})
		alone := Layer(Layered{b.Tightening(), Project})
		for range 30 {
			req := randomRequest(r)
			was, is := a.Decide(req).Effect, both.Decide(req).Effect
			denied, _, _, _ := project.decide(req)
			want := was
			switch {
			case denied:
				want = Deny
			case asks(project, req): // what its own allow rules approve is not trusted
				want = min(was, Ask)
			}
			if is != want {
				t.Fatalf("%s %v: %v before, %v with the project's, want %v\n%s\n%s", req.Tool.ID(), req.Args, was, is, want, trusted.text, project.text)
			}
			if got := alone.Decide(req); got.Effect != Deny {
				t.Fatalf("%s: only an untrusted policy: %v", req.Tool.ID(), got.Effect)
			}
			if both.BestEffect(req.Tool.ID()) < is {
				t.Fatalf("%s: the outlook is %v, and the decision %v", req.Tool.ID(), both.BestEffect(req.Tool.ID()), is)
			}
			if is != was {
				changed++
			}
		}
	}
	if changed < 250 {
		t.Errorf("only %d decisions were tightened", changed)
	}
}

// asks reports whether a rule, and not the default, asks.
func asks(o oraclePolicy, r Request) bool {
	for _, rule := range o.rules {
		if rule.effect == Ask && o.fits(rule.pattern, r.Tool.ID()) && oracleConditions[rule.cond].is(r) != no {
			return true
		}
	}
	return false
}

const projectPolicy = `version: 1
default: allow
tools:
  deny: [shop.delete]
  ask: [shop.buy]
  allow: ["*"]
network: {allow: ["*.example.com"], deny: [evil.example.com]}
files: {read: [/etc], write: [/etc], deny: [/home/me/.ssh]}
env: {allow: ["*"]}
secrets: [{name: k, from: "env:K", to: [shop.buy], as: "arg:key"}]
limits: {time: 1s, memory: 64MiB}
languages: [python]
pii: {mode: "off", reveal_to: ["*"]}
approvals: {via: [socket], remember: session}
audit: {code: full, inputs: full, outputs: full}
tests: [{tool: shop.buy, expect: allow}]
`

func TestATighteningAllowsNothing(t *testing.T) {
	whole, err := Parse("policy.yaml", []byte(projectPolicy))
	if err != nil {
		t.Fatal(err)
	}
	p := Layer(Layered{whole.Tightening(), Project})
	if d := p.DecideNetwork(NetRequest{Host: "a.example.com", Method: "GET", Port: 443}); d.Effect != Deny {
		t.Errorf("the network: %+v", d)
	}
	if d := p.DecideFile(FileRequest{Path: "/etc/hosts"}); d.Effect != Deny {
		t.Errorf("files: %+v", d)
	}
	if len(p.Secrets()) > 0 || p.AllowsEnv("HOME") || len(p.Env()) > 0 || len(p.Tests()) > 0 {
		t.Errorf("secrets %v, env %v, tests %v", p.Secrets(), p.Env(), p.Tests())
	}
	if pii := p.PII(); pii.Mode == "off" || pii.Reveals("shop.buy") {
		t.Errorf("pii %+v", pii)
	}
	if a := p.Audit(); a.Inputs == DetailFull {
		t.Errorf("audit %+v", a)
	}
	if a := p.Approvals(); a.Remember != "never" {
		t.Errorf("approvals %+v", a)
	}
	// What forbids stays.
	flags, err := FromFlags(Flags{AllowTool: []string{"*"}, AllowNet: []string{"*.example.com"}, AllowRead: []string{"/home/me"}})
	if err != nil {
		t.Fatal(err)
	}
	with := Layer(Layered{whole.Tightening(), Project}, Layered{flags, FromCLI})
	for tool, want := range map[string]Effect{"shop.delete": Deny, "shop.buy": Ask, "shop.look": Allow} {
		if d := with.Decide(call(tool, nil)); d.Effect != want {
			t.Errorf("%s: %v by %s", tool, d.Effect, d.Rule)
		}
	}
	if d := with.DecideNetwork(NetRequest{Host: "evil.example.com", Method: "GET", Port: 443}); d.Effect != Deny {
		t.Errorf("a denied host: %+v", d)
	}
	if d := with.DecideNetwork(NetRequest{Host: "good.example.com", Method: "GET", Port: 443}); d.Effect != Allow {
		t.Errorf("a host that flags allow: %+v", d)
	}
	if d := with.DecideFile(FileRequest{Path: "/home/me/.ssh/id"}); d.Effect != Deny {
		t.Errorf("a denied file: %+v", d)
	}
	if l := with.Limits(); l.Memory != 64<<20 {
		t.Errorf("limits %+v", l)
	}
	if d := with.DecideLanguage("javascript"); d.Effect != Deny {
		t.Errorf("languages: %+v", d)
	}
	if whole.Tightening().Digest() == whole.Digest() {
		t.Error("one digest for both")
	}
	if (*Policy)(nil).Tightening() != nil {
		t.Error("nothing became something")
	}
}

func TestAnApprovedRulePrecedesTheAskRulesOfItsFileOnly(t *testing.T) {
	parse := func(text string) *Policy {
		t.Helper()
		p, err := Parse("policy.yaml", []byte("version: 1\ntools:\n"+text))
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	approving := parse(`
  deny: [{tool: a.set, when: args.n > 100}]
  ask: ["a.*"]
  allow:
    - {tool: a.set, when: args.n > 10, approved: true}
    - a.get
`)
	for id, want := range map[string]map[int]Effect{"a.set": {5: Ask, 11: Allow, 101: Deny}, "a.get": {5: Ask, 11: Ask}} {
		for n, effect := range want {
			d := approving.Decide(call(id, map[string]any{"n": float64(n)}))
			if d.Effect != effect {
				t.Errorf("%s %d: %v by %s, want %v", id, n, d.Effect, d.Rule, effect)
			}
			if asks := d.Asking != nil && approving.Asks(id, *d.Asking); asks != (effect == Ask) {
				t.Errorf("%s %d: %+v", id, n, d.Asking)
			}
		}
	}
	// A condition that fails does not approve, and another file still asks.
	if d := approving.Decide(call("a.set", nil)); d.Effect != Deny {
		t.Errorf("%v by %s", d.Effect, d.Rule)
	}
	both := Layer(Layered{approving, Named}, Layered{parse("  ask: [a.set]\n"), System})
	if d := both.Decide(call("a.set", map[string]any{"n": 11.0})); d.Effect != Ask {
		t.Errorf("%v by %s", d.Effect, d.Rule)
	}
	if approving.BestEffect("a.set") != Allow || approving.BestEffect("a.get") != Ask {
		t.Error("the outlook ignores approved rules")
	}
	for _, list := range []string{"ask", "deny"} {
		if _, err := Parse("policy.yaml", []byte("version: 1\ntools: {"+list+": [{tool: a.b, approved: true}]}\n")); err == nil {
			t.Errorf("%s may be approved", list)
		}
	}
}
