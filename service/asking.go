package service

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/workspaces"
	"github.com/wexec/wexec/internal/policyfile"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/store"
)

// Approval is a question to people about a call, as the API shows it. It has tokens
// where personal data was.
type Approval struct {
	ID         string          `json:"id"`
	Run        string          `json:"run"`
	Tool       string          `json:"tool"`
	Message    string          `json:"message,omitempty"`
	Rule       string          `json:"rule,omitempty"`
	Actor      string          `json:"actor,omitempty"`
	Intent     string          `json:"intent,omitempty"`
	Args       json.RawMessage `json:"args,omitempty"`
	Since      time.Time       `json:"since"`
	Expires    time.Time       `json:"expires"`
	AlwaysRule string          `json:"always_rule,omitempty" jsonschema:"the file and the rule that an answer with always writes; absent if no rule can be written"`
	State      store.Answer    `json:"state"`
	Answered   *time.Time      `json:"answered,omitempty" jsonschema:"when it was answered or expired"`
	By         string          `json:"by,omitempty" jsonschema:"who answered"`
	Via        string          `json:"via,omitempty" jsonschema:"where it was answered: api, page or mcp"`
	Reason     string          `json:"reason,omitempty"`
	Always     bool            `json:"always,omitempty" jsonschema:"the answer wrote always_rule"`
	MayAnswer  bool            `json:"may_answer,omitempty" jsonschema:"the token of the request may answer"`
	Covers     bool            `json:"-"` // values can be revealed
}

// question is an approval as the store keeps it.
type question struct {
	Approval
	Asking *policy.Asking `json:"asking,omitempty"`
	Values *store.Sealed  `json:"values,omitempty"` // [Revealed], if it has other texts than the question
}

// Revealed is a question with values instead of tokens.
type Revealed struct {
	Message string          `json:"message,omitempty"`
	Args    json.RawMessage `json:"args,omitempty"`
}

// valuesPurpose is what the values of a question are sealed for.
func valuesPurpose(tenant, id string) string { return "question " + id + " of tenant " + tenant }

func approvalOf(row store.Approval) (Approval, error) {
	q, err := questionOf(row)
	if err != nil {
		return q.Approval, err
	}
	a := q.Approval
	a.Covers = q.Values != nil && row.State == store.AnswerWaiting
	a.State, a.By, a.Via, a.Reason, a.Always = row.State, row.Actor, row.Via, row.Reason, row.Always
	if !row.Answered.IsZero() {
		a.Answered = &row.Answered
	}
	return a, nil
}

func questionOf(row store.Approval) (q question, err error) {
	if err := json.Unmarshal(row.Question, &q); err != nil {
		return q, fault.New(fault.StoreUnavailable, "read the approval %s: %w", row.ID, err)
	}
	return q, nil
}

// alwaysRule returns the rule after which nobody is asked a question again, with its
// file, as people see it. It is "" if no rule can be written: the question is not about a tool,
// or a file asks that does not belong to the tenant.
func (t *Tenant) alwaysRule(q hostfns.Question) string {
	if q.Asking == nil || t.settings.RuleFile(q.Asking.File) == "" {
		return ""
	}
	rule, ok := policyfile.ForAsking(q.Tool, *q.Asking)
	if !ok {
		return ""
	}
	return q.Asking.File + ": " + rule.String()
}

// isForAPI reports whether clients of the API may answer a question.
func isForAPI(q hostfns.Question) bool {
	return slices.Contains(q.Via, "api") || slices.Contains(q.Via, "page")
}

// Ask implements hostfns.Asker. The question is a row, which a client of any process
// answers. The other asker of the run asks as well; the first answer counts, and the
// row has it.
func (x *execution) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	switch {
	case isForAPI(q):
	case x.other != nil:
		return x.other.Ask(ctx, q)
	default:
		return hostfns.Reply{}, hostfns.ErrNobody
	}
	p, err := x.post(ctx, q)
	if err != nil {
		return hostfns.Reply{}, err
	}
	if x.lease.Fence > 1 { // it may have been asked, and answered, in another process
		x.look(ctx, p)
	}
	if x.other != nil {
		asking, cancel := context.WithCancel(ctx)
		defer cancel()
		go func() {
			if reply, err := x.other.Ask(asking, q); err == nil {
				x.saveAnswer(asking, p, reply)
			}
		}()
	}
	return x.await(ctx, p)
}

// posted is a question that is a row.
type posted struct {
	id, tool string
	digest   string // of tool, arguments and rule
	answered chan hostfns.Reply
	expires  time.Time
}

// lead is how much earlier a question expires for people than for the run, so that the
// run learns of an answer in the last second.
const lead = 2 * pollEvery

// post saves a question, for which the run waits from now on.
func (x *execution) post(ctx context.Context, q hostfns.Question) (posted, error) {
	plain := Revealed{q.Message, q.Args}
	q = q.Covered()
	var values *store.Sealed
	if plain.Message != q.Message || !bytes.Equal(plain.Args, q.Args) {
		sealed, err := x.s.o.Keys.seal(ctx, valuesPurpose(x.lease.Tenant, q.ID), plain)
		if err != nil {
			return posted{}, err
		}
		values = &sealed
	}
	expires := q.Expires
	if expires.Sub(q.Since) > 10*lead {
		expires = expires.Add(-lead)
	}
	kept := question{Approval{ID: q.ID, Run: q.Run, Tool: q.Tool, Message: q.Message, Rule: q.Rule, Actor: q.Actor, Intent: q.Intent,
		Args: q.Args, Since: q.Since, Expires: expires, AlwaysRule: x.tenant.alwaysRule(q), State: store.AnswerWaiting}, q.Asking, values}
	encoded, err := json.Marshal(kept)
	if err != nil {
		return posted{}, fault.New(fault.Internal, "encode the question: %w", err)
	}
	digest := sha256.Sum256([]byte(q.Tool + "\x00" + string(q.Args) + "\x00" + q.Digest))
	p := posted{q.ID, q.Tool, hex.EncodeToString(digest[:]), make(chan hostfns.Reply, 1), q.Expires}
	x.mu.Lock()
	x.open[q.ID] = p
	x.mu.Unlock()
	x.flush() // what happened before the question comes before it
	event, _ := json.Marshal(approvalEvent{q.ID, q.Tool, store.AnswerWaiting})
	row := store.Approval{Tenant: x.lease.Tenant, ID: q.ID, Run: q.Run, Tool: q.Tool, Digest: p.digest, Question: encoded, Expires: expires, Notify: x.tenant.hook != nil}
	if err = x.s.o.Store.Ask(ctx, x.lease, row, store.Event{Type: "approval", Data: event}); err == nil {
		err = x.s.o.Store.SetState(ctx, x.lease, store.StateWaiting)
	}
	if err != nil {
		x.settle(q.ID)
		return p, err
	}
	x.s.watchers.wake(runKey{x.lease.Tenant, x.lease.ID})
	return p, nil
}

// await waits for the answer to a question.
func (x *execution) await(ctx context.Context, p posted) (hostfns.Reply, error) {
	for {
		select {
		case r := <-p.answered:
			x.settle(p.id)
			x.record("approval", approvalEvent{p.id, p.tool, stateOf(r)})
			return r, nil
		case <-ctx.Done():
			return x.stopAsking(ctx, p)
		case <-time.After(pollEvery): // another process may have the answer
		}
		x.look(ctx, p)
	}
}

// look takes the answer to a question from the store, if there is one.
func (x *execution) look(ctx context.Context, p posted) {
	a, err := x.s.o.Store.Approval(ctx, x.lease.Tenant, p.id)
	if err == nil && a.Digest == p.digest && isAnswer(a.State) {
		x.answer(p.id, replyOf(a))
	}
}

// stopAsking ends the waiting for an answer. A question of a run that may go on is kept
// until it is known whether it does.
func (x *execution) stopAsking(ctx context.Context, p posted) (hostfns.Reply, error) {
	later := !x.s.command && time.Now().Add(pollEvery).Before(p.expires)
	x.mu.Lock()
	_, open := x.open[p.id]
	if open && later {
		x.left = append(x.left, p)
		delete(x.open, p.id)
	}
	x.mu.Unlock()
	if !open || later {
		return hostfns.Reply{}, context.Cause(ctx)
	}
	defer x.settle(p.id)
	return x.withdraw(ctx, p)
}

// withdrawLeft ends the questions that the engine no longer asks, when it has returned.
// A run that goes on asks them again.
func (x *execution) withdrawLeft(goesOn bool) {
	x.mu.Lock()
	left := slices.AppendSeq(x.left, maps.Values(x.open))
	x.left = nil
	clear(x.open)
	x.mu.Unlock()
	for _, p := range left {
		if goesOn && (x.res.Parked == nil || slices.ContainsFunc(x.res.Waiting, func(w engine.Waiting) bool { return w.ID == p.id })) {
			continue
		}
		_, _ = x.withdraw(x.ctx, p)
	}
}

// withdraw ends a question that the run no longer waits for, unless it was answered.
func (x *execution) withdraw(ctx context.Context, p posted) (hostfns.Reply, error) {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTimeout)
	defer cancel()
	a, err := x.s.o.Store.Withdraw(ending, x.lease, p.id)
	if err == nil && isAnswer(a.State) {
		r := replyOf(a)
		x.record("approval", approvalEvent{p.id, p.tool, stateOf(r)})
		return r, nil
	}
	if err != nil {
		x.s.o.Logger.Warn("cannot withdraw a question", "run", x.lease.ID, "error", err)
	}
	x.record("approval", approvalEvent{p.id, p.tool, store.AnswerExpired})
	return hostfns.Reply{}, context.Cause(ctx)
}

// saveAnswer saves an answer that did not come over the API, unless there is one.
func (x *execution) saveAnswer(ctx context.Context, p posted, r hostfns.Reply) {
	a, err := x.s.o.Store.Decide(ctx, x.lease.Tenant, p.id, store.Decision{Answer: stateOf(r), Actor: cmp.Or(r.Who, x.run.Actor), Via: r.By, Reason: r.Reason})
	switch {
	case err == nil:
		x.answer(p.id, r)
	case isAnswer(a.State):
		x.answer(p.id, replyOf(a))
	default:
		x.s.o.Logger.Error("cannot save an answer", "run", x.lease.ID, "error", err)
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

// isAnswer reports whether a person answered.
func isAnswer(a store.Answer) bool { return a == store.AnswerApproved || a == store.AnswerDenied }

func replyOf(a store.Approval) hostfns.Reply {
	return hostfns.Reply{Approved: a.State == store.AnswerApproved, Always: a.Always, By: a.Via, Who: a.Actor, Reason: a.Reason}
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
	if p, ok := x.open[id]; ok {
		select {
		case p.answered <- r:
		default:
		}
	}
}

// endures reports whether a run outlives its process. The runs of a command do not, nor
// those in sessions.
func (s *executor) endures(session string, dry bool, table *hostfns.Table) bool {
	return !s.command && session == "" && !dry && table != nil
}

// lend opens the workspace that a run names. The caller calls done after the run.
func (x *execution) lend(req *engine.Request) (done func(), err error) {
	if x.asked.Workspace == "" {
		return func() {}, nil
	}
	all, err := x.tenant.workspaces(x.s.o, x.asked.By)
	if err != nil {
		return nil, err
	}
	w, err := all.Lend(x.asked.Workspace)
	if err != nil {
		return nil, err
	}
	req.Workspace = workspaces.New(w)
	return func() {
		if err := w.Close(); err != nil {
			x.s.o.Logger.Error("cannot close a workspace", "run", req.ID, "error", err)
		}
	}, nil
}

// endure makes a run outlive this process, if it can, and notes in the store that it
// does. It records that the run is running.
func (x *execution) endure(req *engine.Request, records [][]byte, parkAfter time.Duration) error {
	if !x.s.command {
		req.Signals = x.signals
	}
	journal := int64(0)
	if len(records) > 0 || x.s.endures(req.Session, req.DryRun, req.Table) && !req.Check && req.Plugin == "" && req.Workspace == nil {
		req.Journal, req.Records, req.Delivered, req.ParkAfter = x.journal, records, x.before.output, parkAfter
		journal = x.lease.Fence
		x.keeps.Store(true)
	}
	runs := x.run.State == "" || x.run.State == store.StateRunning
	if x.lease.Fence == 0 || runs && (x.stored.Journal == journal || len(records) > 0) {
		return nil
	}
	x.stored.Journal = journal
	data, err := json.Marshal(x.stored)
	if err != nil {
		return fault.New(fault.StoreUnavailable, "encode the request of the run: %w", err)
	}
	return x.s.o.Store.Begin(x.ctx, x.lease, data)
}

// maxStarts is how often a run begins that has no records, since it may be why its
// processes die.
const maxStarts = 10

// isLost reports whether it is not known what the run did in other processes.
func (x *execution) isLost(records [][]byte) bool {
	before := x.lease.Fence - 1
	return before > 0 && x.run.State != store.StateQueued && len(records) == 0 && (x.stored.Journal != before || before >= maxStarts)
}

// canGoOn reports whether another process can execute the rest of the run.
func (x *execution) canGoOn() bool { return x.keeps.Load() }

// goesOn reports whether the run has ended in this process only.
func (x *execution) goesOn() bool {
	if x.res.Parked != nil && x.err == nil {
		return true
	}
	return x.canGoOn() && x.err != nil && fault.CodeOf(x.err).Class() == fault.ClassCancelled && errors.Is(context.Cause(x.ctx), errStopped)
}

// write records the end of the run in this process.
func (x *execution) write(ctx context.Context, goesOn bool, o store.Outcome, events []store.Event) error {
	switch {
	case !goesOn:
		return x.s.o.Store.End(ctx, x.lease, o, events...)
	case x.res.Parked == nil:
		return x.s.o.Store.Requeue(ctx, x.lease, events...)
	}
	w := store.Waits{Until: x.res.Parked.Until, Signals: map[string]int{}}
	for _, q := range x.res.Waiting {
		w.Questions = append(w.Questions, q.ID)
		if w.Until.IsZero() || !q.Expires.IsZero() && q.Expires.Before(w.Until) {
			w.Until = q.Expires
		}
	}
	for _, name := range x.res.Parked.Signals {
		w.Signals[name] = x.signals.number(name)
	}
	return x.s.o.Store.Park(ctx, x.lease, w, o, events...)
}

// watchers wake those who wait for a run.
type watchers struct {
	mu  sync.Mutex
	all map[runKey]*watched
}

// watched is a run that somebody waits for.
type watched struct {
	changed chan struct{}
	by      int
}

// watch returns a channel that is closed at the next change of a run in this
// process. The caller calls stop when it no longer waits.
func (w *watchers) watch(key runKey) (changed <-chan struct{}, stop func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	run, ok := w.all[key]
	if !ok {
		if w.all == nil {
			w.all = map[runKey]*watched{}
		}
		run = &watched{changed: make(chan struct{})}
		w.all[key] = run
	}
	run.by++
	return run.changed, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if run.by--; run.by == 0 && w.all[key] == run {
			delete(w.all, key)
		}
	}
}

// wake wakes those who wait for a run.
func (w *watchers) wake(key runKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if run, ok := w.all[key]; ok {
		close(run.changed)
		delete(w.all, key)
	}
}

// dropText replaces the texts of a run that ends with their digests, if its policy
// keeps no text. stored is its request in the store.
func dropText(stored request, res engine.Result, o *store.Outcome) error {
	if stored.Digests == nil {
		return nil
	}
	digests := Digests{textDigest(res.Stdout), textDigest(res.Stderr)}
	stored.Digests, stored.Sealed = &digests, nil
	short := summaryOf(res)
	short.Provenance = res.Provenance
	if e := short.Error; e != nil {
		short.Error = &engine.Error{Code: e.Code, Class: e.Class, Tool: e.Tool}
	}
	var errs [2]error
	o.Result, errs[0] = json.Marshal(short)
	o.Request, errs[1] = json.Marshal(stored)
	o.Summary, o.Error, o.Vault = o.Result, "", store.Sealed{}
	o.Shorten = func(doc []byte) []byte {
		var q question
		if json.Unmarshal(doc, &q) != nil {
			return []byte("{}")
		}
		q.Message, q.Intent, q.Args, q.Asking, q.Values = "", "", nil, nil, nil
		out, _ := json.Marshal(q) // it was JSON before
		return out
	}
	return errors.Join(errs[:]...)
}
