package hostfns

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"go.opentelemetry.io/otel/trace"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/queue"
	"github.com/wexec/wexec/hostfns/schema"
	"github.com/wexec/wexec/internal/telemetry"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
)

// Every call of a program takes these steps, in this order, and ends at the first
// error. Whatever happened, finish then records how it ended. A dry run asks
// nobody and sends nothing.
//
// Nothing depends on the value of a token before the decision, except the
// conditions of the policy.
var (
	decideSteps = [...]step{
		(*call).resolve,        // find the tool
		(*call).readArguments,  // parse and complete the arguments
		(*call).decide,         // ask the policy
		(*call).recordDecision, // no record, no call
	}
	dryRunSteps = [...]step{
		(*call).reveal,
		(*call).checkArguments,
	}
	sendSteps = [...]step{
		(*call).ask,            // ask a person, if the policy says so
		(*call).reveal,         // put in the values and secrets that the tool may have
		(*call).checkArguments, // check what the tool gets against its schema
		(*call).intend,         // write the journal before the tool may change something
		(*call).send,           // call the provider
		(*call).accept,         // check, bound and redact the answer
	}
)

type step = func(*call, context.Context) error

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
	if k := kindOf(name); k != nativeCall || b.run.native(name) != nil {
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

func (b live) serve(ctx context.Context, c *call) (a Answer, failed error) {
	if err := b.run.Err(); err != nil {
		return Answer{}, err
	}
	c.begin()
	ctx, span := c.startSpan(ctx)
	defer func() { c.endSpan(span, failed) }()
	err := c.take(ctx, decideSteps[:])
	switch {
	case err != nil:
	case c.run.info.DryRun && c.kind != lookupCall:
		if c.decision.Effect == policy.Allow {
			err = c.take(ctx, dryRunSteps[:])
		}
		c.ticket.WaitDue(ctx)
		c.run.cacheable(0)
		if err == nil {
			err = c.sample()
		}
	default:
		err = c.take(ctx, sendSteps[:])
	}
	return c.finish(c.explain(ctx, err))
}

// sample answers a call of a dry run with a sample of the tool's output schema, or
// of the type that was learned from earlier answers, or else with null.
func (c *call) sample() error {
	c.answer = null()
	doc := c.tool.OutputSchema
	if len(doc) == 0 && !c.run.facts.Deterministic {
		doc = c.run.table.options.Learned.Of(c.tool.Tool)
	}
	if len(doc) == 0 {
		return nil
	}
	if err := c.run.charge(int64(len(doc))); err != nil {
		return err
	}
	c.answer = Answer{Kind: JSON, Data: schema.Sample(doc)}
	return c.run.charge(int64(len(c.answer.Data)))
}

// startSpan starts the span of a call if that of its guest is recorded. A lookup has
// none.
func (c *call) startSpan(ctx context.Context) (context.Context, trace.Span) {
	if c.kind == lookupCall {
		return ctx, nil
	}
	return startSpan(ctx, telemetry.Call, trace.SpanKindClient)
}

// startSpan starts a child of the span of a context. It is nil if that is not recorded.
func startSpan(ctx context.Context, name string, kind trace.SpanKind) (context.Context, trace.Span) {
	parent := trace.SpanFromContext(ctx)
	if !parent.IsRecording() {
		return ctx, nil
	}
	return parent.TracerProvider().Tracer(telemetry.Scope).Start(ctx, name, trace.WithSpanKind(kind))
}

// endSpan ends the span of a call. The name that a program gave to a tool that does
// not exist is not shown: it can be any text.
func (c *call) endSpan(span trace.Span, err error) {
	if span == nil {
		return
	}
	span.SetAttributes(telemetry.Operation.String(telemetry.ExecuteTool), telemetry.Method.String(telemetry.Call),
		telemetry.CallNumber.Int64(int64(c.number)), telemetry.Decision.String(c.decision.Effect.String()), telemetry.AnswerBytes.Int(len(c.answer.Data)))
	if c.tool != nil {
		span.SetName(telemetry.Call + " " + c.name)
		span.SetAttributes(telemetry.Tool.String(c.name), telemetry.Server.String(c.tool.Server))
	}
	var code fault.Code
	if err != nil {
		code = fault.CodeOf(err)
	}
	telemetry.End(span, code)
}

func (c *call) take(ctx context.Context, steps []step) error {
	for _, step := range steps {
		if err := step(c, ctx); err != nil {
			return err
		}
	}
	return nil
}

// explain prepares the error of a call for the program. In an ordered run it waits
// for its place, since redacting the text of a tool may issue tokens.
func (c *call) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	redact := c.run.redactor.display
	if c.kind != lookupCall {
		c.ticket.Decided()
		if !c.ticket.WaitDue(ctx) && c.sent {
			return c.cancelled()
		}
		redact = func(s string) string { s, _ = c.run.redactor.egress(s); return s }
	}
	if f := failureIn(err); f != nil {
		for _, s := range []*string{&f.Message, &f.Hint} {
			*s = c.run.table.given.Text(*s)
			if c.toolText {
				*s = c.values.Text(c.run.redactor.message(*s, c.name))
			}
			*s = text.Clip(redact(*s), maxMessage) // last: a part of a value is not recognized
		}
	}
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

// newCall returns a call by any spelling of its name, counted against the limit of
// the run.
func (r *Run) newCall(name string, args []byte) (*call, error) {
	if err := r.Err(); err != nil {
		return nil, err
	}
	if !utf8.ValidString(name) {
		name = strings.ToValidUTF8(name, "�")
	}
	c := &call{run: r, kind: r.backend.kindOf(name), lookup: lookups[name], name: name, given: args}
	if c.kind != lookupCall && r.toolCalls.Add(1) > int64(r.limits.ToolCalls) {
		err := fault.New(fault.LimitToolCalls, "more than %d tool calls", r.limits.ToolCalls).
			WithHint("ask tools for more at once, or allow more with limits.tool_calls: %d", 2*r.limits.ToolCalls)
		r.fail(err)
		return nil, err
	}
	c.number = r.number.Add(1)
	if r.info.Durable != nil {
		r.info.Durable.Log.Started(c.number)
	}
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
			c.run.table.log().Error("panic in a host call", "tool", clean(c.name, 200), "panic", c.run.shown(fmt.Sprint(p), maxMessage), "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, "the host panicked in a call of %s", clean(c.name, 200))
		}
	}()
	answer, err := c.run.backend.serve(ctx, c)
	if f, ok := err.(*Failure); ok {
		answer, err = f.answer(), nil
	}
	return queue.Answer{Kind: uint8(answer.Kind), Data: answer.Data}, err
}
