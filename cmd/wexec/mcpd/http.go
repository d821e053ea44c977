package mcpd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPOptions say who may connect over HTTP, and how many.
type HTTPOptions struct {
	// Token is what every request has to bear. Required, unless OAuth is set.
	Token string
	// OAuth takes access tokens too. Nil takes none.
	OAuth *OAuth
	// Hosts are names under which the server is reached, beside those of the
	// loopback and the address it listens at. A request for another host is
	// refused, so that no web page reaches it through a name of its own.
	Hosts []string
	// Origins are the web origins whose pages may call, beside those of the
	// loopback. Requests without an Origin come from no page.
	Origins []string
	// Sessions is how many clients may be connected at once. Zero is 64.
	Sessions int
	// Idle is how long a client that says nothing is kept. Zero is 10 minutes.
	Idle time.Duration
	// Patience is how long the body of a request may take to arrive. Zero is
	// 30 s.
	Patience time.Duration
}

// Path is where the server answers over HTTP.
const Path = "/mcp"

// defaultSessions is HTTPOptions.Sessions where it is not said.
const defaultSessions = 64

// maxBody is the most that is read of one request.
const maxBody = 8 << 20

// Handler answers MCP over streamable HTTP, for any number of clients: those
// with sessions, and those of the protocol that has none.
func (s *Server) Handler(o HTTPOptions) (http.Handler, error) {
	gate, err := newGatekeeper(o)
	if err != nil {
		return nil, err
	}
	if o.Sessions <= 0 {
		o.Sessions = defaultSessions
	}
	if o.Idle <= 0 {
		o.Idle = 10 * time.Minute
	}
	if o.Patience <= 0 {
		o.Patience = 30 * time.Second
	}
	get := func(*http.Request) *mcp.Server { return s.mcp }
	// The SDK's own check of Host is replaced by one that knows o.Hosts.
	common := mcp.StreamableHTTPOptions{Logger: s.o.Logger, MaxRequestBodyBytes: maxBody, DisableLocalhostProtection: true}
	with, without := common, common
	with.SessionTimeout = o.Idle
	without.Stateless, without.PropagateRequestCancellation = true, true
	door := &httpDoor{s: s, o: o, gate: gate,
		sessions: mcp.NewStreamableHTTPHandler(get, &with), single: mcp.NewStreamableHTTPHandler(get, &without)}
	mux := http.NewServeMux()
	mux.Handle(Path, door)
	if gate.metadata != nil {
		// For the resource with and without its path.
		mux.HandleFunc(metadataPath, door.metadata)
		mux.HandleFunc(metadataPath+"/", door.metadata)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the MCP server answers at "+Path, http.StatusNotFound)
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The library reads what is left of a body after it was answered, so
		// this holds for those who are refused too.
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(o.Patience))
		mux.ServeHTTP(w, r)
	}), nil
}

// maxStrangers bounds the connections beyond those of clients.
const maxStrangers = 256

// bounded accepts so many connections at once; the rest wait in the system's
// queue. So a flood of them leaves this process its descriptors.
type bounded struct {
	net.Listener
	places chan struct{}
}

// Accept implements net.Listener.
func (b *bounded) Accept() (net.Conn, error) {
	b.places <- struct{}{}
	c, err := b.Listener.Accept()
	if err != nil {
		<-b.places
		return nil, err
	}
	return &placed{Conn: c, leave: sync.OnceFunc(func() { <-b.places })}, nil
}

// placed is a connection that has one of the places.
type placed struct {
	net.Conn
	leave func()
}

// Close implements net.Conn.
func (p *placed) Close() error {
	defer p.leave()
	return p.Conn.Close()
}

// HTTP serves clients at a listener until the context ends. Their runs end
// with it.
func (s *Server) HTTP(ctx context.Context, l net.Listener, o HTTPOptions) error {
	if host, _, err := net.SplitHostPort(l.Addr().String()); err == nil {
		o.Hosts = append(slices.Clone(o.Hosts), host)
	}
	if o.OAuth != nil {
		if u, err := url.Parse(o.OAuth.Resource); err == nil && u.Host != "" {
			o.Hosts = append(o.Hosts, u.Host)
		}
	}
	h, err := s.Handler(o)
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(s.o.Logger.Handler(), slog.LevelDebug)}
	served := make(chan error, 1)
	clients := o.Sessions
	if clients <= 0 {
		clients = defaultSessions
	}
	// A client has a stream open and calls beside it.
	places := &bounded{l, make(chan struct{}, maxStrangers+8*clients)}
	go func() { served <- srv.Serve(places) }()
	select {
	case err := <-served:
		s.runs.close()
		return err
	case <-ctx.Done():
	}
	s.runs.close()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := srv.Shutdown(ending); err != nil {
		err = srv.Close() // streams that clients hold open
		if err != nil {
			return err
		}
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// httpDoor checks who comes in.
type httpDoor struct {
	s        *Server
	o        HTTPOptions
	gate     *gatekeeper
	sessions *mcp.StreamableHTTPHandler
	single   *mcp.StreamableHTTPHandler
}

// ServeHTTP implements http.Handler.
func (d *httpDoor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !d.knownHost(r.Host) {
		http.Error(w, "this server does not answer for the host in the request", http.StatusForbidden)
		return
	}
	if !d.knownOrigin(r.Header.Values("Origin")) {
		http.Error(w, "pages of this origin may not call", http.StatusForbidden)
		return
	}
	switch headers := r.Header.Values("Authorization"); {
	case d.gate.keys == nil && !d.bears(headers):
		w.Header().Set("WWW-Authenticate", `Bearer realm="wexec"`)
		http.Error(w, "a bearer token is needed", http.StatusUnauthorized)
	case d.gate.keys == nil:
		d.pass(w, r)
	case len(headers) > 1:
		http.Error(w, "one bearer token is needed", http.StatusUnauthorized)
	default:
		d.gate.require(http.HandlerFunc(d.pass)).ServeHTTP(w, r)
	}
}

// metadata tells where access tokens are to be had. Everybody may know.
func (d *httpDoor) metadata(w http.ResponseWriter, r *http.Request) {
	if !d.knownHost(r.Host) {
		http.Error(w, "this server does not answer for the host in the request", http.StatusForbidden)
		return
	}
	d.gate.metadata.ServeHTTP(w, r)
}

// pass hands on a request that was let in.
func (d *httpDoor) pass(w http.ResponseWriter, r *http.Request) {
	if !taken(w, r) {
		return
	}
	defer d.s.requests.enter(r)()
	session := r.Header.Get("Mcp-Session-Id")
	if session == "" && r.Header.Get("Mcp-Protocol-Version") >= roundTrips {
		d.single.ServeHTTP(w, r)
		return
	}
	switch {
	case session == "" && r.Method == http.MethodPost && d.full():
		w.Header().Set("Retry-After", "30")
		http.Error(w, "too many clients are connected", http.StatusServiceUnavailable)
		return
	case session != "" && r.Method == http.MethodDelete:
		// The session closes when its calls have ended, so they end first.
		d.s.runs.leaveAs(session, userOf(&mcp.RequestExtra{TokenInfo: auth.TokenInfoFromContext(r.Context())}))
	}
	d.sessions.ServeHTTP(w, r)
}

// taken reads the body of a request, in bounded time. Then the connection may
// be silent for as long as its answer takes.
func taken(w http.ResponseWriter, r *http.Request) bool {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, "the request is too large", http.StatusRequestEntityTooLarge)
		return false
	case err != nil:
		http.Error(w, "the request did not arrive", http.StatusRequestTimeout)
		return false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return true
}

// full reports whether as many clients are connected as may be.
func (d *httpDoor) full() bool {
	n := 0
	for session := range d.s.mcp.Sessions() {
		if session.ID() != "" {
			n++
		}
	}
	return n >= d.o.Sessions
}

func (d *httpDoor) bears(headers []string) bool {
	if len(headers) != 1 {
		return false
	}
	kind, token, ok := strings.Cut(headers[0], " ")
	if !ok || !strings.EqualFold(kind, "bearer") {
		return false
	}
	return d.gate.fixed(strings.TrimSpace(token))
}

func (d *httpDoor) knownHost(host string) bool {
	name := hostName(host)
	return loopback(name) || slices.ContainsFunc(d.o.Hosts, func(h string) bool { return strings.EqualFold(hostName(h), name) })
}

// knownOrigin lets requests pass that no web page made, and those of pages
// that may call.
func (d *httpDoor) knownOrigin(origins []string) bool {
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	if slices.Contains(d.o.Origins, origins[0]) {
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

func loopback(name string) bool {
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}
