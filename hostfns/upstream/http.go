package upstream

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/scrub"
	"github.com/wexec/wexec/internal/telemetry"
)

// httpTransport connects to a server over streamable HTTP or SSE. login handles
// the login that the server requires; it may be nil.
func httpTransport(s Server, way http.RoundTripper, login auth.OAuthHandler) mcp.Transport {
	if s.Transport == SSE && login != nil {
		way = &loginTripper{login: login, host: hostOf(s.URL), next: way}
	}
	client := &http.Client{Transport: way, CheckRedirect: func(req *http.Request, via []*http.Request) error {
		if from := via[0].URL; req.URL.Scheme != from.Scheme || req.URL.Host != from.Host {
			return fmt.Errorf("the server redirects to another origin, %s://%s", req.URL.Scheme, req.URL.Host)
		}
		if len(via) >= maxRedirects {
			return fmt.Errorf("the server redirects more than %d times", maxRedirects)
		}
		return nil
	}}
	if s.Transport == SSE {
		return lasting{&mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: client}}
	}
	return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: maxMessage, OAuthHandler: login}
}

// maxRedirects bounds the redirects of one request. All stay on the origin of
// the server: a request that it passes on would come from this machine.
const maxRedirects = 5

// loginTripper sends the token of a login with each request to a server, and logs
// in when the server requires it. The SDK does this for streamable HTTP
// but not for SSE.
type loginTripper struct {
	login auth.OAuthHandler
	host  string // the only host that gets the token
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (l *loginTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != l.host {
		return l.next.RoundTrip(req)
	}
	first, err := l.withToken(req)
	if err != nil {
		return nil, err
	}
	resp, err := l.next.RoundTrip(first)
	if err != nil || (resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden) {
		return resp, err
	}
	if err := l.login.Authorize(req.Context(), first, resp); err != nil {
		return nil, err
	}
	again, err := l.withToken(req)
	if err != nil {
		return nil, err
	}
	if req.Body != nil {
		if again.Body, err = bodyAgain(req); err != nil {
			return nil, err
		}
	}
	return l.next.RoundTrip(again)
}

func bodyAgain(req *http.Request) (io.ReadCloser, error) {
	if req.GetBody == nil {
		return nil, fmt.Errorf("request to %s cannot be sent again", req.URL.Host)
	}
	return req.GetBody()
}

// withToken adds the token to a request, if there is one.
func (l *loginTripper) withToken(req *http.Request) (*http.Request, error) {
	source, err := l.login.TokenSource(req.Context())
	if err != nil || source == nil {
		return req, err
	}
	token, err := source.Token()
	if err != nil {
		return nil, err
	}
	req = req.Clone(req.Context())
	token.SetAuthHeader(req)
	return req, nil
}

// lasting is a transport whose connection outlives the context of
// Connect: the SDK's SSE transport reads its stream with that context.
type lasting struct{ mcp.Transport }

// Connect implements mcp.Transport.
func (t lasting) Connect(ctx context.Context) (mcp.Connection, error) {
	living, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	conn, err := t.Transport.Connect(living)
	if err != nil {
		cancel()
		return nil, err
	}
	if !stop() {
		_ = conn.Close()
		return nil, context.Cause(ctx)
	}
	return conn, nil
}

// headers adds a server's configured headers, and the span that a request is made
// in, to each request to its host, and not to hosts that it redirects to.
type headers struct {
	set  map[string]string
	host string
	next http.RoundTripper
	// refused is set when the server rejects the credentials.
	refused *atomic.Bool
	secrets *scrub.Scrubber // collects the tokens that are sent
}

func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Host
}

// RoundTrip implements http.RoundTripper.
func (h *headers) RoundTrip(req *http.Request) (*http.Response, error) {
	parent := telemetry.Parent(req.Context())
	if (len(h.set) > 0 || parent != "") && req.URL.Host == h.host {
		req = req.Clone(req.Context())
		if parent != "" {
			req.Header.Set(telemetry.Header, parent)
		}
		for k, v := range h.set {
			req.Header.Set(k, v)
		}
	}
	if h.secrets != nil {
		if _, token, ok := strings.Cut(req.Header.Get("Authorization"), " "); ok {
			h.secrets.Add("", token)
		}
	}
	resp, err := h.next.RoundTrip(req)
	if err == nil && resp.StatusCode == http.StatusUnauthorized && h.refused != nil {
		h.refused.Store(true)
	}
	return resp, err
}

func loopbackHost(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || (err == nil && ip.IsLoopback())
}

// loginClient connects to authorization servers, whose URLs the server chooses:
// it does not connect to this machine or to metadata services of clouds on behalf
// of a remote server.
func loginClient(server string) *http.Client {
	u, err := url.Parse(server)
	here := err == nil && loopbackHost(u.Hostname())
	dialer := &net.Dialer{Timeout: 10 * time.Second, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		if ip := to.Addr().Unmap(); !here && (ip.IsLoopback() || ip.IsLinkLocalUnicast() || ip.IsUnspecified()) {
			return fault.New(fault.DeniedNetwork, "a remote server must not use an authorization server on this machine")
		}
		return nil
	}}
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.DialContext = dialer.DialContext
	return &http.Client{Transport: t, Timeout: 30 * time.Second}
}
