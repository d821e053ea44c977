package policy

import (
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	celast "cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
)

// Explanation is a decision with its reasons: what became of every rule.
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

// Explain decides a request as [Policy.Decide] does and says why: each rule of
// each layer, in the order in which they count. It names parts of conditions
// and never a value of the arguments.
func (p *Policy) Explain(req Request) Explanation {
	out := Explanation{Tool: req.Tool.ID(), Considered: []Considered{}}
	if p == nil {
		out.Message = p.Decide(req).Message
		return out
	}
	f := new(facts)
	f.reset(req)
	outcomes := map[*rule]outcome{}
	d, by := p.decide(f, func(o outcome) { outcomes[o.rule] = o })
	out.Decision, out.Rule, out.Message = d.Effect, d.Rule, d.Message
	for _, effect := range []Effect{Deny, Ask, Allow} {
		for _, l := range p.layers {
			for i := range l.rules {
				r := &l.rules[i]
				if r.effect != effect {
					continue
				}
				c := Considered{Rule: r.where, Effect: effect}
				o, fits := outcomes[r]
				switch {
				case !fits:
					c.Why = fmt.Sprintf("%s does not fit %s", r.tool, out.Tool)
				case o.err == errDrawn:
					c.Why = errDrawn.Error()
				default:
					c.Matched, c.Why = o.matched, r.why(f, o)
				}
				out.Considered = append(out.Considered, c)
			}
		}
	}
	if by != nil && d.Rule == by.defaultRule() {
		out.Considered = append(out.Considered, Considered{Rule: d.Rule, Effect: by.byDefault, Matched: true,
			Why: fmt.Sprintf("%s is the default for what no rule names", by.byDefault)})
	}
	return out
}

// why says what made a rule match whose pattern fits, or kept it from matching.
func (r *rule) why(f *facts, o outcome) string {
	fits := fmt.Sprintf("%s fits", r.tool)
	switch {
	case r.when == nil:
		return fits + ", and there is no condition"
	case o.err != nil && o.matched:
		return fmt.Sprintf("%s, and the condition failed, which counts against the caller: %s", fits, o.err)
	case o.err != nil:
		return fmt.Sprintf("%s, but the condition failed: %s", fits, o.err)
	case o.matched:
		return fmt.Sprintf("%s, and the condition is true: %s", fits, oneLine(r.when.source.text))
	}
	return fmt.Sprintf("%s, but this is not true: %s", fits, r.when.culprit(f, o.layer))
}

// culprit is the part of a condition that makes it false: the first of the
// parts joined by && that is not true.
func (c *condition) culprit(f *facts, l *layer) string {
	info := c.tree.NativeRep().SourceInfo()
	parts := conjuncts(c.tree.NativeRep().Expr())
	if len(parts) < 2 {
		return oneLine(c.source.text)
	}
	for _, part := range parts {
		text, err := cel.ExprToString(part, info)
		if err != nil {
			break
		}
		one := c.in.compile(&reporter{}, expr{text: text}, cel.BoolType)
		if one == nil {
			break
		}
		if ok, err := one.holds(f, l); !ok && err == nil {
			return oneLine(text)
		}
	}
	return oneLine(c.source.text)
}

// conjuncts takes an expression apart at its outermost &&.
func conjuncts(e celast.Expr) []celast.Expr {
	if e.Kind() == celast.CallKind && e.AsCall().FunctionName() == operators.LogicalAnd {
		var out []celast.Expr
		for _, arg := range e.AsCall().Args() {
			out = append(out, conjuncts(arg)...)
		}
		return out
	}
	return []celast.Expr{e}
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
