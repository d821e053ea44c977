package service

import (
	"context"
	"strings"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/service/workspaces"
	"github.com/wexec/wexec/store"
)

// Table returns what new runs of a principal may reach.
func (s *Service) Table(who Principal) (*hostfns.Table, error) {
	t := s.tenants.get(who.Tenant)
	if t == nil {
		return nil, fault.New(fault.DeniedToken, "the tenant of the token does not exist")
	}
	return t.tableFor(who.subset())
}

// Tools searches the tools that a principal's programs may call. failed says why
// tools of a server are missing.
func (s *Service) Tools(ctx context.Context, who Principal, q catalogue.Query) (found catalogue.Found, failed []string, err error) {
	table, err := s.Table(who)
	if err != nil {
		return found, nil, err
	}
	whole, errs := table.Catalogue(ctx)
	for _, err := range errs {
		failed = append(failed, table.Redact(err.Error()))
	}
	core := s.core(who)
	leave, err := core(ctx)
	if err != nil {
		return found, nil, err
	}
	offered := table.Offered(whole)
	leave()
	q.Keep = func(t catalogue.Tool) string { return decision(table, t) }
	if found, err = table.Search(ctx, offered, q, core); err == nil && found.Tools == nil {
		found.Tools = []catalogue.Match{}
	}
	return found, failed, err
}

// Tool returns a tool with its declaration in a language.
func (s *Service) Tool(ctx context.Context, who Principal, name, language string) (catalogue.Match, error) {
	table, err := s.Table(who)
	if err != nil {
		return catalogue.Match{}, err
	}
	whole, _ := table.Catalogue(ctx)
	leave, err := s.core(who)(ctx)
	if err != nil {
		return catalogue.Match{}, err
	}
	defer leave()
	offered := table.Offered(whole)
	if language != "python" {
		language = "javascript"
	}
	m, ok := offered.Describe(name, "full", language)
	if !ok {
		err := fault.New(fault.ToolUnknown, "there is no tool %.60q", name)
		if near := offered.Nearest(name, 3); len(near) > 0 {
			err = err.WithHint("use %s", strings.Join(near, " or "))
		}
		return m, err
	}
	if t, ok := offered.Lookup(name); ok {
		m.Decision = decision(table, t)
	}
	return m, nil
}

// decision is what a policy decides about a tool for at least some arguments, or ""
// for a tool that is denied.
func decision(table *hostfns.Table, t catalogue.Tool) string {
	switch table.BestEffect(t) {
	case policy.Allow:
		return "allow"
	case policy.Ask:
		return "ask"
	}
	return ""
}

// core waits for a core as a run of the principal would.
func (s *Service) core(who Principal) hostfns.Core {
	return func(ctx context.Context) (leave func(), err error) { return s.engine.Core(ctx, who.Actor().ID) }
}

// session names a session of a principal. Sessions belong to the actor,
// with any of its tokens.
func (who Principal) session(name string) engine.SessionID {
	return engine.SessionID{Tenant: who.Tenant, Actor: who.Actor().ID, Name: name}
}

// Sessions returns the sessions of a principal, awake and asleep.
func (s *Service) Sessions(ctx context.Context, who Principal) ([]engine.SessionInfo, error) {
	return s.engine.ListSessions(ctx, who.Tenant, who.Actor().ID)
}

// Session returns a session of a principal. A missing one is [fs.ErrNotExist].
func (s *Service) Session(ctx context.Context, who Principal, name string) (engine.SessionInfo, error) {
	all, err := s.Sessions(ctx, who)
	if err != nil {
		return engine.SessionInfo{}, err
	}
	for _, one := range all {
		if one.Name == name {
			return one, nil
		}
	}
	return engine.SessionInfo{}, engine.UnknownSession(name)
}

// CreateSession creates a session of a principal.
func (s *Service) CreateSession(ctx context.Context, who Principal, name, language string) error {
	if err := checkSessionName(name); err != nil {
		return err
	}
	return s.engine.CreateSession(ctx, who.session(name), language)
}

// SleepSession puts a session of a principal to sleep.
func (s *Service) SleepSession(ctx context.Context, who Principal, name string) error {
	return s.engine.Sleep(ctx, who.session(name))
}

// WakeSession wakes a session of a principal.
func (s *Service) WakeSession(ctx context.Context, who Principal, name string) error {
	return s.engine.Wake(ctx, who.session(name))
}

// ForkSession makes a new session of a session of a principal.
func (s *Service) ForkSession(ctx context.Context, who Principal, name, child string) error {
	if err := checkSessionName(child); err != nil {
		return err
	}
	return s.engine.Fork(ctx, who.session(name), child)
}

// EndSession ends a session of a principal.
func (s *Service) EndSession(ctx context.Context, who Principal, name string) error {
	return s.engine.End(ctx, who.session(name))
}

// CreateToken makes a token and returns it with its id. It cannot be shown again.
func (s *Service) CreateToken(ctx context.Context, t store.Token) (secret, id string, err error) {
	if !t.Expires.IsZero() && t.Expires.Before(time.Now()) {
		return "", "", fault.New(fault.UsageToken, "the token would be expired already")
	}
	if err := s.tenants.prices.check(t.Model); err != nil {
		return "", "", fault.New(fault.UsageToken, "%w", err).WithHint("%s", fault.HintOf(err))
	}
	t.ID = store.NewTokenID()
	secret, err = s.o.Store.CreateToken(ctx, t)
	return secret, t.ID, err
}

// Workspaces returns the workspaces of a principal's tenant.
func (s *Service) Workspaces(who Principal) (*workspaces.Client, error) {
	table, err := s.Table(who)
	if err != nil {
		return nil, err
	}
	t, core := s.tenants.get(who.Tenant), s.core(who)
	w, err := t.workspaces(s.o, who.Actor())
	if err != nil {
		return nil, err
	}
	w.Reveals, w.Core, w.Reading = who.Has(store.ScopeReveal), core, s.reading
	w.Cover = func() (*hostfns.Cover, error) { return table.Cover(nil, true, core) }
	w.Accepted = func(ctx context.Context, one workspaces.Layer) error {
		return t.host.Record(ctx, audit.Event{Run: one.Run, Decision: &audit.Decision{Kind: "workspace", Target: one.ID + " of " + one.Folder, Effect: policy.Allow.String(), Writes: true,
			Approval: &audit.Approval{Via: "api", By: who.Actor().ID, Answer: "yes"}}})
	}
	return w, nil
}
