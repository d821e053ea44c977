package store

import (
	"context"
	"crypto/rand"
	"strings"
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
	AnswerExpired  Answer = "expired" // nobody answered in time, or the run ended
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
	Always     bool // the answer wrote a rule
	Notify     bool // the webhook of the tenant learns of the question and its end
}

// Decision is an answer to a question.
type Decision struct {
	Answer Answer // AnswerApproved or AnswerDenied
	Actor  string // who answers
	Via    string
	Reason string
	Always bool
}

// Ask saves a question of a run with an event.
func (s *Store) Ask(ctx context.Context, l Lease, a Approval, e Event) error {
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.hold(l); err != nil {
			return err
		}
		n, err := tx.exec(`INSERT INTO approvals (tenant, id, run, tool, digest, question, state, asked, expires, answered, actor, via, reason, always, notify)
			VALUES ($1, $2, $3, $4, $5, $6, 'waiting', $7, $8, 0, '', '', '', 0, $9)
			ON CONFLICT (tenant, id) DO UPDATE SET state = 'waiting', answered = 0 WHERE approvals.state = 'expired' AND approvals.expires > $7`,
			l.Tenant, a.ID, l.ID, a.Tool, a.Digest, notNil(a.Question), tx.s.micros(), microsOf(a.Expires), bit(a.Notify))
		if err != nil || n == 0 {
			return err // a run that was taken over asks again; one that withdrew the question opens it again
		}
		if err := tx.append(l, []Event{e}); err != nil || !a.Notify {
			return err
		}
		return tx.notify(l.Tenant, NoticeAsked, a.ID)
	})
}

// Decide answers a question. The first answer counts: a later one, or one after the
// question expired, gets [fault.UsageConflict].
func (s *Store) Decide(ctx context.Context, tenant, id string, d Decision) (a Approval, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		n, err := tx.exec(`UPDATE approvals SET state = $3, answered = $4, actor = $5, via = $6, reason = $7, always = $8
			WHERE tenant = $1 AND id = $2 AND state = 'waiting' AND expires > $4`, tenant, id, string(d.Answer), tx.s.micros(), d.Actor, d.Via, d.Reason, bit(d.Always))
		if err != nil {
			return err
		}
		if a, err = tx.approval(tenant, id); err != nil {
			return err
		}
		if n == 0 {
			return conflict("the approval %.40q was %s already", id, a.State)
		}
		if _, err := tx.wake(tenant, a.Run); err != nil {
			return err
		}
		if a.Notify {
			return tx.notify(tenant, NoticeAnswered, id)
		}
		return nil
	})
	return a, err
}

// Withdraw ends a question of a run that no longer waits for the answer, and returns
// the question with the answer that it may have got before.
func (s *Store) Withdraw(ctx context.Context, l Lease, id string) (a Approval, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		if err := tx.hold(l); err != nil {
			return err
		}
		if err := tx.expireQuestions(`tenant = $1 AND id = $2`, l.Tenant, id); err != nil {
			return err
		}
		a, err = tx.approval(l.Tenant, id)
		return err
	})
	return a, err
}

// ExpireApprovals ends questions that nobody answered in time and that no process
// waits for, since it died.
func (s *Store) ExpireApprovals(ctx context.Context) error {
	return s.update(ctx, func(tx *Tx) error { return tx.expireQuestions(`expires <= $1 LIMIT 100`, tx.s.micros()) })
}

// expireQuestions ends the questions without an answer that a condition selects.
func (tx *Tx) expireQuestions(condition string, args ...any) error {
	open, err := tx.keys(`SELECT tenant, id FROM approvals WHERE state = 'waiting' AND `+condition+tx.s.lock(), args...)
	if err != nil {
		return err
	}
	for _, k := range open {
		if _, err := tx.exec(`UPDATE approvals SET state = 'expired', answered = $3 WHERE tenant = $1 AND id = $2`, k.tenant, k.id, tx.s.micros()); err != nil {
			return err
		}
		a, err := tx.approval(k.tenant, k.id)
		if err == nil && a.Notify {
			err = tx.notify(k.tenant, NoticeExpired, k.id)
		}
		if err == nil {
			_, err = tx.wake(k.tenant, a.Run)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const approvalColumns = `tenant, id, run, tool, digest, question, state, asked, expires, answered, actor, via, reason, always, notify`

func (tx *Tx) scanApproval(scan func(...any) error) (a Approval, err error) {
	var asked, expires, answered, always, notify int64
	err = scan(&a.Tenant, &a.ID, &a.Run, &a.Tool, &a.Digest, &a.Question, &a.State, &asked, &expires, &answered, &a.Actor, &a.Via, &a.Reason, &always, &notify)
	a.Asked, a.Expires, a.Answered, a.Always, a.Notify = timeOf(asked), timeOf(expires), timeOf(answered), always != 0, notify != 0
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

// ApprovalFilter selects approvals. Empty fields select all, but State selects those
// that wait.
type ApprovalFilter struct {
	State Answer
	Run   string
	After string // approvals that were asked after this one
	Limit int    // at most 1,000; 0 means 50
	// Newest puts those that were asked last first. Such a list is not continued.
	Newest bool
}

// Approvals returns the approvals of a tenant that a filter selects, the oldest first.
// If there may be more, the id of the last one continues the list as
// ApprovalFilter.After.
func (s *Store) Approvals(ctx context.Context, tenant string, f ApprovalFilter) (all []Approval, more bool, err error) {
	if f.Limit <= 0 {
		f.Limit = 50
	}
	f.Limit = min(f.Limit, 1000)
	err = s.look(ctx, func(tx *Tx) error {
		all = nil
		now := tx.s.micros()
		query, args := strings.Builder{}, []any{tenant}
		query.WriteString(`SELECT ` + approvalColumns + ` FROM approvals WHERE tenant = $1 AND `)
		switch f.State {
		case "", AnswerWaiting:
			args = append(args, now)
			query.WriteString(`state = 'waiting' AND expires > $2`)
		case AnswerExpired: // nobody may have recorded it yet
			args = append(args, now)
			query.WriteString(`(state = 'expired' OR state = 'waiting' AND expires <= $2)`)
		default:
			args = append(args, string(f.State))
			query.WriteString(`state = $2`)
		}
		if f.Run != "" {
			args = append(args, f.Run)
			query.WriteString(` AND run = ` + placeholder(len(args)))
		}
		if f.After != "" {
			args = append(args, f.After)
			query.WriteString(` AND (asked, id) > (SELECT a.asked, a.id FROM approvals a WHERE a.tenant = $1 AND a.id = ` + placeholder(len(args)) + `)`)
		}
		args = append(args, f.Limit+1)
		order := "asked, id"
		if f.Newest {
			order = "asked DESC, id DESC"
		}
		query.WriteString(` ORDER BY ` + order + ` LIMIT ` + placeholder(len(args)))
		for scan, err := range tx.rows(query.String(), args...) {
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
	if len(all) > f.Limit {
		all, more = all[:f.Limit], true
	}
	return all, more, err
}

// The types of a notice.
const (
	NoticeAsked    = "approval.asked"
	NoticeAnswered = "approval.answered"
	NoticeExpired  = "approval.expired"
)

// Notice is what the webhook of a tenant learns about an approval. The notices of a
// tenant are told one after another, in the order of their numbers.
type Notice struct {
	Tenant   string
	Number   int64  // from 1, in the order in which things happened
	ID       string // the same each time the notice is sent
	Type     string
	At       time.Time
	Attempts int64 // that failed
	Approval Approval
}

// noticeQueue is the id of the work to tell the notices of a tenant. There is one
// work for all of them, so that their order is kept.
const noticeQueue = "notices"

// notify adds a notice. Its transaction and one that finishes the work follow one
// another, because both lock the row of the queue.
func (tx *Tx) notify(tenant, kind, approval string) error {
	var number int64
	if _, err := tx.row([]any{&number}, `INSERT INTO notice_numbers (tenant, number) VALUES ($1, 1)
		ON CONFLICT (tenant) DO UPDATE SET number = notice_numbers.number + 1 RETURNING number`, tenant); err != nil {
		return err
	}
	now := tx.s.micros()
	if _, err := tx.exec(`INSERT INTO notices (tenant, number, id, type, approval, created, attempts) VALUES ($1, $2, $3, $4, $5, $6, 0)`,
		tenant, number, "evt_"+rand.Text(), kind, approval, now); err != nil {
		return err
	}
	_, err := tx.exec(`INSERT INTO queue (tenant, id, kind, leased, priority, created, due, owner, fence, expires, cancelled)
		VALUES ($1, $2, $3, 0, 0, $4, $4, '', 0, 0, 0) ON CONFLICT (tenant, id) DO UPDATE SET cancelled = 0`, tenant, noticeQueue, string(KindNotice), now)
	return err
}

// NextNotice returns the notice that the tenant of a lease is told next. If none is
// left, the work is done and the lease ends.
func (s *Store) NextNotice(ctx context.Context, l Lease) (n Notice, ok bool, err error) {
	err = s.update(ctx, func(tx *Tx) error {
		if err := tx.hold(l); err != nil {
			return err
		}
		// Approvals of runs that were removed need no notice.
		if _, err := tx.exec(`DELETE FROM notices WHERE tenant = $1 AND NOT EXISTS
			(SELECT 1 FROM approvals a WHERE a.tenant = notices.tenant AND a.id = notices.approval)`, l.Tenant); err != nil {
			return err
		}
		n = Notice{Tenant: l.Tenant}
		var approval string
		var created int64
		if ok, err = tx.row([]any{&n.Number, &n.ID, &n.Type, &approval, &created, &n.Attempts},
			`SELECT number, id, type, approval, created, attempts FROM notices WHERE tenant = $1 ORDER BY number LIMIT 1`, l.Tenant); err != nil {
			return err
		}
		if !ok {
			_, err = tx.finish(l)
			return err
		}
		n.At = timeOf(created)
		n.Approval, err = tx.approval(l.Tenant, approval)
		return err
	})
	return n, ok, err
}

// Told removes a notice that was told or given up, and gives those that are left back
// to the queue.
func (s *Store) Told(ctx context.Context, l Lease, n Notice) error {
	return s.update(ctx, func(tx *Tx) error {
		return tx.requeue(l, tx.s.micros(), `DELETE FROM notices WHERE tenant = $1 AND number = $2`, l.Tenant, n.Number)
	})
}

// Retry gives the notices of a tenant back to the queue after an attempt that failed.
// They are due at a time.
func (s *Store) Retry(ctx context.Context, l Lease, n Notice, due time.Time) error {
	return s.update(ctx, func(tx *Tx) error {
		return tx.requeue(l, microsOf(due), `UPDATE notices SET attempts = attempts + 1 WHERE tenant = $1 AND number = $2`, l.Tenant, n.Number)
	})
}

// requeue changes notices and ends the lease. The work counts as new, so that tenants
// with many notices take turns with others.
func (tx *Tx) requeue(l Lease, due int64, change string, args ...any) error {
	if err := tx.hold(l); err != nil {
		return err
	}
	if _, err := tx.exec(change, args...); err != nil {
		return err
	}
	_, err := tx.exec(`UPDATE queue SET leased = 0, owner = '', due = $3, created = $4 WHERE tenant = $1 AND id = $2`, l.Tenant, l.ID, due, tx.s.micros())
	return err
}

// WaitingApprovals returns how many questions of all tenants wait.
func (s *Store) WaitingApprovals(ctx context.Context) (n int, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		_, err := tx.row([]any{&n}, `SELECT COUNT(*) FROM approvals WHERE state = 'waiting' AND expires > $1`, tx.s.micros())
		return err
	})
	return n, err
}
