package hostfns

import (
	"cmp"
	"context"
	"slices"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/queue"
	"github.com/wexec/wexec/policy"
)

// Open records the start of a run. Without that record there is no run.
func (t *Table) Open(ctx context.Context, info RunInfo) (*Run, error) {
	if info.ID == "" {
		return nil, fault.New(fault.Internal, "open a run: it has no id")
	}
	t.mu.Lock()
	closed := t.closed
	t.mu.Unlock()
	if closed {
		return nil, fault.New(fault.Cancelled, "open a run: the table is closed")
	}
	limits := t.policy.Limits().Tighten(info.Limits).OrDefaults()
	r := &Run{
		table: t, info: info, limits: limits, session: info.Session, keep: t.policy.Audit(),
		slots: make(chan struct{}, limits.Parallel),
		facts: policy.RunFacts{
			ID: info.ID, Language: info.Start.Language, Intent: info.Start.Intent,
			Trigger: info.Start.Trigger, Deterministic: info.Start.Deterministic,
		},
		actor: policy.Actor{ID: info.Start.Actor.ID, Type: info.Start.Actor.Type},
		cache: -1,
	}
	if r.session == nil {
		r.session = &Session{}
	}
	r.backend = live{r}
	if t.recording != nil {
		r.backend = replay{r, t.recording}
	}
	var err error
	if r.redactor, err = t.newRedactor(r.session, info.Start); err != nil {
		return nil, err
	}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	r.uncancelled = context.WithoutCancel(ctx)
	r.workers = queue.NewWorkers(r.ctx.Done())
	if err := r.record(audit.Event{Start: r.startRecord()}); err != nil {
		return nil, err
	}
	return r, nil
}

// startRecord returns the start with what the policy keeps of it.
func (r *Run) startRecord() *audit.Start {
	s := r.info.Start
	s.PolicySHA256 = r.table.policy.Digest()
	s.CatalogueSHA256 = cmp.Or(s.CatalogueSHA256, r.table.Digest())
	if s.Servers == nil {
		s.Servers = r.table.Identifiers()
	}
	if r.info.DryRun {
		s.Offers = append(s.Offers, "dry-run")
	}
	if r.table.filer() != nil {
		s.Offers = append(s.Offers, "files")
	}
	slices.Sort(s.Offers)
	s.Keep = audit.Keep{Code: string(r.keep.Code), Inputs: string(r.keep.Inputs), Outputs: string(r.keep.Outputs)}
	s.Limits = audit.Limits(r.limits.Record())
	s.CodeSHA256, s.Code = kept(r.keep.Code, s.CodeSHA256, s.Code)
	s.ArgsSHA256, s.Args = kept(r.keep.Inputs, s.ArgsSHA256, s.Args)
	s.InputSHA256, s.Input = kept(r.keep.Inputs, s.InputSHA256, s.Input)
	if r.keep.Inputs != policy.DetailFull {
		s.Argv, s.Env = nil, nil
	}
	if !r.Kept() && !s.Deterministic {
		s.Seed = nil
	}
	return &s
}
