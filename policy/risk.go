package policy

import (
	"fmt"
	"slices"
)

// Reviews reports whether programs have to be reviewed before they run: a file has
// the risk block, or a condition depends on the review.
func (p *Policy) Reviews() bool {
	return slices.ContainsFunc(p.all(), func(l *layer) bool { return l.risk != nil || l.reviews })
}

// ReviewProfile returns the profile under which programs are reviewed; empty is the
// standard one.
func (p *Policy) ReviewProfile() string {
	for _, l := range p.all() {
		if l.risk != nil && l.risk.profile != "" {
			return l.risk.profile
		}
	}
	return ""
}

// DecideRisk decides about a program whose review has a level. What a file says about
// a level applies to those above it too, and the strictest of all files counts. An
// unknown level is the highest one.
func (p *Policy) DecideRisk(level string) Risk {
	out := Risk{Effect: Allow}
	reached := slices.Index(riskLevels[:], level)
	if reached < 0 {
		reached = len(riskLevels) - 1
	}
	for _, l := range p.all() {
		if l.risk == nil {
			continue
		}
		for _, r := range l.risk.levels[:reached+1] {
			out.Limits = out.Limits.Tighten(r.Limits)
			if r.Effect < out.Effect {
				out.Effect, out.Rule, out.Digest = r.Effect, r.Rule, r.Digest
			}
			if r.Reach > out.Reach {
				out.Reach, out.ReachRule = r.Reach, r.ReachRule
			}
		}
	}
	switch out.Effect {
	case Deny:
		out.Message = fmt.Sprintf("the policy denies programs of the level %s", level)
	case Ask:
		out.Message = fmt.Sprintf("the review rates this program %s", level)
	}
	return out
}

// DecideUnseen decides a call of a tool that the review of the program did not
// foresee. The rules for tools apply too.
func (p *Policy) DecideUnseen() Decision {
	out := Decision{Effect: Allow}
	for _, l := range p.all() {
		if l.risk != nil && l.risk.unseen < out.Effect {
			out = Decision{Effect: l.risk.unseen, Rule: l.risk.unseenAt, Message: "the review did not foresee a call of this tool"}
			if out.Effect == Ask {
				out.Digest = digestOf("unseen")
			}
		}
	}
	return out
}
