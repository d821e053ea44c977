package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
)

// State is how far a run is.
type State string

// The states of a run.
const (
	StateQueued  State = "queued"
	StateRunning State = "running"
	StateWaiting State = "waiting" // for a person, in memory
	StateParked  State = "parked"  // for a person, a timer or a signal, on disk
	StateDone    State = "done"
)

// Run is a run and what is known of it.
type Run struct {
	Tenant, ID string
	State      State
	Status     string // of the result; empty until there is one
	Code       fault.Code
	Actor      string
	Token      string // id of the token that asked for it
	Language   string
	Skill      string
	Session    string
	Intent     string
	Program    string // its code; only searches use it, Request has it as well
	Request    []byte // JSON from which the run starts
	Result     []byte // JSON; nil until there is one
	Summary    []byte // JSON; the small part of Result that lists show
	Priority   int64
	Task       string    // the task whose attempt it is; may be empty
	Due        time.Time // not before; zero is now
	Deferred   bool      // Accept returns without waiting for the disk
	Created    time.Time
	Started    time.Time
	Ended      time.Time
}

// Idempotency makes a request that is sent twice one run.
type Idempotency struct {
	Key    string // chosen by the client; empty means no key
	Digest string // of the request
	Keep   time.Duration
}

// Accepted is the run of a request.
type Accepted struct {
	ID      string
	Lease   Lease // if an owner was given and the run is new
	Created time.Time
	Again   bool // the request was accepted before, with this id
}

// Accept saves a run and queues it. With an owner, which executes it itself, the run
// is leased at once. A request with the key of an earlier one gives the earlier run,
// and [fault.UsageConflict] if its digest differs. A run that is over a quota of an
// account is refused with [OverQuota]; the tenant comes before its token.
// A deferred run is on disk when its end or another write is; [Store.Renew] is one.
func (s *Store) Accept(ctx context.Context, r Run, owner string, i Idempotency, accounts ...Account) (a Accepted, err error) {
	err = s.change(ctx, !r.Deferred, func(tx *Tx) error {
		a, err = tx.accept(r, owner, i, accounts)
		return err
	})
	return a, err
}

// accept saves a run and queues it.
func (tx *Tx) accept(r Run, owner string, i Idempotency, accounts []Account) (a Accepted, err error) {
	now := tx.s.micros()
	a = Accepted{ID: r.ID, Created: timeOf(now)}
	if i.Key != "" {
		if done, err := tx.again(&a, r, i, now); done || err != nil {
			return a, err
		}
	}
	kind := KindRun
	if r.Task != "" {
		kind = KindTask
	}
	if err := tx.within(accounts, kind, owner == "", now); err != nil {
		return a, err
	}
	state := StateQueued
	if owner != "" {
		state = StateRunning
	}
	n, err := tx.exec(`INSERT INTO runs (tenant, id, state, status, code, actor, token, language, skill, session, intent, words, request, result, summary, created, started, ended, events, task)
		VALUES ($1, $2, $3, '', '', $4, $5, $6, $7, $8, $9, $10, $11, $12, $12, $13, 0, 0, 0, $14) ON CONFLICT DO NOTHING`,
		r.Tenant, r.ID, string(state), r.Actor, r.Token, r.Language, r.Skill, r.Session, r.Intent, words(r.Intent, r.Program), notNil(r.Request), []byte{}, now, r.Task)
	if err != nil {
		return a, err
	}
	if n == 0 {
		return a, conflict("there is a run %s already", r.ID)
	}
	a.Lease, err = tx.enqueue(Work{Tenant: r.Tenant, ID: r.ID, Kind: kind, Token: r.Token, Priority: r.Priority, Due: r.Due}, owner)
	return a, err
}

// AddTask saves a task with the run of its first attempt, which is due at a time. A
// name that a task has which has not ended is [fault.UsageConflict]. A request with the
// key of an earlier one gives the earlier task.
func (s *Store) AddTask(ctx context.Context, t Task, r Run, i Idempotency, accounts ...Account) (id string, again bool, err error) {
	r.Task, r.Due, r.Priority = t.ID, t.Due, t.Priority
	err = s.update(ctx, func(tx *Tx) error {
		id, again = t.ID, false
		a, err := tx.accept(r, "", i, accounts)
		if err != nil {
			return err
		}
		if a.Again {
			again = true
			_, err := tx.row([]any{&id}, `SELECT task FROM runs WHERE tenant = $1 AND id = $2`, t.Tenant, a.ID)
			return err
		}
		if err := tx.freeName(t.Tenant, t.Name); err != nil {
			return err
		}
		now := tx.s.micros()
		n, err := tx.exec(`INSERT INTO tasks (tenant, id, state, actor, token, name, priority, plan, run, attempt, times, status, code, due, created, updated, ended)
			VALUES ($1, $2, 'queued', $3, $4, $5, $6, $7, $8, 1, 0, '', '', $9, $10, $10, 0) ON CONFLICT DO NOTHING`,
			t.Tenant, t.ID, t.Actor, t.Token, t.Name, t.Priority, notNil(t.Plan), r.ID, max(now, microsOf(t.Due)), now)
		if n == 1 || err != nil {
			return err
		}
		if err := tx.freeName(t.Tenant, t.Name); err != nil { // of one that was added at the same time
			return err
		}
		return conflict("there is a task %s already", t.ID)
	})
	return id, again, err
}

// again looks for an earlier request with the same key, and remembers this one if
// there is none.
func (tx *Tx) again(a *Accepted, r Run, i Idempotency, now int64) (bool, error) {
	if _, err := tx.exec(`DELETE FROM idempotency WHERE tenant = $1 AND token = $2 AND name = $3 AND created < $4`,
		r.Tenant, r.Token, i.Key, now-i.Keep.Microseconds()); err != nil {
		return false, err
	}
	n, err := tx.exec(`INSERT INTO idempotency (tenant, token, name, run, digest, created) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING`,
		r.Tenant, r.Token, i.Key, r.ID, i.Digest, now)
	if n == 1 || err != nil {
		return false, err
	}
	var digest string
	if _, err := tx.row([]any{&a.ID, &digest}, `SELECT run, digest FROM idempotency WHERE tenant = $1 AND token = $2 AND name = $3`, r.Tenant, r.Token, i.Key); err != nil {
		return false, err
	}
	if digest != i.Digest {
		return false, conflict("the idempotency key %.60q was used for another request", i.Key)
	}
	a.Again = true
	return true, nil
}

// Begin records that a run is running, with an event, and replaces its request.
func (s *Store) Begin(ctx context.Context, l Lease, request []byte) error {
	return s.setState(ctx, l, StateRunning, request)
}

// SetState records that a run is in another state, with an event.
func (s *Store) SetState(ctx context.Context, l Lease, state State) error {
	return s.setState(ctx, l, state, nil)
}

func (s *Store) setState(ctx context.Context, l Lease, state State, request []byte) error {
	return s.update(ctx, func(tx *Tx) error {
		if err := tx.hold(l); err != nil {
			return err
		}
		if request != nil {
			if _, err := tx.exec(`UPDATE runs SET request = $3 WHERE tenant = $1 AND id = $2`, l.Tenant, l.ID, request); err != nil {
				return err
			}
		}
		now := tx.s.micros()
		if _, err := tx.exec(`UPDATE runs SET state = $3, started = CASE WHEN started = 0 AND $3 = 'running' THEN $4 ELSE started END WHERE tenant = $1 AND id = $2`,
			l.Tenant, l.ID, string(state), now); err != nil {
			return err
		}
		if state == StateRunning {
			if _, err := tx.exec(`UPDATE tasks SET state = 'running', updated = $3 WHERE tenant = $1 AND run = $2 AND state = 'queued'`, l.Tenant, l.ID, now); err != nil {
				return err
			}
		}
		return tx.append(l, []Event{stateEvent(string(state))})
	})
}

// Outcome is how a run ended.
type Outcome struct {
	Status string
	Code   fault.Code
	Error  string // for searches
	Result []byte // JSON
	// Summary is the small part of Result that lists show.
	Summary []byte
	Uses    []Use
	// Accounts are those for which the run was accepted. What it used is added to
	// those that have quotas.
	Accounts []Account
	// Vault has the values of the run's tokens, and Subjects the digests by which the
	// run is found for each of them.
	Vault    Sealed
	Subjects []string
	// Request replaces that of the run, unless it is nil.
	Request []byte
	// Next tells what follows, if the run is an attempt of a task. Nil: the task fails.
	Next func(Task, TaskEnd) TaskStep
	// Review is set if the run changed a workspace.
	Review bool
	// Shorten replaces the questions of the run, unless it is nil.
	Shorten func(question []byte) []byte
}

// Use is what a run used of a tool, a skill or a model, or altogether.
type Use struct {
	Kind   string // run, tool, skill, model
	Name   string
	Count  int64
	Failed int64
	Fuel   int64
	Tokens int64
	Money  int64 // millionths of the currency
	Time   time.Duration
}

// End records the result of a run with its last events, and removes the run from
// the queue. Its questions that wait expire.
func (s *Store) End(ctx context.Context, l Lease, o Outcome, events ...Event) error {
	return s.update(ctx, func(tx *Tx) error {
		cancelled, err := tx.finish(l)
		if err != nil {
			return err
		}
		if err := tx.append(l, events); err != nil {
			return err
		}
		now := tx.s.micros()
		var actor, task, found string
		var questions int64
		if _, err := tx.row([]any{&actor, &task, &questions}, `UPDATE runs SET state = 'done', status = $3, code = $4, result = $5, summary = $6, ended = $7 WHERE tenant = $1 AND id = $2
			RETURNING actor, task, (SELECT COUNT(*) FROM approvals a WHERE a.tenant = runs.tenant AND a.run = runs.id AND a.state = 'waiting')`,
			l.Tenant, l.ID, o.Status, string(o.Code), notNil(o.Result), notNil(o.Summary), now); err != nil {
			return err
		}
		if task != "" {
			if err := tx.endAttempt(l, task, TaskEnd{Status: o.Status, Code: o.Code, Cancelled: cancelled, Review: o.Review, At: timeOf(now)}, o.Next); err != nil {
				return err
			}
		}
		if questions > 0 {
			if err := tx.expireQuestions(`tenant = $1 AND run = $2`, l.Tenant, l.ID); err != nil {
				return err
			}
		}
		if o.Error != "" {
			if _, err := tx.row([]any{&found}, `SELECT words FROM runs WHERE tenant = $1 AND id = $2`, l.Tenant, l.ID); err != nil {
				return err
			}
			if _, err := tx.exec(`UPDATE runs SET words = $3 WHERE tenant = $1 AND id = $2`, l.Tenant, l.ID, words(o.Error, found)); err != nil {
				return err
			}
		}
		for some := range slices.Chunk(o.Uses, maxUses) {
			if err := tx.use(l, actor, some, now); err != nil {
				return err
			}
		}
		for _, u := range o.Uses {
			if u.Kind == "run" {
				if err := tx.spend(o.Accounts, Spent{Fuel: u.Fuel, Tokens: u.Tokens, Money: u.Money}, now); err != nil {
					return err
				}
			}
		}
		if err := tx.shorten(l, o); err != nil {
			return err
		}
		if err := tx.forgetPaused(l.Tenant, l.ID); err != nil {
			return err
		}
		return tx.keepVault(l, o)
	})
}

// shorten replaces what the store has of a run that ends.
func (tx *Tx) shorten(l Lease, o Outcome) error {
	if o.Request != nil {
		if _, err := tx.exec(`UPDATE runs SET request = $3 WHERE tenant = $1 AND id = $2`, l.Tenant, l.ID, o.Request); err != nil {
			return err
		}
	}
	if o.Shorten == nil {
		return nil
	}
	questions := map[string][]byte{}
	for scan, err := range tx.rows(`SELECT id, question FROM approvals WHERE tenant = $1 AND run = $2`, l.Tenant, l.ID) {
		if err != nil {
			return err
		}
		var id string
		var question []byte
		if err := scan(&id, &question); err != nil {
			return err
		}
		questions[id] = question
	}
	for id, question := range questions {
		if _, err := tx.exec(`UPDATE approvals SET question = $3 WHERE tenant = $1 AND id = $2`, l.Tenant, id, o.Shorten(question)); err != nil {
			return err
		}
	}
	return nil
}

// forgetPaused removes what a run kept to go on.
func (tx *Tx) forgetPaused(tenant, run string) error {
	for _, statement := range []string{`DELETE FROM journal WHERE tenant = $1 AND run = $2`, `DELETE FROM signals WHERE tenant = $1 AND run = $2`} {
		if _, err := tx.exec(statement, tenant, run); err != nil {
			return err
		}
	}
	return nil
}

// maxUses bounds the uses that one statement inserts.
const maxUses = 50

// use records what a run used.
func (tx *Tx) use(l Lease, actor string, uses []Use, now int64) error {
	insert := strings.Builder{}
	insert.WriteString(`INSERT INTO uses (tenant, run, actor, at, kind, name, count, failed, fuel, tokens, money, micros) VALUES `)
	args := []any{l.Tenant, l.ID, actor, now}
	for i, u := range uses {
		if i > 0 {
			insert.WriteString(", ")
		}
		insert.WriteString("($1, $2, $3, $4")
		for _, value := range []any{u.Kind, u.Name, u.Count, u.Failed, u.Fuel, u.Tokens, u.Money, u.Time.Microseconds()} {
			args = append(args, value)
			insert.WriteString(", " + placeholder(len(args)))
		}
		insert.WriteString(")")
	}
	_, err := tx.exec(insert.String(), args...)
	return err
}

// keepVault saves the vault of a run that ends or is parked, and by which digests it is
// found.
func (tx *Tx) keepVault(l Lease, o Outcome) error {
	if len(o.Vault.Data) > 0 {
		if _, err := tx.exec(`INSERT INTO vaults (tenant, run, wrapped, sealed) VALUES ($1, $2, $3, $4)
			ON CONFLICT (tenant, run) DO UPDATE SET wrapped = excluded.wrapped, sealed = excluded.sealed`, l.Tenant, l.ID, o.Vault.Wrapped, o.Vault.Data); err != nil {
			return err
		}
	}
	for _, digest := range o.Subjects {
		if _, err := tx.exec(`INSERT INTO subjects (tenant, digest, run) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`, l.Tenant, digest, l.ID); err != nil {
			return err
		}
	}
	return nil
}

const runColumns = `r.tenant, r.id, r.state, r.status, r.code, r.actor, r.token, r.language, r.skill, r.session, r.intent, r.created, r.started, r.ended, r.task`

// scanRun reads the columns above, and more.
func scanRun(r *Run, scan func(...any) error, more ...any) error {
	var created, started, ended int64
	err := scan(append([]any{&r.Tenant, &r.ID, &r.State, &r.Status, &r.Code, &r.Actor, &r.Token, &r.Language, &r.Skill, &r.Session, &r.Intent, &created, &started, &ended, &r.Task}, more...)...)
	r.Created, r.Started, r.Ended = timeOf(created), timeOf(started), timeOf(ended)
	if len(r.Result) == 0 {
		r.Result = nil
	}
	return err
}

// Run returns a run of a tenant.
func (s *Store) Run(ctx context.Context, tenant, id string) (r Run, err error) {
	found := false
	err = s.look(ctx, func(tx *Tx) error {
		for scan, err := range tx.rows(`SELECT `+runColumns+`, r.request, r.result FROM runs r WHERE r.tenant = $1 AND r.id = $2`, tenant, id) {
			if err != nil {
				return err
			}
			found = true
			if err := scanRun(&r, scan, &r.Request, &r.Result); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && !found {
		err = fault.New(fault.UsageRun, "there is no run %.40q", id)
	}
	return r, err
}

// Filter selects runs. Empty fields select all.
type Filter struct {
	State                                State
	Status, Actor, Language, Skill, Tool string
	Words                                string // each word is in the intent, the code or the error
	Since, Until                         time.Time
	Before                               string // runs older than this id
	Limit                                int    // at most 1,000; 0 means 50
}

// Runs returns the newest runs of a tenant that a filter selects, with summaries and
// without their requests and results. If there may be more, the id of the last one
// continues the list as Filter.Before.
func (s *Store) Runs(ctx context.Context, tenant string, f Filter) (runs []Run, more bool, err error) {
	if f.Limit <= 0 {
		f.Limit = 50
	}
	f.Limit = min(f.Limit, 1000)
	query := strings.Builder{}
	query.WriteString(`SELECT ` + runColumns + `, r.summary FROM runs r WHERE r.tenant = $1`)
	args := []any{tenant}
	and := func(condition string, arg any) {
		args = append(args, arg)
		query.WriteString(" AND " + strings.ReplaceAll(condition, "?", placeholder(len(args))))
	}
	for _, is := range [][2]string{{"state", string(f.State)}, {"status", f.Status}, {"actor", f.Actor}, {"language", f.Language}, {"skill", f.Skill}} {
		if is[1] != "" {
			and("r."+is[0]+" = ?", is[1])
		}
	}
	if f.Tool != "" {
		and("EXISTS (SELECT 1 FROM uses u WHERE u.tenant = r.tenant AND u.run = r.id AND u.kind = 'tool' AND u.name = ?)", f.Tool)
	}
	if !f.Since.IsZero() {
		and("r.created >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		and("r.created < ?", f.Until.UnixMicro())
	}
	if f.Before != "" {
		and("r.id < ?", f.Before)
	}
	for i, word := range strings.Fields(words(f.Words)) {
		if i == maxSearched {
			break
		}
		and(`r.words LIKE ? ESCAPE '\'`, "%"+likeText.Replace(word)+"%")
	}
	args = append(args, f.Limit+1)
	query.WriteString(" ORDER BY r.id DESC LIMIT " + placeholder(len(args)))
	err = s.look(ctx, func(tx *Tx) error {
		runs = nil
		for scan, err := range tx.rows(query.String(), args...) {
			if err != nil {
				return err
			}
			var r Run
			if err := scanRun(&r, scan, &r.Summary); err != nil {
				return err
			}
			runs = append(runs, r)
		}
		return nil
	})
	if len(runs) > f.Limit {
		runs, more = runs[:f.Limit], true
	}
	return runs, more, err
}

// TaskRuns returns the newest attempts of a task, without their requests and results.
func (s *Store) TaskRuns(ctx context.Context, tenant, task string, limit int) (runs []Run, err error) {
	err = s.look(ctx, func(tx *Tx) error {
		runs = nil
		for scan, err := range tx.rows(`SELECT `+runColumns+` FROM runs r WHERE r.tenant = $1 AND r.task = $2 AND r.task <> '' ORDER BY r.id DESC LIMIT $3`, tenant, task, limit) {
			if err != nil {
				return err
			}
			var r Run
			if err := scanRun(&r, scan); err != nil {
				return err
			}
			runs = append(runs, r)
		}
		return nil
	})
	return runs, err
}

// By is what usage is summed by.
type By string

// The sums of usage.
const (
	ByDay   By = "day" // in UTC
	ByActor By = "actor"
	ByName  By = "name" // of a tool, a skill or a model
)

// Sum is the usage of one day, actor or name.
type Sum struct {
	Key string // 2026-05-01, an actor or a name
	Use
}

// Usage sums what the runs of a tenant used of a kind within a time, by day, actor
// or name, in the order of the keys. What was pruned is not in it.
func (s *Store) Usage(ctx context.Context, tenant, kind string, by By, since, until time.Time) (sums []Sum, err error) {
	const day = int64(24 * time.Hour / time.Microsecond)
	columns := map[By]string{ByDay: "(at / CAST($5 AS BIGINT)) * CAST($5 AS BIGINT)", ByActor: "actor", ByName: "name"}
	column, ok := columns[by]
	if !ok {
		return nil, fault.New(fault.UsageStore, "usage cannot be summed by %.20q", by).WithHint("use day, actor or name")
	}
	if until.IsZero() {
		until = time.UnixMicro(1 << 60)
	}
	err = s.look(ctx, func(tx *Tx) error {
		sums = nil
		for scan, err := range tx.rows(`SELECT k, SUM(count), SUM(failed), SUM(fuel), SUM(tokens), SUM(money), SUM(micros) FROM
			(SELECT `+column+` AS k, count, failed, fuel, tokens, money, micros FROM uses WHERE tenant = $1 AND kind = $2 AND at >= $3 AND at < $4 AND CAST($5 AS BIGINT) > 0) u
			GROUP BY k ORDER BY k`, tenant, kind, microsOf(since), until.UnixMicro(), day) {
			if err != nil {
				return err
			}
			u := Sum{Use: Use{Kind: kind}}
			var micros, at int64
			key := any(&u.Key)
			if by == ByDay {
				key = &at
			}
			if err := scan(key, &u.Count, &u.Failed, &u.Fuel, &u.Tokens, &u.Money, &micros); err != nil {
				return err
			}
			switch u.Time = time.Duration(micros) * time.Microsecond; by {
			case ByDay:
				u.Key = timeOf(at).Format(time.DateOnly)
			case ByName:
				u.Name = u.Key
			}
			sums = append(sums, u)
		}
		return nil
	})
	return sums, err
}
