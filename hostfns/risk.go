package hostfns

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// Review is what a review of a program found before its run.
type Review struct {
	Level        string              `json:"level"`
	Findings     []string            `json:"findings"` // one line each
	Capabilities policy.Capabilities `json:"capabilities"`

	Rules []string `json:"-"` // of the findings, sorted
}

// riskKind is the kind of decisions about whether a program may run, and riskName what
// they name as their tool.
const (
	riskKind = "risk"
	riskName = preludePrefix + "run"
)

// recordOf returns a review as records have it.
func (r *Run) recordOf(v *Review) *audit.Review {
	if v == nil {
		return nil
	}
	all, _ := json.Marshal(v.Capabilities) // lists of strings always have a JSON form
	out := &audit.Review{Level: v.Level, Rules: v.Rules, CapabilitiesSHA256: audit.Digest(all)}
	for _, tool := range v.Capabilities.Tools {
		out.Tools = append(out.Tools, r.shown(tool, 300))
	}
	return out
}

// Admit decides by the review whether the program may run. It asks a person if the
// policy says so, and records the decision. It is called once, before the program runs.
func (r *Run) Admit(ctx context.Context) error {
	v, d := r.info.Review, r.risk
	if v == nil || d.Effect == policy.Allow {
		return nil
	}
	refused := func(code fault.Code, why, hint string) error {
		return fault.New(code, "the program may not run: %s", why).WithHint("%s", hint)
	}
	if d.Effect == policy.Deny {
		err := r.record(audit.Event{Decision: &audit.Decision{Kind: riskKind, Tool: riskName, Effect: d.Effect.String(), Rule: d.Rule,
			Code: string(fault.DeniedRisk), Message: d.Message, Writes: true}})
		if err != nil {
			return err
		}
		return refused(fault.DeniedRisk, d.Message, "decided by "+d.Rule+"; the review lists what it found and what to do about it")
	}
	shown, err := json.Marshal(v)
	if err != nil {
		return fault.New(fault.Internal, "write the question about the program: %w", err)
	}
	decision := policy.Decision{Effect: d.Effect, Rule: d.Rule, Message: d.Message}
	c := &call{run: r, kind: nativeCall, name: riskName, decision: decision, args: arguments{raw: r.info.Start.Code}}
	q := inquiry{call: c, kind: riskKind, decision: decision, decisive: []string{"level", "findings"}, args: shown, covered: shown}
	_, err = q.ask(ctx)
	if f := failureIn(err); f != nil {
		return refused(f.Code, strings.TrimPrefix(f.Message, riskName+" is not allowed: "), f.Hint)
	}
	return err
}

// foresee applies what the policy says about calls that the review did not foresee, and
// about servers out of reach.
func (c *call) foresee() {
	r, v := c.run, c.run.info.Review
	if v == nil {
		return
	}
	if remote, ok := c.tool.provider.(Remote); ok && r.risk.Reach == policy.ReachNone && remote.Remote(c.tool.Server) {
		c.restrict(policy.Decision{Effect: policy.Deny, Rule: r.risk.ReachRule,
			Message: "programs of the level " + v.Level + " reach no server at a URL"})
	}
	if !slices.Contains(v.Capabilities.Tools, c.tool.id) {
		c.restrict(r.table.effective().DecideUnseen())
	}
}

// restrict replaces the decision by a stricter one.
func (c *call) restrict(by policy.Decision) {
	if by.Effect >= c.decision.Effect {
		return
	}
	by.Limits, by.Timeout, by.Warnings = c.decision.Limits, c.decision.Timeout, c.decision.Warnings
	c.decision, c.grant = by, nil
}
