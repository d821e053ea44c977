package service

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// Approvals returns the questions of the principal's tenant that wait.
func (s *Service) Approvals(ctx context.Context, who Principal, limit int) ([]Approval, error) {
	rows, err := s.o.Store.Approvals(ctx, who.Tenant, limit)
	if err != nil {
		return nil, err
	}
	all := []Approval{}
	for _, row := range rows {
		a, err := approvalOf(row)
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

func approvalOf(row store.Approval) (a Approval, err error) {
	if err := json.Unmarshal(row.Question, &a); err != nil {
		return a, fault.New(fault.StoreUnavailable, "read the approval %s: %w", row.ID, err)
	}
	a.State, a.By, a.Reason = row.State, row.Actor, row.Reason
	return a, nil
}

// waitingOf returns the questions that a run waits for.
func waitingOf(ctx context.Context, from *store.Store, run store.Run) ([]engine.Waiting, error) {
	rows, err := from.Approvals(ctx, run.Tenant, maxWaiting)
	if err != nil {
		return nil, err
	}
	var out []engine.Waiting
	for _, row := range rows {
		if row.Run != run.ID {
			continue
		}
		a, err := approvalOf(row)
		if err != nil {
			return nil, err
		}
		out = append(out, engine.Waiting{ID: a.ID, Tool: a.Tool, Message: a.Message, Since: a.Since, Expires: a.Expires})
	}
	return out, nil
}

// maxWaiting bounds the questions of a tenant that are searched for those of a run.
const maxWaiting = 1000

// Decide answers a question of the principal's tenant. An agent's token never answers
// for a run that it asked for.
func (s *Service) Decide(ctx context.Context, who Principal, id string, approve bool, reason, via string) (Approval, error) {
	row, err := s.o.Store.Approval(ctx, who.Tenant, id)
	if err != nil {
		return Approval{}, err
	}
	run, err := s.o.Store.Run(ctx, who.Tenant, row.Run)
	if err != nil {
		return Approval{}, err
	}
	if who.Type != store.TypePerson && run.Token == who.ID {
		return Approval{}, fault.New(fault.DeniedScope, "an agent's token cannot answer for its own run").WithHint("answer with the token of a person")
	}
	answer := store.AnswerDenied
	if approve {
		answer = store.AnswerApproved
	}
	if row, err = s.o.Store.Decide(ctx, who.Tenant, id, answer, cmp.Or(who.Name, who.ID), via, reason); err != nil {
		return Approval{}, err
	}
	if x := s.runs.execution(who.Tenant, row.Run); x != nil {
		x.answer(id, replyOf(row))
	}
	return approvalOf(row)
}
