// Package httpd is the HTTP door of a server: runs, approvals, tools, sessions,
// artifacts, workspaces, tokens and usage as JSON under /v1, MCP at /mcp, and pages for people.
// Every route of the API is in one table, which also makes the OpenAPI document at
// /v1/openapi.json.
package httpd

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/wexec/wexec/cmd/wexec/httpd/pages"
	"github.com/wexec/wexec/cmd/wexec/internal/door"
	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/telemetry"
	"github.com/wexec/wexec/store"
)

// routes is the API.
func routes() []route {
	events := route{method: "GET", path: "/v1/runs/{id}/events", scope: store.ScopeRead, summary: "Follow a run as server-sent events", operation: "followRun",
		in: inputOf[eventsInput](), status: http.StatusOK, media: "text/event-stream", serve: streamEvents}
	run := typed("POST", "/v1/runs", store.ScopeRun, "Run a program", submit)
	run.also = []int{http.StatusAccepted}
	export := route{method: "GET", path: "/v1/audit/export", scope: store.ScopeAdmin, summary: "Export the audit log as lines of JSON",
		in: inputOf[exportInput](), status: http.StatusOK, media: "application/x-ndjson", serve: exportAudit}
	makeToken := typed("POST", "/v1/tokens", store.ScopeAdmin, "Make a token", createToken)
	makeToken.status = http.StatusCreated
	makeSession := typed("POST", "/v1/sessions", store.ScopeRun, "Create a session, which keeps what its runs define", createSession)
	makeSession.status = http.StatusCreated
	fork := typed("POST", "/v1/sessions/{name}/fork", store.ScopeRun, "Make a session that goes on with what another one has", forkSession)
	fork.status = http.StatusCreated
	makeTask := typed("POST", "/v1/tasks", store.ScopeRun, "Leave a program to the server: later, again and again, or until it succeeds", addTask).as("addTask")
	makeTask.status = http.StatusCreated
	put := typed("POST", artifactsPath, store.ScopeRun, "Keep content as an artifact", putArtifact)
	put.status, put.streams = http.StatusCreated, true
	download := route{method: "GET", path: artifactsPath + "/{sha256}", scope: store.ScopeRead, summary: "Read an artifact",
		in: inputOf[artifactInput](), status: http.StatusOK, also: []int{http.StatusPartialContent, http.StatusNotModified}, media: "*/*", serve: getArtifact}
	metrics := route{method: "GET", path: "/metrics", scope: store.ScopeAdmin, summary: "Read the metrics of the server, in the text format of Prometheus", operation: "getMetrics",
		in: inputOf[none](), status: http.StatusOK, media: "text/plain; version=0.0.4; charset=utf-8", serve: serveMetrics}
	makeWorkspace := typed("POST", "/v1/workspaces", store.ScopeRun, "Make a workspace over a folder", createWorkspace)
	makeWorkspace.status = http.StatusCreated
	changes := func(what, summary, media string, serve func(*Server, *call) error) route {
		return route{method: "GET", path: "/v1/workspaces/{id}/" + what, scope: store.ScopeRead, summary: summary, in: inputOf[workspaceInput](), status: http.StatusOK, media: media, serve: serve}
	}
	return []route{
		metrics,
		run,
		typed("GET", "/v1/runs", store.ScopeRead, "List runs, the newest first", listRuns),
		typed("GET", "/v1/runs/{id}", store.ScopeRead, "Show a run", getRun),
		typed("POST", "/v1/runs/{id}/cancel", store.ScopeRun, "Cancel a run", cancelRun),
		typed("POST", "/v1/runs/{id}/resume", store.ScopeRun, "Make a parked run go on", resumeRun),
		typed("POST", "/v1/runs/{id}/signals/{name}", store.ScopeRun, "Send a signal to a run", signalRun).as("signalRun"),
		events,
		typed("GET", "/v1/approvals", store.ScopeRead, "List the questions to people", listApprovals),
		typed("POST", "/v1/approvals/{id}", store.ScopeApprove, "Answer a question", decide).as("answerApproval"),
		typed("GET", "/v1/tools", store.ScopeRead, "List the tools that programs may call", listTools),
		typed("GET", "/v1/tools/search", store.ScopeRead, "Search tools by words", searchTools),
		typed("GET", "/v1/tools/{id}", store.ScopeRead, "Show a tool with its declaration", getTool),
		typed("GET", "/v1/sessions", store.ScopeRead, "List sessions", listSessions),
		makeSession,
		typed("GET", "/v1/sessions/{name}", store.ScopeRead, "Show a session", getSession),
		typed("DELETE", "/v1/sessions/{name}", store.ScopeRun, "End a session, awake or asleep", endSession),
		typed("POST", "/v1/sessions/{name}/sleep", store.ScopeRun, "Put a session to sleep", sleepSession),
		typed("POST", "/v1/sessions/{name}/wake", store.ScopeRun, "Wake a session", wakeSession),
		fork,
		makeTask,
		typed("GET", "/v1/tasks", store.ScopeRead, "List tasks, the newest first", listTasks),
		typed("GET", "/v1/tasks/{id}", store.ScopeRead, "Show a task with its newest attempts", getTask),
		typed("POST", "/v1/tasks/{id}/cancel", store.ScopeRun, "Cancel a task and its schedule", cancelTask),
		typed("POST", "/v1/tasks/{id}/retry", store.ScopeRun, "Try a task again that failed or was cancelled", retryTask),
		typed("POST", "/v1/tasks/{id}/accept", store.ScopeApprove, "Make the changes of a task in the folder of its workspace", acceptTask),
		typed("POST", "/v1/tasks/{id}/reject", store.ScopeApprove, "Drop the changes of a task", rejectTask),
		put,
		typed("GET", artifactsPath, store.ScopeRead, "List artifacts, the newest first", listArtifacts),
		download,
		typed("GET", artifactsPath+"/{sha256}/lines", store.ScopeRead, "Read or search lines of a text, in pages; without the scope reveal, texts of others have tokens instead of personal data", artifactLines),
		typed("DELETE", artifactsPath+"/{sha256}", store.ScopeRun, "Delete an artifact", deleteArtifact),
		typed("GET", "/v1/workspaces", store.ScopeRead, "List workspaces, the newest first", listWorkspaces),
		makeWorkspace,
		typed("GET", "/v1/workspaces/{id}", store.ScopeRead, "Show a workspace", getWorkspace),
		typed("DELETE", "/v1/workspaces/{id}", store.ScopeRun, "Delete a workspace with its changes", deleteWorkspace),
		changes("diff", "Show the changes as git does", "text/plain; charset=utf-8", diffWorkspace),
		changes("export", "Read the files that changed as a ZIP archive", "application/zip", exportWorkspace),
		typed("POST", "/v1/workspaces/{id}/accept", store.ScopeApprove, "Make the changes in the folder", acceptWorkspace),
		typed("POST", "/v1/workspaces/{id}/reject", store.ScopeApprove, "Drop the changes", rejectWorkspace),
		typed("GET", "/v1/usage", store.ScopeRead, "Sum what runs used", usage),
		typed("GET", "/v1/tokens", store.ScopeAdmin, "List tokens", listTokens),
		makeToken,
		typed("POST", "/v1/subjects/delete", store.ScopeAdmin, "Delete a person", deleteSubject).as("deleteSubject"),
		typed("GET", "/v1/audit/verify", store.ScopeAdmin, "Verify the audit log of this server", verifyAudit),
		export,
		typed("DELETE", "/v1/tokens/{id}", store.ScopeAdmin, "Revoke a token", revokeToken).as("revokeToken"),
	}
}

// New returns the API of a service.
func New(o Options) (*Server, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{o: o, service: o.Service, ending: make(chan struct{})}
	all := routes()
	var err error
	if s.document, err = openAPI(o.Service.Version(), all); err != nil {
		return nil, fmt.Errorf("describe the API: %w", err)
	}
	mux := http.NewServeMux()
	for _, rt := range all {
		mux.HandleFunc(rt.method+" "+rt.path, func(w http.ResponseWriter, r *http.Request) { s.serve(w, r, rt) })
	}
	mux.HandleFunc("GET /v1/openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.document)
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /ready", s.ready)
	mux.HandleFunc(mcpd.Path, s.serveMCP)
	mux.HandleFunc(mcpd.ProfilePath+"{profile}", s.serveMCP)
	pages.Mount(mux, pages.Options{Service: o.Service, Logger: o.Logger, Admit: s.admitToken, Secure: o.Proxied, Ending: s.ending,
		Status: func(err error) int { return problemOf(err).Status },
		About:  func(r *http.Request, run string) { accessOf(r.Context()).about(run) }})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { writeNotFound(w, r, mux) })
	s.handler = logged(o.Access, s.bounded(mux))
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// bounded bounds the time and size of requests, and refuses those that a page of
// another site makes.
func (s *Server) bounded(next http.Handler) http.Handler {
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeProblem(w, fault.New(fault.DeniedScope, "pages of another site may not call this server"))
	}))
	guarded := protection.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := door.Of(r)
		if c != nil {
			defer c.Ask()()
		}
		if c == nil || !c.IsAdmitted() {
			w.Header().Set("Connection", "close") // unless the request has a token
		}
		w.Header().Set("X-Content-Type-Options", "nosniff")
		flow := http.NewResponseController(w)
		_ = flow.SetReadDeadline(time.Now().Add(readTimeout))
		_ = flow.SetWriteDeadline(time.Time{})        // the one of an earlier request on the connection may have passed
		if !isMCP(r) && r.URL.Path != artifactsPath { // they bound their bodies themselves
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		}
		guarded.ServeHTTP(w, r)
	})
}

// serve handles a request of the API.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, rt route) {
	who, err := s.admit(w, r)
	if err == nil && rt.scope != "" && !who.Has(rt.scope) {
		err = fault.New(fault.DeniedScope, "the token does not have the scope %s", rt.scope)
	}
	if err == nil {
		size := r.ContentLength
		switch {
		case rt.streams:
			size = streamMemory
		case size < 0 || size > maxBody:
			size = maxBody // unknown, or refused when it is read
		}
		defer s.bodies.Add(-size)
		if s.bodies.Add(size) > maxBodies {
			err = fault.New(fault.LimitBusy, "too many requests are being read")
		}
	}
	if err == nil {
		r = r.WithContext(telemetry.WithParent(r.Context(), r.Header.Get(telemetry.Header)))
		err = rt.serve(s, &call{w, r, who, rt})
	}
	if err == nil {
		return
	}
	if r.Context().Err() != nil {
		panic(http.ErrAbortHandler) // the client has gone: an empty answer would mean success
	}
	if code := fault.CodeOf(err); code.Class() == fault.ClassInternal {
		s.o.Logger.Error("a request failed", "method", r.Method, "route", rt.path, "error", err)
	}
	writeProblem(w, err)
}

// ready says whether the server takes work.
func (s *Server) ready(w http.ResponseWriter, r *http.Request) {
	if s.service.Draining() {
		plain(w, http.StatusServiceUnavailable, "stopping")
		return
	}
	if _, err := s.service.Store().Queue(r.Context(), store.KindRun, ""); err != nil {
		plain(w, http.StatusServiceUnavailable, "the store does not answer")
		return
	}
	plain(w, http.StatusOK, "ready")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text + "\n"))
}

// writeNotFound answers a request without a route. If its path has routes with other
// methods, it names them.
func writeNotFound(w http.ResponseWriter, r *http.Request, mux *http.ServeMux) {
	p := Problem{Type: "about:blank", Title: http.StatusText(http.StatusNotFound), Status: http.StatusNotFound, Code: fault.UsageFlag,
		Detail: fmt.Sprintf("there is no route %s %.100s", r.Method, r.URL.Path), Hint: "GET /v1/openapi.json lists the routes"}
	var allowed []string
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
		other := &http.Request{Method: method, URL: r.URL, Host: r.Host}
		if _, pattern := mux.Handler(other); pattern != "/" {
			allowed = append(allowed, method)
		}
	}
	if len(allowed) > 0 {
		p.Title, p.Status = http.StatusText(http.StatusMethodNotAllowed), http.StatusMethodNotAllowed
		p.Hint = "use " + strings.Join(allowed, " or ")
		w.Header().Set("Allow", strings.Join(allowed, ", "))
	}
	writeProblemOf(w, p)
}

// Serve answers at a listener, with TLS unless security is nil, until the context
// ends. Then it takes no more work, waits for runs, and closes, at most within grace.
func (s *Server) Serve(ctx context.Context, l net.Listener, security *tls.Config, grace time.Duration) error {
	srv := &http.Server{Handler: s, ReadHeaderTimeout: headerTimeout, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: maxHeader,
		ConnContext: door.Context, ErrorLog: slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug)}
	pending := perAddress
	if s.o.Proxied {
		pending = -1
	}
	l = &door.Listener{Listener: l, PerAddress: pending, Pending: maxPending, Admitted: maxAdmitted}
	if security != nil {
		l = tls.NewListener(l, security)
	}
	return door.Serve(ctx, srv, l, grace, func(ending context.Context) {
		s.service.Drain(ending)
		close(s.ending)
	})
}
