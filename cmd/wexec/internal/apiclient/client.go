// Package apiclient is a client of the HTTP API of a server, for the commands that
// take --server. What a server answers is bounded, and its problems are faults.
package apiclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/text"
)

// Client makes requests of one server with one token. It is safe for concurrent use.
type Client struct {
	base  *url.URL
	token string
	http  *http.Client
}

// Bounds of a server's answers and of the time it takes.
const (
	maxAnswer     = 64 << 20
	maxMessage    = 2000 // bytes of a problem that are shown
	answerTimeout = time.Minute
	tries         = 4 // of a request that may be sent again
	firstPause    = 250 * time.Millisecond
	longestPause  = 5 * time.Second
)

// New returns a client of the server at an address, which is encrypted unless it is
// that of this machine or plain says that it need not be.
func New(address, token string, plain bool) (*Client, error) {
	base, err := url.Parse(address)
	if err != nil || base.Host == "" || base.User != nil || base.RawQuery != "" || base.Fragment != "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, fault.New(fault.UsageFlag, "the address of the server is not a URL").WithHint("use https://HOST, or http://127.0.0.1:8080 for this machine")
	}
	if base.Scheme == "http" && !plain && !isLoopback(base.Hostname()) {
		return nil, fault.New(fault.UsageFlag, "http:// would send the token to %s without encryption", base.Host).
			WithHint("use https://, or set --allow-http if the network is trusted")
	}
	base.Path = strings.TrimSuffix(base.Path, "/")
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.ResponseHeaderTimeout = answerTimeout
	return &Client{base: base, token: token, http: &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the token is for this server
	}}, nil
}

// isLoopback reports whether a host is this machine.
func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// String names the server in messages about its records.
func (c *Client) String() string { return "the server" }

// Address is the address of the server.
func (c *Client) Address() string { return c.base.String() }

// Close closes idle connections.
func (c *Client) Close() error {
	c.http.CloseIdleConnections()
	return nil
}

// request is one request of the API.
type request struct {
	method, path string
	query        url.Values
	body         any    // as JSON; nil: none
	key          string // idempotency key; may be empty
	again        bool   // twice does what once does: the request may be sent again after it was cut off
	events       bool   // the answer is a stream of events
	last         int64  // number of the last event that was received
}

// call makes a request and decodes its answer.
func (c *Client) call(ctx context.Context, r request, out any) error {
	for try := 1; ; try++ {
		err := c.once(ctx, r, out)
		var t *temporary
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case !errors.As(err, &t):
			return err
		case try == tries || t.sent && !r.again && r.key == "":
			return t.error
		}
		if err := pause(ctx, max(firstPause<<(try-1), t.after)); err != nil {
			return err
		}
	}
}

// pause waits, or until the context ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(min(d, longestPause))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// temporary is a failure after which the request may succeed.
type temporary struct {
	error
	sent  bool          // the server may have done what was asked
	after time.Duration // that the server asks to wait
}

// Unwrap returns the failure.
func (t *temporary) Unwrap() error { return t.error }

// once makes a request once.
func (c *Client) once(ctx context.Context, r request, out any) error {
	res, err := c.send(ctx, r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	switch {
	case err != nil:
		return &temporary{error: c.unavailable("the answer was cut off: %w", err), sent: true}
	case len(data) > maxAnswer:
		return c.unavailable("the answer is larger than %d bytes", maxAnswer)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return c.unavailable("the answer cannot be read: %w", err)
	}
	return nil
}

// send makes a request and returns its answer if it succeeded. The caller closes
// the body.
func (c *Client) send(ctx context.Context, r request) (*http.Response, error) {
	var body io.Reader
	if r.body != nil {
		data, err := json.Marshal(r.body)
		if err != nil {
			return nil, fault.New(fault.UsageFlag, "encode the request: %w", err)
		}
		body = bytes.NewReader(data)
	}
	at := *c.base
	at.Path, at.RawPath = at.Path+r.path, ""
	at.RawQuery = r.query.Encode()
	req, err := http.NewRequestWithContext(ctx, r.method, at.String(), body)
	if err != nil {
		return nil, fault.New(fault.UsageFlag, "make the request: %w", err)
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	req.Header.Set("Accept", "application/json")
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.key != "" {
		req.Header.Set("Idempotency-Key", r.key)
	}
	media := "application/json"
	if r.events {
		media = "text/event-stream"
		req.Header.Set("Accept", media)
		req.Header.Set("Last-Event-ID", strconv.FormatInt(r.last, 10))
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.unreachable(err)
	}
	if got, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); res.StatusCode/100 == 2 && got == media {
		return res, nil
	}
	defer res.Body.Close()
	return nil, c.problem(res, r)
}

// unavailable is a failure of the server as a whole.
func (c *Client) unavailable(format string, args ...any) *fault.Error {
	return fault.New(fault.UpstreamUnavailable, "the server at %s: %w", c.base.Host, fmt.Errorf(format, args...))
}

// unreachable explains why there is no answer.
func (c *Client) unreachable(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err // without the address, which the message has
	}
	unknown, invalid, unverified := x509.UnknownAuthorityError{}, x509.CertificateInvalidError{}, &tls.CertificateVerificationError{}
	switch dial, isDial := errors.AsType[*net.OpError](err); {
	case errors.As(err, &unknown):
		return c.unavailable("%w", err).WithHint("set SSL_CERT_FILE to the certificate of its authority")
	case errors.As(err, &invalid), errors.As(err, &unverified):
		return c.unavailable("%w", err)
	case isDial && dial.Op == "dial":
		return &temporary{error: c.unavailable("%w", err).WithHint("check the address, and that wexec serve runs there")}
	}
	return &temporary{error: c.unavailable("%w", err), sent: true}
}

// problem is the fault of an answer that is an error.
func (c *Client) problem(res *http.Response, r request) error {
	var p struct {
		Code         fault.Code
		Detail, Hint string
	}
	media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	known := media == "application/problem+json" && err == nil && json.Unmarshal(data, &p) == nil && slices.Contains(fault.Codes(), p.Code)
	wrong := &fault.Error{Code: p.Code, Message: text.Clip(p.Detail, maxMessage), Hint: text.Clip(p.Hint, maxMessage)}
	if !known {
		wrong = c.unavailable("it answered %s, not as a server of wexec does", res.Status).WithHint("check the address")
	}
	if p.Code == fault.DeniedToken {
		wrong = wrong.WithHint("set --token-file to a file with a token of this server")
	}
	seconds, _ := strconv.Atoi(res.Header.Get("Retry-After"))
	after := time.Duration(min(max(seconds, 0), 60)) * time.Second
	switch res.StatusCode {
	case http.StatusTooManyRequests:
		return &temporary{error: wrong, after: after}
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return &temporary{error: wrong, sent: true, after: after}
	case http.StatusConflict:
		if r.key != "" { // the first request with the key is not answered yet
			return &temporary{error: wrong, sent: true}
		}
	}
	return wrong
}
