package policy

import (
	"errors"
	"strings"
	"testing"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

func decideOf(t *testing.T, tool, text string) Decision {
	t.Helper()
	p, err := Parse("p.yaml", []byte("version: 1\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	server, name, _ := strings.Cut(tool, ".")
	return p.Decide(Request{Tool: catalogue.Tool{Server: server, Name: name}, Args: map[string]any{"n": 1.0}})
}

// TestTheDigestOfARuleThatAsksIsThatOfWhatIsWritten moves a rule, writes the same in
// another way, and changes the rule and a variable that it uses.
func TestTheDigestOfARuleThatAsksIsThatOfWhatIsWritten(t *testing.T) {
	const vars = "vars: {few: 'args.n < 5.0', small: vars.few, other: 'args.n > 7.0'}\n"
	const rule = "tools: {ask: [{tool: a.b, when: vars.small, message: pay, timeout: 1h}]}\n"
	was := decideOf(t, "a.b", vars+rule)
	if was.Effect != Ask || was.Digest == "" {
		t.Fatalf("%+v", was)
	}
	for name, text := range map[string]string{
		"lines moved":             "# a comment\n\n" + vars + "\n\n" + rule,
		"written as a block":      vars + "tools:\n  ask:\n    - tool: a.b\n      timeout: 60m\n      message: pay\n      when: vars.small\n",
		"another rule before it":  vars + "tools:\n  ask:\n    - {tool: a.c}\n    - {tool: a.b, when: vars.small, message: pay, timeout: 1h}\n  deny: [a.d]\n",
		"another variable is new": strings.Replace(vars, "7.0", "8.0", 1) + rule,
	} {
		if d := decideOf(t, "a.b", text); d.Effect != Ask || d.Digest != was.Digest {
			t.Errorf("%s: the digest is another one: %+v", name, d)
		}
	}
	for name, text := range map[string]string{
		"the message":              vars + strings.Replace(rule, "pay", "send", 1),
		"the pattern":              vars + strings.Replace(rule, "a.b", "a.*", 1),
		"the time":                 vars + strings.Replace(rule, "1h", "2h", 1),
		"the condition":            vars + strings.Replace(rule, "vars.small", "vars.few", 1),
		"a variable of a variable": strings.Replace(vars, "5.0", "6.0", 1) + rule,
		"its limits":               vars + strings.Replace(rule, "timeout: 1h", "timeout: 1h, limits: {calls: 3}", 1),
		"the default":              "default: ask\n",
	} {
		if d := decideOf(t, "a.b", text); d.Effect != Ask || d.Digest == was.Digest || d.Digest == "" {
			t.Errorf("%s changed, and the digest did not: %+v", name, d)
		}
	}
	if d := decideOf(t, "a.b", "tools: {allow: [a.b]}\n"); d.Digest != "" {
		t.Errorf("an allowed call has the digest %s", d.Digest)
	}
}

// TestRulesSayWhatHappensToCallsWhoseOutcomeIsUnknown reads idempotent and on_unknown of
// the rules that match.
func TestRulesSayWhatHappensToCallsWhoseOutcomeIsUnknown(t *testing.T) {
	const text = "tools:\n  ask: [{tool: a.pay, on_unknown: ask}]\n  allow:\n    - {tool: a.put, idempotent: true}\n    - {tool: 'a.*'}\n" +
		"    - {tool: a.both, idempotent: true, on_unknown: ask}\n    - {tool: a.some, when: args.n > 5.0, idempotent: true}\n"
	for tool, want := range map[string][2]bool{"a.put": {true, false}, "a.pay": {false, true}, "a.get": {}, "a.both": {true, true}, "a.some": {}} {
		if d := decideOf(t, tool, text); d.Effect == Deny || d.Idempotent != want[0] || d.AskUnknown != want[1] {
			t.Errorf("%s: %+v", tool, d)
		}
	}
	p, err := Parse("p.yaml", []byte("version: 1\ntools: {allow: ['a.*']}\n"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := Parse("project.yaml", []byte("version: 1\ntools: {ask: [{tool: a.put, idempotent: true, on_unknown: ask}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if d := p.TightenedBy(own).Decide(Request{Tool: catalogue.Tool{Server: "a", Name: "put"}}); d.Idempotent || !d.AskUnknown {
		t.Errorf("a file that only tightens: %+v", d)
	}
	for _, text := range []string{"deny: [{tool: a.b, idempotent: true}]", "deny: [{tool: a.b, on_unknown: ask}]", "allow: [{tool: a.b, on_unknown: never}]"} {
		if _, err := Parse("p.yaml", []byte("version: 1\ntools: {"+text+"}\n")); !errors.Is(err, fault.UsagePolicy) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
