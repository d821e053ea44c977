package hostfns

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/guard"
	"github.com/wexec/wexec/internal/journal"
	"github.com/wexec/wexec/internal/jsonnum"
	"github.com/wexec/wexec/internal/telemetry"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
)

// defaultTimeout is how long a person may take if no policy sets it.
const defaultTimeout = 10 * time.Minute

// minAsk is how long a question of a run that goes on is open at least, so that the
// answer that came while the run was not in memory is found.
const minAsk = 10 * time.Second

const (
	nobodyToAsk = "it needs a person's approval, and there is nobody to ask"
	nobodyHint  = "run it where a person can answer, or allow the call in the policy"
	saidNo      = "a person said no"
	changeHint  = "change the call before you try again"
)

// ask asks a person if the policy requires it, and records the reply before
// anything is done. With nobody to ask the call is denied at once. A call whose outcome
// is unknown is made again if that does no harm, or if a person approves that.
func (c *call) ask(ctx context.Context) error {
	switch {
	case c.unknown > 0 && c.kind == toolCall && c.decision.AskUnknown:
		return c.askUnknown(ctx)
	case c.unknown > 0 && c.kind == toolCall && !c.decision.Idempotent && !c.tool.repeatable():
		return c.unknownOutcome("")
	case c.decision.Effect != policy.Ask:
		return nil
	}
	q := c.inquiry(ctx)
	approval, err := q.ask(ctx)
	c.approval = approval
	return err
}

// inquiry returns the question whether the call may be made.
func (c *call) inquiry(ctx context.Context) *inquiry {
	q := &inquiry{call: c, decision: c.decision, grant: c.grant, decisive: slices.Concat(c.decision.Arguments, c.tool.schema().Required())}
	q.prepare = func() error {
		if err := c.revealArguments(ctx, maxRevealed); err != nil && err != errReveal {
			return c.unrevealed()
		}
		q.args, q.covered = c.revealed.raw, c.args.raw
		return nil
	}
	return q
}

// unknownKind is the kind of decisions about whether a call whose outcome is unknown is
// made again.
const unknownKind = "unknown"

// askUnknown asks a person whether a call whose outcome is unknown is made again.
func (c *call) askUnknown(ctx context.Context) error {
	q := c.inquiry(ctx)
	q.kind, q.decision.Asking = unknownKind, nil
	q.decision.Digest = fmt.Sprintf("%s call %d after %d attempts", q.decision.Digest, c.number, c.unknown)
	q.decision.Message = c.name + " " + isUnknown + ". Yes calls it again. No lets the program go on without its answer."
	approval, err := q.ask(ctx)
	c.approval = approval
	if f := failureIn(err); f != nil && f.Code == fault.DeniedApproval {
		return c.unknownOutcome(strings.TrimPrefix(f.Message, c.name+" is not allowed: "))
	}
	return err
}

// inquiry is what a person is asked about a call.
type inquiry struct {
	*call
	kind     string // of the decision, as in the record; empty: the call itself
	decision policy.Decision
	grant    *Grant // what lacks a rule, if that is the question; or nil
	decisive []string
	prepare  func() error // sets args and covered, when somebody is asked; may be nil
	args     json.RawMessage
	covered  json.RawMessage // args with tokens
}

// ask asks a person and records the reply.
func (c *inquiry) ask(ctx context.Context) (*audit.Approval, error) {
	r := c.run
	approvals := r.table.policy.Approvals()
	key := c.name + "\x00" + c.kind + "\x00" + c.decision.Digest
	if c.kind == riskKind || c.kind == unknownKind {
		approvals.Remember = "never" // the next program or call is another one
	}
	if c.grant != nil {
		approvals.Via, approvals.Remember = []string{"terminal"}, "run"
		key = c.grant.key()
	}
	same := key // of questions that have one answer
	if c.grant == nil {
		same = fmt.Sprintf("%s\x00%x", key, sha256.Sum256(slices.Concat(c.call.args.raw, c.args)))
	}
	end, err := c.turn(ctx, same)
	if err != nil {
		return nil, err
	}
	defer end()
	if r.session.isApproved(key) {
		return c.record(&audit.Approval{Answer: "always", By: "remembered"}, nil)
	}
	if r.session.isRefused(same) {
		return c.record(&audit.Approval{Answer: "no", By: "remembered"}, c.denied(fault.DeniedApproval, saidNo, changeHint))
	}
	asker := r.info.Asker
	if asker == nil {
		asker = r.table.options.Asker
	}
	if asker == nil {
		return c.record(&audit.Approval{Answer: "nobody"}, c.denied(fault.DeniedApproval, nobodyToAsk, nobodyHint))
	}
	if c.prepare != nil {
		if err := c.prepare(); err != nil {
			return nil, err
		}
	}
	now, message := time.Now(), text.Clip(c.decision.Message, 2000)
	timeout := cmp.Or(c.decision.Timeout, approvals.Timeout, defaultTimeout)
	question := Question{
		ID: c.questionID(rand.Text()[:12]), Run: r.info.ID, Tool: c.name, Rule: c.decision.Rule,
		Actor: clean(r.actor.ID, 200), Intent: r.shown(r.facts.Intent, 500), Args: c.args,
		Message: r.redactor.revealText(message, r.growing(ctx, int64(len(message))+maxRevealed)),
		Since:   now, Expires: now.Add(timeout), Via: approvals.Via, Remember: approvals.Remember,
		Decisive: c.decisive, Grant: c.grant, Asking: c.decision.Asking, Digest: c.decision.Digest, Recorded: r.keep.Inputs == policy.DetailFull,
		coveredMessage: text.Visible(r.redactor.display(message)), coveredArgs: json.RawMessage(r.redactor.display(string(c.covered))),
	}
	if c.grant != nil {
		question.coveredGrant = r.redactor.display(c.grant.Name)
	}
	if d := r.info.Durable; d != nil {
		was := d.Log.Ask(journal.Question{ID: question.ID, Tool: c.name, Message: question.coveredMessage, Since: now, Expires: question.Expires})
		question.Since, question.Expires = was.Since, was.Expires
		defer func() {
			if ctx.Err() == nil {
				d.Log.Answered(question.ID)
			}
		}()
	}
	approval := &audit.Approval{ID: question.ID, Answer: "no"}
	traced, span := startSpan(ctx, telemetry.Approval, trace.SpanKindInternal)
	defer func() { endApproval(span, approval) }()
	left := time.Until(question.Expires)
	if d := r.info.Durable; d != nil && d.Log.Resumed() {
		left = max(left, minAsk)
	}
	asking, cancel := context.WithTimeout(traced, left)
	defer cancel()
	c.ticket.SetAsking(true)
	reply, err := guard.Call(asking, func() (Reply, error) { return asker.Ask(asking, question) })
	if p := (*guard.Panic)(nil); errors.As(err, &p) {
		r.table.log().Error("panic while a person was asked", "panic", r.shown(fmt.Sprint(p), maxMessage), "stack", string(p.Stack))
		err = fault.New(fault.Internal, "the prompt panicked")
	}
	c.ticket.SetAsking(false)
	approval.Via, approval.By, approval.MS = reply.By, reply.Who, time.Since(now).Milliseconds()
	deny := func(why, hint string) (*audit.Approval, error) {
		return c.record(approval, c.denied(fault.DeniedApproval, why, hint))
	}
	switch {
	case ctx.Err() != nil:
		return nil, c.cancelled()
	case errors.Is(err, ErrNobody):
		approval.Answer = "nobody"
		return deny(nobodyToAsk, nobodyHint)
	case asking.Err() != nil:
		approval.Answer = "expired"
		return deny(fmt.Sprintf("nobody answered within %s", timeout), "")
	case err != nil:
		return deny("a person could not be asked: "+err.Error(), "")
	case !reply.Approved:
		r.session.refuse(same)
		return deny(because(saidNo, reply.Reason), changeHint)
	}
	approval.Answer = "yes"
	if reply.Always && approvals.Remember != "never" {
		approval.Answer = "always"
		r.session.approve(key, approvals.Remember != "session")
	}
	return c.record(approval, nil)
}

// endApproval ends the span of a question.
func endApproval(span trace.Span, a *audit.Approval) {
	if span == nil {
		return
	}
	span.SetAttributes(telemetry.ApprovalGave.String(a.Answer), telemetry.ApprovalVia.String(a.Via))
	var code fault.Code
	if a.Answer != "yes" && a.Answer != "always" {
		code = fault.DeniedApproval
	}
	telemetry.End(span, code)
}

// turn waits until no other call of the run asks the same question, so that one answer
// serves all of them if it may. end lets the next one ask.
func (c *inquiry) turn(ctx context.Context, same string) (end func(), err error) {
	for {
		open, end := c.run.session.begin(same)
		if open == nil {
			return end, nil
		}
		c.ticket.SetAsking(true)
		select {
		case <-open:
		case <-ctx.Done():
		}
		c.ticket.SetAsking(false)
		if ctx.Err() != nil {
			return nil, c.cancelled()
		}
	}
}

// askAbout asks a person about what a call lacks while it is made. args say what.
func (c *call) askAbout(ctx context.Context, d policy.Decision, g *Grant, args map[string]any) error {
	raw, err := json.Marshal(args)
	if err != nil {
		return err
	}
	q := inquiry{call: c, kind: g.Kind, decision: d, grant: g, args: raw, covered: raw}
	_, err = q.ask(ctx)
	return err
}

// record records the reply of a person. No record, no call.
func (c *inquiry) record(a *audit.Approval, denial *Failure) (*audit.Approval, error) {
	d := &audit.Decision{Call: c.number, Kind: c.kind, Tool: c.name, Effect: policy.Allow.String(), Rule: c.decision.Rule, Approval: a,
		Writes: c.kind != "" || c.tool.writes()}
	if denial != nil {
		d.Effect, d.Code, d.Message = policy.Deny.String(), string(denial.Code), c.run.redactor.display(denial.Message)
	}
	if err := c.run.record(audit.Event{Decision: d}); err != nil {
		return a, err
	}
	if denial != nil {
		return a, denial
	}
	return a, nil
}

// Bounds of what a server may ask the client during one call.
const (
	maxFeatures      = 32
	maxFeature       = 64 << 10 // bytes of a request
	maxFeatureAnswer = 1 << 20
	maxFeatureTexts  = 1000 // in a request
)

// permit decides whether a feature may be used, records the decision, and asks a
// person if the policy says so. With shown nil nobody is asked.
func (c *call) permit(ctx context.Context, feature policy.Feature, shown json.RawMessage) error {
	r := c.run
	d := r.table.effective().DecideFeature(c.tool.Server, feature)
	record := &audit.Decision{Call: c.number, Kind: string(feature), Tool: c.name, Target: text.Clip(string(shown), 1000), Effect: d.Effect.String(), Rule: d.Rule,
		Writes: !feature.OfServer()}
	if d.Effect == policy.Deny {
		record.Code, record.Message = string(fault.DeniedTool), d.Message
	}
	if err := r.record(audit.Event{Decision: record}); err != nil {
		return err
	}
	switch {
	case d.Effect == policy.Deny:
		return c.refuseFeature(feature, fault.DeniedTool, d.Rule, d.Message, feature.Hint(c.tool.Server))
	case d.Effect == policy.Ask && shown != nil:
		d.Message = fmt.Sprintf("server %s wants to use %s", c.tool.Server, feature)
		if feature.OfServer() {
			d.Message = fmt.Sprintf("the program wants to use the %s of server %s", feature, c.tool.Server)
		}
		q := inquiry{call: c, kind: string(feature), decision: d, args: shown, covered: shown}
		if _, err := q.ask(ctx); err != nil {
			if f := failureIn(err); f != nil {
				return c.refuseFeature(feature, f.Code, d.Rule, "no person approved it", "")
			}
			return err
		}
	}
	return nil
}

func (c *call) refuseFeature(f policy.Feature, code fault.Code, rule, why, hint string) *Failure {
	return &Failure{Code: code, Tool: c.name, Rule: rule, Message: because(f.Refused(c.tool.Server), why), Hint: hint}
}

// feature asks for permission and passes the request of a server to the client. The
// client is shown what the program would be shown: no secrets, no values and no
// invisible characters.
func (c *call) feature(ctx context.Context, feature policy.Feature, params json.RawMessage) (json.RawMessage, error) {
	r := c.run
	refuse := func(code fault.Code, why, hint string) error { return c.refuseFeature(feature, code, "", why, hint) }
	if c.gate.features > maxFeatures || len(params) > maxFeature {
		return nil, refuse(fault.ToolFailed, fmt.Sprintf("a call has at most %d requests of %d bytes", maxFeatures, maxFeature), "")
	}
	if err := r.charge(int64(len(params))); err != nil {
		return nil, err
	}
	shown, err := c.shownParams(params)
	if err != nil {
		return nil, refuse(fault.ToolFailed, err.Error(), "")
	}
	if err := c.permit(ctx, feature, shown); err != nil {
		return nil, err
	}
	r.cacheable(0)
	answer, err := c.askClient(ctx, feature, shown)
	switch {
	case errors.Is(err, ErrNobody):
		return nil, refuse(fault.DeniedApproval, "the client does not have it", "use an MCP client that supports "+string(feature))
	case err != nil && ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, refuse(fault.ToolFailed, r.shown(err.Error(), maxMessage), "")
	case len(answer) > maxFeatureAnswer:
		return nil, refuse(fault.ToolFailed, fmt.Sprintf("the client answered with more than %d bytes", maxFeatureAnswer), "")
	}
	if err := r.charge(int64(len(answer))); err != nil {
		return nil, err
	}
	if !r.redactor.reveals(c.name) {
		return answer, nil
	}
	if c.values != nil { // what the tool gets does not come back
		r.redactor.vault.Tokens(answer, func(tok, value string) { c.values.Replace(value, tok) })
	}
	return r.redactor.reveal(answer, r.growing(ctx, int64(len(answer))+maxRevealed))
}

// askClient passes a request to the client and records how it was answered. While
// a person fills in a form, the time limit of the run is paused.
func (c *call) askClient(ctx context.Context, feature policy.Feature, params json.RawMessage) (json.RawMessage, error) {
	client, r := c.run.info.Client, c.run
	if client == nil {
		return nil, ErrNobody
	}
	if feature == policy.Elicitation {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, cmp.Or(r.table.policy.Approvals().Timeout, defaultTimeout))
		defer cancel()
		c.ticket.SetAsking(true)
		defer c.ticket.SetAsking(false)
	}
	began := time.Now()
	answer, err := guard.Call(ctx, func() (json.RawMessage, error) { return client.Feature(ctx, feature, c.name, params) })
	var form struct {
		Action string `json:"action"`
	}
	outcome := "yes"
	if err != nil {
		outcome = "no"
	} else if json.Unmarshal(answer, &form) == nil && form.Action != "" {
		outcome = clean(form.Action, 20)
	}
	if recorded := r.record(audit.Event{Decision: &audit.Decision{Call: c.number, Kind: string(feature), Tool: c.name, Effect: policy.Allow.String(), Writes: true,
		Approval: &audit.Approval{Answer: outcome, Via: "mcp", MS: time.Since(began).Milliseconds()}}}); recorded != nil {
		return nil, recorded
	}
	return answer, err
}

// shownParams returns the request of a server as the client is shown it.
func (c *call) shownParams(params json.RawMessage) (json.RawMessage, error) {
	v, err := jsonnum.Decode(params)
	if err != nil {
		return nil, errors.New("the request is not valid JSON")
	}
	texts := 0
	show := func(s string) string {
		texts++
		s = text.Clean(s)
		return c.run.redactor.display(c.values.Text(c.run.table.given.Text(s)))
	}
	var walk func(v any) any
	walk = func(v any) any {
		if texts > maxFeatureTexts {
			return nil
		}
		switch v := v.(type) {
		case string:
			return show(v)
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			out := make(map[string]any, len(v))
			for key, value := range v {
				out[show(key)] = walk(value)
			}
			return out
		}
		return v
	}
	if v = walk(v); texts > maxFeatureTexts {
		return nil, fmt.Errorf("a request has at most %d texts", maxFeatureTexts)
	}
	return json.Marshal(v)
}

// questionID returns the id of a question. It is the same in each process of a durable
// run, as long as the rule that asks is the same.
func (c *inquiry) questionID(random string) string {
	if c.run.info.Durable == nil {
		return "q_" + random
	}
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode([]any{c.run.info.ID, c.number, c.kind, c.decision.Digest, c.args})
	return "q_" + base32.StdEncoding.EncodeToString(sum.Sum(nil))[:12]
}

// riskKind is the kind of decisions about whether a program may run, and riskName what
// they name as their tool.
const (
	riskKind = "risk"
	riskName = preludePrefix + "run"
)

// Admit decides by the review whether the program may run. It asks a person if the
// policy says so, and records the decision. It is called once, before the program runs.
func (r *Run) Admit(ctx context.Context) error {
	v, d := r.info.Review, r.risk
	if v == nil || d.Effect == policy.Allow {
		return nil
	}
	refused := func(code fault.Code, why, hint string) error {
		return fault.New(code, "the program may not run: %s", why).WithHint("%s", hint)
	}
	if d.Effect == policy.Deny {
		err := r.record(audit.Event{Decision: &audit.Decision{Kind: riskKind, Tool: riskName, Effect: d.Effect.String(), Rule: d.Rule,
			Code: string(fault.DeniedRisk), Message: d.Message, Writes: true}})
		if err != nil {
			return err
		}
		return refused(fault.DeniedRisk, d.Message, "decided by "+d.Rule+"; the review lists what it found and what to do about it")
	}
	shown, err := json.Marshal(v)
	if err != nil {
		return fault.New(fault.Internal, "write the question about the program: %w", err)
	}
	decision := policy.Decision{Effect: d.Effect, Rule: d.Rule, Digest: d.Digest, Message: d.Message}
	c := &call{run: r, kind: nativeCall, name: riskName, decision: decision, args: arguments{raw: r.info.Start.Code}}
	q := inquiry{call: c, kind: riskKind, decision: decision, decisive: []string{"level", "findings"}, args: shown, covered: shown}
	_, err = q.ask(ctx)
	if f := failureIn(err); f != nil {
		return refused(f.Code, strings.TrimPrefix(f.Message, riskName+" is not allowed: "), f.Hint)
	}
	return err
}
