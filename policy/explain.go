package policy

import (
	"fmt"

	"github.com/wexec/wexec/policy/internal/expr"
)

// Explanation is a decision with its reasons: the outcome of every rule.
type Explanation struct {
	Tool       string       `json:"tool"`
	Decision   Effect       `json:"decision"`
	Rule       string       `json:"rule"` // file:line of the deciding rule
	Message    string       `json:"message"`
	Considered []Considered `json:"considered"`
}

// Considered is one rule, and why it matched or did not.
type Considered struct {
	Rule    string `json:"rule"`
	Effect  Effect `json:"effect"`
	Matched bool   `json:"matched"`
	Why     string `json:"why"`
}

// Explain decides a request as [Policy.Decide] does and gives the reasons: those
// of every rule, first deny, then ask, then allow, each in the order of
// [Policy.Rules], and then of the default if it decided. It quotes conditions
// and never a value of the arguments.
func (p *Policy) Explain(req Request) Explanation {
	out := Explanation{Tool: req.Tool.ID(), Considered: []Considered{}}
	if p == nil {
		out.Message = p.Decide(req).Message
		return out
	}
	var e evaluation
	e.begin(req)
	outcomes := map[*rule]outcome{}
	d, by := p.decide(&e, func(o outcome) { outcomes[o.rule] = o })
	out.Decision, out.Rule, out.Message = d.Effect, d.Rule, d.Message
	for _, effect := range []Effect{Deny, Ask, Allow} {
		for _, l := range p.layers {
			for i := range l.rules {
				r := &l.rules[i]
				if r.effect != effect {
					continue
				}
				c := Considered{Rule: r.where, Effect: effect}
				if o, ok := outcomes[r]; ok {
					c.Matched, c.Why = o.matched, r.why(&e.facts, o)
				} else {
					c.Why = fmt.Sprintf("%s does not match %s", r.tool, out.Tool)
				}
				out.Considered = append(out.Considered, c)
			}
		}
	}
	if by != nil && d.Rule == by.defaultRule() {
		out.Considered = append(out.Considered, Considered{Rule: d.Rule, Effect: by.byDefault, Matched: true, Why: by.defaultMessage()})
	}
	return out
}

// why says why a rule whose pattern matches was or was not a match.
func (r *rule) why(f *expr.Facts, o outcome) string {
	matches := fmt.Sprintf("%s matches", r.tool)
	switch {
	case o.err == errFlagIgnored:
		return o.err.Error()
	case r.when == nil:
		return matches + ", and there is no condition"
	case o.err != nil && o.matched:
		return fmt.Sprintf("%s, and the condition failed, which counts as true: %s", matches, o.err)
	case o.err != nil:
		return fmt.Sprintf("%s, but the condition failed, which counts as false: %s", matches, o.err)
	case o.matched:
		return fmt.Sprintf("%s, and the condition is true: %s", matches, r.when.Text())
	}
	return fmt.Sprintf("%s, but this is not true: %s", matches, r.when.FalsePart(f))
}
