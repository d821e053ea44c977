package upstream

import (
	"fmt"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// overHTTP is the way to a server over HTTP, streamable or older. A login that
// the server asks for is the handler's; nil: there is none.
func overHTTP(s Server, way http.RoundTripper, login auth.OAuthHandler) mcp.Transport {
	if s.Transport == SSE && login != nil {
		way = &loggingIn{login: login, host: hostOf(s.URL), next: way}
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

// loggingIn sends the token of a login with each request to a server, and logs
// in where the server asks for it: what the library does for streamable HTTP
// and not for the older transport.
type loggingIn struct {
	login auth.OAuthHandler
	host  string // nobody else gets the token
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (l *loggingIn) RoundTrip(req *http.Request) (*http.Response, error) {
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
		return nil, fmt.Errorf("the request to %s cannot be sent twice", req.URL.Host)
	}
	return req.GetBody()
}

// withToken is the request with the token, as far as there is one.
func (l *loggingIn) withToken(req *http.Request) (*http.Request, error) {
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
