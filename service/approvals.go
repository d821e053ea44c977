package service

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/policyfile"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/review"
	"github.com/wexec/wexec/store"
)

// Approvals returns the questions of the principal's tenant that a filter selects, and
// the cursor of the next page.
func (s *Service) Approvals(ctx context.Context, who Principal, f store.ApprovalFilter) (all []Approval, next string, err error) {
	rows, more, err := s.o.Store.Approvals(ctx, who.Tenant, f)
	if err != nil {
		return nil, "", err
	}
	all = []Approval{}
	for _, row := range rows {
		a, err := approvalOf(row)
		if err != nil {
			return nil, "", err
		}
		if who.Has(store.ScopeApprove) {
			a.MayAnswer = s.mayAnswer(ctx, who, row) == nil
		}
		all = append(all, a)
	}
	if more {
		next = rows[len(rows)-1].ID
	}
	return all, next, nil
}

// mayAnswer returns why a principal cannot answer a question. An agent's token never
// answers for a run that it asked for, or another token with its name did.
func (s *Service) mayAnswer(ctx context.Context, who Principal, row store.Approval) error {
	if who.Type == store.TypePerson {
		return nil
	}
	run, err := s.o.Store.Run(ctx, who.Tenant, row.Run)
	if err != nil {
		return err
	}
	if run.Token == who.ID || run.Actor == who.Actor().ID {
		return fault.New(fault.DeniedScope, "an agent's token cannot answer for its own run").WithHint("answer with the token of a person")
	}
	return nil
}

// waitingOf returns the questions that a run waits for.
func waitingOf(ctx context.Context, from *store.Store, run store.Run) ([]engine.Waiting, error) {
	rows, _, err := from.Approvals(ctx, run.Tenant, store.ApprovalFilter{Run: run.ID, Limit: maxWaiting})
	if err != nil {
		return nil, err
	}
	var out []engine.Waiting
	for _, row := range rows {
		a, err := approvalOf(row)
		if err != nil {
			return nil, err
		}
		out = append(out, engine.Waiting{ID: a.ID, Tool: a.Tool, Message: a.Message, Since: a.Since, Expires: a.Expires})
	}
	return out, nil
}

// maxWaiting bounds the questions of a run that are shown.
const maxWaiting = 1000

// Answering is an answer to a question.
type Answering struct {
	Approve bool
	Always  bool   // writes Approval.AlwaysRule, so that nobody is asked again
	Reason  string // the program sees it if the call is denied
	Via     string // api or page
}

// Decide answers a question of the principal's tenant. An agent's token never answers
// for a run that it asked for. Only a principal with the scope admin answers with
// Always.
func (s *Service) Decide(ctx context.Context, who Principal, id string, a Answering) (Approval, error) {
	if a.Always && !who.Has(store.ScopeAdmin) {
		return Approval{}, fault.New(fault.DeniedScope, "the token does not have the scope %s, which always needs", store.ScopeAdmin)
	}
	row, err := s.o.Store.Approval(ctx, who.Tenant, id)
	if err != nil {
		return Approval{}, err
	}
	if err := s.mayAnswer(ctx, who, row); err != nil {
		return Approval{}, err
	}
	d := store.Decision{Answer: store.AnswerDenied, Actor: cmp.Or(who.Name, who.ID), Via: a.Via, Reason: a.Reason, Always: a.Always}
	if a.Approve {
		d.Answer = store.AnswerApproved
	}
	decide := func() (err error) {
		row, err = s.o.Store.Decide(ctx, who.Tenant, id, d)
		return err
	}
	if a.Always {
		err = s.always(ctx, row, d, decide)
	} else {
		err = decide()
	}
	if isAnswer(row.State) { // else a rule that could not be written would keep the run waiting
		if x := s.runs.execution(who.Tenant, row.Run); x != nil {
			x.answer(id, replyOf(row))
		}
		s.woken(who.Tenant, row.Run)
	}
	if err != nil {
		return Approval{}, err
	}
	return approvalOf(row)
}

// always answers a question by calling decide, and writes the rule after which nobody
// is asked it again. The rule allows nothing that the policy denies.
func (s *Service) always(ctx context.Context, row store.Approval, d store.Decision, decide func() error) error {
	if d.Answer != store.AnswerApproved {
		return fault.New(fault.UsageFlag, "always belongs to the decision approve").WithHint("deny the tool in the policy")
	}
	q, err := questionOf(row)
	if err != nil {
		return err
	}
	s.rules.Lock()
	defer s.rules.Unlock()
	t := s.tenants.get(row.Tenant)
	if t == nil || q.AlwaysRule == "" || q.Asking == nil || t.settings.RuleFile(q.Asking.File) == "" {
		return fault.New(fault.UsageFlag, "there is no rule that answers this question").WithHint("approve it without always, or change the policy")
	}
	rule, _ := policyfile.ForAsking(row.Tool, *q.Asking)
	decided := false
	err = policyfile.Change(t.settings.RuleFile(q.Asking.File), func(data []byte) ([]byte, error) {
		changed, err := withRule(data, row.Tool, *q.Asking, rule)
		if err != nil || decided {
			return changed, err
		}
		if err := decide(); err != nil {
			return nil, err
		}
		decided = true
		return changed, t.host.Record(ctx, audit.Event{Run: row.Run, Decision: &audit.Decision{Kind: "rule", Tool: row.Tool, Target: q.AlwaysRule, Effect: policy.Allow.String(),
			Rule: q.Rule, Writes: true, Approval: &audit.Approval{ID: row.ID, Via: d.Via, By: d.Actor, Answer: "always", MS: time.Since(row.Asked).Milliseconds()}}})
	})
	if err != nil {
		return err
	}
	if err := s.tenants.reloadOne(ctx, s.o, s.engine, row.Tenant); err != nil {
		s.o.Logger.Error("the rule is written, but the files of the tenant cannot be used", "tenant", row.Tenant, "error", err)
	}
	return nil
}

// withRule returns a policy file with a rule, if the file still asks about the tool
// for the same reason.
func withRule(data []byte, tool string, a policy.Asking, rule policyfile.Rule) ([]byte, error) {
	p, err := policy.Parse(a.File, data)
	if err != nil {
		return nil, err
	}
	if !p.Asks(tool, a) {
		return nil, fault.New(fault.UsageConflict, "the policy has changed: %s no longer asks about %s for this reason", a.File, tool).WithHint("approve it without always")
	}
	if slices.ContainsFunc(p.Rules(), func(r policy.Rule) bool {
		return r.Effect == policy.Allow && r.Tool.String() == tool && r.When == rule.When && r.Approved == rule.Approved
	}) {
		return data, nil // an answer to the same question wrote it
	}
	return policyfile.Add(a.File, data, []policyfile.Rule{rule})
}

// Reveal returns a question that waits with values instead of tokens, to a person with
// the scope reveal. It is recorded in the audit before.
func (s *Service) Reveal(ctx context.Context, who Principal, id string) (a Approval, err error) {
	if who.Type != store.TypePerson || !who.Has(store.ScopeReveal) {
		return a, fault.New(fault.DeniedScope, "only the token of a person with the scope %s shows values", store.ScopeReveal)
	}
	row, err := s.o.Store.Approval(ctx, who.Tenant, id)
	if err != nil {
		return a, err
	}
	q, err := questionOf(row)
	if err != nil {
		return a, err
	}
	if row.State != store.AnswerWaiting || q.Values == nil {
		return a, fault.New(fault.UsageConflict, "the question %.60q has no values to reveal: it was answered, or it has no personal data", id)
	}
	var plain Revealed
	if err := s.o.Keys.open(ctx, valuesPurpose(who.Tenant, id), *q.Values, &plain); err != nil {
		return a, err
	}
	t := s.tenants.get(who.Tenant)
	if t == nil {
		return a, errNoTenant()
	}
	err = t.host.Record(ctx, audit.Event{Run: row.Run, Decision: &audit.Decision{Kind: "reveal", Tool: row.Tool, Effect: policy.Allow.String(),
		Approval: &audit.Approval{ID: id, Via: "page", By: cmp.Or(who.Name, who.ID)}}})
	if err != nil {
		return a, err
	}
	if a, err = approvalOf(row); err != nil {
		return a, err
	}
	a.Message, a.Args = plain.Message, plain.Args
	a.MayAnswer = who.Has(store.ScopeApprove)
	return a, nil
}

// ReviewOf returns the review of the program of a run of the principal's tenant, or nil if
// the policy does not need it.
func (s *Service) ReviewOf(ctx context.Context, who Principal, id string) (*review.Assessment, error) {
	stored, err := s.o.Store.Run(ctx, who.Tenant, id)
	if err != nil {
		return nil, err
	}
	var asked request
	if err := json.Unmarshal(stored.Request, &asked); err != nil {
		return nil, fault.New(fault.StoreUnavailable, "read the program of run %s: %w", id, err)
	}
	t := s.tenants.get(who.Tenant)
	if t == nil {
		return nil, errNoTenant()
	}
	if asked.Digests != nil || !t.Table().Policy().Reviews() {
		return nil, nil
	}
	table, err := t.tableFor(config.Subset{Tools: asked.Tools, Profile: asked.Profile})
	if err != nil {
		return nil, err
	}
	tools, _ := table.Catalogue(ctx)
	a, err := s.engine.Review(ctx, engine.Reviewing{Language: asked.Language, Code: asked.Code, Intent: asked.Intent, Actor: who.Actor(), Profile: table.Policy().ReviewProfile(), Tools: tools})
	if err != nil {
		return nil, err
	}
	for i := range a.Findings {
		a.Findings[i].Message = table.Redact(a.Findings[i].Message)
	}
	return a, nil
}

// woken makes this process look for a run that may be queued now.
func (s *Service) woken(tenant, id string) {
	s.runs.watchers.wake(runKey{tenant, id})
	s.runs.look()
}
