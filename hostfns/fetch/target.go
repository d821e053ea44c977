package fetch

import (
	"bytes"
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/net/http/httpguts"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// rawConn is the connection that a dialer's control hook gets.
type rawConn = syscall.RawConn

// target is a request, updated by redirects.
type target struct {
	url      *url.URL
	host     string // lower case, without port or brackets
	port     int
	method   string
	header   http.Header
	body     []byte
	redirect string
	key      string // of the call
}

// newTarget validates the request of a program. What it must not set is an error
// rather than ignored.
func newTarget(req request) (*target, error) {
	t := &target{method: strings.ToUpper(req.Method), redirect: req.Redirect, header: http.Header{}}
	if t.method == "" {
		t.method = http.MethodGet
	}
	switch t.method {
	case "CONNECT", "TRACE", "TRACK":
		return nil, fault.New(fault.DeniedNetwork, "method %s is not allowed", t.method)
	}
	if len(t.method) > 20 || !httpguts.ValidHeaderFieldName(t.method) {
		return nil, fault.New(fault.ToolInvalidArgs, "invalid method")
	}
	switch t.redirect {
	case "":
		t.redirect = "follow"
	case "follow", "error", "manual":
	default:
		return nil, fault.New(fault.ToolInvalidArgs, "redirect must be follow, error or manual")
	}
	u, err := parseURL(req.URL, nil)
	if err != nil {
		return nil, err
	}
	if err := t.aim(u); err != nil {
		return nil, err
	}
	if len(req.Headers) > maxHeaders {
		return nil, fault.New(fault.ToolInvalidArgs, "more than %d headers", maxHeaders)
	}
	for _, h := range req.Headers {
		name, value := h[0], h[1]
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) || len(value) > 16<<10 {
			return nil, fault.New(fault.ToolInvalidArgs, "invalid header name or value")
		}
		if hostHeader(name) {
			return nil, fault.New(fault.ToolInvalidArgs, "header %s is set by the host", strings.ToLower(name))
		}
		t.header.Add(name, value)
	}
	if t.body, err = decodeBody(req.Body); err != nil {
		return nil, err
	}
	if len(t.body) > 0 && reads(t.method) {
		return nil, fault.New(fault.ToolInvalidArgs, "a %s request must not have a body", t.method)
	}
	return t, nil
}

// hostHeader reports whether only the host may set a header: framing,
// routing and encoding of the message.
func hostHeader(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "host", "connection", "content-length", "transfer-encoding", "upgrade", "te", "trailer", "keep-alive", "expect",
		"accept-encoding", "http2-settings", "via", "x-forwarded-for", "x-forwarded-host", "forwarded":
		return true
	}
	return strings.HasPrefix(name, "proxy-") || strings.HasPrefix(name, "sec-") || strings.HasPrefix(name, ":")
}

// aim sets the URL of the request.
func (t *target) aim(u *url.URL) error {
	if u.Port() == "" {
		u.Host = strings.TrimSuffix(u.Host, ":") // as browsers and net/http read it
	}
	t.url = u
	t.host = strings.ToLower(u.Hostname())
	t.port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	if p := u.Port(); p != "" {
		n, err := strconv.Atoi(p)
		if err != nil || n < 1 || n > 65535 {
			return fault.New(fault.ToolInvalidArgs, "URL has an invalid port")
		}
		t.port = n
	}
	return nil
}

// origin is the scheme, host and port. Credentials are not sent to another origin.
func (t *target) origin() string { return t.url.Scheme + "://" + t.host + ":" + strconv.Itoa(t.port) }

// redirectTo updates the target for a redirect.
func (t *target) redirectTo(where string, status int) error {
	u, err := parseURL(where, t.url)
	if err != nil {
		if fault.CodeOf(err) == fault.DeniedNetwork {
			return err
		}
		return fault.New(fault.ToolFailed, "%s sent an invalid redirect", t.host)
	}
	was := t.origin()
	if err := t.aim(u); err != nil {
		return fault.New(fault.ToolFailed, "invalid redirect")
	}
	if (status == 303 && t.method != "HEAD") || ((status == 301 || status == 302) && t.method == "POST") {
		t.method, t.body = http.MethodGet, nil
		for _, name := range []string{"Content-Type", "Content-Encoding", "Content-Language", "Content-Location"} {
			t.header.Del(name)
		}
	}
	if t.origin() != was {
		for name := range t.header {
			if credential(name) {
				t.header.Del(name)
			}
		}
	}
	return nil
}

// credential reports whether a header may contain something that another host
// must not see.
func credential(name string) bool {
	name = strings.ToLower(name)
	switch name {
	case "authorization", "cookie", "www-authenticate", "x-api-key", "api-key":
		return true
	}
	return strings.Contains(name, "token") || strings.Contains(name, "secret") || strings.Contains(name, "auth")
}

// secrets returns the secrets for the host. They are sent over TLS
// or to this machine only.
func (t *target) secrets(ctx context.Context, gate hostfns.Gate) ([]hostfns.Secret, error) {
	list, err := gate.HostSecrets(ctx, t.host)
	if err != nil {
		return nil, err
	}
	list = slices.DeleteFunc(slices.Clone(list), func(s hostfns.Secret) bool { return !strings.HasPrefix(s.As, "header:") })
	if len(list) > 0 && t.url.Scheme != "https" && !t.local() {
		return nil, fault.New(fault.DeniedNetwork, "a secret for %s is sent over https only", t.host)
	}
	return list, nil
}

func (t *target) local() bool {
	ip, err := netip.ParseAddr(t.host)
	return t.host == "localhost" || (err == nil && ip.IsLoopback())
}

// request returns the target as a request of net/http.
func (t *target) request(ctx context.Context, secrets []hostfns.Secret) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, t.method, t.url.String(), bytes.NewReader(t.body))
	if err != nil {
		return nil, fault.New(fault.ToolInvalidArgs, "invalid request")
	}
	if len(t.body) == 0 {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	req.Header = t.header.Clone()
	req.Header.Set("Accept-Encoding", "gzip, deflate")
	if req.Header.Get("User-Agent") == "" {
		req.Header.Set("User-Agent", "wexec")
	}
	if !reads(t.method) && t.key != "" && httpguts.ValidHeaderFieldValue(t.key) && req.Header.Get("Idempotency-Key") == "" {
		req.Header.Set("Idempotency-Key", t.key)
	}
	for _, s := range secrets {
		name, value, ok := strings.Cut(strings.TrimPrefix(s.As, "header:"), ":")
		if !ok {
			value = "{}"
		}
		name = strings.TrimSpace(name)
		value = strings.ReplaceAll(strings.TrimSpace(value), "{}", s.Value)
		if !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
			return nil, fault.New(fault.ToolFailed, "secret %s is not a valid header value", s.Name)
		}
		req.Header.Set(name, value)
	}
	return req, nil
}

// reads reports whether a method changes nothing.
func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

func sortedNames(h http.Header) []string {
	names := make([]string, 0, len(h))
	for name := range h {
		names = append(names, name)
	}
	slices.Sort(names)
	if len(names) > maxHeaders {
		names = names[:maxHeaders]
	}
	return names
}
