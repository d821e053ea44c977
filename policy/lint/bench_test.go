package lint

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/policy"
)

// manyTools is a catalogue of 2,000 tools of 20 servers, each with a different
// schema.
func manyTools() *catalogue.Catalogue {
	var tools []catalogue.Tool
	for i := range 2000 {
		tools = append(tools, catalogue.Tool{Server: fmt.Sprintf("s%d", i/100), Name: fmt.Sprintf("%s_thing_%d", []string{"list", "get", "create", "delete"}[i%4], i%100),
			InputSchema: json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"limit":{"type":"integer"},"labels":{"type":"array","items":{"type":"string"}},"own_%d":{"type":"string"}},"required":["limit"]}`, i))})
	}
	return catalogue.New(tools)
}

// checkedRules has 200 rules, most with a condition.
func checkedRules() string {
	var b strings.Builder
	b.WriteString("version: 1\nvars:\n  small: args.limit < 100\n  mine: actor.type == \"agent\"\ntools:\n  deny:\n")
	for i := range 40 {
		fmt.Fprintf(&b, "    - {tool: \"s%d.delete_*\", when: \"args.limit > %d\"}\n", i%20, i)
	}
	b.WriteString("  ask:\n")
	for i := range 60 {
		fmt.Fprintf(&b, "    - {tool: \"s%d.create_*\", when: \"args.labels.exists(l, l == 'x%d') && !vars.mine\"}\n", i%20, i)
	}
	b.WriteString("  allow:\n")
	for i := range 100 {
		fmt.Fprintf(&b, "    - {tool: \"s%d.{list,get}_*\", when: \"vars.small && args.limit != %d\"}\n", i%20, i)
	}
	return b.String()
}

func BenchmarkCheck(b *testing.B) {
	p, err := policy.Parse("policy.yaml", []byte(checkedRules()))
	if err != nil {
		b.Fatal(err)
	}
	c := manyTools()
	for b.Loop() {
		Check(p, c)
	}
}

func TestCheckOfManyToolsFindsATypo(t *testing.T) {
	text := strings.Replace(checkedRules(), "args.limit > 7}", "args.limmit > 7}", 1)
	text = strings.Replace(text, `when: "args.limit > 7"`, `when: "args.limmit > 7"`, 1)
	p, err := policy.Parse("policy.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	found := Check(p, manyTools())
	n := 0
	for _, f := range found {
		if f.Topic == TopicUnknownArg {
			n++
			if !strings.Contains(f.Message, "limmit") || !strings.Contains(f.Hint, "limit") || f.Line == 0 || f.Column == 0 {
				t.Errorf("%s", f)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d slips among %d findings", n, len(found))
	}
}
