package policy

import (
	"strings"
	"time"

	"github.com/wexec/wexec/catalogue"
)

// ParseTests reads a file of test cases that stands beside a policy: a list of
// cases, or a mapping with the key tests. Faults are told as by [Parse].
func ParseTests(name string, data []byte) ([]Test, error) {
	r := &reporter{file: name}
	var doc struct {
		Tests []testBlock `yaml:"tests" doc:"cases" need:"yes"`
	}
	if trimmed := strings.TrimLeft(string(data), " \t\r\n"); strings.HasPrefix(trimmed, "-") && !strings.HasPrefix(trimmed, "---") {
		decode(r, data, &doc.Tests)
	} else {
		decode(r, data, &doc)
	}
	tests := r.tests(doc.Tests)
	if err := r.err(); err != nil {
		return nil, err
	}
	return tests, nil
}

// TestOptions is what cases are checked under. The zero value checks with tools
// of which nothing but the name is known.
type TestOptions struct {
	Catalogue *catalogue.Catalogue // where the annotations of tools come from
	Now       time.Time            // zero: noon UTC on a Wednesday, so that a case means the same every day
	Run       RunFacts
	Actor     Actor
}

// TestReport is what became of the cases, and which rules they reached.
type TestReport struct {
	Results  []TestResult   `json:"results"`
	Failed   int            `json:"failed"`
	Coverage []RuleCoverage `json:"coverage"`
}

// TestResult is one case.
type TestResult struct {
	Case     string   `json:"case"` // file:line
	Tool     string   `json:"tool"`
	Expect   Effect   `json:"expect"`
	Got      Effect   `json:"got"`
	Rule     string   `json:"rule"` // that decided
	Message  string   `json:"message,omitempty"`
	Passed   bool     `json:"passed"`
	Warnings []string `json:"warnings,omitempty"`
}

// RuleCoverage is one rule with the number of cases in which it matched and in
// which it decided.
type RuleCoverage struct {
	Rule    string `json:"rule"`
	Effect  Effect `json:"effect"`
	Tool    string `json:"tool"`
	Matched int    `json:"matched"`
	Decided int    `json:"decided"`
}

// Covered is the share of rules that matched in at least one case, from 0 to 1.
// Without rules it is 1.
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

// Test checks cases against the policy: its own, where none are given.
func (p *Policy) Test(o TestOptions, cases ...Test) TestReport {
	if cases == nil {
		cases = p.Tests()
	}
	if o.Now.IsZero() {
		o.Now = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	}
	rep := TestReport{Results: []TestResult{}, Coverage: []RuleCoverage{}}
	at := map[*rule]int{}
	for _, l := range p.list() {
		for i := range l.rules {
			r := &l.rules[i]
			at[r] = len(rep.Coverage)
			rep.Coverage = append(rep.Coverage, RuleCoverage{Rule: r.where, Effect: r.effect, Tool: r.tool.text})
		}
	}
	for _, c := range cases {
		req := Request{Tool: lookup(o.Catalogue, c.Tool), Args: c.Args, Run: o.Run, Actor: o.Actor, Now: o.Now}
		d := p.Decide(req)
		if p != nil {
			f := new(facts)
			f.reset(req)
			p.decide(f, func(out outcome) {
				if out.matched {
					rep.Coverage[at[out.rule]].Matched++
				}
			})
		}
		for r, i := range at {
			if r.where == d.Rule && r.effect == d.Effect && r.tool.Match(req.Tool.ID()) {
				rep.Coverage[i].Decided++
			}
		}
		res := TestResult{Case: c.Rule, Tool: c.Tool, Expect: c.Expect, Got: d.Effect, Rule: d.Rule, Message: d.Message,
			Passed: d.Effect == c.Expect, Warnings: d.Warnings}
		if !res.Passed {
			rep.Failed++
		}
		rep.Results = append(rep.Results, res)
	}
	return rep
}

// lookup finds a tool by any spelling, or makes one of which nothing is known.
func lookup(c *catalogue.Catalogue, name string) catalogue.Tool {
	if c != nil {
		if t, ok := c.Lookup(name); ok {
			return t
		}
	}
	server, tool, _ := strings.Cut(name, ".")
	return catalogue.Tool{Server: server, Name: tool}
}
