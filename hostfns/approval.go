package hostfns

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/guard"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
)

// defaultTimeout is how long a person may take if no policy sets it.
const defaultTimeout = 10 * time.Minute

const (
	nobodyToAsk = "it needs a person's approval, and there is nobody to ask"
	nobodyHint  = "run it where a person can answer, or allow the call in the policy"
)

// ask asks a person if the policy requires it, and records the reply before
// anything is done. With nobody to ask the call is denied at once.
func (c *call) ask(ctx context.Context) error {
	if c.decision.Effect != policy.Ask {
		return nil
	}
	r := c.run
	approvals := r.table.policy.Approvals()
	key := c.name + "\x00" + c.decision.Rule
	if r.session.isApproved(key) {
		return c.recordApproval(&audit.Approval{Answer: "always", By: "remembered"}, nil)
	}
	asker := r.info.Asker
	if asker == nil {
		asker = r.table.options.Asker
	}
	if asker == nil {
		return c.recordApproval(&audit.Approval{Answer: "nobody"}, c.denied(fault.DeniedApproval, nobodyToAsk, nobodyHint))
	}
	if err := c.revealArguments(ctx, maxRevealed); err != nil && err != errReveal {
		return c.unrevealed()
	}
	now, message := time.Now(), text.Clip(c.decision.Message, 2000)
	timeout := cmp.Or(c.decision.Timeout, approvals.Timeout, defaultTimeout)
	question := Question{
		ID: "q_" + rand.Text()[:12], Run: r.info.ID, Tool: c.name, Rule: c.decision.Rule,
		Actor: clean(r.actor.ID, 200), Intent: r.shown(r.facts.Intent, 500), Args: c.revealed.raw,
		Message: r.redactor.revealText(message, r.growing(ctx, int64(len(message))+maxRevealed)),
		Since:   now, Expires: now.Add(timeout), Via: approvals.Via, Remember: approvals.Remember,
		Decisive: slices.Concat(c.decision.Arguments, c.tool.schema().Required()), Recorded: r.keep.Inputs == policy.DetailFull,
		coveredMessage: text.Visible(r.redactor.display(message)), coveredArgs: json.RawMessage(r.redactor.display(string(c.args.raw))),
	}
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	c.ticket.SetAsking(true)
	reply, err := guard.Call(asking, func() (Reply, error) { return asker.Ask(asking, question) })
	if p := (*guard.Panic)(nil); errors.As(err, &p) {
		r.table.log().Error("panic while a person was asked", "panic", r.shown(fmt.Sprint(p), maxMessage), "stack", string(p.Stack))
		err = fault.New(fault.Internal, "the prompt panicked")
	}
	c.ticket.SetAsking(false)
	approval := &audit.Approval{ID: question.ID, Answer: "no", Via: reply.By, By: reply.Who, MS: time.Since(now).Milliseconds()}
	deny := func(why, hint string) error {
		return c.recordApproval(approval, c.denied(fault.DeniedApproval, why, hint))
	}
	switch {
	case ctx.Err() != nil:
		return c.cancelled()
	case errors.Is(err, ErrNobody):
		approval.Answer = "nobody"
		return deny(nobodyToAsk, nobodyHint)
	case asking.Err() != nil:
		approval.Answer = "expired"
		return deny(fmt.Sprintf("nobody answered within %s", timeout), "")
	case err != nil:
		return deny("a person could not be asked: "+err.Error(), "")
	case !reply.Approved:
		return deny(because("a person said no", reply.Reason), "change the call before you try again")
	}
	approval.Answer = "yes"
	if reply.Always && approvals.Remember != "never" {
		approval.Answer = "always"
		r.session.approve(key, approvals.Remember != "session")
	}
	return c.recordApproval(approval, nil)
}

// recordApproval records the reply of a person. No record, no call.
func (c *call) recordApproval(a *audit.Approval, denial *Failure) error {
	c.approval = a
	d := &audit.Decision{Call: c.number, Tool: c.name, Effect: policy.Allow.String(), Rule: c.decision.Rule, Approval: a, Writes: c.tool.writes()}
	if denial != nil {
		d.Effect, d.Code, d.Message = policy.Deny.String(), string(denial.Code), c.run.redactor.display(denial.Message)
	}
	if err := c.run.record(audit.Event{Decision: d}); err != nil {
		return err
	}
	if denial != nil {
		return denial
	}
	return nil
}
