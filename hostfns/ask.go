package hostfns

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// defaultAsking is how long a person is waited for where no policy says more.
const defaultAsking = 10 * time.Minute

// ask puts the call to a person where the policy says so, and records the
// answer before anything is done. Nobody to ask is a denial at once.
func (q *request) ask(ctx context.Context) error {
	if q.decision.Effect != policy.Ask {
		return nil
	}
	r := q.run
	approvals := r.table.approvals()
	key := q.name + "\x00" + q.decision.Rule
	if r.session.remembers(key) {
		return q.answered(&audit.Approval{Answer: "always", By: "remembered"}, nil)
	}
	asker := r.info.Asker
	if asker == nil {
		asker = r.table.options.Asker
	}
	if asker == nil {
		return q.answered(&audit.Approval{Answer: "nobody"},
			q.denied(fault.DeniedApproval, "it needs a person's approval, and there is nobody to ask",
				"run where a person can answer, or have the policy allow the call"))
	}
	now := time.Now()
	timeout := cmp.Or(q.decision.Timeout, approvals.Timeout, defaultAsking)
	question := Question{
		ID: "q_" + rand.Text()[:12], Run: r.info.ID, Tool: q.name, Message: bound(q.decision.Message, 2000), Rule: q.decision.Rule,
		Actor: clean(r.actor.ID, 200), Intent: clean(r.facts.Intent, 500), Args: q.revealed,
		Since: now, Expires: now.Add(timeout), Via: approvals.Via, Remember: approvals.Remember,
		coveredMessage: Visible(r.veil.plain(bound(q.decision.Message, 2000)), false), coveredArgs: q.args.raw,
	}
	asking, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r.noteAsked(question.Covered())
	defer r.forgetAsked(question.ID)
	q.flight.asking(true)
	reply, err := guardedAsk(asking, asker, question, func(p any, stack []byte) {
		r.table.log().Error("panic while a person was asked", "panic", fmt.Sprint(p), "stack", string(stack))
	})
	q.flight.asking(false)
	approval := &audit.Approval{ID: question.ID, Via: reply.By, By: reply.Who, MS: time.Since(now).Milliseconds()}
	switch {
	case ctx.Err() != nil:
		return q.gaveUp(ctx)
	case errors.Is(err, ErrNobody):
		approval.Answer = "nobody"
		return q.answered(approval, q.denied(fault.DeniedApproval, "it needs a person's approval, and there is nobody to ask",
			"run where a person can answer, or have the policy allow the call"))
	case asking.Err() != nil:
		approval.Answer = "expired"
		return q.answered(approval, q.denied(fault.DeniedApproval, fmt.Sprintf("nobody answered within %s", timeout), ""))
	case err != nil:
		approval.Answer = "no"
		return q.answered(approval, q.denied(fault.DeniedApproval, "a person could not be asked: "+err.Error(), ""))
	case !reply.Approved:
		approval.Answer = "no"
		why := "a person said no"
		if reply.Reason != "" {
			why += ": " + reply.Reason
		}
		return q.answered(approval, q.denied(fault.DeniedApproval, why, "do not try again without a change"))
	}
	approval.Answer = "yes"
	if reply.Always && approvals.Remember != "never" {
		approval.Answer = "always"
		r.remember(key, approvals.Remember)
	}
	return q.answered(approval, nil)
}

// bound shortens text and leaves everything else of it as it is: whoever shows
// it makes visible what is in it.
func bound(s string, most int) string {
	if len(s) > most {
		s = s[:most] + "…"
	}
	return strings.ToValidUTF8(s, "�")
}

// answered records the answer. No record, no call.
func (q *request) answered(a *audit.Approval, denial *Failure) error {
	q.approval = a
	d := &audit.Decision{Call: q.number, Tool: q.name, Effect: policy.Allow.String(), Rule: q.decision.Rule, Approval: a, Writes: !q.entry.readOnly()}
	if denial != nil {
		d.Effect, d.Code, d.Message = policy.Deny.String(), string(denial.Code), q.run.veil.plain(denial.Message)
	}
	if err := q.run.record(audit.Event{Decision: d}); err != nil {
		return err
	}
	if denial != nil {
		return denial
	}
	return nil
}

// ErrNobody is what an [Asker] returns when there is nobody to ask. The call is
// denied at once.
var ErrNobody = errors.New("nobody can be asked")

func guardedAsk(ctx context.Context, a Asker, q Question, panicked func(any, []byte)) (Reply, error) {
	type result struct {
		reply Reply
		err   error
	}
	got := make(chan result, 1)
	go func() {
		var res result
		defer func() {
			if p := recover(); p != nil {
				panicked(p, debug.Stack())
				res = result{err: fault.New(fault.Internal, "the prompt failed")}
			}
			got <- res
		}()
		res.reply, res.err = a.Ask(ctx, q)
	}()
	select {
	case res := <-got:
		return res.reply, res.err
	case <-ctx.Done():
		return Reply{}, ctx.Err()
	}
}

// remembers reports whether a person said "always" before. A run that asks to
// remember within itself keeps that in its own session, or with its id where
// it shares one.
func (s *Session) remembers(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.approved[key]
}

// remember keeps an "always". Within a session that other runs share, "run"
// holds for this run alone.
func (r *Run) remember(key, how string) {
	s := r.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.approved == nil {
		s.approved = map[string]bool{}
	}
	s.approved[key] = true
	if how != "session" {
		s.forget = append(s.forget, key)
	}
}

// forgetRun drops what was to be remembered for one run only.
func (s *Session) forgetRun() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range s.forget {
		delete(s.approved, key)
	}
	s.forget = nil
}
