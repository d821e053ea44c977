package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
)

// Severity says how much a finding matters.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"   // the rule cannot do what it says
	SeverityWarning Severity = "warning" // it probably does not do what was meant
	SeverityNote    Severity = "note"    // worth knowing
)

// Topic names what a finding is about.
type Topic string

// The topics.
const (
	TopicDeadRule    Topic = "dead-rule"        // another rule always decides first
	TopicUnknownTool Topic = "unknown-tool"     // a pattern fits no tool
	TopicUnknownArg  Topic = "unknown-argument" // a condition names an argument that the tool does not have
	TopicWrongType   Topic = "wrong-type"       // a condition treats an argument as what it never is
	TopicNeverTrue   Topic = "never-true"       // a condition cannot be true
	TopicWideAllow   Topic = "wide-allow"       // an allow lets more pass than a deny intends
	TopicAnnotations Topic = "annotations"      // an allow rests on what a server says of itself
)

// Finding is something about a policy that a person should look at.
type Finding struct {
	Severity Severity `json:"severity"`
	Topic    Topic    `json:"topic"`
	Rule     string   `json:"rule"` // file:line
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint,omitempty"`
}

// String is file:line:column, severity and message.
func (f Finding) String() string {
	s := fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, f.Severity, f.Message)
	if f.Hint != "" {
		s += " (" + f.Hint + ")"
	}
	return s
}

// Check looks for rules that do not do what they seem to. Without a catalogue
// (nil) it finds what can be told from the file alone; with one it knows which
// tools there are and what arguments they take. The findings come in the order
// of the files.
func (p *Policy) Check(c *catalogue.Catalogue) []Finding {
	var out []Finding
	for _, l := range p.list() {
		if l.origin == FromCLI {
			continue
		}
		ck := checker{l: l, policy: p, types: map[string]*typed{}, values: map[*condition]truthValue{}}
		if c != nil {
			ck.tools, ck.servers = c.Tools(), c.Servers()
			ck.known = true
		}
		ck.run()
		slices.SortStableFunc(ck.findings, func(a, b Finding) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
		out = append(out, slices.Compact(ck.findings)...)
	}
	return out
}

// checker looks at one layer.
type checker struct {
	l        *layer
	policy   *Policy
	known    bool // which tools there are
	tools    []catalogue.Tool
	servers  []catalogue.Server
	types    map[string]*typed // by tool
	stage    *stage
	values   map[*condition]truthValue
	noStage  bool
	findings []Finding
}

func (c *checker) add(severity Severity, topic Topic, pos position, hint, format string, args ...any) {
	const bound = 1000
	if len(c.findings) < bound {
		c.findings = append(c.findings, Finding{
			Severity: severity, Topic: topic, Rule: fmt.Sprintf("%s:%d", c.l.file, pos.line),
			File: c.l.file, Line: pos.line, Column: pos.column, Message: fmt.Sprintf(format, args...), Hint: hint,
		})
	}
}

func (c *checker) run() {
	for i := range c.l.rules {
		r := &c.l.rules[i]
		fit := c.fit(r)
		c.pattern(r, fit)
		c.dead(r, i, fit)
		if r.when != nil {
			c.condition(r, r.when, fit, true)
			c.truth(r, fit)
		}
		if r.says != nil {
			c.condition(r, r.says, fit, false)
		}
		if r.rests {
			c.add(SeverityWarning, TopicAnnotations, r.pos, "name the tools instead, or ask",
				"what this rule allows rests on what a server says of its own tools")
		}
		if r.effect == Allow {
			c.wide(r, fit)
		}
	}
	c.outside()
	if c.known {
		c.otherPatterns()
	}
}

// outside finds entries about hosts, files and the environment that open more
// than anybody means.
func (c *checker) outside() {
	if n := c.l.network; n != nil {
		for _, r := range n.allow {
			switch name := strings.TrimPrefix(r.Host, "*."); {
			case strings.Trim(r.Host, "*.") == "":
				c.add(SeverityWarning, TopicWideAllow, r.pos, "name the hosts", "programs may reach every public host, and send there what they have read")
			case len(r.Prefix) == 1 && r.Prefix[0].Bits() == 0:
				c.add(SeverityWarning, TopicWideAllow, r.pos, "name the hosts", "programs may reach every address, this machine's own included")
			case name != r.Host && !strings.Contains(name, "."):
				c.add(SeverityWarning, TopicWideAllow, r.pos, "name the hosts", "programs may reach every host under .%s", name)
			}
		}
	}
	if f := c.l.files; f != nil {
		for _, list := range [][]filePattern{f.read, f.write} {
			for _, p := range list {
				if p.root == "/" || p.text == "~" || p.text == "~/" || p.text == "~/**" {
					c.add(SeverityWarning, TopicWideAllow, p.pos, "name the folder", "%s opens keys, passwords and programs too", p.text)
				}
			}
		}
	}
	for _, e := range c.l.env {
		if strings.Trim(e.pattern, "*") == "" {
			c.add(SeverityWarning, TopicWideAllow, e.pos, "name the variables", "programs see the whole environment, tokens in it included")
		}
	}
}

// fit lists the tools that the pattern of a rule fits.
func (c *checker) fit(r *rule) []catalogue.Tool {
	var out []catalogue.Tool
	for _, t := range c.tools {
		if r.tool.Match(t.ID()) {
			out = append(out, t)
		}
	}
	return out
}

// pattern finds patterns, and parts of them, that fit no tool.
func (c *checker) pattern(r *rule, fit []catalogue.Tool) {
	if !c.known {
		return
	}
	if len(fit) == 0 {
		c.add(SeverityError, TopicUnknownTool, r.pos, c.nearest(r.tool.text), "%s fits no tool", r.tool)
		return
	}
	for _, a := range r.tool.alts {
		text := a.prefix + a.rest
		if len(r.tool.alts) > 1 && !slices.ContainsFunc(fit, func(t catalogue.Tool) bool { return a.match(t.ID()) }) {
			c.add(SeverityWarning, TopicUnknownTool, r.pos, c.nearest(text), "%s of %s fits no tool", text, r.tool)
		}
	}
}

// nearest is a hint with what a pattern may have meant.
func (c *checker) nearest(pattern string) string {
	for _, t := range c.tools {
		if fold, err := ParseGlob(strings.ToLower(pattern)); err == nil && fold.Match(strings.ToLower(t.ID())) {
			return "did you mean " + t.ID() + "? capital and small letters count"
		}
	}
	server, tool, _ := strings.Cut(pattern, ".")
	var names []string
	for _, s := range c.servers {
		names = append(names, s.Name)
	}
	if !strings.ContainsAny(server, "*?{") && !slices.Contains(names, server) {
		if hint := meant(server, names); hint != "" {
			return "there is no server " + server + "; " + hint
		}
		return "there is no server " + server
	}
	names = nil
	for _, t := range c.tools {
		if t.Server == server {
			names = append(names, t.Name)
		}
	}
	if near := catalogue.NearestOf(strings.Trim(tool, "*?"), names); near != "" {
		return "did you mean " + server + "." + near + "?"
	}
	return ""
}

// dead finds rules that another rule always decides before.
func (c *checker) dead(r *rule, i int, fit []catalogue.Tool) {
	if r.when != nil && c.constant(r.when) == alwaysFalse {
		return // told as a condition that is never true
	}
	for j := range c.l.rules {
		o := &c.l.rules[j]
		if j == i || (o.when != nil && c.constant(o.when) != alwaysTrue) || !covers(o.tool, r.tool) {
			continue
		}
		switch {
		case o.effect == Deny && r.effect != Deny:
			c.add(SeverityWarning, TopicDeadRule, r.pos, "take one of the two out", "the rule never decides: %s denies %s always", o.where, o.tool)
			return
		case o.effect == Deny && r.effect == Deny && (j < i || r.when != nil) && !(covers(r.tool, o.tool) && r.when == nil && j > i):
			c.add(SeverityWarning, TopicDeadRule, r.pos, "take it out", "the rule adds nothing: %s denies %s always", o.where, o.tool)
			return
		case o.effect == Ask && r.effect == Allow:
			c.add(SeverityWarning, TopicDeadRule, r.pos, "take one of the two out", "the rule lets nothing pass: %s asks for %s always", o.where, o.tool)
			return
		case o.effect == Allow && r.effect == Allow && r.when != nil:
			c.add(SeverityWarning, TopicWideAllow, r.pos, "take the other out, or make this condition a deny",
				"the condition keeps nothing back: %s allows %s without one", o.where, o.tool)
			return
		case o.effect == Allow && r.effect == Allow && r.limitless && r.cache == 0 && (j < i || !covers(r.tool, o.tool)):
			c.add(SeverityNote, TopicDeadRule, r.pos, "take it out", "the rule adds nothing: %s allows %s always", o.where, o.tool)
			return
		}
	}
	if r.effect == Deny || len(fit) == 0 {
		return
	}
	// With the tools known, many denials together may leave nothing.
	for _, t := range fit {
		if !slices.ContainsFunc(c.policy.list(), func(l *layer) bool {
			return slices.ContainsFunc(l.rules, func(o rule) bool { return o.effect == Deny && o.when == nil && o.tool.Match(t.ID()) })
		}) {
			return
		}
	}
	c.add(SeverityWarning, TopicDeadRule, r.pos, "", "the rule never decides: every tool that %s fits is denied always", r.tool)
}

// covers reports whether every name that inner fits, outer fits too. It never
// says so wrongly; with ? in the outer pattern it does not try.
func covers(outer, inner Glob) bool {
	for _, a := range inner.alts {
		if !slices.ContainsFunc(outer.alts, func(o alternative) bool {
			return !strings.Contains(o.rest, "?") && o.match(a.prefix+a.rest)
		}) {
			return false
		}
	}
	return len(inner.alts) > 0
}

// wide finds allows that let more pass than the denies beside them intend.
func (c *checker) wide(r *rule, fit []catalogue.Tool) {
	if r.when != nil || !strings.ContainsAny(r.tool.text, "*?") {
		return
	}
	for _, a := range r.tool.alts {
		switch {
		case a.prefix == "" && strings.Trim(a.rest, "*") == "":
			c.add(SeverityWarning, TopicWideAllow, r.pos, "name the servers, or give it a condition", "the rule allows every tool of every server, also those that come later")
		case strings.HasSuffix(a.prefix, ".") && strings.Trim(a.rest, "*") == "":
			c.add(SeverityNote, TopicWideAllow, r.pos, "name the tools: server.{get,list}_*", "the rule allows every tool of %s, also those it gets later", strings.TrimSuffix(a.prefix, "."))
		}
	}
	for _, t := range fit {
		risky := catalogue.NameDestroys(t.Name)
		said := t.Annotations.Destructive != nil && *t.Annotations.Destructive
		if !risky && !said {
			continue
		}
		held := false
		var intends *rule
		for i := range c.l.rules {
			o := &c.l.rules[i]
			if o.effect == Allow {
				continue
			}
			held = held || o.tool.Match(t.ID())
			if intends == nil && o.when == nil && catalogue.NameDestroys(strings.NewReplacer("*", " ", "?", " ", "{", " ", "}", " ").Replace(o.tool.text)) && speaksOf(o.tool, t.Server) {
				intends = o
			}
		}
		switch {
		case held:
		case intends != nil:
			c.add(SeverityWarning, TopicWideAllow, r.pos, fmt.Sprintf("deny %s too, or allow less", t.ID()),
				"%s stops %s, and %s lets %s pass", intends.where, intends.tool, r.tool, t.ID())
		case said:
			c.add(SeverityWarning, TopicWideAllow, r.pos, "deny it, ask for it, or name it in a rule of its own",
				"%s lets %s pass, which its server calls destructive", r.tool, t.ID())
		}
	}
}

// speaksOf reports whether a pattern may fit tools of a server.
func speaksOf(g Glob, server string) bool {
	return slices.ContainsFunc(g.alts, func(a alternative) bool {
		name, _, dotted := strings.Cut(a.prefix, ".")
		return name == server || (!dotted && strings.HasPrefix(server, a.prefix) && a.rest != "")
	})
}

// otherPatterns checks the patterns over tools outside of the rules.
func (c *checker) otherPatterns() {
	fits := func(g Glob) bool {
		return slices.ContainsFunc(c.tools, func(t catalogue.Tool) bool { return g.Match(t.ID()) })
	}
	if c.l.pii != nil {
		for i, g := range c.l.pii.revealTo {
			if !fits(g) {
				c.add(SeverityError, TopicUnknownTool, c.l.pii.revealAt[i], c.nearest(g.text), "%s fits no tool", g)
			}
		}
		for i, t := range c.l.pii.tools {
			if !fits(t.Tool) {
				c.add(SeverityError, TopicUnknownTool, c.l.pii.toolsAt[i], c.nearest(t.Tool.text), "%s fits no tool", t.Tool)
			}
		}
	}
	for i, s := range c.l.secrets {
		for j, to := range s.To {
			at := c.l.secretsAt[i][j]
			if name, ok := strings.CutPrefix(to, "server:"); ok {
				if !slices.ContainsFunc(c.servers, func(s catalogue.Server) bool { return s.Name == name }) {
					c.add(SeverityWarning, TopicUnknownTool, at, c.nearest(name), "the secret %s goes to server %s, which is not there", s.Name, clip(name))
				}
			} else if g, err := ParseGlob(to); err == nil && !strings.HasPrefix(to, "host:") && !fits(g) {
				c.add(SeverityError, TopicUnknownTool, at, c.nearest(to), "%s fits no tool", g)
			}
		}
	}
	for i, t := range c.l.tests {
		if !slices.ContainsFunc(c.tools, func(tool catalogue.Tool) bool { return tool.ID() == t.Tool }) {
			c.add(SeverityError, TopicUnknownTool, c.l.testsAt[i], c.nearest(t.Tool), "there is no tool %s", clip(t.Tool))
		}
	}
}
