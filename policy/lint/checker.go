package lint

import (
	"fmt"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/policy/internal/document"
	"github.com/wexec/wexec/policy/internal/expr"
)

// Severity says how serious a finding is.
type Severity string

// The severities.
const (
	SeverityError   Severity = "error"   // the rule cannot do what it says
	SeverityWarning Severity = "warning" // the rule probably does not do what was meant
	SeverityNote    Severity = "note"    // worth knowing
)

// Topic names what a finding is about.
type Topic string

// The topics.
const (
	TopicDeadRule    Topic = "dead-rule"        // another rule always decides first
	TopicUnknownTool Topic = "unknown-tool"     // a pattern matches no tool
	TopicUnknownArg  Topic = "unknown-argument" // a condition uses an argument that the tool does not have
	TopicWrongType   Topic = "wrong-type"       // a condition uses an argument as a type that it never has
	TopicNeverTrue   Topic = "never-true"       // a condition cannot be true
	TopicWideAllow   Topic = "wide-allow"       // an allow rule allows more than a deny rule intends
	TopicAnnotations Topic = "annotations"      // an allow rule depends on what a server says about itself
)

// Finding is something about a policy that a person should review.
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

// String returns file:line:column, the severity, the message and the hint.
func (f Finding) String() string {
	s := fmt.Sprintf("%s:%d:%d: %s: %s", f.File, f.Line, f.Column, f.Severity, f.Message)
	if f.Hint != "" {
		s += " (" + f.Hint + ")"
	}
	return s
}

// file is one policy file.
type file struct {
	name  string
	doc   *document.File[policy.Limits]
	rules []rule // deny, then ask, then allow
	env   *expr.Env
}

// rule is one rule for tools.
type rule struct {
	*document.Rule
	effect  policy.Effect
	glob    policy.Glob
	when    *expr.Expr
	message *expr.Expr // messageExpression
	where   string     // file:line
	always  bool       // matches every call that its pattern matches
	never   bool       // matches no call: the condition is always false
}

// restrictsCalls reports whether a rule does more than allow: it limits calls or
// caches answers.
func (r *rule) restrictsCalls() bool {
	return r.Limits != nil && *r.Limits != document.RuleLimits{} || r.Cache.V != 0
}

// readFile reads a file of a policy. The file has no problems, because a policy
// was made of it.
func readFile(src policy.Source) *file {
	reporter := &yamldoc.Reporter{File: src.Name}
	f := &file{name: src.Name, doc: document.Read[policy.Limits](reporter, []byte(src.Text))}
	if src.Tightening {
		f.doc = &document.File[policy.Limits]{Vars: f.doc.Vars, Tools: &document.Tools{Deny: f.doc.Tools.Deny, Ask: f.doc.Tools.Ask}}
	}
	env, err := expr.NewEnv()
	if err != nil {
		return f
	}
	f.env = env
	env.Variables(reporter, f.doc.Vars)
	for effect, list := range [][]document.Rule{policy.Deny: f.doc.Tools.Deny, policy.Ask: f.doc.Tools.Ask, policy.Allow: f.doc.Tools.Allow} {
		for i := range list {
			f.rules = append(f.rules, f.rule(reporter, policy.Effect(effect), &list[i]))
		}
	}
	return f
}

func (f *file) rule(reporter *yamldoc.Reporter, effect policy.Effect, b *document.Rule) rule {
	r := rule{Rule: b, effect: effect, glob: glob(b.Tool.V), where: reporter.Where(b.Pos), always: !b.When.IsSet()}
	if effect != policy.Allow {
		r.glob = r.glob.AnyServer()
	}
	if b.When.IsSet() {
		if r.when = f.env.Condition(reporter, b.When.V); r.when != nil {
			value, known := r.when.Constant()
			r.always, r.never = known && value, known && !value
		}
	}
	if b.MessageExpression.IsSet() {
		r.message = f.env.Message(reporter, b.MessageExpression.V)
	}
	return r
}

// glob reads a pattern of a policy, which is valid.
func glob(pattern string) policy.Glob {
	g, _ := policy.ParseGlob(pattern)
	return g
}

// checker checks one file.
type checker struct {
	file         *file
	files        []*file // of the policy
	hasCatalogue bool
	tools        []catalogue.Tool
	servers      []catalogue.Server
	types        *expr.Checker
	findings     []Finding
}

const maxFindings = 1000 // of one file

func (c *checker) add(severity Severity, topic Topic, pos yamldoc.Position, hint, format string, args ...any) {
	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, Finding{
			Severity: severity, Topic: topic, Rule: fmt.Sprintf("%s:%d", c.file.name, pos.Line),
			File: c.file.name, Line: pos.Line, Column: pos.Column, Message: fmt.Sprintf(format, args...), Hint: hint,
		})
	}
}

// matching lists the tools that a pattern matches.
func (c *checker) matching(g policy.Glob) []catalogue.Tool {
	var out []catalogue.Tool
	for _, t := range c.tools {
		if g.Match(t.ID()) {
			out = append(out, t)
		}
	}
	return out
}
