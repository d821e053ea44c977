package mcpd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/wexec/wexec/fault"
)

// OAuth configures the access tokens that the server accepts over HTTP. The
// server is only a resource server: users log in elsewhere.
type OAuth struct {
	// Issuer is the authorization server, as in iss of its tokens. Its metadata
	// have the URL of its keys. Required.
	Issuer string
	// Resource is the URL under which clients reach this server, as in aud of
	// tokens. Required.
	Resource string
	// Scopes are the scopes that a token must have.
	Scopes []string
	// Client fetches metadata and keys. Nil is a client with a short timeout.
	Client *http.Client
}

// metadataPath is the path of the metadata of a resource in RFC 9728.
const metadataPath = "/.well-known/oauth-protected-resource"

// clockSkew is how far the issuer's clock may differ.
const clockSkew = 30 * time.Second

// authenticator checks the tokens of requests.
type authenticator struct {
	token    *[sha256.Size]byte // digest of the fixed token; nil: there is none
	keys     *issuer            // nil: no access tokens
	metadata http.Handler
	require  func(http.Handler) http.Handler // nil: only the fixed token
}

// newAuthenticator checks the options. It fetches nothing yet.
func newAuthenticator(token string, o *OAuth, verify auth.TokenVerifier) (*authenticator, error) {
	a := &authenticator{}
	if verify != nil {
		a.require = auth.RequireBearerToken(verify, nil)
		return a, nil
	}
	if token != "" || o == nil {
		if len(token) < 16 {
			return nil, fault.New(fault.UsageConfig, "the HTTP token has %d characters: it must have at least 16", len(token))
		}
		sum := sha256.Sum256([]byte(token))
		a.token = &sum
	}
	if o == nil {
		return a, nil
	}
	if _, err := parseOAuthURL("issuer", o.Issuer); err != nil {
		return nil, err
	}
	resource, err := parseOAuthURL("resource", o.Resource)
	if err != nil {
		return nil, err
	}
	a.keys = &issuer{name: o.Issuer, client: cmp.Or(o.Client, &http.Client{Timeout: 10 * time.Second})}
	a.metadata = auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: o.Resource, AuthorizationServers: []string{o.Issuer}, ScopesSupported: o.Scopes,
		BearerMethodsSupported: []string{"header"}, ResourceName: "wexec"})
	a.require = auth.RequireBearerToken(a.verifier(o), &auth.RequireBearerTokenOptions{
		ResourceMetadataURL: (&url.URL{Scheme: resource.Scheme, Host: resource.Host, Path: metadataPath + resource.Path}).String(),
		Scopes:              o.Scopes, ClockSkew: clockSkew})
	return a, nil
}

// parseOAuthURL parses an https URL, or an http URL of the loopback.
func parseOAuthURL(name, text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) || u.Fragment != "" || u.User != nil {
		return nil, fault.New(fault.UsageConfig, "the OAuth %s %q: must be an https URL", name, text)
	}
	return u, nil
}

// verifier returns the user of a token.
func (a *authenticator) verifier(o *OAuth) auth.TokenVerifier {
	invalid := func(why string) (*auth.TokenInfo, error) {
		return nil, fmt.Errorf("%w: %s", auth.ErrInvalidToken, why)
	}
	return func(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if a.isToken(token) {
			return &auth.TokenInfo{UserID: "bearer", Scopes: o.Scopes, Expiration: time.Now().Add(time.Hour)}, nil
		}
		claims, err := a.keys.verify(ctx, token)
		var unreachable *url.Error
		switch {
		case errors.As(err, &unreachable):
			return nil, errors.New("the keys of the issuer are not available")
		case err != nil:
			return invalid(err.Error())
		case claims.Issuer != o.Issuer:
			return invalid("wrong issuer")
		case !slices.Contains(claims.Audience, o.Resource):
			return invalid("wrong audience")
		case claims.NotBefore > 0 && time.Now().Add(clockSkew).Before(time.Unix(int64(claims.NotBefore), 0)):
			return invalid("not valid yet")
		case claims.Subject == "":
			return invalid("no subject")
		case claims.Expires <= 0 || claims.Expires > 1<<40:
			return invalid("no valid expiry")
		}
		return &auth.TokenInfo{UserID: "oauth:" + claims.Subject, Scopes: claims.scopes(), Expiration: time.Unix(int64(claims.Expires), 0)}, nil
	}
}

// isToken reports whether a token is the fixed one.
func (a *authenticator) isToken(token string) bool {
	if a.token == nil {
		return false
	}
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], a.token[:]) == 1
}

// bearerToken is the token in an Authorization header, or "".
func bearerToken(header string) string {
	kind, token, _ := strings.Cut(header, " ")
	if !strings.EqualFold(kind, "bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}

// loopback reports whether a host name is this machine.
func loopback(name string) bool {
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || ip != nil && ip.IsLoopback()
}
