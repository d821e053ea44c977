package service

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy"
	"github.com/wexec/wexec/store"
)

// A Subject is whom a deletion is about: a value of a kind, the value of a token of a
// run, or an actor. Exactly one of Value, Token and Actor is set.
type Subject struct {
	Kind  string `json:"kind,omitempty" jsonschema:"of the value, such as email, phone or name"`
	Value string `json:"value,omitempty"`
	RunID string `json:"run_id,omitempty" jsonschema:"of the token"`
	Token string `json:"token,omitempty" jsonschema:"such as [EMAIL_1]"`
	Actor string `json:"actor,omitempty" jsonschema:"the name of a token of this server, or its id"`
}

// Bounds of a value.
const (
	leastValue = 3
	mostValue  = 1 << 10
)

// what says which of its members a subject has.
func (s Subject) what() (string, error) {
	set := 0
	what := ""
	for name, text := range map[string]string{"value": s.Value, "token": s.Token, "actor": s.Actor} {
		if text != "" {
			set++
			what = name
		}
	}
	switch {
	case set != 1 || (s.Token == "") != (s.RunID == "") || s.Kind != "" && s.Value == "":
		return "", fault.New(fault.UsageFlag, "the request does not say whom to delete").WithHint("set kind and value, run_id and token, or actor")
	case what != "actor" && len(cmp.Or(s.Value, s.Token)) > mostValue, len(s.Actor) > mostValue:
		return "", fault.New(fault.UsageFlag, "the %s has more than %d bytes", what, mostValue)
	case what == "value" && len(strings.TrimSpace(s.Value)) < leastValue:
		return "", fault.New(fault.UsageFlag, "the value has less than %d bytes: it would be found in most texts", leastValue)
	}
	return what, nil
}

// Delete removes a person from the principal's tenant: every run that was accepted
// until now and in which the value occurs, with all that belongs to it, or every run
// of an actor. Runs that have not ended and have the value are cancelled first.
func (s *Service) Delete(ctx context.Context, who Principal, subject Subject) (Deleted, error) {
	what, err := subject.what()
	if err != nil {
		return Deleted{}, err
	}
	if what == "actor" && who.Actor().ID == subject.Actor {
		return Deleted{}, fault.New(fault.UsageConflict, "the token of this request is that of the actor, and would be removed").WithHint("use the token of another administrator")
	}
	find, err := s.wanted(ctx, who.Tenant, subject)
	if err != nil {
		return Deleted{}, err
	}
	d := store.Deletion{ID: engine.NewID(), Tenant: who.Tenant, At: time.Now()}
	if d.Sealed, err = s.o.Keys.seal(ctx, deletionPurpose(d.Tenant, d.ID), find); err != nil {
		return Deleted{}, err
	}
	if err := s.o.Store.AddDeletion(ctx, d); err != nil {
		return Deleted{}, err
	}
	if err := s.deletions.sync(ctx); err != nil { // before the first row is removed
		return Deleted{}, err
	}
	out, err := s.deletions.apply(ctx, d, time.Time{}, s.cancelRuns(who))
	if err != nil {
		return out, err
	}
	s.tokens.forget()
	err = s.Tenant(who.Tenant).host.Record(ctx, audit.Event{Deletion: &audit.Deletion{ID: d.ID, Of: what, By: who.ID, Removed: out.counts()}})
	return out, errors.Join(err, s.engine.Forget(func(text []byte) bool { return len(find.Marks) > 0 && s.o.Keys.found(text, find.Marks) }))
}

// wanted returns how a subject is found.
func (s *Service) wanted(ctx context.Context, tenant string, subject Subject) (find wanted, err error) {
	k := s.o.Keys
	if subject.Actor != "" {
		find.Actor = k.actorDigest(tenant, subject.Actor)
		return find, nil
	}
	spellings := []string{strings.TrimSpace(subject.Value)}
	if subject.Token != "" {
		if spellings, err = s.valueOf(ctx, tenant, subject.RunID, subject.Token); err != nil {
			return find, err
		}
	} else {
		d, err := privacy.NewDetector(s.Tenant(tenant).Table().Policy().PII().Config)
		if err != nil {
			return find, err
		}
		spellings = append(spellings, d.Canonical(privacy.Kind(strings.ToLower(subject.Kind)), spellings[0]))
	}
	spellings = slices.DeleteFunc(spellings, func(s string) bool { return len(s) < leastValue })
	for _, spelling := range spellings {
		find.Digests = append(find.Digests, k.subjectDigest(tenant, spelling))
	}
	find.Marks = k.marksOf(spellings...)
	return find, nil
}

// valueOf returns the spellings of the value of a run's token.
func (s *Service) valueOf(ctx context.Context, tenant, run, token string) ([]string, error) {
	if _, err := s.o.Store.Run(ctx, tenant, run); err != nil {
		return nil, err
	}
	sealed, err := s.o.Store.Vault(ctx, tenant, run)
	if err != nil {
		return nil, err
	}
	var issued []privacy.Issued
	if len(sealed.Data) > 0 {
		if err := s.o.Keys.open(ctx, vaultPurpose(tenant, run), sealed, &issued); err != nil {
			return nil, err
		}
	}
	name, _, hasPart := strings.Cut(token, ":") // mode partial shows a part of the value
	if hasPart {
		name += "]"
	}
	for _, i := range issued {
		if i.Token == name {
			return []string{i.Value, i.Canonical}, nil
		}
	}
	return nil, fault.New(fault.UsageRun, "the run has no token %.60q", token).WithHint("use a token as the run shows it, after the run has ended")
}

// cancelRuns returns what cancels runs of the principal's tenant.
func (s *Service) cancelRuns(who Principal) func(ctx context.Context, run string) error {
	return func(ctx context.Context, run string) error {
		_, err := s.Cancel(ctx, who, run)
		return err
	}
}
