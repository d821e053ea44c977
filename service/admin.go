package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"iter"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy"
	"github.com/wexec/wexec/service/chains"
	"github.com/wexec/wexec/store"
)

// A Subject is whom a deletion is about: a value of a kind, the value of a token of a
// run, or an actor. Exactly one of Value, Token and Actor is set.
type Subject struct {
	Kind  string `json:"kind,omitempty" jsonschema:"the kind of the value, such as email, phone or name"`
	Value string `json:"value,omitempty"`
	RunID string `json:"run_id,omitempty" jsonschema:"the run that showed the token"`
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
	return out, s.Tenant(who.Tenant).host.Record(ctx, audit.Event{Deletion: &audit.Deletion{ID: d.ID, Of: what, By: who.ID, Removed: out.counts()}})
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

// AuditFilter selects records of the audit log.
type AuditFilter struct {
	Run          string
	Since, Until time.Time
}

// AuditRecord is a record of the chain, and what is kept of it outside the chain
// unless that was deleted.
type AuditRecord struct {
	audit.Event
	Whole json.RawMessage `json:"whole,omitempty"` // the part that the type names, with all that the policy keeps
}

// verifying bounds the verifications of a process: each reads a whole log.
var verifying sync.Mutex

// VerifyAudit checks the chain that this process keeps of the principal's tenant, and
// the segments of all processes that the store has of it.
func (s *Service) VerifyAudit(ctx context.Context, who Principal) (here audit.Report, kept []chains.Chain, err error) {
	t := s.tenants.get(who.Tenant)
	if t == nil {
		return here, nil, errNoTenant()
	}
	if !verifying.TryLock() {
		return here, nil, fault.New(fault.LimitBusy, "another log is being verified").WithHint("send the request again in some seconds")
	}
	defer verifying.Unlock()
	if kept, err = s.archive().Verify(ctx, who.Tenant); err != nil {
		return here, nil, err
	}
	if here, err = audit.Verify(t.settings.Audit.Dir); err != nil {
		return here, nil, err
	}
	id, err := chains.IDOf(t.settings.Audit.Dir)
	for i := range kept {
		if kept[i].ID == id {
			kept[i].Compare(here)
		}
	}
	return here, kept, err
}

// Audit yields the records of the chain that this process keeps of the principal's
// tenant, in the order of their times, with their details.
func (s *Service) Audit(ctx context.Context, who Principal, f AuditFilter) iter.Seq2[AuditRecord, error] {
	return func(yield func(AuditRecord, error) bool) {
		t := s.tenants.get(who.Tenant)
		if t == nil {
			yield(AuditRecord{}, errNoTenant())
			return
		}
		known := details{s: s, tenant: who.Tenant}
		for e, err := range audit.Read(ctx, t.settings.Audit.Dir, audit.Filter{Run: f.Run, Since: f.Since, Until: f.Until}) {
			record := AuditRecord{Event: e}
			if err == nil && e.Detail != "" {
				record.Whole, err = known.of(ctx, e)
			}
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// details finds the details of records. It keeps those of the last few runs, whose
// records follow each other.
type details struct {
	s      *Service
	tenant string
	runs   map[string]map[string]json.RawMessage // by run and digest
}

// maxDetailed is of how many runs the details are kept.
const maxDetailed = 16

// of returns the detail of a record, or nil if it was deleted.
func (d *details) of(ctx context.Context, e audit.Event) (json.RawMessage, error) {
	found, ok := d.runs[e.Run]
	if !ok {
		if d.runs == nil || len(d.runs) >= maxDetailed {
			d.runs = map[string]map[string]json.RawMessage{}
		}
		found = map[string]json.RawMessage{}
		err := d.each(ctx, e.Run, func(digest string, whole json.RawMessage) { found[digest] = whole })
		if err != nil {
			return nil, err
		}
		d.runs[e.Run] = found
	}
	return found[e.Detail], nil
}

// tokenCache keeps tokens that clients showed. A token that this process revokes is
// refused at once, one that another process revokes after tokenFresh.
type tokenCache struct {
	mu    sync.Mutex
	known map[[sha256.Size]byte]knownToken
	round int // rises when tokens are forgotten
}

type knownToken struct {
	store.Token
	read time.Time
}

// Bounds of the tokens that are kept.
const (
	tokenFresh = 2 * time.Second
	maxTokens  = 1024
)

// find returns a token that was read a short time ago, or else the round for keep.
func (c *tokenCache) find(key [sha256.Size]byte, now time.Time) (t store.Token, ok bool, round int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.known[key]
	ok = ok && now.Sub(k.read) < tokenFresh && (k.Expires.IsZero() || now.Before(k.Expires))
	return k.Token, ok, c.round
}

// keep keeps a token that was read at a time, unless tokens were forgotten since.
func (c *tokenCache) keep(key [sha256.Size]byte, t store.Token, read time.Time, round int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.round != round {
		return
	}
	if c.known == nil || len(c.known) >= maxTokens {
		c.known = map[[sha256.Size]byte]knownToken{}
	}
	c.known[key] = knownToken{t, read}
}

// forget forgets all tokens.
func (c *tokenCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = nil
	c.round++
}

// Authenticate returns who has a token. An unknown, expired or revoked one is
// [fault.DeniedToken].
func (s *Service) Authenticate(ctx context.Context, token string) (Principal, error) {
	key, now := sha256.Sum256([]byte(token)), time.Now()
	t, ok, round := s.tokens.find(key, now)
	if !ok {
		var err error
		if t, err = s.o.Store.Token(ctx, token); err != nil {
			return Principal{}, err
		}
		s.tokens.keep(key, t, now, round)
	}
	if s.tenants.get(t.Tenant) == nil {
		return Principal{}, fault.New(fault.DeniedToken, "the tenant of the token does not exist")
	}
	return Principal{Token: t}, nil
}

// RevokeToken removes a token of the principal's tenant.
func (s *Service) RevokeToken(ctx context.Context, who Principal, id string) error {
	defer s.tokens.forget()
	return s.o.Store.Revoke(ctx, who.Tenant, id)
}

// each calls a function with each detail of a run and its digest.
func (d *details) each(ctx context.Context, run string, yield func(digest string, whole json.RawMessage)) error {
	parts, err := d.s.o.Store.Details(ctx, d.tenant, run)
	if err != nil {
		return err
	}
	for _, part := range parts {
		var texts []json.RawMessage
		if err := d.s.o.Keys.open(ctx, detailPurpose(d.tenant, run), part, &texts); err != nil {
			return err
		}
		for _, text := range texts {
			var one detail
			if err := json.Unmarshal(text, &one); err != nil {
				return fault.New(fault.StoreUnavailable, "decode a detail of run %s: %w", run, err)
			}
			yield(audit.Digest(text), one.Whole)
		}
	}
	return nil
}

// CallTexts are what the audit keeps of a call in full. They have tokens.
type CallTexts struct {
	Args, Answer audit.Blob
	Message      string
}

// CallTexts returns what the audit of the principal's tenant keeps of the calls of a
// run, by their numbers.
func (s *Service) CallTexts(ctx context.Context, who Principal, run string) (map[uint64]CallTexts, error) {
	if !who.Has(store.ScopeAdmin) {
		return nil, fault.New(fault.DeniedScope, "the token does not have the scope %s", store.ScopeAdmin)
	}
	all := map[uint64]CallTexts{}
	err := (&details{s: s, tenant: who.Tenant}).each(ctx, run, func(_ string, whole json.RawMessage) {
		var part struct {
			Call          uint64
			Kind, Message string
			Args, Answer  audit.Blob
		}
		if json.Unmarshal(whole, &part) != nil || part.Call == 0 || part.Kind != "" {
			return
		}
		c := all[part.Call]
		if len(part.Args) > 0 {
			c.Args = part.Args
		}
		if len(part.Answer) > 0 {
			c.Answer = part.Answer
		}
		c.Message = cmp.Or(part.Message, c.Message)
		all[part.Call] = c
	})
	return all, err
}

// PolicyText returns a policy file of the principal's tenant, without secrets and
// personal data, by the name that rules have it under.
func (s *Service) PolicyText(who Principal, name string) (string, error) {
	if !who.Has(store.ScopeAdmin) {
		return "", fault.New(fault.DeniedScope, "the token does not have the scope %s", store.ScopeAdmin)
	}
	t := s.tenants.get(who.Tenant)
	if t == nil {
		return "", errNoTenant()
	}
	path := t.settings.RuleFile(name)
	if path == "" {
		return "", fault.New(fault.UsageFile, "the tenant has no policy file %.60q", name)
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fault.New(fault.UsageFile, "read the policy: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPolicy))
	if err != nil {
		return "", fault.New(fault.UsageFile, "read the policy: %w", err)
	}
	return t.Table().Redact(string(data)), nil
}

// maxPolicy bounds a policy file that is shown.
const maxPolicy = 1 << 20
