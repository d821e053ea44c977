package hostfns

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// Call calls a tool by any spelling of its name, or one of the prelude's own
// calls, and waits for the answer. A *[Failure] may be caught by the program;
// every other error ends the run, and [Run.Err] gives it from then on.
func (r *Run) Call(ctx context.Context, name string, args []byte) (Answer, error) {
	ctx, stop := r.join(ctx)
	defer stop()
	if err := r.charge(name); err != nil {
		return Answer{}, err
	}
	if err := r.spend(int64(len(args))); err != nil {
		return Answer{}, err
	}
	return r.call(ctx, name, args, &flight{number: r.number.Add(1)})
}

// charge counts a call against the run's budget. The prelude's own look-ups
// are no tool calls; its requests to the outside are.
func (r *Run) charge(name string) error {
	if err := r.Err(); err != nil {
		return err
	}
	if !r.table.outward(name) {
		return nil
	}
	if r.toolCalls.Add(1) > int64(r.limits.ToolCalls) {
		err := fault.New(fault.LimitToolCalls, "more than %d tool calls", r.limits.ToolCalls).
			WithHint("ask tools for more at once, or raise the limit tool_calls")
		r.fail(err)
		return err
	}
	return nil
}

// join is a context that ends with the caller's and with the run's.
func (r *Run) join(ctx context.Context) (context.Context, func()) {
	if ctx == r.ctx {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	off := context.AfterFunc(r.ctx, func() { cancel(context.Cause(r.ctx)) })
	return ctx, func() { off(); cancel(nil) }
}

// call is the one way out of a guest.
func (r *Run) call(ctx context.Context, name string, args []byte, f *flight) (Answer, error) {
	if err := r.Err(); err != nil {
		return Answer{}, err
	}
	if !utf8.ValidString(name) {
		name = strings.ToValidUTF8(name, "�")
	}
	if r.table.recording != nil {
		return r.repeat(ctx, name, args, f)
	}
	if strings.HasPrefix(name, ownPrefix) {
		return r.ownCall(ctx, name, args, f)
	}
	return r.newRequest(name, f).serve(ctx, args)
}

// request is one call on its way.
type request struct {
	run    *Run
	flight *flight
	number uint64
	name   string // server.tool in original names, or as the program wrote it while unknown
	info   *CallInfo
	entry  *entry

	given    []byte // the arguments as the program wrote them
	gate     gate
	onRecord bool           // the record of the decision has them just so
	args     arguments      // with names and defaults
	values   map[string]any // revealed: what the policy and the schema see
	revealed []byte         // the same as JSON
	secrets  []Secret
	decision policy.Decision
	counted  bool // against the limits of its rules
	approval *audit.Approval
	called   bool // the provider was asked
	told     bool // the error is in the tool's own words
}

func (r *Run) newRequest(name string, f *flight) *request {
	name = clean(name, 300)
	if !plainName(name) {
		name = r.veil.redacted(name) // no tool is called like that; it is the program's text
	}
	return &request{run: r, flight: f, number: f.number, name: name, info: r.begin(name, f.number)}
}

// plainName reports a name without anything that personal data has and names
// of tools hardly have: signs, spaces, many digits.
func plainName(name string) bool {
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
	return true
}

// serve makes the call and records how it ended, whatever happened.
func (q *request) serve(ctx context.Context, args []byte) (Answer, error) {
	q.given = args
	answer, err := q.steps(ctx, args)
	if err != nil {
		// What a failure says may get tokens too, in its turn.
		q.flight.turn.hasDecided()
		q.flight.turn.toDeliver(ctx)
	}
	return q.end(answer, err)
}

// steps is the order that nothing leaves: arguments, decision, record, people,
// the call, what comes back.
func (q *request) steps(ctx context.Context, args []byte) (Answer, error) {
	if err := q.resolve(ctx); err != nil {
		return Answer{}, err
	}
	q.flight.turn.toDecide(ctx)
	if err := q.pinned(ctx); err != nil {
		return Answer{}, err
	}
	if err := q.prepare(ctx, args); err != nil {
		return Answer{}, err
	}
	if err := q.decide(ctx); err != nil {
		return Answer{}, err
	}
	q.flight.turn.hasDecided()
	if q.run.info.DryRun {
		q.flight.turn.toDeliver(ctx)
		q.run.cacheable(0)
		return null(), nil
	}
	if err := q.ask(ctx); err != nil {
		return Answer{}, err
	}
	answer, err := q.make(ctx)
	if !q.flight.turn.toDeliver(ctx) {
		return q.unheard(ctx, answer, err)
	}
	if f := failureIn(err); q.told && f != nil {
		f.Message = string(stripSecrets([]byte(f.Message), q.secrets))
		f.Hint = string(stripSecrets([]byte(f.Hint), q.secrets))
		f.Message, f.Hint = q.run.veil.words(f.Message, q.name), q.run.veil.words(f.Hint, q.name)
	}
	if err != nil {
		return Answer{}, err
	}
	return q.admit(ctx, answer)
}

// resolve finds the tool.
func (q *request) resolve(ctx context.Context) error {
	e, err := q.run.table.resolve(ctx, q.name)
	if err != nil {
		if ctx.Err() != nil {
			return q.gaveUp(ctx)
		}
		return failureOf(err, q.name)
	}
	q.entry = e
	q.name = e.id
	return nil
}

// prepare reads the arguments and checks them against the schema.
func (q *request) prepare(ctx context.Context, args []byte) error {
	a, f := readArguments(q.entry, args)
	if f != nil {
		return q.refuse("schema", f)
	}
	if more := a.room - int64(len(args)); more > freeRoom {
		// Many small values take far more of the host than their text.
		if err := q.run.spend(more); err != nil {
			return err
		}
	}
	var names []string
	secrets, err := q.run.table.argumentSecrets(ctx, q.name)
	if err != nil {
		return err
	}
	q.secrets = secrets
	for _, s := range secrets {
		name := strings.TrimPrefix(s.As, "arg:")
		names = append(names, name)
		if _, given := a.values[name]; given {
			delete(a.values, name)
			if f := a.rewrite(q.entry); f != nil {
				return q.refuse("schema", f)
			}
		}
	}
	q.args, q.values, q.revealed = a, a.values, a.raw
	if q.run.veil != nil {
		if q.revealed, err = q.run.veil.reveal(a.raw); err != nil {
			return failureOf(fault.New(fault.ToolInvalidArgs, "the tokens in the arguments cannot be read: %w", err), q.name)
		}
		if len(q.revealed) != len(a.raw) || string(q.revealed) != string(a.raw) {
			doc, err := decode(q.revealed)
			values, ok := doc.value.(map[string]any)
			if err != nil || !ok {
				return failureOf(fault.New(fault.ToolInvalidArgs, "the tokens in the arguments cannot be read"), q.name)
			}
			q.values = values
		}
	}
	if f := q.entry.fits(q.run, q.values, names); f != nil {
		return q.refuse("schema", f)
	}
	return nil
}

// refuse records a refusal that is not the policy's.
func (q *request) refuse(kind string, f *Failure) error {
	if err := q.run.record(audit.Event{Decision: &audit.Decision{
		Call: q.number, Kind: kind, Tool: q.name, Effect: policy.Deny.String(), Rule: f.Rule, Code: string(f.Code), Message: q.run.veil.plain(f.Message),
	}}); err != nil {
		return err
	}
	return f
}

// decide has the policy decide on the revealed arguments, and records it. No
// record, no call.
func (q *request) decide(ctx context.Context) error {
	if ctx.Err() != nil {
		return q.gaveUp(ctx)
	}
	r := q.run
	d, counted := r.decideCounted(q.entry.id, policy.Request{
		Tool: q.entry.tool, Args: q.values, Run: r.facts, Actor: r.actor, Now: time.Now(),
	})
	q.decision, q.counted = d, counted
	for _, w := range d.Warnings {
		r.warn(clean(w, 500))
	}
	digest, text := kept(r.keep.Inputs, "", q.args.raw)
	record := &audit.Decision{
		Call: q.number, Tool: q.name, Effect: d.Effect.String(), Rule: d.Rule, Message: r.veil.plain(d.Message),
		ArgsSHA256: digest, Args: text, Writes: !q.entry.readOnly(), Warnings: d.Warnings,
	}
	if d.Effect == policy.Deny {
		record.Code = string(fault.DeniedTool)
	}
	if err := r.record(audit.Event{Decision: record}); err != nil {
		return err
	}
	q.onRecord = bytes.Equal(q.args.raw, q.given)
	r.finishDecision(q.info, q.name, d)
	if d.Effect == policy.Deny {
		return q.denied(fault.DeniedTool, d.Message, "")
	}
	return nil
}

// readOnly reports whether the server says that its tool changes nothing.
func (e *entry) readOnly() bool {
	ro := e.tool.Annotations.ReadOnly
	return ro != nil && *ro
}

func (r *Run) finishDecision(c *CallInfo, name string, d policy.Decision) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c.Tool, c.Decision, c.Rule = name, d.Effect.String(), d.Rule
}

// denied is the exception of a denial.
func (q *request) denied(code fault.Code, why, hint string) *Failure {
	message := q.name + " is not allowed"
	if why != "" {
		message += ": " + strings.Replace(why, "no rule allows "+q.name, "no rule allows it", 1)
	}
	if hint == "" && q.decision.Rule != "" {
		hint = "decided by " + q.decision.Rule
	}
	if hint == "" {
		hint = "a policy has to allow it: wexec policy explain " + q.name + " says what is missing"
	}
	return &Failure{Code: code, Tool: q.name, Message: clean(message, maxMessage), Rule: q.decision.Rule, Hint: hint}
}

// slot waits until one more of the run's calls may be at its provider. It is
// false where the context ended before.
func (r *Run) slot(ctx context.Context) bool {
	select {
	case r.slots <- struct{}{}: // without a channel for the end, which Done makes
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

// make calls the provider, bounded in time, whatever it does.
func (q *request) make(ctx context.Context) (Answer, error) {
	r := q.run
	args, err := q.argumentsForTool()
	if err != nil {
		return Answer{}, err
	}
	if !r.slot(ctx) {
		return Answer{}, q.gaveUp(ctx)
	}
	defer func() { <-r.slots }()
	limit := q.decision.Limits.Timeout()
	calling, cancel := ctx, context.CancelFunc(func() {})
	if limit > 0 {
		calling, cancel = context.WithTimeoutCause(ctx, limit, fault.ToolTimeout)
	}
	defer cancel()
	q.called = true
	q.gate = gate{run: r, call: q.number, tool: q.name}
	a, err := r.guarded(calling, q.entry.provider, Call{
		Server: q.entry.tool.Server, Tool: q.entry.tool.Name, Args: args,
		Progress: r.progress(q.name), Gate: &q.gate,
	}, q.flight.besides(limit))
	switch {
	case err == nil:
		return a, nil
	case ctx.Err() != nil:
		return Answer{}, q.gaveUp(ctx)
	case calling.Err() != nil:
		return Answer{}, &Failure{Code: fault.ToolTimeout, Tool: q.name, Rule: q.decision.Rule,
			Message: fmt.Sprintf("%s took longer than %s", q.name, limit), Hint: "ask it for less at once"}
	case endsRun(err):
		r.fail(err)
		return Answer{}, err
	}
	q.told = true
	return Answer{}, failureOf(err, q.name)
}

// argumentsForTool reveals what the tool may know and puts secrets in.
func (q *request) argumentsForTool() ([]byte, error) {
	a := arguments{raw: q.args.raw, values: q.args.values}
	if q.run.veil.reveals(q.name) {
		a.raw, a.values = q.revealed, q.values
	}
	if len(q.secrets) == 0 {
		return a.raw, nil
	}
	extra := make(map[string]any, len(q.secrets))
	for _, s := range q.secrets {
		extra[strings.TrimPrefix(s.As, "arg:")] = s.Value
	}
	if f := a.splice(q.entry, extra); f != nil {
		return nil, f
	}
	return a.raw, nil
}

// unheard is the end of a call that was made, and whose answer nobody waits for
// any more.
func (q *request) unheard(ctx context.Context, a Answer, err error) (Answer, error) {
	closeBody(a)
	if err != nil {
		return Answer{}, q.gaveUp(ctx)
	}
	return null(), nil
}

// gaveUp is the error of a call whose caller or run is over.
func (q *request) gaveUp(ctx context.Context) error {
	if err := q.run.Err(); err != nil {
		return err
	}
	return fault.New(fault.Cancelled, "the call of %s was cancelled", q.name)
}

// end records how the call ended. Without that record the run is over.
func (q *request) end(a Answer, err error) (Answer, error) {
	r := q.run
	call := &audit.Call{Call: q.number, Tool: q.name, OK: err == nil, MS: time.Since(q.info.Started).Milliseconds()}
	f, size := failureIn(err), int64(len(a.Data))
	if r.Kept() && !q.onRecord {
		call.Args = q.given
	}
	switch {
	case err == nil:
		call.Bytes, call.AnswerKind = size, int(a.Kind)
		call.AnswerSHA256, call.Answer = kept(r.keep.Outputs, "", a.Data)
	case f != nil:
		f.Message, f.Hint = r.covered(f.Message), r.covered(f.Hint)
		call.Code, call.Message = string(f.Code), f.Message
		if r.keep.Outputs == policy.DetailFull {
			answer := f.answer()
			call.AnswerKind, call.Answer = int(answer.Kind), answer.Data
		}
	default:
		call.Code = string(fault.CodeOf(err))
	}
	if q.counted && !q.called {
		r.uncount(q.entry.id, q.decision.Limits)
	}
	if err != nil {
		r.cacheable(0)
	}
	r.finish(q.info, func(c *CallInfo) {
		c.OK, c.Bytes, c.Code = err == nil, size, fault.Code(call.Code)
		if q.approval != nil {
			c.Waited = time.Duration(q.approval.MS) * time.Millisecond
		}
	})
	if recorded := r.record(audit.Event{Call: call}); recorded != nil {
		return Answer{}, recorded
	}
	if err != nil {
		return Answer{}, err
	}
	return a, nil
}
