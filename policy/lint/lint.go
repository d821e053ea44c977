// Package lint finds mistakes in policies and runs their test cases. It does
// what wexec policy check and wexec policy test do, and decides nothing.
package lint

import (
	"cmp"
	"slices"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/policy/internal/expr"
)

// Check looks for rules that do not do what they seem to do. Without a catalogue
// (nil) it finds what the files alone show; with one it knows which tools there
// are and which arguments they take. The findings are in the order of the files.
func Check(p *policy.Policy, c *catalogue.Catalogue) []Finding {
	var files []*file
	for _, src := range p.Sources() {
		files = append(files, readFile(src))
	}
	var out []Finding
	for _, f := range files {
		ck := checker{file: f, files: files}
		if c != nil {
			ck.tools, ck.servers, ck.hasCatalogue = c.Tools(), c.Servers(), true
		}
		out = append(out, ck.check()...)
	}
	return out
}

func (c *checker) check() []Finding {
	if c.file.env != nil {
		c.types, _ = expr.NewChecker(c.file.env)
	}
	for i := range c.file.rules {
		r := &c.file.rules[i]
		matches := c.matching(r.glob)
		c.checkPattern(r, matches)
		c.checkDead(r, i, matches)
		if r.when != nil {
			c.checkTypes(r, r.when, matches, true)
			c.checkTruth(r, matches)
			if r.effect == policy.Allow && r.when.UsesAnnotations() {
				c.add(SeverityWarning, TopicAnnotations, r.Pos, "name the tools, or ask",
					"what this rule allows depends on what a server says about its own tools")
			}
		}
		if r.message != nil {
			c.checkTypes(r, r.message, matches, false)
		}
		if r.effect == policy.Allow {
			c.checkWide(r, matches)
		}
	}
	c.checkWideGrants()
	c.checkRisk()
	if c.hasCatalogue {
		c.checkOtherPatterns()
	}
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(c.findings)
}
