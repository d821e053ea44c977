package hostfns

import (
	"bytes"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/queue"
	"github.com/wexec/wexec/policy"
)

// Every call of a program takes these steps, in this order, and ends at the first
// error. Whatever happened, finish then records how it ended. A dry run stops
// after the decision.
var (
	decideSteps = [...]step{
		(*call).resolve,        // find the tool
		(*call).readArguments,  // parse, complete and check the arguments
		(*call).decide,         // ask the policy
		(*call).recordDecision, // no record, no call
	}
	sendSteps = [...]step{
		(*call).ask,    // ask a person, if the policy says so
		(*call).reveal, // put in the values and secrets that the tool may have
		(*call).send,   // call the provider
		(*call).accept, // check, bound and redact the answer
	}
)

type step = func(*call, context.Context) error

// call is one call on its way from the program to a provider and back.
type call struct {
	run    *Run
	kind   kind
	number uint64
	ticket *queue.Ticket // its place in the queue; nil for a call of a Go host
	// compile is CallsOptions.Compile.
	compile func(ctx context.Context, file, code string) (string, error)

	name    string // server.tool in original names, once resolved; before as the program wrote it
	given   []byte // the arguments as the program wrote them
	started time.Time
	info    *CallInfo // nil for a lookup

	// Set by resolve.
	tool   *resolvedTool
	lookup lookupFunc
	// Set by readArguments.
	args     arguments      // as the record shows them, with tokens
	values   map[string]any // as the policy and the schema see them, revealed
	revealed []byte         // values as JSON
	secrets  []Secret
	// Set by decide and recordDecision.
	decision policy.Decision
	counted  bool // against the limits of rules
	recorded bool // the decision was recorded with the arguments as given
	// Set by ask.
	approval *audit.Approval
	// Set by reveal.
	outgoing []byte
	// Set by send and accept.
	gate     gate
	sent     bool // the provider was called
	toolText bool // the error is in the words of the tool
	answer   Answer
}

// kind is what a call asks for. It determines who decides.
type kind uint8

const (
	toolCall   kind = iota // a tool: the policy decides
	nativeCall             // a provider of the prelude, such as "wexec:fetch": it asks the Gate about each effect
	lookupCall             // the host itself, such as "wexec:search": nothing leaves it, so there is nothing to decide
)

// preludePrefix begins the names of calls of the prelude.
const preludePrefix = "wexec:"

func kindOf(name string) kind {
	switch {
	case !strings.HasPrefix(name, preludePrefix):
		return toolCall
	case lookups[name] != nil:
		return lookupCall
	}
	return nativeCall
}

// newCall returns a call by any spelling of its name, counted against the limit of
// the run.
func (r *Run) newCall(name string, args []byte) (*call, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	if !utf8.ValidString(name) {
		name = strings.ToValidUTF8(name, "�")
	}
	c := &call{run: r, kind: r.backend.kindOf(name), name: name, given: args}
	if c.kind != lookupCall && r.toolCalls.Add(1) > int64(r.limits.ToolCalls) {
		err := fault.New(fault.LimitToolCalls, "more than %d tool calls", r.limits.ToolCalls).
			WithHint("ask tools for more at once, or raise the limit tool_calls")
		r.fail(err)
		return nil, err
	}
	c.number = r.number.Add(1)
	return c, nil
}

// Call calls a tool by any spelling of its name, or a function of the prelude, and
// returns the answer. The program may catch a *[Failure]. Every other error ends
// the run, and [Run.Err] returns it from then on.
func (r *Run) Call(ctx context.Context, name string, args []byte) (Answer, error) {
	if ctx != r.ctx {
		joined, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })()
		ctx = joined
	}
	c, err := r.newCall(name, args)
	if err != nil {
		return Answer{}, err
	}
	if err := r.spend(int64(len(args))); err != nil {
		return Answer{}, err
	}
	return r.backend.serve(ctx, c)
}

// Do makes a call of a guest. A failure is an answer.
func (c *call) Do(ctx context.Context, t *queue.Ticket) (a queue.Answer, err error) {
	c.ticket = t
	defer func() {
		if p := recover(); p != nil {
			c.run.table.log().Error("panic in a host call", "tool", clean(c.name, 200), "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, "the host panicked in a call of %s", clean(c.name, 200))
		}
	}()
	answer, err := c.run.backend.serve(ctx, c)
	if f, ok := err.(*Failure); ok {
		answer, err = f.answer(), nil
	}
	return queue.Answer{Kind: uint8(answer.Kind), Data: answer.Data}, err
}

// backend answers the calls of a run.
type backend interface {
	// kindOf returns what a name asks for.
	kindOf(name string) kind
	// serve makes a call.
	serve(ctx context.Context, c *call) (Answer, error)
	// keepsWaits reports whether the order of answers includes waits in vain.
	keepsWaits() bool
	// fileTime returns the clock of new files in /tmp; nil is the real one.
	fileTime() func() time.Time
}

// live answers calls from providers.
type live struct{ run *Run }

func (b live) kindOf(name string) kind {
	if k := kindOf(name); k != nativeCall || b.run.table.native[name] != nil {
		return k
	}
	return lookupCall // of nothing: there is no such call
}

func (b live) keepsWaits() bool { return b.run.Kept() }

func (b live) fileTime() func() time.Time {
	if b.run.facts.Deterministic {
		return b.run.startTime()
	}
	return nil
}

func (b live) serve(ctx context.Context, c *call) (Answer, error) {
	if err := b.run.Err(); err != nil {
		return Answer{}, err
	}
	c.begin()
	err := c.take(ctx, decideSteps[:])
	switch {
	case err != nil:
	case c.run.info.DryRun && c.kind != lookupCall:
		c.ticket.WaitDue(ctx)
		c.run.cacheable(0)
		c.answer = null()
	default:
		err = c.take(ctx, sendSteps[:])
	}
	return c.finish(c.explain(ctx, err))
}

// begin lists the call.
func (c *call) begin() {
	c.started = time.Now()
	if c.kind == lookupCall {
		return
	}
	if !isPlainName(c.name) {
		c.name = c.run.redactor.remove(clean(c.name, 300)) // no tool has this name; it may be personal data
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

func (c *call) take(ctx context.Context, steps []step) error {
	for _, step := range steps {
		if err := step(c, ctx); err != nil {
			return err
		}
	}
	return nil
}

// resolve finds the tool, and checks that it is the pinned one.
func (c *call) resolve(ctx context.Context) error {
	t := c.run.table
	switch c.kind {
	case lookupCall:
		if c.lookup = lookups[c.name]; c.lookup == nil {
			c.name = clean(c.name, 100)
			return &Failure{Code: fault.ToolUnknown, Tool: c.name, Message: "there is no call " + c.name}
		}
		return nil
	case nativeCall:
		c.tool = t.native[c.name]
		c.ticket.WaitPrevious(ctx)
		return nil
	}
	tool, err := t.resolve(ctx, c.name)
	switch {
	case err != nil && ctx.Err() != nil:
		return c.cancelled()
	case err != nil:
		return failureOf(err, c.name)
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

// refuse records a refusal that is not the policy's.
func (c *call) refuse(kind string, f *Failure) error {
	if err := c.run.record(audit.Event{Decision: &audit.Decision{
		Call: c.number, Kind: kind, Tool: c.name, Effect: policy.Deny.String(), Rule: f.Rule, Code: string(f.Code), Message: c.run.redactor.display(f.Message),
	}}); err != nil {
		return err
	}
	return f
}

// decide asks the policy about the revealed arguments. What the prelude asks for
// is allowed: its provider asks the Gate about each effect.
func (c *call) decide(ctx context.Context) error {
	if c.kind != toolCall {
		c.decision = policy.Decision{Effect: policy.Allow}
		return nil
	}
	if ctx.Err() != nil {
		return c.cancelled()
	}
	r := c.run
	c.decision, c.counted = r.session.decide(r.table.policy, &r.table.rates, c.tool.id, policy.Request{
		Tool: c.tool.Tool, Args: c.values, Run: r.facts, Actor: r.actor, Now: time.Now(),
	})
	for _, w := range c.decision.Warnings {
		r.warn(clean(w, 500))
	}
	return nil
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
	switch {
	case hint != "":
	case c.decision.Rule != "":
		hint = "decided by " + c.decision.Rule
	default:
		hint = "allow it in a policy: wexec policy explain " + c.name + " shows how"
	}
	return &Failure{Code: code, Tool: c.name, Message: clean(because(c.name+" is not allowed", why), maxMessage), Rule: c.decision.Rule, Hint: hint}
}

// send calls the provider. It returns when the context ends or the rule's time is
// up, whatever the provider does.
func (c *call) send(ctx context.Context) (err error) {
	r := c.run
	if c.kind == lookupCall {
		c.answer, err = c.lookup(c, ctx)
		return err
	}
	if !r.enter(ctx) {
		return c.cancelled()
	}
	defer r.leave()
	sending, handoff, limit := ctx, c.ticket.Handoff(), c.decision.Limits.Timeout()
	if limit > 0 {
		var cancel context.CancelFunc
		sending, cancel = context.WithTimeoutCause(ctx, limit, fault.ToolTimeout)
		defer cancel()
		handoff = nil // it abandons a task at the end of the run only
	}
	c.sent = true
	c.gate = gate{run: r, call: c.number, tool: c.name}
	d := &delivery{run: r, ctx: sending, provider: c.tool.provider, call: Call{
		Server: c.tool.Server, Tool: c.tool.Name, Args: c.outgoing, Progress: r.progress(c.name), Gate: &c.gate,
	}}
	if r.workers.Do(sending, handoff, d) {
		c.answer, err = d.answer, d.err
	} else {
		err = sending.Err()
	}
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return c.cancelled()
	case sending.Err() != nil:
		return &Failure{Code: fault.ToolTimeout, Tool: c.name, Rule: c.decision.Rule,
			Message: fmt.Sprintf("%s took longer than %s", c.name, limit), Hint: "ask it for less at once"}
	case endsRun(err):
		r.fail(err)
		return err
	}
	c.toolText = true
	return failureOf(err, c.name)
}

// delivery is a call at its provider. If the provider hangs, the delivery is
// abandoned with its goroutine, so the call must not read it then.
type delivery struct {
	run      *Run
	ctx      context.Context
	provider Provider
	call     Call

	answer Answer
	err    error
}

// Run calls the provider, which may panic or end its goroutine.
func (d *delivery) Run() {
	returned := false
	defer func() {
		if !returned {
			p := recover()
			d.answer, d.err = Answer{}, fault.New(fault.ToolFailed, "the provider of the tool panicked")
			d.run.table.log().Error("panic in a provider", "server", d.call.Server, "tool", d.call.Tool, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		if d.ctx.Err() != nil && d.answer.Body != nil {
			closeBody(d.answer)
			d.answer, d.err = Answer{}, d.ctx.Err()
		}
	}()
	d.answer, d.err = d.provider.Call(d.ctx, d.call)
	returned = true
}

// enter waits until one more call of the run may be at its provider. It returns
// false if the context ends before.
func (r *Run) enter(ctx context.Context) bool {
	select {
	case r.slots <- struct{}{}: // without a call of Done, which allocates
		return true
	default:
	}
	select {
	case r.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *Run) leave() { <-r.slots }

// cancelled returns the error of a call whose caller or run has ended.
func (c *call) cancelled() error {
	if err := c.run.Err(); err != nil {
		return err
	}
	return fault.New(fault.Cancelled, "the call of %s was cancelled", c.name)
}

// explain prepares the error of a call for the program. In an ordered run it waits
// for its place, since redacting the text of a tool may issue tokens.
func (c *call) explain(ctx context.Context, err error) error {
	if err == nil || c.kind == lookupCall {
		return err
	}
	c.ticket.Decided()
	if !c.ticket.WaitDue(ctx) && c.sent {
		return c.cancelled()
	}
	f := failureIn(err)
	if f == nil {
		return err
	}
	if c.toolText {
		f.Message = string(removeSecrets([]byte(f.Message), c.secrets))
		f.Hint = string(removeSecrets([]byte(f.Hint), c.secrets))
		f.Message, f.Hint = c.run.redactor.message(f.Message, c.name), c.run.redactor.message(f.Hint, c.name)
	}
	f.Message, _ = c.run.redactor.egress(f.Message)
	f.Hint, _ = c.run.redactor.egress(f.Hint)
	return err
}

// finish records how the call ended. Without that record the run ends. Lookups are
// recorded only where the record is complete: a replay answers from it.
func (c *call) finish(err error) (Answer, error) {
	r, f := c.run, failureIn(err)
	record := &audit.Call{Call: c.number, Tool: c.name, OK: err == nil, MS: time.Since(c.started).Milliseconds()}
	if r.Kept() && !c.recorded {
		record.Args = c.given
	}
	switch {
	case err == nil:
		record.Bytes, record.AnswerKind = int64(len(c.answer.Data)), int(c.answer.Kind)
		record.AnswerSHA256, record.Answer = kept(r.keep.Outputs, "", c.answer.Data)
	case f != nil:
		record.Code, record.Message = string(f.Code), f.Message
		if r.keep.Outputs == policy.DetailFull {
			answer := f.answer()
			record.AnswerKind, record.Answer = int(answer.Kind), answer.Data
		}
	default:
		record.Code = string(fault.CodeOf(err))
	}
	if err != nil {
		r.cacheable(0)
	}
	if c.counted && !c.sent {
		r.session.uncount(c.tool.id, c.decision.Limits)
	}
	if c.info != nil {
		r.finish(c.info, func(info *CallInfo) {
			info.OK, info.Bytes, info.Code = err == nil, record.Bytes, fault.Code(record.Code)
			if c.approval != nil {
				info.Waited = time.Duration(c.approval.MS) * time.Millisecond
			}
			if c.kind == nativeCall {
				info.Decision = policy.Allow.String()
				if f != nil && f.Code.Class() == fault.ClassDenied {
					info.Decision, info.Rule = policy.Deny.String(), f.Rule
				}
			}
		})
	}
	if c.kind != lookupCall || r.Kept() {
		if recorded := r.record(audit.Event{Call: record}); recorded != nil {
			return Answer{}, recorded
		}
	}
	if err != nil {
		return Answer{}, err
	}
	return c.answer, nil
}

// null is the answer without a value.
func null() Answer { return Answer{Kind: JSON, Data: []byte("null"), Checked: true} }
