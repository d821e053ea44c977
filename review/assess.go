package review

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/wexec/wexec/review/syntax"
)

// Assess reviews a program, given as the trees of its files.
func Assess(ctx context.Context, trees []*syntax.Tree, c Context) Assessment {
	r := &reviewer{ctx: ctx, Context: c, seen: map[string]bool{}, active: map[*variable]int{}, named: map[string]map[string]bool{}}
	for _, t := range trees {
		r.program(&program{tree: t, python: t.Language == syntax.Python})
	}
	r.reviewIntent()
	return r.assessment()
}

// assessment puts the findings in order.
func (r *reviewer) assessment() Assessment {
	a := Assessment{Level: Low, Findings: []Finding{}, Capabilities: Capabilities{
		Tools: r.list("tools"), Hosts: r.list("hosts"), Files: r.list("files"), Skills: r.list("skills"), Unresolved: r.list("unresolved"),
	}}
	slices.SortStableFunc(r.findings, func(x, y Finding) int { return cmp.Compare(y.Level.rank(), x.Level.rank()) })
	kept := r.findings
	if len(kept) > maxFindings {
		left := len(kept) - maxFindings + 1
		kept = append(kept[:maxFindings-1:maxFindings-1], Finding{ruleLimit, Low, 1, 1,
			fmt.Sprintf("%d more findings are left out", left), ruleOf(ruleLimit).Mitigation})
	}
	if len(kept) > 0 {
		a.Level = kept[0].Level
	}
	slices.SortStableFunc(kept, func(x, y Finding) int {
		return cmp.Or(cmp.Compare(x.Line, y.Line), cmp.Compare(x.Column, y.Column), cmp.Compare(x.Rule, y.Rule))
	})
	a.Findings = append(a.Findings, kept...)
	return a
}

// Unparsed returns the assessment of a program that cannot be parsed within the limits.
func Unparsed(reason string) Assessment {
	a := (&reviewer{}).assessment()
	a.Level = High
	a.Findings = append(a.Findings, Finding{ruleLimit, High, 1, 1, "the program is not reviewed: " + reason, ruleOf(ruleLimit).Mitigation})
	return a
}
