package mcpd

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/wexec/wexec/fault"
)

// OAuth says whose access tokens are taken over HTTP, beside the bearer token.
// The server is a resource server alone: it logs nobody in.
type OAuth struct {
	// Issuer is the authorization server, as its tokens name it in iss. Its
	// metadata say where its keys are. Required.
	Issuer string
	// Resource is the URL under which clients reach this server, as tokens name
	// it in aud. Required.
	Resource string
	// Scopes are what a token has to have, all of them.
	Scopes []string
	// Client fetches metadata and keys. Nil is one with a short time-out.
	Client *http.Client
}

// metadataPath is where RFC 9728 has the metadata of a resource.
const metadataPath = "/.well-known/oauth-protected-resource"

// skew is how far the issuer's clock may be from this one.
const skew = 30 * time.Second

// gatekeeper lets in who bears a token.
type gatekeeper struct {
	token    *[sha256.Size]byte // nil: there is no fixed one
	keys     *issuer            // nil: no access tokens
	metadata http.Handler
	require  func(http.Handler) http.Handler
}

// newGatekeeper checks the options, and fetches nothing yet.
func newGatekeeper(o HTTPOptions) (*gatekeeper, error) {
	g := &gatekeeper{}
	if o.Token != "" || o.OAuth == nil {
		if len(o.Token) < 16 {
			return nil, fault.New(fault.UsageConfig, "the token for HTTP has %d characters, at least 16 are needed", len(o.Token))
		}
		sum := sha256.Sum256([]byte(o.Token))
		g.token = &sum
	}
	if o.OAuth == nil {
		return g, nil
	}
	for what, text := range map[string]string{"issuer": o.OAuth.Issuer, "resource": o.OAuth.Resource} {
		u, err := url.Parse(text)
		if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) || u.Fragment != "" || u.User != nil {
			return nil, fault.New(fault.UsageConfig, "the OAuth %s %q is no https URL", what, text)
		}
	}
	resource, _ := url.Parse(o.OAuth.Resource)
	g.keys = &issuer{name: o.OAuth.Issuer, client: cmp.Or(o.OAuth.Client, &http.Client{Timeout: 10 * time.Second})}
	g.metadata = auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: o.OAuth.Resource, AuthorizationServers: []string{o.OAuth.Issuer}, ScopesSupported: o.OAuth.Scopes,
		BearerMethodsSupported: []string{"header"}, ResourceName: "wexec"})
	g.require = auth.RequireBearerToken(g.verifier(o.OAuth), &auth.RequireBearerTokenOptions{
		ResourceMetadataURL: (&url.URL{Scheme: resource.Scheme, Host: resource.Host, Path: metadataPath + resource.Path}).String(),
		Scopes:              o.OAuth.Scopes, ClockSkew: skew})
	return g, nil
}

// verifier tells who a token is of.
func (g *gatekeeper) verifier(o *OAuth) auth.TokenVerifier {
	return func(ctx context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
		if g.fixed(token) {
			return &auth.TokenInfo{UserID: "bearer", Scopes: o.Scopes, Expiration: time.Now().Add(time.Hour)}, nil
		}
		claims, err := g.keys.verify(ctx, token)
		var unreachable *url.Error
		switch {
		case errors.As(err, &unreachable):
			return nil, errors.New("the keys of the issuer cannot be had at the moment")
		case err != nil:
			return nil, fmt.Errorf("%w: %w", auth.ErrInvalidToken, err)
		case claims.Issuer != o.Issuer:
			return nil, fmt.Errorf("%w: it is of another issuer", auth.ErrInvalidToken)
		case !slices.Contains(claims.Audience, o.Resource):
			return nil, fmt.Errorf("%w: it is for another resource", auth.ErrInvalidToken)
		case claims.NotBefore > 0 && time.Now().Add(skew).Before(time.Unix(int64(claims.NotBefore), 0)):
			return nil, fmt.Errorf("%w: it does not hold yet", auth.ErrInvalidToken)
		case claims.Subject == "" || claims.Expires <= 0 || claims.Expires > 1<<40:
			return nil, fmt.Errorf("%w: it does not say of whom it is and how long it holds", auth.ErrInvalidToken)
		}
		return &auth.TokenInfo{UserID: "oauth:" + claims.Subject, Scopes: claims.scopes(), Expiration: time.Unix(int64(claims.Expires), 0)}, nil
	}
}

// fixed reports whether a token is the one of the options.
func (g *gatekeeper) fixed(token string) bool {
	if g.token == nil {
		return false
	}
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}
