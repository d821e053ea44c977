package policy

import (
	"fmt"
	"slices"

	"github.com/wexec/wexec/policy/internal/document"
)

// Levels of a review, in ascending order.
var riskLevels = [...]string{"low", "medium", "high", "critical"}

// Reach is how much of the network a program may use.
type Reach uint8

// The reaches, from the widest to the narrowest.
const (
	ReachPolicy  Reach = iota // what the policy allows
	ReachServers              // MCP servers only
	ReachNone                 // no host and no server at a URL
)

// Risk is what a policy says about programs of one level.
type Risk struct {
	Effect  Effect // of running the program
	Rule    string // file:line of what decides the effect
	Message string
	Limits  Limits
	Reach   Reach
	// ReachRule is the file:line of what decides the reach.
	ReachRule string
}

// riskRules is the risk block of one file.
type riskRules struct {
	levels   [len(riskLevels)]Risk
	unseen   Effect
	unseenAt string
	profile  string
}

func (c *compiler) risk(b *document.Risk[Limits]) *riskRules {
	if b == nil {
		return nil
	}
	out := &riskRules{unseen: Allow, profile: b.Profile.V}
	for i, level := range []*document.RiskLevel[Limits]{b.Low, b.Medium, b.High, b.Critical} {
		out.levels[i].Effect = Allow
		if level == nil {
			continue
		}
		where := c.Where(level.Pos)
		r := Risk{Effect: Allow, Rule: where, Reach: Reach(max(0, slices.Index([]string{"policy", "servers", "none"}, level.Network.V))), ReachRule: where}
		switch {
		case level.Ask && level.Deny:
			c.Add(level.Pos, "remove one of them", "a level cannot have both ask and deny")
		case level.Deny:
			r.Effect = Deny
		case level.Ask:
			r.Effect = Ask
		}
		if level.Limits != nil {
			r.Limits = *level.Limits
		}
		out.levels[i] = r
	}
	if b.Unseen.IsSet() {
		_ = out.unseen.UnmarshalText([]byte(b.Unseen.V)) // already checked
		out.unseenAt = c.Where(b.Unseen.Pos)
	}
	return out
}

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
				out.Effect, out.Rule = r.Effect, r.Rule
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
		}
	}
	return out
}
