// Package pages is what people see of a server: runs, approvals, tools, sessions, usage
// and the audit, as HTML that is rendered here. A page gets its data from the service
// as the API does, so it shows and does only what its token allows.
//
// All texts of programs, tools and servers are hostile: they are escaped, bounded, and
// their invisible characters are written out. No page has a script or a style in it,
// and the content security policy blocks scripts in it.
package pages

import (
	"net/http"

	"github.com/wexec/wexec/store"
)

// Mount adds the pages to a mux.
func Mount(mux *http.ServeMux, o Options) {
	p := &Pages{Options: o, usage: usageCache{store: o.Service.Store()}}
	mux.HandleFunc("GET /assets/{name}", serveAsset)
	mux.HandleFunc("POST /signin", p.signIn)
	mux.HandleFunc("POST /signout", p.signOut)
	for _, way := range []struct {
		pattern string
		scope   store.Scope
		serve   func(*view) error
	}{
		{"GET /{$}", store.ScopeRead, p.now},
		{"GET /runs", store.ScopeRead, p.runs},
		{"GET /runs/{id}", store.ScopeRead, p.run},
		{"GET /runs/{id}/value", store.ScopeRead, p.download},
		{"GET /runs/{id}/output", store.ScopeRead, p.download},
		{"GET /runs/{id}/code", store.ScopeRead, p.download},
		{"POST /runs/{id}/cancel", store.ScopeRun, p.cancel},
		{"POST /runs/{id}/again", store.ScopeRun, p.again},
		{"GET /policy", store.ScopeAdmin, p.policy},
		{"GET /approvals", store.ScopeRead, p.approvals},
		{"POST /approvals/{id}", store.ScopeApprove, p.decide},
		{"POST /approvals/{id}/reveal", store.ScopeReveal, p.reveal},
		{"GET /tools", store.ScopeRead, p.tools},
		{"GET /sessions", store.ScopeRead, p.sessions},
		{"GET /usage", store.ScopeRead, p.used},
		{"GET /audit", store.ScopeAdmin, p.audit},
		{"GET /live", store.ScopeRead, p.live},
		{"GET /live/{id}", store.ScopeRead, p.liveRun},
	} {
		mux.HandleFunc(way.pattern, func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, way.scope, way.serve) })
	}
}
