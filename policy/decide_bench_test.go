package policy

import (
	"fmt"
	"strings"
	"testing"
)

// manyRules is a policy of 200 rules with conditions, of which three match the
// tool of [BenchmarkDecide].
func manyRules(t testing.TB) *Policy {
	var b strings.Builder
	b.WriteString("version: 1\nvars:\n  inside: args.to.endsWith(\"@acme.com\")\ntools:\n  deny:\n")
	for i := range 66 {
		fmt.Fprintf(&b, "    - {tool: \"server%d.{delete,drop}_*\", when: \"args.force == true && run.trigger == 'schedule'\"}\n", i%8)
	}
	b.WriteString("    - {tool: server1.send_mail, when: \"args.to.startsWith('all@') || size(args.subject) > 200\"}\n  ask:\n")
	for i := range 66 {
		fmt.Fprintf(&b, "    - {tool: \"server%d.write_%d_*\", when: \"args.n > %d\"}\n", i%8, i, i)
	}
	b.WriteString("    - {tool: \"server1.send_*\", when: \"!vars.inside && actor.type == 'agent'\"}\n  allow:\n")
	for i := range 65 {
		fmt.Fprintf(&b, "    - {tool: \"server%d.read_%d_*\", when: \"args.limit <= %d\"}\n", i%8, i, 100+i)
	}
	b.WriteString("    - {tool: \"server1.*_mail\", when: \"vars.inside && args.subject != ''\", limits: {calls: 20}}\n")
	return parse(t, b.String())
}

func mail() Request {
	r := call("server1.send_mail", map[string]any{"to": "ann@acme.com", "subject": "hello", "body": "…"})
	r.Actor.Type = "agent"
	return r
}

func TestIndexFindsThreeOfTwoHundredRules(t *testing.T) {
	p, r := manyRules(t), mail()
	if n := len(p.layers[0].rules); n != 200 {
		t.Fatalf("%d rules", n)
	}
	if got := p.layers[0].index.find(p.layers[0].rules, r.Tool.ID(), nil); len(got) != 3 {
		t.Fatalf("%d rules fit", len(got))
	}
	if d := p.Decide(r); d.Effect != Allow || len(d.Limits) != 1 {
		t.Fatalf("%+v", d)
	}
}

func BenchmarkDecide(b *testing.B) {
	p, r := manyRules(b), mail()
	b.ReportAllocs()
	for b.Loop() {
		if p.Decide(r).Effect != Allow {
			b.Fatal("denied")
		}
	}
}
