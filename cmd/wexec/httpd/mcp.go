package httpd

import (
	"context"
	"fmt"
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
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// agents is the MCP server of a tenant, for tokens that may use the same tools.
type agents struct {
	s       *Server
	server  *mcpd.Server
	handler http.Handler
	table   atomic.Pointer[hostfns.Table] // that the server has
	users   sync.Map                      // service.Principal by the name of a user
}

// serveMCP serves MCP to the tenant of the token.
func (s *Server) serveMCP(w http.ResponseWriter, r *http.Request) {
	who, err := s.admit(w, r)
	if err == nil && !who.Has(store.ScopeRun) {
		err = fault.New(fault.DeniedScope, "the token does not have the scope %s", store.ScopeRun)
	}
	var a *agents
	if err == nil {
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
	key := who.Tenant + "\x00" + strings.Join(who.Tools, "\x00")
	kept, ok := s.mcp.Load(key)
	if !ok {
		made, err := s.newAgents(tenant, table)
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

func (s *Server) newAgents(tenant *service.Tenant, table *hostfns.Table) (*agents, error) {
	a := &agents{s: s}
	a.table.Store(table)
	a.server = mcpd.New(mcpd.Options{Engine: s.service.Engine(), Run: a.run, Table: table, Limits: tenant.Settings().Limits,
		Env: tenant.Env(), Logger: s.o.Logger, Version: s.service.Version()})
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
	user := who.Tenant + "/" + who.ID
	a.users.Store(user, who)
	return &auth.TokenInfo{UserID: user, Expiration: time.Now().Add(time.Hour), Extra: map[string]any{mcpd.ActorClaim: who.Actor().ID}}, nil
}

// run runs a program of a user.
func (a *agents) run(ctx context.Context, user string, req engine.Request) (*engine.Result, error) {
	who, ok := a.users.Load(user)
	if !ok {
		err := fault.New(fault.DeniedToken, "the token of the client is not known")
		return &engine.Result{RunID: req.ID, Status: engine.StatusDenied}, err
	}
	return a.s.service.Run(ctx, who.(service.Principal), req)
}
