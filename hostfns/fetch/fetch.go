// Package fetch makes the HTTP requests of programs. The policy decides each request and
// redirect by host name before it is resolved, and by address before it
// is connected to. Secrets are added for their hosts; the table removes them from
// responses.
package fetch

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/text"
)

// Options configure a [Provider]. The zero value is usable.
type Options struct {
	// Timeout bounds the time until the headers of a response, redirects included;
	// zero is 30 seconds.
	Timeout time.Duration
	// Body bounds a response's body, decompressed; zero is 256 MiB.
	Body int64
	// Resolve finds the addresses of a name. Nil is the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// TLS configures secure connections. Nil is Go's default.
	TLS *tls.Config
}

// Bounds of a request and the head of a response.
const (
	maxURL       = 16 << 10
	maxHeaders   = 200
	maxHead      = 256 << 10
	maxRedirects = 10
	callName     = "wexec:fetch"
)

// Provider handles the prelude's fetch.
type Provider struct {
	opts Options

	mu    sync.Mutex
	conns map[context.Context]*http.Transport // by run: connections are not shared between runs
}

// New makes the provider.
func New(o Options) *Provider {
	o.Timeout = cmp.Or(o.Timeout, 30*time.Second)
	o.Body = cmp.Or(o.Body, 256<<20)
	if o.Resolve == nil {
		o.Resolve = func(ctx context.Context, host string) ([]netip.Addr, error) {
			return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
		}
	}
	return &Provider{opts: o, conns: map[context.Context]*http.Transport{}}
}

// Servers returns nothing: the provider has no tools.
func (p *Provider) Servers() []string { return nil }

// PreludeCalls returns the prelude's calls that the provider handles.
func (p *Provider) PreludeCalls() []string { return []string{callName} }

// Writes reports whether a request is not a GET or HEAD.
func (p *Provider) Writes(_ string, args map[string]any) bool {
	method, _ := args["method"].(string)
	return !reads(strings.ToUpper(method))
}

// Tools returns nothing.
func (p *Provider) Tools(context.Context, string) ([]catalogue.Tool, error) { return nil, nil }

// Watch does nothing: there are no changes.
func (p *Provider) Watch(func(string)) func() { return func() {} }

// Close closes idle connections.
func (p *Provider) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, t := range p.conns {
		t.CloseIdleConnections()
	}
	clear(p.conns)
	return nil
}

// request is the request of a program.
type request struct {
	Method   string      `json:"method"`
	URL      string      `json:"url"`
	Headers  [][2]string `json:"headers"`
	Body     string      `json:"body"` // base64
	Redirect string      `json:"redirect"`
}

// head is the head of a response. The table adds the stream of the body.
type head struct {
	Status     int         `json:"status"`
	StatusText string      `json:"statusText"`
	URL        string      `json:"url"`
	Headers    [][2]string `json:"headers"`
	Redirected bool        `json:"redirected"`
}

// Call makes one request and answers with the head of the response; the body
// is a stream.
func (p *Provider) Call(ctx context.Context, call hostfns.Call) (hostfns.Answer, error) {
	var req request
	if err := json.Unmarshal(call.Args, &req); err != nil {
		return hostfns.Answer{}, fault.New(fault.ToolInvalidArgs, "the request cannot be read")
	}
	t, err := newTarget(req)
	if err != nil {
		return hostfns.Answer{}, err
	}
	t.key = call.Key()
	// The body outlives the call, so the request hangs on the run; until the
	// head is here the call can end it too.
	life, end := context.WithCancelCause(call.Gate.Lifetime())
	off := context.AfterFunc(ctx, func() { end(context.Cause(ctx)) })
	late := time.AfterFunc(p.opts.Timeout, func() { end(fault.ToolTimeout) })
	res, hops, err := p.follow(life, call.Gate, t)
	off()
	late.Stop()
	if err != nil {
		cause := context.Cause(life)
		end(nil)
		return hostfns.Answer{}, p.explain(err, cause, t)
	}
	body, err := p.body(res, end)
	if err != nil {
		_ = res.Body.Close()
		end(nil)
		return hostfns.Answer{}, err
	}
	h := head{Status: res.StatusCode, StatusText: statusText(res), URL: t.url.Redacted(), Redirected: hops > 0, Headers: responseHeaders(res)}
	data, err := json.Marshal(h)
	if err != nil {
		_ = body.Close()
		return hostfns.Answer{}, fault.New(fault.ToolFailed, "encode response headers")
	}
	return hostfns.Answer{Kind: hostfns.JSON, Data: data, Body: body, Checked: true}, nil
}

// explain converts the error of a request to one that reveals no more than the
// program may know.
func (p *Provider) explain(err, cause error, t *target) error {
	var f *hostfns.Failure
	var e *fault.Error
	switch {
	case errors.As(err, &f):
		return f
	case errors.As(err, &e):
		return e
	case cause == error(fault.ToolTimeout):
		return fault.New(fault.ToolTimeout, "%s did not answer within %s", t.host, p.opts.Timeout)
	case cause != nil && !errors.Is(cause, context.Canceled):
		return cause
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return fault.New(fault.UpstreamUnavailable, "host %s not found", t.host)
	}
	var cert *tls.CertificateVerificationError
	if errors.As(err, &cert) {
		return fault.New(fault.UpstreamUnavailable, "certificate of %s is not trusted", t.host)
	}
	return fault.New(fault.UpstreamUnavailable, "request to %s failed", t.host)
}

// follow makes the request and follows redirects. The policy decides
// each of them.
func (p *Provider) follow(ctx context.Context, gate hostfns.Gate, t *target) (*http.Response, int, error) {
	from := ""
	for hop := 0; ; hop++ {
		if hop > maxRedirects {
			return nil, 0, fault.New(fault.ToolFailed, "more than %d redirects", maxRedirects)
		}
		if err := gate.Network(ctx, hostfns.NetworkRequest{Host: t.host, Method: t.method, Port: t.port, From: from}); err != nil {
			return nil, 0, err
		}
		secrets, err := t.secrets(ctx, gate)
		if err != nil {
			return nil, 0, err
		}
		req, err := t.request(ctx, secrets)
		if err != nil {
			return nil, 0, err
		}
		req = req.WithContext(context.WithValue(ctx, dialKey{}, &dialing{gate: gate, t: *t}))
		res, err := p.transport(gate.Lifetime()).RoundTrip(req)
		if err != nil {
			return nil, 0, err
		}
		where := res.Header.Get("Location")
		if !redirects(res.StatusCode) || where == "" || t.redirect == "manual" {
			return res, hop, nil
		}
		_ = res.Body.Close()
		if t.redirect == "error" {
			return nil, 0, fault.New(fault.ToolFailed, "%s redirected, but the request sets redirect to error", t.host)
		}
		from = t.host
		if err := t.redirectTo(where, res.StatusCode); err != nil {
			return nil, 0, err
		}
	}
}

func redirects(status int) bool {
	switch status {
	case 301, 302, 303, 307, 308:
		return true
	}
	return false
}

type dialKey struct{}

// dialing is the request for which a connection is made.
type dialing struct {
	gate hostfns.Gate
	t    target
}

// transport returns the transport of one run.
func (p *Provider) transport(life context.Context) *http.Transport {
	p.mu.Lock()
	defer p.mu.Unlock()
	if t := p.conns[life]; t != nil {
		return t
	}
	t := &http.Transport{
		DialContext:            p.dial,
		TLSClientConfig:        p.opts.TLS.Clone(),
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConnsPerHost:    8,
		IdleConnTimeout:        30 * time.Second,
		TLSHandshakeTimeout:    10 * time.Second,
		ResponseHeaderTimeout:  p.opts.Timeout,
		MaxResponseHeaderBytes: maxHead,
	}
	p.conns[life] = t
	context.AfterFunc(life, func() {
		p.mu.Lock()
		delete(p.conns, life)
		p.mu.Unlock()
		t.CloseIdleConnections()
	})
	return t
}

// dial resolves a name once, has the policy decide each address, and
// connects to one of those addresses only. If one address is denied,
// all are: a name with allowed and denied addresses is an attack.
func (p *Provider) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d, ok := ctx.Value(dialKey{}).(*dialing)
	if !ok {
		return nil, fault.New(fault.Internal, "connection without a request")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	var addrs []netip.Addr
	if ip, err := netip.ParseAddr(host); err == nil {
		addrs = []netip.Addr{ip}
	} else if addrs, err = p.opts.Resolve(ctx, host); err != nil {
		return nil, err
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no address", Name: host, IsNotFound: true}
	}
	if len(addrs) > 16 {
		addrs = addrs[:16]
	}
	ask := func(ip netip.Addr) error {
		return d.gate.Network(ctx, hostfns.NetworkRequest{Host: d.t.host, Method: d.t.method, Port: d.t.port, Address: ip.Unmap().WithZone("").String()})
	}
	for _, ip := range addrs {
		if err := ask(ip); err != nil {
			return nil, err
		}
	}
	dialer := net.Dialer{Timeout: 10 * time.Second, ControlContext: func(_ context.Context, _, concrete string, _ rawConn) error {
		at, err := netip.ParseAddrPort(concrete)
		if err != nil {
			return fault.New(fault.DeniedNetwork, "invalid address")
		}
		return ask(at.Addr())
	}}
	var first error
	for _, ip := range addrs {
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(ip.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, first
}

// statusText returns the text of the status line.
func statusText(res *http.Response) string {
	_, status, _ := strings.Cut(res.Status, " ")
	return text.Prefix(status, 200)
}

// responseHeaders returns headers sorted by name.
func responseHeaders(res *http.Response) [][2]string {
	out := [][2]string{}
	for _, name := range sortedNames(res.Header) {
		lower := strings.ToLower(name)
		if lower == "set-cookie2" || (lower == "content-encoding" || lower == "content-length") && decoded(res) {
			continue
		}
		for _, v := range res.Header[name] {
			out = append(out, [2]string{lower, text.Valid(v)})
		}
	}
	return out
}

// body returns the response's body, decompressed and bounded.
func (p *Provider) body(res *http.Response, end context.CancelCauseFunc) (io.ReadCloser, error) {
	r, err := decompress(res)
	if err != nil {
		return nil, err
	}
	return &stream{
		r:     &bounded{r: r, left: p.opts.Body, limit: p.opts.Body},
		close: func() { _ = res.Body.Close(); end(nil) },
	}, nil
}

// decodeBody decodes the body of a request.
func decodeBody(encoded string) ([]byte, error) {
	if encoded == "" {
		return nil, nil
	}
	b, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return nil, fault.New(fault.ToolInvalidArgs, "request body is not base64")
	}
	return b, nil
}

// parseURL parses the URL of a request strictly.
func parseURL(raw string, base *url.URL) (*url.URL, error) {
	bad := func(why string) error { return fault.New(fault.ToolInvalidArgs, "URL %s", why) }
	if len(raw) > maxURL {
		return nil, bad("is too long")
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= 0x20 || r == 0x7f || r == '\\' }) {
		return nil, bad("contains a space, a control character or a backslash")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, bad("is invalid")
	}
	if base != nil {
		u = base.ResolveReference(u)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fault.New(fault.DeniedNetwork, "unsupported URL scheme %q: use http or https", text.Clip(u.Scheme, 60))
	case u.Opaque != "" || u.Host == "" || u.Hostname() == "":
		return nil, bad("has no host")
	case u.User != nil:
		return nil, bad("contains a user name or password").(*fault.Error).WithHint("add the credentials in the policy, as a secret for the host")
	case strings.Contains(u.Hostname(), "%"):
		return nil, bad("contains an IPv6 zone")
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}
