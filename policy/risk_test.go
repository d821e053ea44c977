package policy

import (
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/catalogue"
)

func parsed(t *testing.T, text string) *Policy {
	t.Helper()
	p, err := Parse("p.yaml", []byte("version: 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestALevelOfRiskAppliesToThoseAboveIt(t *testing.T) {
	p := parsed(t, `risk:
  low: {limits: {cpu: 50%}}
  medium: {network: servers}
  high: {ask: true, network: none, limits: {memory: 128MiB, cpu: 10%}}
  critical: {deny: true, limits: {cpu: 60%}}
  unseen: ask
`)
	for level, want := range map[string]Risk{
		"low":      {Effect: Allow, Limits: Limits{CPU: 50}},
		"medium":   {Effect: Allow, Limits: Limits{CPU: 50}, Reach: ReachServers, ReachRule: "p.yaml:4"},
		"high":     {Effect: Ask, Rule: "p.yaml:5", Message: "the review rates this program high", Limits: Limits{CPU: 10, Memory: 128 << 20}, Reach: ReachNone, ReachRule: "p.yaml:5"},
		"critical": {Effect: Deny, Rule: "p.yaml:6", Message: "the policy denies programs of the level critical", Limits: Limits{CPU: 10, Memory: 128 << 20}, Reach: ReachNone, ReachRule: "p.yaml:5"},
	} {
		got := p.DecideRisk(level)
		if (got.Effect == Ask) != (got.Digest != "") {
			t.Errorf("%s: the digest is %q", level, got.Digest)
		}
		if got.Digest = ""; got != want {
			t.Errorf("%s: %+v", level, got)
		}
	}
	if got := p.DecideRisk("new"); got.Effect != Deny {
		t.Errorf("a level that is not known: %+v", got)
	}
	if d := p.DecideUnseen(); d.Effect != Ask || d.Rule != "p.yaml:7" {
		t.Errorf("unseen: %+v", d)
	}
}

func TestRiskOfSeveralFilesIsTheStrictest(t *testing.T) {
	p := Layer(Layered{parsed(t, "risk: {high: {ask: true}, unseen: ask}"), Named},
		Layered{parsed(t, "risk: {high: {deny: true}, low: {limits: {time: 2s}}, profile: cars}").Tightening(), Project},
		Layered{parsed(t, "risk: {high: {network: none}}"), User})
	d := p.DecideRisk("high")
	if d.Effect != Deny || d.Reach != ReachNone || d.Limits.Time != 2*time.Second || p.DecideUnseen().Effect != Ask || p.ReviewProfile() != "cars" {
		t.Errorf("%+v", d)
	}
	for _, none := range []*Policy{nil, parsed(t, "default: ask")} {
		if d := none.DecideRisk("critical"); d != (Risk{Effect: Allow}) || none.DecideUnseen().Effect != Allow {
			t.Errorf("without a risk block: %+v", d)
		}
	}
}

func TestConditionsSeeTheReview(t *testing.T) {
	p := parsed(t, `
vars: {calm: 'run.risk in ["low", "medium"]'}
tools:
  allow:
    - {tool: a.read, when: 'vars.calm && run.capabilities.hosts.size() == 0'}
`)
	if !p.Reviews() {
		t.Error("a condition needs a review, and the policy asks for no review")
	}
	for _, c := range []struct {
		facts RunFacts
		want  Effect
	}{
		{RunFacts{Risk: "low", Capabilities: &Capabilities{Tools: []string{"a.read"}}}, Allow},
		{RunFacts{Risk: "low", Capabilities: &Capabilities{Hosts: []string{"x.example"}}}, Deny},
		{RunFacts{Risk: "high", Capabilities: &Capabilities{}}, Deny},
		{RunFacts{}, Deny},
	} {
		if d := p.Decide(Request{Tool: catalogue.Tool{Server: "a", Name: "read"}, Run: c.facts}); d.Effect != c.want {
			t.Errorf("%+v: %s", c.facts, d.Effect)
		}
	}
}

func TestOnlyAPolicyThatNeedsAReviewHasOne(t *testing.T) {
	for text, want := range map[string]bool{
		"risk: {}": true, "risk: {unseen: deny}": true,
		"tools: {deny: [{tool: a.b, when: 'run.risk == \"high\"'}]}":                             true,
		"tools: {ask: [{tool: a.b, messageExpression: '\"a \" + run.risk'}]}":                    true,
		"tools: {allow: [{tool: a.b, when: '\"a.b\" in run.capabilities.tools'}]}":               true,
		"tools: {allow: [{tool: a.b, when: 'run.language == \"python\" && args.risk == \"\"'}]}": false,
		"limits: {cpu: 5%}": false, "risk:": false,
	} {
		if got := parsed(t, text).Reviews(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestMistakesInTheRiskBlockHavePlaces(t *testing.T) {
	_, err := Parse("p.yaml", []byte(`version: 1
risk:
  hihg: {ask: true}
  high: {ask: true, deny: true}
  low: {network: no, limits: {cpus: 10%}}
  medium: {limits: {cpu: 200%}, denied: true}
  unseen: never
`))
	for _, want := range []string{
		"p.yaml:3:3: unknown key hihg", "did you mean high?", "p.yaml:4:9: a level cannot have both ask and deny", "p.yaml:5:18: ", "p.yaml:5:31: unknown key cpus",
		"did you mean cpu?", "is not a share from 1% to 100%", "p.yaml:6:33: unknown key denied", "p.yaml:7:11: ",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
}
