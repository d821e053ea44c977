package hostfns

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/queue"
	"github.com/wexec/wexec/hostfns/internal/scrub"
	"github.com/wexec/wexec/internal/journal"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
)

// call is one call on its way from the program to a provider and back.
type call struct {
	run    *Run
	kind   kind
	number uint64
	ticket *queue.Ticket // its place in the queue; nil for a call of a Go host
	// compile is CallsOptions.Compile.
	compile func(ctx context.Context, file, code string) (string, error)
	// core is CallsOptions.Core.
	core Core

	lookup  lookupFunc // of a lookup
	name    string     // server.tool in original names, once resolved; before as the program wrote it
	given   []byte     // the arguments as the program wrote them
	started time.Time
	info    *CallInfo // nil for a lookup

	// Set by resolve.
	tool *resolvedTool
	// Set by readArguments.
	args    arguments // as the record shows them, with tokens
	secrets []Secret
	// Set by revealArguments.
	tried     bool      // the rest is set
	revealed  arguments // with values instead of tokens
	revealErr error     // why they are not known
	hasTokens bool      // they differ from args
	// Set by decide and recordDecision.
	decision policy.Decision
	counted  bool     // against the limits of rules
	recorded bool     // the decision was recorded with the arguments as given
	checking checking // of the check that goes on
	// Set by ask.
	approval *audit.Approval
	// Set by reveal.
	outgoing arguments
	values   *scrub.Scrubber // those that the tool gets; may be nil
	// Of a durable run.
	unknown  int  // how often it was about to change something in other processes
	intended bool // the journal has that it is about to change something
	// Set by send and accept.
	gate     gate
	grant    *Grant // what lacks a rule, if a person is asked for it
	sent     bool   // the provider was called
	toolText bool   // the error is in the words of the tool
	answer   Answer
}

// kind is what a call asks for. It determines who decides.
type kind uint8

const (
	toolCall   kind = iota // a tool: the policy decides
	nativeCall             // a provider of the prelude, such as "wexec:fetch": it asks the Gate about each effect
	lookupCall             // the host itself, such as "wexec:search": nothing leaves it, so there is nothing to decide
)

// lookupFunc answers a lookup: a call of the prelude that reaches nothing outside
// the host.
type lookupFunc = func(*call, context.Context) (Answer, error)

// begin lists the call.
func (c *call) begin() {
	c.started = time.Now()
	if c.kind == lookupCall {
		return
	}
	if !isPlainName(c.name) {
		c.name = clean(c.run.redactor.remove(text.Prefix(c.name, maxMessage)), 300) // no tool has this name; it may be personal data
	}
	c.info = c.run.begin(c.name, c.number)
}

// isPlainName reports whether a name has nothing that personal data has and names
// of tools rarely have: signs, spaces, many digits.
func isPlainName(name string) bool {
	digits := 0
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == '-', c == '.', c == ':':
		case c >= '0' && c <= '9':
			if digits++; digits > 6 {
				return false
			}
		default:
			return false
		}
	}
	return len(name) <= 300
}

// resolve finds the tool, and checks that it is the pinned one.
func (c *call) resolve(ctx context.Context) error {
	t := c.run.table
	switch c.kind {
	case lookupCall:
		if c.lookup == nil {
			c.name = clean(c.name, 100)
			if own := strings.TrimPrefix(c.name, preludePrefix); slices.Contains(WorkspaceCalls, c.name) {
				return &Failure{Code: fault.ToolUnknown, Tool: own, Message: own + " needs a workspace, which the run does not have",
					Hint: "run the program with a workspace"}
			}
			return &Failure{Code: fault.ToolUnknown, Tool: c.name, Message: "there is no call " + c.name}
		}
		return nil
	case nativeCall:
		c.tool = c.run.native(c.name)
		c.ticket.WaitPrevious(ctx)
		return nil
	}
	tool, err := t.resolve(ctx, c.name)
	switch {
	case err != nil && ctx.Err() != nil:
		return c.cancelled()
	case err != nil:
		return failureOf(err, c.name, &t.given)
	}
	c.tool, c.name = tool, tool.id
	c.ticket.WaitPrevious(ctx)
	pin, changed := t.pins().broken(tool.id, tool.definition)
	if !changed {
		return nil
	}
	tool.warnOnce.Do(func() {
		t.log().Warn("refuse a tool that does not match its pin", "tool", c.name, "pin", pin.Origin)
	})
	return c.refuse("pin", pin.failure(c.name))
}

// WorkspaceCalls are the calls of the prelude that a [Workspace] answers.
var WorkspaceCalls = []string{"wexec:search_files", "wexec:search_content", "wexec:submit_result"}

// waitCall is the call of the prelude that waits for a signal.
const waitCall = "wexec:wait_for"

// native returns what answers a call of the prelude, or nil.
func (r *Run) native(name string) *resolvedTool {
	if w := r.info.Workspace; w != nil && slices.Contains(WorkspaceCalls, name) {
		return &resolvedTool{Tool: catalogue.Tool{Server: name}, provider: w, id: name}
	}
	if name == waitCall {
		return &resolvedTool{Tool: catalogue.Tool{Server: name}, id: name}
	}
	return r.table.native[name]
}

// refuse records a refusal that is not the policy's.
func (c *call) refuse(kind string, f *Failure) error {
	if err := c.run.record(audit.Event{Decision: &audit.Decision{
		Call: c.number, Kind: kind, Tool: c.name, Effect: policy.Deny.String(), Rule: f.Rule, Code: string(f.Code), Message: c.run.redactor.display(f.Message),
	}}); err != nil {
		return err
	}
	return f
}

// decide asks the policy. Its conditions see revealed arguments, its messages
// tokens. What the prelude asks for is allowed: its provider asks the Gate about
// each effect.
func (c *call) decide(ctx context.Context) error {
	if c.kind != toolCall {
		c.decision = policy.Decision{Effect: policy.Allow}
		return nil
	}
	if ctx.Err() != nil {
		return c.cancelled()
	}
	r := c.run
	req := policy.Request{Tool: c.tool.Tool, Args: c.args.values, Run: r.facts, Actor: r.actor, Now: time.Now()}
	if r.redactor != nil {
		req.Reveal = func() (map[string]any, error) {
			err := c.revealArguments(ctx, maxRevealed)
			return c.revealed.values, err
		}
	}
	c.decision, c.counted = r.session.decide(r.table.effective(), &r.table.rates, c.tool.id, req)
	if c.revealErr != nil && c.revealErr != errReveal {
		return c.unrevealed()
	}
	if c.decision.Effect == policy.Deny {
		c.askForRule(req)
	}
	c.foresee()
	for i, w := range c.decision.Warnings {
		c.decision.Warnings[i] = r.shown(w, 500)
		r.warn(c.decision.Warnings[i])
	}
	return nil
}

// askForRule makes the denial of a tool that no rule allows a question, if there is
// somebody to ask.
func (c *call) askForRule(req policy.Request) {
	if !c.run.canGrant() {
		return
	}
	req.Calls = c.run.session.calls()
	if files, ok := c.run.table.effective().LacksTool(req); ok {
		c.grant = &Grant{Kind: "tool", Name: c.tool.id, Files: files}
		c.decision.Effect = policy.Ask
	}
}

// recordDecision records the decision, and ends a call that is denied.
func (c *call) recordDecision(ctx context.Context) error {
	defer c.ticket.Decided()
	if c.kind != toolCall {
		return nil
	}
	r, d := c.run, c.decision
	digest, text := kept(r.keep.Inputs, "", c.args.raw)
	record := &audit.Decision{
		Call: c.number, Tool: c.name, Effect: d.Effect.String(), Rule: d.Rule, Message: r.redactor.display(d.Message),
		ArgsSHA256: digest, Args: text, Writes: c.tool.writes(), Warnings: d.Warnings,
	}
	if d.Effect == policy.Deny {
		record.Code = string(fault.DeniedTool)
	}
	if err := r.record(audit.Event{Decision: record}); err != nil {
		return err
	}
	c.recorded = bytes.Equal(c.args.raw, c.given)
	r.mu.Lock()
	c.info.Tool, c.info.Decision, c.info.Rule = c.name, d.Effect.String(), d.Rule
	r.mu.Unlock()
	if d.Effect == policy.Deny {
		return c.denied(fault.DeniedTool, d.Message, "")
	}
	return nil
}

// denied returns the failure of a denied call.
func (c *call) denied(code fault.Code, why, hint string) *Failure {
	why = strings.Replace(why, "no rule allows "+c.name, "no rule allows it", 1)
	if hint == "" {
		hint = advice(c.decision, c.name, "tools.allow")
	}
	return &Failure{Code: code, Tool: c.name, Message: clean(because(c.name+" is not allowed", why), maxMessage), Rule: c.decision.Rule, Hint: hint}
}

// cancelled returns the error of a call whose caller or run has ended.
func (c *call) cancelled() error {
	if err := c.run.Err(); err != nil {
		return err
	}
	return fault.New(fault.Cancelled, "the call of %s was cancelled", c.name)
}

// null is the answer without a value.
func null() Answer { return Answer{Kind: JSON, Data: []byte("null"), Checked: true} }

// unknownOutcome returns the failure of a call that was about to change something in
// another process, and has no answer. why is the reason that it is not made again.
func (c *call) unknownOutcome(why string) *Failure {
	f := &Failure{Code: fault.ToolUnknownOutcome, Tool: c.name, Message: c.name + " " + isUnknown,
		Hint: "find out with a tool that reads, then call it again or go on"}
	if why != "" {
		f.Message += "; it was not called again: " + why
	}
	return f
}

// isUnknown is the message that the outcome of a call is unknown.
const isUnknown = "was called before the run was interrupted, and it is not known whether it did its work"

// intend keeps that a call is about to change something, before it is sent.
func (c *call) intend(ctx context.Context) error {
	d := c.run.info.Durable
	if d == nil || c.kind == lookupCall || c.name == waitCall || c.kind == toolCall && !c.tool.writes() {
		return nil
	}
	if n, ok := c.tool.provider.(Native); ok && c.kind == nativeCall && !n.Writes(c.name, c.outgoing.values) {
		return nil
	}
	if c.unknown > 0 && c.kind == nativeCall {
		return c.unknownOutcome("")
	}
	if err := d.Log.Intend(ctx, journal.Intent{Number: c.number, Tool: c.name, Args: journal.Digest(c.given)}); err != nil {
		if ctx.Err() == nil {
			c.run.fail(err)
		}
		return err
	}
	c.intended = true
	return nil
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
