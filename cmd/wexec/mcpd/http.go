package mcpd

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/cmd/wexec/internal/door"
)

// HTTPOptions configure who may connect over HTTP.
type HTTPOptions struct {
	// Token is the bearer token of every request. Required, unless OAuth or Verify
	// is set.
	Token string
	// Verify returns who has a token. Nil: Token and OAuth decide.
	Verify auth.TokenVerifier
	// OAuth accepts access tokens as well. Nil accepts none.
	OAuth *OAuth
	// Hosts are the host names of this server, other than those of the loopback
	// and the address it listens at. A request for another host is rejected, so
	// that a web page cannot reach the server by DNS rebinding.
	Hosts []string
	// AnyHost accepts requests for every host: the caller checks them.
	AnyHost bool
	// Profile returns the server of a profile, which is at ProfilePath and its name.
	// Nil: there are no profiles, or the caller has chosen the server.
	Profile func(name string) (*Server, error)
	// Origins are the web origins whose pages may call, other than the loopback.
	// A request without an Origin is not from a web page.
	Origins []string
	// Sessions is how many clients may be connected at once. Zero is 64.
	Sessions int
	// Pending is how many connections of one address may be open that have sent no
	// request for two seconds. The oldest ones are closed. Zero is 32.
	// Negative lifts this limit, but not the one of all addresses: behind a proxy,
	// every connection has the address of the proxy.
	Pending int
	// Idle is how long an idle client stays connected. Zero is 10 minutes.
	Idle time.Duration
	// HeaderTimeout is how long the header of a request may take, and all of a
	// request that is not authorized. Zero is 5 s.
	HeaderTimeout time.Duration
	// ReadTimeout is how long the body of a request may take. Zero is 30 s.
	ReadTimeout time.Duration
}

// Path is the path of the server over HTTP, and ProfilePath, with a name, that of one
// of its profiles.
const (
	Path        = "/mcp"
	ProfilePath = Path + "/p/"
)

const (
	defaultSessions = 64
	defaultPending  = 32
	maxHeader       = 16 << 10  // bytes of the header of a request
	maxBody         = 8 << 20   // bytes of one request
	maxBodies       = 128 << 20 // bytes of all requests that are read or answered
	// maxPending bounds the connections without a valid token.
	maxPending = 128
	// maxOtherConns bounds those with one that are not those of sessions.
	maxOtherConns = 128

	defaultHeaderTimeout = 5 * time.Second
)

// Handler returns a handler for MCP over streamable HTTP, for clients with and
// without sessions.
func (s *Server) Handler(o HTTPOptions) (http.Handler, error) {
	h, err := s.newHandler(o)
	if err != nil {
		return nil, err
	}
	return h.mux(), nil
}

// newHandler checks the options and returns a handler for authorized requests.
func (s *Server) newHandler(o HTTPOptions) (*httpHandler, error) {
	auth, err := newAuthenticator(o.Token, o.OAuth, o.Verify)
	if err != nil {
		return nil, err
	}
	o.Sessions = cmp.Or(max(o.Sessions, 0), defaultSessions)
	o.Idle = cmp.Or(max(o.Idle, 0), 10*time.Minute)
	o.HeaderTimeout = cmp.Or(max(o.HeaderTimeout, 0), defaultHeaderTimeout)
	o.ReadTimeout = cmp.Or(max(o.ReadTimeout, 0), 30*time.Second)
	return &httpHandler{o: o, auth: auth, main: newServed(s, o)}, nil
}

// mux routes requests.
func (h *httpHandler) mux() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(Path, h)
	mux.Handle(ProfilePath+"{profile}", h)
	if h.auth.metadata != nil { // for the resource with and without its path
		mux.HandleFunc(metadataPath, h.serveMetadata)
		mux.HandleFunc(metadataPath+"/", h.serveMetadata)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the MCP server is at "+Path, http.StatusNotFound)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := door.Of(r)
		if c != nil {
			defer c.Ask()()
		}
		if c == nil || !c.IsAdmitted() {
			w.Header().Set("Connection", "close") // unless the request is authorized
		}
		// The library reads the bodies of rejected requests too.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.o.HeaderTimeout))
		mux.ServeHTTP(w, r)
	})
}

// HTTP serves clients at a listener until the context ends. Their runs end with
// it.
func (s *Server) HTTP(ctx context.Context, l net.Listener, o HTTPOptions) error {
	o.Hosts = append(slices.Clone(o.Hosts), hostName(l.Addr().String()))
	if o.OAuth != nil {
		if u, err := url.Parse(o.OAuth.Resource); err == nil && u.Host != "" {
			o.Hosts = append(o.Hosts, u.Host)
		}
	}
	h, err := s.newHandler(o)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: h.mux(), ReadHeaderTimeout: cmp.Or(max(o.HeaderTimeout, 0), defaultHeaderTimeout), IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: maxHeader, ConnContext: door.Context, ErrorLog: slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug)}
	// A flood of connections leaves the process its file descriptors. A client has
	// a stream and calls at the same time.
	l = &door.Listener{Listener: l, PerAddress: cmp.Or(o.Pending, defaultPending), Pending: maxPending,
		Admitted: maxOtherConns + 8*cmp.Or(max(o.Sessions, 0), defaultSessions)}
	return door.Serve(ctx, srv, l, 2*time.Second, func(context.Context) {
		for at := range h.all() {
			at.s.runs.cancelAll()
		}
	})
}

// httpHandler checks requests before the library handles them.
type httpHandler struct {
	o        HTTPOptions
	auth     *authenticator
	main     *served
	profiles sync.Map     // *served by the server of a profile
	bodies   atomic.Int64 // bytes of bodies in memory
}

// served is a server for clients with and without sessions.
type served struct {
	s         *Server
	stateful  *mcp.StreamableHTTPHandler
	stateless *mcp.StreamableHTTPHandler
}

func newServed(s *Server, o HTTPOptions) *served {
	server := func(*http.Request) *mcp.Server { return s.mcp }
	// checkHost does what the library's protection does, and knows o.Hosts.
	stateful := mcp.StreamableHTTPOptions{Logger: s.o.Logger, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true}
	stateless := stateful
	stateful.SessionTimeout, stateful.EventStore = o.Idle, new(events)
	stateless.Stateless, stateless.PropagateRequestCancellation = true, true
	return &served{s, mcp.NewStreamableHTTPHandler(server, &stateful), mcp.NewStreamableHTTPHandler(server, &stateless)}
}

// served returns the server that a request is for.
func (h *httpHandler) served(r *http.Request) (*served, error) {
	name := r.PathValue("profile")
	if name == "" || h.o.Profile == nil {
		return h.main, nil
	}
	s, err := h.o.Profile(name)
	if err != nil {
		return nil, err
	}
	at, ok := h.profiles.Load(s)
	if !ok {
		at, _ = h.profiles.LoadOrStore(s, newServed(s, h.o))
	}
	return at.(*served), nil
}

// all returns the servers that clients have used, and the main one.
func (h *httpHandler) all() iter.Seq[*served] {
	return func(yield func(*served) bool) {
		if yield(h.main) {
			h.profiles.Range(func(_, at any) bool { return yield(at.(*served)) })
		}
	}
}

// ServeHTTP implements http.Handler.
func (h *httpHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	headers := r.Header.Values("Authorization")
	switch {
	case !h.checkHost(w, r):
	case !h.allowedOrigin(r.Header.Values("Origin")):
		http.Error(w, "pages of this origin may not call this server", http.StatusForbidden)
	case h.auth.require != nil && len(headers) <= 1:
		h.auth.require(http.HandlerFunc(h.serve)).ServeHTTP(w, r)
	case h.auth.require != nil:
		http.Error(w, "send one bearer token", http.StatusUnauthorized)
	case len(headers) == 1 && h.auth.isToken(bearerToken(headers[0])):
		h.serve(w, r)
	default:
		w.Header().Set("WWW-Authenticate", `Bearer realm="wexec"`)
		http.Error(w, "a bearer token is required", http.StatusUnauthorized)
	}
}

// serveMetadata serves the metadata for logins, without a token.
func (h *httpHandler) serveMetadata(w http.ResponseWriter, r *http.Request) {
	if h.checkHost(w, r) {
		h.auth.metadata.ServeHTTP(w, r)
	}
}

// serve handles an authorized request.
func (h *httpHandler) serve(w http.ResponseWriter, r *http.Request) {
	if c := door.Of(r); c != nil && !c.Admit() {
		unavailable(w, "too many connections are open")
		return
	}
	w.Header().Del("Connection")
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(h.o.ReadTimeout))
	release, ok := h.readBody(w, r)
	defer release()
	if !ok {
		return
	}
	at, err := h.served(r)
	if err != nil {
		http.Error(w, withHint(err), http.StatusNotFound)
		return
	}
	defer at.s.beginRequest(r)()
	session := r.Header.Get("Mcp-Session-Id")
	switch {
	case session == "" && r.Header.Get("Mcp-Protocol-Version") >= roundTrips:
		at.stateless.ServeHTTP(w, r)
		return
	case session == "" && r.Method == http.MethodPost && h.full():
		unavailable(w, "too many clients are connected")
		return
	case session != "" && r.Method == http.MethodDelete:
		// The session closes when its calls have ended, so they are cancelled
		// first, unless they are another user's.
		at.s.runs.cancelOf(session, userOf(&mcp.RequestExtra{TokenInfo: auth.TokenInfoFromContext(r.Context())}))
	}
	at.stateful.ServeHTTP(w, r)
}

func unavailable(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "30")
	http.Error(w, why, http.StatusServiceUnavailable)
}

// readBody reads the body of a request before its deadline, and lifts the
// deadline for the answer. Release gives back the memory of the body.
func (h *httpHandler) readBody(w http.ResponseWriter, r *http.Request) (release func(), ok bool) {
	size := r.ContentLength
	if size < 0 || size > maxBody {
		size = maxBody // unknown, or rejected when it is read
	}
	release = func() { h.bodies.Add(-size) }
	if h.bodies.Add(size) > maxBodies {
		unavailable(w, "too many requests are being read")
		return release, false
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		return release, false
	case err != nil:
		http.Error(w, "the request body did not arrive", http.StatusRequestTimeout)
		return release, false
	}
	h.bodies.Add(int64(len(body)) - size)
	size = int64(len(body))
	r.Body = io.NopCloser(bytes.NewReader(body))
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return release, true
}

// full reports whether no more clients can connect.
func (h *httpHandler) full() bool {
	n := 0
	for at := range h.all() {
		for session := range at.s.mcp.Sessions() {
			if session.ID() != "" {
				n++
			}
		}
	}
	return n >= h.o.Sessions
}

// checkHost rejects requests for other hosts.
func (h *httpHandler) checkHost(w http.ResponseWriter, r *http.Request) bool {
	name := hostName(r.Host)
	if h.o.AnyHost || loopback(name) || slices.ContainsFunc(h.o.Hosts, func(h string) bool { return strings.EqualFold(hostName(h), name) }) {
		return true
	}
	http.Error(w, "this server does not serve the host in the request", http.StatusForbidden)
	return false
}

// allowedOrigin reports whether a request is not from a web page, or from one
// that may call.
func (h *httpHandler) allowedOrigin(origins []string) bool {
	if len(origins) != 1 {
		return len(origins) == 0
	}
	if slices.Contains(h.o.Origins, origins[0]) {
		return true
	}
	u, err := url.Parse(origins[0])
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && loopback(u.Hostname())
}

// hostName is a host without its port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		return name
	}
	return strings.Trim(host, "[]")
}
