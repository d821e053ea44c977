package policy

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The oracle is a second implementation, slow and obvious: patterns become
// regular expressions, conditions become Go functions, and each question is
// asked in the words of the documentation.

type oracleRule struct {
	effect  Effect
	pattern string
	cond    int // index into oracleConditions
	line    int
	calls   int

	approved bool
}

type oraclePolicy struct {
	fallback string // "", deny, ask, allow
	rules    []oracleRule
	text     string
}

// outcomes of a condition.
const (
	yes = iota
	no
	fails
)

var oracleConditions = []struct {
	cel string
	is  func(r Request) int
}{
	{"", func(Request) int { return yes }},
	{"args.n > 5", func(r Request) int {
		n, ok := r.Args["n"].(float64)
		return choose(ok, choose(ok && n > 5, yes, no), fails)
	}},
	{`args.s == "x"`, func(r Request) int {
		s, ok := r.Args["s"]
		return choose(ok, choose(s == "x", yes, no), fails)
	}},
	{`has(args.s)`, func(r Request) int { _, ok := r.Args["s"]; return choose(ok, yes, no) }},
	{`run.trigger == "cli"`, func(r Request) int { return choose(r.Run.Trigger == "cli", yes, no) }},
	{`!tool.annotations.readOnlyHint`, func(r Request) int {
		a := r.Tool.Annotations.ReadOnly
		return choose(a != nil && *a, no, yes)
	}},
	{`vars.small`, func(r Request) int {
		n, ok := r.Args["n"].(float64)
		return choose(ok, choose(ok && n < 3, yes, no), fails)
	}},
	{`actor.type == "agent" && args.n == 1`, func(r Request) int {
		if r.Actor.Type != "agent" {
			return no // what is false already needs no second half
		}
		n, ok := r.Args["n"].(float64)
		return choose(ok, choose(n == 1, yes, no), fails)
	}},
	{`calls[tool.server + "." + tool.name] < 2`, func(r Request) int { return choose(r.Calls[r.Tool.ID()] < 2, yes, no) }},
	{`args.l.exists(e, e == "a")`, func(r Request) int {
		l, ok := r.Args["l"].([]any)
		return choose(ok, choose(slices.Contains(l, any("a")), yes, no), fails)
	}},
}

var oracleExpressions = map[string]*regexp.Regexp{}

func choose[T any](c bool, a, b T) T {
	if c {
		return a
	}
	return b
}

func (o oraclePolicy) fits(pattern, id string) bool {
	if re, ok := oracleExpressions[pattern]; ok {
		return re.MatchString(id)
	}
	written := pattern
	if rest, ok := strings.CutPrefix(pattern, "mcp__"); ok {
		pattern = strings.Replace(rest, "__", ".", 1)
	}
	re := regexp.QuoteMeta(pattern)
	for _, r := range [][2]string{{`\*`, `.*`}, {`\?`, `.`}, {`\{`, `(?:`}, {`\}`, `)`}, {`,`, `|`}} {
		re = strings.ReplaceAll(re, r[0], r[1])
	}
	oracleExpressions[written] = regexp.MustCompile(`^(?:` + re + `)$`)
	return oracleExpressions[written].MatchString(id)
}

// decide returns the decision of one file; ok is false if it has none.
func (o oraclePolicy) decide(r Request) (denied bool, effect Effect, ok bool, calls []int) {
	id := r.Tool.ID()
	var asks, allows, approved bool
	draws := o.fallback != ""
	for _, rule := range o.rules {
		draws = draws || rule.effect == Allow
		if !o.fits(rule.pattern, id) {
			continue
		}
		is := oracleConditions[rule.cond].is(r)
		switch rule.effect {
		case Deny:
			denied = denied || is != no
		case Ask:
			asks = asks || is != no
		case Allow:
			allows = allows || is == yes
			approved = approved || is == yes && rule.approved
		}
		if rule.calls > 0 && (is == yes || (is == fails && rule.effect == Ask)) {
			calls = append(calls, rule.calls)
		}
	}
	switch {
	case asks && !approved:
		return denied, Ask, true, calls
	case allows:
		return denied, Allow, true, calls
	case !draws:
		return denied, Deny, false, calls
	}
	return denied, map[string]Effect{"": Deny, "deny": Deny, "ask": Ask, "allow": Allow}[o.fallback], true, calls
}

// oracle combines files: a denial denies; otherwise the strictest decision of all
// files applies; without any, nothing is allowed.
func oracle(files []oraclePolicy, r Request) (Effect, []int) {
	strictest, said := Allow, false
	var calls []int
	for _, o := range files {
		denied, effect, ok, c := o.decide(r)
		if denied {
			return Deny, nil
		}
		calls = append(calls, c...)
		if ok {
			strictest, said = min(strictest, effect), true
		}
	}
	if !said || strictest == Deny {
		return Deny, nil
	}
	return strictest, calls
}

var oraclePatterns = []string{"*", "a.*", "b.*", "*.get", "a.get", "a.{get,set}", "b.{g,s}et*", "mcp__a__get", "mcp__b__*", "?.get", "{a,b}.x_*", "a*t", "c.only", "a.x_?", "*_y"}

func randomPolicy(r *rand.Rand) oraclePolicy {
	var o oraclePolicy
	var b strings.Builder
	line := 0
	write := func(format string, args ...any) {
		fmt.Fprintf(&b, format+"\n", args...)
		line++
	}
	write("version: 1")
	if r.IntN(2) == 0 {
		o.fallback = []string{"deny", "ask", "allow"}[r.IntN(3)]
		write("default: %s", o.fallback)
	}
	write("vars: {small: args.n < 3}")
	write("tools:")
	for _, effect := range []Effect{Deny, Ask, Allow} {
		n := r.IntN(5)
		if effect == Deny {
			n = r.IntN(3)
		}
		if n == 0 {
			continue
		}
		write("  %s:", effect)
		for range n {
			rule := oracleRule{effect: effect, pattern: oraclePatterns[r.IntN(len(oraclePatterns))], cond: r.IntN(len(oracleConditions)), line: line + 1}
			if effect != Deny && r.IntN(3) == 0 {
				rule.calls = 1 + r.IntN(9)
			}
			text := fmt.Sprintf("    - {tool: %q", rule.pattern)
			if c := oracleConditions[rule.cond].cel; c != "" {
				text += ", when: " + quoteYAML(c)
			}
			if rule.calls > 0 {
				text += fmt.Sprintf(", limits: {calls: %d}", rule.calls)
			}
			if rule.approved = effect == Allow && r.IntN(4) == 0; rule.approved {
				text += ", approved: true"
			}
			write("%s}", text)
			o.rules = append(o.rules, rule)
		}
	}
	o.text = b.String()
	return o
}

func randomRequest(r *rand.Rand) Request {
	id := []string{"a.get", "a.set", "b.get", "b.set_y", "a.x_y", "c.only", "c.other", "a.b.get", "b.x_1"}[r.IntN(9)]
	req := call(id, map[string]any{})
	if r.IntN(3) > 0 {
		req.Args["n"] = float64(r.IntN(9))
	}
	if r.IntN(2) == 0 {
		req.Args["s"] = []string{"x", "y"}[r.IntN(2)]
	}
	if r.IntN(2) == 0 {
		req.Args["l"] = []any{[]string{"a", "b"}[r.IntN(2)]}
	}
	req.Run.Trigger = []string{"cli", "mcp"}[r.IntN(2)]
	req.Actor.Type = []string{"agent", "person"}[r.IntN(2)]
	if r.IntN(2) == 0 {
		reads := r.IntN(2) == 0
		req.Tool.Annotations.ReadOnly = &reads
	}
	req.Calls = map[string]int{id: r.IntN(4)}
	return req
}

func TestFiveHundredRandomPoliciesDecideAsTheOracle(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	seen := map[Effect]int{}
	for n := range 500 {
		count := 1 + r.IntN(3)
		var files []oraclePolicy
		var layers []Layered
		for i := range count {
			o := randomPolicy(r)
			p, err := Parse("policy.yaml", []byte(o.text))
			if err != nil {
				t.Fatalf("%v\n%s", err, o.text)
			}
			files = append(files, o)
			layers = append(layers, Layered{p, []Origin{System, User, Project}[i]})
		}
		p := layers[0].Policy
		if count > 1 {
			p = Layer(layers...)
		}
		for range 40 {
			req := randomRequest(r)
			want, calls := oracle(files, req)
			d := p.Decide(req)
			var got []int
			for _, l := range d.Limits {
				got = append(got, l.Calls)
			}
			if d.Effect != want || !slices.Equal(got, calls) {
				for _, f := range files {
					t.Log(f.text)
				}
				t.Fatalf("policy %d: %s %v: %v with calls %v, the oracle says %v with %v (%s: %s)", n, req.Tool.ID(), req.Args, d.Effect, got, want, calls, d.Rule, d.Message)
			}
			if e := p.Explain(req); e.Decision != d.Effect || e.Rule != d.Rule {
				t.Fatalf("policy %d: Explain says %v by %s, Decide %v by %s", n, e.Decision, e.Rule, d.Effect, d.Rule)
			}
			seen[d.Effect]++
		}
	}
	for _, e := range []Effect{Deny, Ask, Allow} {
		if seen[e] < 1000 {
			t.Errorf("only %d decisions came to %v", seen[e], e)
		}
	}
}
