package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"golang.org/x/oauth2"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
)

// Grants stores the logins at HTTP servers: tokens and
// refresh tokens. They are in one file that only its owner can read, keyed by
// the URL of the server and not by its name, so that a configuration that gives an
// old name a new URL does not get the token.
type Grants struct {
	path string
	mu   sync.Mutex // one renewal at a time
}

// NewGrants uses a file, which need not exist.
func NewGrants(path string) *Grants { return &Grants{path: path} }

// grant is one login.
type grant struct {
	Token     oauth2.Token     `json:"token"`
	TokenURL  string           `json:"token_url"`
	AuthStyle oauth2.AuthStyle `json:"auth_style,omitempty"`
	ClientID  string           `json:"client_id"`
	Secret    string           `json:"client_secret,omitempty"`
	Scopes    []string         `json:"scopes,omitempty"`
	Since     time.Time        `json:"since"`
}

// Login is the state of the login at a server.
type Login struct {
	In      bool      // the token is valid or can be renewed
	Renews  bool      // the token can be renewed without a new login
	Expires time.Time // of the token; zero: never, or unknown
	Since   time.Time
	Scopes  []string
}

// Status returns the state of the login at a server.
func (g *Grants) Status(s Server) (Login, error) {
	all, err := g.read()
	if err != nil {
		return Login{}, err
	}
	one, ok := all[s.URL]
	if !ok {
		return Login{}, nil
	}
	return Login{In: one.Token.Valid() || one.Token.RefreshToken != "", Renews: one.Token.RefreshToken != "",
		Expires: one.Token.Expiry, Since: one.Since, Scopes: one.Scopes}, nil
}

// Forget removes the login at a server, and reports whether there was one.
func (g *Grants) Forget(s Server) (bool, error) {
	there := false
	err := g.change(func(all map[string]grant) { _, there = all[s.URL]; delete(all, s.URL) })
	return there, err
}

func (g *Grants) read() (map[string]grant, error) {
	data, err := os.ReadFile(filepath.Clean(g.path))
	if g.path == "" || errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var all map[string]grant
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fault.New(fault.UsageConfig, "read logins in %s: %w", g.path, cause(err)).
			WithHint("remove the file and log in again")
	}
	return all, nil
}

// change replaces the file atomically.
func (g *Grants) change(f func(all map[string]grant)) error {
	if g.path == "" {
		return fault.New(fault.UsageConfig, "no folder to store logins in").WithHint("set XDG_STATE_HOME")
	}
	all, err := g.read()
	if err != nil {
		return err
	}
	if all == nil {
		all = map[string]grant{}
	}
	f(all)
	data, err := json.MarshalIndent(all, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(g.path), 0o700)
	}
	if err == nil {
		err = atomicfile.Write(g.path, append(data, '\n'), 0o600)
	}
	if err != nil {
		return fault.New(fault.UsageConfig, "write %s: %w", g.path, cause(err))
	}
	return nil
}

// Authorize returns the login handler of a server: it sends the token of
// the stored login and renews it, and never starts a login. It is nil for a server
// with a configured Authorization header.
func (g *Grants) Authorize(s Server) auth.OAuthHandler {
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return nil
		}
	}
	return &bearer{grants: g, server: s}
}

// bearer sends the token of a stored login.
type bearer struct {
	grants *Grants
	server Server
}

// TokenSource implements auth.OAuthHandler. It is nil without a login.
func (b *bearer) TokenSource(ctx context.Context) (oauth2.TokenSource, error) {
	all, err := b.grants.read()
	if err != nil {
		return nil, err
	}
	if _, ok := all[b.server.URL]; !ok {
		return nil, nil
	}
	return tokenFunc(func() (*oauth2.Token, error) { return b.token(ctx, "") }), nil
}

type tokenFunc func() (*oauth2.Token, error)

func (f tokenFunc) Token() (*oauth2.Token, error) { return f() }

// token returns a token that has not expired and is not the refused one. Another
// process may have renewed it, so the file is read each time.
func (b *bearer) token(ctx context.Context, refused string) (*oauth2.Token, error) {
	b.grants.mu.Lock()
	defer b.grants.mu.Unlock()
	all, err := b.grants.read()
	if err != nil {
		return nil, err
	}
	one, ok := all[b.server.URL]
	if !ok {
		return nil, b.missing()
	}
	if one.Token.Valid() && one.Token.AccessToken != refused {
		return &one.Token, nil
	}
	if one.Token.RefreshToken == "" {
		return nil, b.missing()
	}
	renewed, err := one.renew(ctx)
	if err != nil {
		// Another process may have used the refresh token concurrently.
		if again, rerr := b.grants.read(); rerr == nil {
			if other := again[b.server.URL]; other.Token.Valid() && other.Token.AccessToken != one.Token.AccessToken {
				return &other.Token, nil
			}
		}
		var answered *oauth2.RetrieveError
		if errors.As(err, &answered) {
			return nil, b.missing()
		}
		return nil, fault.New(fault.UpstreamUnavailable, "renew login at server %s: %w", b.server.Name, err)
	}
	one.Token = *renewed
	if err := b.grants.change(func(all map[string]grant) { all[b.server.URL] = one }); err != nil {
		return nil, err
	}
	return renewed, nil
}

// renew requests a new token with the refresh token.
func (g *grant) renew(ctx context.Context) (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	config := &oauth2.Config{ClientID: g.ClientID, ClientSecret: g.Secret, Scopes: g.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: g.AuthStyle}}
	return config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, loginClient(g.TokenURL)),
		&oauth2.Token{RefreshToken: g.Token.RefreshToken}).Token()
}

// Authorize implements auth.OAuthHandler: it is called when the server rejected
// or required a token.
func (b *bearer) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusForbidden && !strings.Contains(resp.Header.Get("WWW-Authenticate"), "insufficient_scope") {
		return nil // the login is valid but not permitted: return the server's answer
	}
	if resp.StatusCode == http.StatusForbidden {
		return fault.New(fault.UpstreamUnavailable, "server %s requires more scopes than the login has", b.server.Name).
			WithHint("run wexec mcp login %s", b.server.Name)
	}
	sent, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if sent == "" {
		return b.missing()
	}
	_, err := b.token(ctx, sent)
	return err
}

// missing is the error for a server that requires a login.
func (b *bearer) missing() error {
	return fault.New(fault.UpstreamUnavailable, "server %s requires a login", b.server.Name).
		WithHint("run wexec mcp login %s", b.server.Name)
}
