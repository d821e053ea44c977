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
	if s.Transport != SSE {
		return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &http.Client{Transport: way}, MaxEventSize: maxMessage, OAuthHandler: login}
	}
	if login != nil {
		way = &loggingIn{login: login, host: hostOf(s.URL), next: way}
	}
	return lasting{&mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: &http.Client{Transport: way}}}
}

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
