package httpd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/artifacts"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// agents is the MCP server of a tenant and a profile, for tokens that may use the same
// tools.
type agents struct {
	s       *Server
	profile string // or ""
	server  *mcpd.Server
	handler http.Handler
	table   atomic.Pointer[hostfns.Table] // that the server has
	users   sync.Map                      // service.Principal by the name of a user
}

// isMCP reports whether a request is for an MCP server, which bounds its body itself.
func isMCP(r *http.Request) bool {
	return r.URL.Path == mcpd.Path || strings.HasPrefix(r.URL.Path, mcpd.ProfilePath)
}

// serveMCP serves MCP to the tenant of the token, with all its tools or those of a
// profile.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	who, err := s.admit(w, r)
	if err == nil && !who.Has(store.ScopeRun) {
		err = fault.New(fault.DeniedScope, "the token does not have the scope %s", store.ScopeRun)
	}
	var a *agents
	if err == nil {
		who.Profile = r.PathValue("profile")
		a, err = s.agentsOf(who)
	}
	if err != nil {
		writeProblem(w, err)
		return
	}
	a.handler.ServeHTTP(w, r)
}

// agentsOf returns the MCP server for a principal, with the present table.
func (s *Server) agentsOf(who service.Principal) (*agents, error) {
	tenant := s.service.Tenant(who.Tenant)
	table, err := s.service.Table(who)
	if err != nil {
		return nil, err
	}
	key := who.Tenant + "\x00" + who.Profile + "\x00" + strings.Join(who.Tools, "\x00")
	kept, ok := s.mcp.Load(key)
	if !ok {
		made, err := s.newAgents(tenant, who.Profile, table)
		if err != nil {
			return nil, err
		}
		kept, _ = s.mcp.LoadOrStore(key, made)
	}
	a := kept.(*agents)
	if a.table.Swap(table) != table { // the tenant's files have changed
		a.server.Update(mcpd.State{Table: table, Limits: tenant.Settings().Limits})
	}
	return a, nil
}

func (s *Server) newAgents(tenant *service.Tenant, profile string, table *hostfns.Table) (*agents, error) {
	a := &agents{s: s, profile: profile}
	a.table.Store(table)
	a.server = mcpd.New(mcpd.Options{Engine: s.service.Engine(), Run: a.run, Keeper: a, ReadArtifact: a.readArtifact, Table: table, Limits: tenant.Settings().Limits,
		Env: tenant.Env(), Logger: s.o.Logger, Version: s.service.Version(), Tenant: tenant.Name, Profile: profile})
	var err error
	a.handler, err = a.server.Handler(mcpd.HTTPOptions{Verify: a.verify, AnyHost: true})
	return a, err
}

// verify implements auth.TokenVerifier.
func (a *agents) verify(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	who, err := a.s.service.Authenticate(ctx, token)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", auth.ErrInvalidToken, err)
	}
	who.Profile = a.profile
	user := who.Tenant + "/" + who.ID
	a.users.Store(user, who)
	return &auth.TokenInfo{UserID: user, Expiration: time.Now().Add(time.Hour), Extra: map[string]any{mcpd.ActorClaim: who.Actor().ID}}, nil
}

// run runs a program of a user.
func (a *agents) run(ctx context.Context, user string, req engine.Request) (*engine.Result, error) {
	who, err := a.principal(user)
	if err != nil {
		return &engine.Result{RunID: req.ID, Status: engine.StatusDenied}, err
	}
	return a.s.service.Run(ctx, who, req)
}

// principal returns a user whose token was verified.
func (a *agents) principal(user string) (service.Principal, error) {
	who, ok := a.users.Load(user)
	if !ok {
		return service.Principal{}, fault.New(fault.DeniedToken, "the token of the client is not known")
	}
	return who.(service.Principal), nil
}

// Kept implements mcpd.Keeper.
func (a *agents) Kept(ctx context.Context, user, id string) (*mcpd.Kept, error) {
	who, err := a.principal(user)
	if err != nil {
		return nil, err
	}
	run, err := a.s.service.Own(ctx, who, id)
	if err != nil {
		return nil, err
	}
	keep := time.Duration(0)
	if tenant := a.s.service.Tenant(who.Tenant); tenant != nil {
		keep = tenant.Settings().Retention
	}
	return &mcpd.Kept{Result: &run.Result, Ended: run.State == store.StateDone, Language: run.Language, Intent: run.Intent,
		Created: run.Created, Updated: run.Updated, Keep: keep}, nil
}

// Cancel implements mcpd.Keeper.
func (a *agents) Cancel(ctx context.Context, user, id string) error {
	who, err := a.principal(user)
	if err != nil {
		return err
	}
	if _, err := a.s.service.Own(ctx, who, id); err != nil {
		return err
	}
	_, err = a.s.service.Cancel(ctx, who, id)
	return err
}

// readArtifact reads an artifact for a user, whose model never sees values.
func (a *agents) readArtifact(ctx context.Context, user, id string, q artifacts.Query) (page artifacts.Page, err error) {
	who, err := a.principal(user)
	if err != nil {
		return page, err
	}
	if !who.Has(store.ScopeRead) {
		return page, fault.New(fault.DeniedScope, "the token does not have the scope %s", store.ScopeRead)
	}
	who.ID, who.Scopes = "", nil
	if page, err = a.s.service.ReadArtifact(ctx, who, id, q); errors.Is(err, fs.ErrNotExist) {
		err = fault.New(fault.UsageFile, "there is no such artifact, or it has expired")
	}
	return page, err
}
