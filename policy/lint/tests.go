package lint

import (
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/policy"
)

// TestOptions is the environment of test cases. With the zero value, only the
// names of tools are known.
type TestOptions struct {
	Catalogue *catalogue.Catalogue // for the annotations of tools
	Now       time.Time            // zero: noon UTC on a Wednesday, so that a case has the same result every day
	Run       policy.RunFacts
	Actor     policy.Actor
}

// TestReport is the results of test cases, and which rules they covered.
type TestReport struct {
	Results  []TestResult   `json:"results"`
	Failed   int            `json:"failed"`
	Coverage []RuleCoverage `json:"coverage"`
}

// TestResult is the result of one case.
type TestResult struct {
	Case     string        `json:"case"` // file:line
	Tool     string        `json:"tool"`
	Expect   policy.Effect `json:"expect"`
	Got      policy.Effect `json:"got"`
	Rule     string        `json:"rule"` // that decided
	Message  string        `json:"message,omitempty"`
	Passed   bool          `json:"passed"`
	Warnings []string      `json:"warnings,omitempty"`
}

// RuleCoverage is one rule with the number of cases in which it matched and in
// which it decided.
type RuleCoverage struct {
	Rule    string        `json:"rule"`
	Effect  policy.Effect `json:"effect"`
	Tool    string        `json:"tool"`
	Matched int           `json:"matched"`
	Decided int           `json:"decided"`
}

// Covered returns the share of rules that matched in at least one case, from 0
// to 1. Without rules it is 1.
func (r TestReport) Covered() float64 {
	n := 0
	for _, c := range r.Coverage {
		if c.Matched > 0 {
			n++
		}
	}
	if len(r.Coverage) == 0 {
		return 1
	}
	return float64(n) / float64(len(r.Coverage))
}

// RunTests runs test cases against a policy: its own, if none are given.
func RunTests(p *policy.Policy, o TestOptions, cases ...policy.Test) TestReport {
	if cases == nil {
		cases = p.Tests()
	}
	if o.Now.IsZero() {
		o.Now = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	}
	out := TestReport{Results: []TestResult{}, Coverage: []RuleCoverage{}}
	rules := p.Rules()
	var byEffect []int // indexes of rules in the order in which Explain considers them
	for i, r := range rules {
		out.Coverage = append(out.Coverage, RuleCoverage{Rule: r.Where, Effect: r.Effect, Tool: r.Tool.String()})
		byEffect = append(byEffect, i)
	}
	slices.SortStableFunc(byEffect, func(a, b int) int { return int(rules[a].Effect) - int(rules[b].Effect) })
	for _, c := range cases {
		req := policy.Request{Tool: lookup(o.Catalogue, c.Tool), Args: c.Args, Run: o.Run, Actor: o.Actor, Now: o.Now}
		d, explained := p.Decide(req), p.Explain(req)
		for n, i := range byEffect {
			if explained.Considered[n].Matched {
				out.Coverage[i].Matched++
			}
			if r := rules[i]; r.Where == d.Rule && r.Effect == d.Effect && r.Tool.Match(req.Tool.ID()) {
				out.Coverage[i].Decided++
			}
		}
		result := TestResult{Case: c.Rule, Tool: c.Tool, Expect: c.Expect, Got: d.Effect, Rule: d.Rule, Message: d.Message,
			Passed: d.Effect == c.Expect, Warnings: d.Warnings}
		if !result.Passed {
			out.Failed++
		}
		out.Results = append(out.Results, result)
	}
	return out
}

// lookup returns a tool by any spelling of its name, or one of which only the
// name is known.
func lookup(c *catalogue.Catalogue, name string) catalogue.Tool {
	if c != nil {
		if t, ok := c.Lookup(name); ok {
			return t
		}
	}
	server, tool, _ := strings.Cut(name, ".")
	return catalogue.Tool{Server: server, Name: tool}
}
