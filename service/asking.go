package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/store"
)

// Approval is a question to people about a call, as the API shows it. It has tokens
// where personal data was.
type Approval struct {
	ID      string          `json:"id"`
	Run     string          `json:"run"`
	Tool    string          `json:"tool"`
	Message string          `json:"message,omitempty"`
	Rule    string          `json:"rule,omitempty"`
	Actor   string          `json:"actor,omitempty"`
	Intent  string          `json:"intent,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
	Since   time.Time       `json:"since"`
	Expires time.Time       `json:"expires"`
	State   store.Answer    `json:"state"`
	By      string          `json:"by,omitempty" jsonschema:"who answered"`
	Reason  string          `json:"reason,omitempty"`
}

// Ask implements hostfns.Asker. The question is a row, which a client of any process
// answers.
func (x *execution) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	if !slices.Contains(q.Via, "api") && !slices.Contains(q.Via, "page") {
		return hostfns.Reply{}, hostfns.ErrNobody
	}
	q = q.Covered()
	shown := Approval{ID: q.ID, Run: q.Run, Tool: q.Tool, Message: q.Message, Rule: q.Rule, Actor: q.Actor, Intent: q.Intent,
		Args: q.Args, Since: q.Since, Expires: q.Expires, State: store.AnswerWaiting}
	question, err := json.Marshal(shown)
	if err != nil {
		return hostfns.Reply{}, fault.New(fault.Internal, "encode the question: %w", err)
	}
	answered := make(chan hostfns.Reply, 1)
	x.mu.Lock()
	x.open[q.ID] = answered
	x.mu.Unlock()
	defer x.settle(q.ID)
	x.flush() // what happened before the question comes before it
	digest := sha256.Sum256([]byte(q.Tool + "\x00" + string(q.Args) + "\x00" + q.Rule))
	event, _ := json.Marshal(approvalEvent{q.ID, q.Tool, store.AnswerWaiting})
	row := store.Approval{Tenant: x.lease.Tenant, ID: q.ID, Run: q.Run, Tool: q.Tool, Digest: hex.EncodeToString(digest[:]), Question: question, Expires: q.Expires}
	if err := x.s.o.Store.Ask(ctx, x.lease, row, store.Event{Type: "approval", Data: event}); err != nil {
		return hostfns.Reply{}, err
	}
	if err := x.s.o.Store.SetState(ctx, x.lease, store.StateWaiting); err != nil {
		return hostfns.Reply{}, err
	}
	x.s.watchers.wake(runKey{x.lease.Tenant, x.lease.ID})
	for {
		select {
		case r := <-answered:
			x.record("approval", approvalEvent{q.ID, q.Tool, stateOf(r)})
			return r, nil
		case <-ctx.Done():
			return hostfns.Reply{}, context.Cause(ctx)
		case <-time.After(pollEvery): // another process may have the answer
		}
		a, err := x.s.o.Store.Approval(ctx, x.lease.Tenant, q.ID)
		if err == nil && (a.State == store.AnswerApproved || a.State == store.AnswerDenied) {
			x.answer(q.ID, replyOf(a))
		}
	}
}

// approvalEvent is the data of an event about an approval.
type approvalEvent struct {
	ID    string       `json:"id"`
	Tool  string       `json:"tool"`
	State store.Answer `json:"state"`
}

func stateOf(r hostfns.Reply) store.Answer {
	if r.Approved {
		return store.AnswerApproved
	}
	return store.AnswerDenied
}

func replyOf(a store.Approval) hostfns.Reply {
	return hostfns.Reply{Approved: a.State == store.AnswerApproved, By: a.Via, Who: a.Actor, Reason: a.Reason}
}

// settle ends a question. A run without further questions goes on.
func (x *execution) settle(id string) {
	x.mu.Lock()
	delete(x.open, id)
	goesOn := len(x.open) == 0
	x.mu.Unlock()
	if !goesOn {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(x.ctx), endTimeout)
	defer cancel()
	if err := x.s.o.Store.SetState(ctx, x.lease, store.StateRunning); err != nil {
		x.s.o.Logger.Error("cannot record that a run goes on", "run", x.lease.ID, "error", err)
	}
}

// answer gives a question its answer, if it is still open.
func (x *execution) answer(id string, r hostfns.Reply) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if answered, ok := x.open[id]; ok {
		select {
		case answered <- r:
		default:
		}
	}
}
