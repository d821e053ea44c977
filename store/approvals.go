package store

import (
	"context"
	"time"

	"github.com/wexec/wexec/fault"
)

// Answer is the state of an approval.
type Answer string

// The states of an approval.
const (
	AnswerWaiting  Answer = "waiting"
	AnswerApproved Answer = "approved"
	AnswerDenied   Answer = "denied"
	AnswerExpired  Answer = "expired"
)

// Approval is a question to people about a call.
type Approval struct {
	Tenant, ID string
	Run, Tool  string
	Digest     string // of the tool, the arguments and the rule: what the answer is bound to
	Question   []byte // JSON that people see; it has tokens, never values
	State      Answer
	Asked      time.Time
	Expires    time.Time
	Answered   time.Time
	Actor      string // who answered
	Via        string
	Reason     string
}

// Ask saves a question of a run with an event.
func (s *Store) Ask(ctx context.Context, l Lease, a Approval, e Event) error {
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.hold(l); err != nil {
			return err
		}
		n, err := tx.exec(`INSERT INTO approvals (tenant, id, run, tool, digest, question, state, asked, expires, answered, actor, via, reason)
			VALUES ($1, $2, $3, $4, $5, $6, 'waiting', $7, $8, 0, '', '', '') ON CONFLICT DO NOTHING`,
			l.Tenant, a.ID, l.ID, a.Tool, a.Digest, notNil(a.Question), tx.s.micros(), microsOf(a.Expires))
		if err != nil || n == 0 {
			return err // a run that was taken over asks again
		}
		return tx.append(l, []Event{e})
	})
}

// Decide answers a question. The first answer counts: a later one, or one after the
// question expired, gets [fault.UsageConflict].
func (s *Store) Decide(ctx context.Context, tenant, id string, answer Answer, actor, via, reason string) (a Approval, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		now := tx.s.micros()
		n, err := tx.exec(`UPDATE approvals SET state = $3, answered = $4, actor = $5, via = $6, reason = $7
			WHERE tenant = $1 AND id = $2 AND state = 'waiting' AND expires > $4`, tenant, id, string(answer), now, actor, via, reason)
		if err != nil {
			return err
		}
		if a, err = tx.approval(tenant, id); err == nil && n == 0 {
			err = conflict("the approval %.40q was %s already", id, a.State)
		}
		return err
	})
	return a, err
}

const approvalColumns = `tenant, id, run, tool, digest, question, state, asked, expires, answered, actor, via, reason`

func (tx *Tx) scanApproval(scan func(...any) error) (a Approval, err error) {
	var asked, expires, answered int64
	err = scan(&a.Tenant, &a.ID, &a.Run, &a.Tool, &a.Digest, &a.Question, &a.State, &asked, &expires, &answered, &a.Actor, &a.Via, &a.Reason)
	a.Asked, a.Expires, a.Answered = timeOf(asked), timeOf(expires), timeOf(answered)
	if a.State == AnswerWaiting && expires <= tx.s.micros() {
		a.State = AnswerExpired
	}
	return a, err
}

func (tx *Tx) approval(tenant, id string) (a Approval, err error) {
	for scan, err := range tx.rows(`SELECT `+approvalColumns+` FROM approvals WHERE tenant = $1 AND id = $2`, tenant, id) {
		if err != nil {
			return a, err
		}
		return tx.scanApproval(scan)
	}
	return a, fault.New(fault.UsageRun, "there is no approval %.40q", id)
}

// Approval returns a question of a tenant and its answer.
func (s *Store) Approval(ctx context.Context, tenant, id string) (a Approval, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		a, err = tx.approval(tenant, id)
		return err
	})
	return a, err
}

// Approvals returns at most limit questions of a tenant that wait, the oldest first.
func (s *Store) Approvals(ctx context.Context, tenant string, limit int) (all []Approval, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		all = nil
		for scan, err := range tx.rows(`SELECT `+approvalColumns+` FROM approvals WHERE tenant = $1 AND state = 'waiting' AND expires > $2 ORDER BY id LIMIT $3`,
			tenant, tx.s.micros(), limit) {
			if err != nil {
				return err
			}
			a, err := tx.scanApproval(scan)
			if err != nil {
				return err
			}
			all = append(all, a)
		}
		return nil
	})
	return all, err
}
