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
)

// Grants keeps what HTTP servers granted when a person logged in: tokens, and
// what renews them. They stand in one file that only its owner can read, by
// the address of the server and not by its name, so that a file that gives an
// old name a new address gets nobody's token.
type Grants struct {
	path string
	mu   sync.Mutex // one renewal at a time
}

// NewGrants keeps grants in a file, which need not exist.
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

// Login says how far a person is logged in at a server.
type Login struct {
	In      bool      // there is a token that works, or can be renewed
	Renews  bool      // it is renewed without a person
	Expires time.Time // of the token; zero: never, or nobody knows
	Since   time.Time
	Scopes  []string
}

// Status says how far a person is logged in at a server.
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

// Forget drops the login at a server, and reports whether there was one.
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
		return nil, fault.New(fault.UsageConfig, "the logins in %s cannot be read: %w", g.path, cause(err)).
			WithHint("remove the file and log in again")
	}
	return all, nil
}

// change rewrites the file, whole or not at all.
func (g *Grants) change(f func(all map[string]grant)) error {
	if g.path == "" {
		return fault.New(fault.UsageConfig, "there is no home folder to keep logins in").WithHint("set XDG_STATE_HOME")
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
		err = replaceFile(g.path, append(data, '\n'))
	}
	if err != nil {
		return fault.New(fault.UsageConfig, "write %s: %w", g.path, cause(err))
	}
	return nil
}

// replaceFile writes a file of its owner's alone.
func replaceFile(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".grants-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// Authorize is the handler for connections to a server: it sends the token of
// a person's login, renews it, and never asks anybody. Nil for a server that
// is configured with credentials of its own.
func (g *Grants) Authorize(s Server) auth.OAuthHandler {
	for name := range s.Headers {
		if strings.EqualFold(name, "Authorization") {
			return nil
		}
	}
	return &bearer{grants: g, server: s}
}

// bearer sends the token of a login.
type bearer struct {
	grants *Grants
	server Server
}

// TokenSource implements auth.OAuthHandler. There is none without a login.
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

// token gives a token that has not expired and is not the refused one. Another
// process may have renewed it meanwhile, so the file is read each time.
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
		// Of two processes that renew at once, one may have used the token up.
		if again, rerr := b.grants.read(); rerr == nil {
			if other := again[b.server.URL]; other.Token.Valid() && other.Token.AccessToken != one.Token.AccessToken {
				return &other.Token, nil
			}
		}
		var answered *oauth2.RetrieveError
		if errors.As(err, &answered) {
			return nil, b.missing()
		}
		return nil, fault.New(fault.UpstreamUnavailable, "the login at server %s cannot be renewed: %w", b.server.Name, err)
	}
	one.Token = *renewed
	if err := b.grants.change(func(all map[string]grant) { all[b.server.URL] = one }); err != nil {
		return nil, err
	}
	return renewed, nil
}

// renew asks for a new token with the one that is kept for it.
func (g *grant) renew(ctx context.Context) (*oauth2.Token, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	config := &oauth2.Config{ClientID: g.ClientID, ClientSecret: g.Secret, Scopes: g.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: g.AuthStyle}}
	return config.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, loginClient(g.TokenURL)),
		&oauth2.Token{RefreshToken: g.Token.RefreshToken}).Token()
}

// Authorize implements auth.OAuthHandler: it is called when the server refused
// the token, or asked for one.
func (b *bearer) Authorize(ctx context.Context, req *http.Request, resp *http.Response) error {
	_ = resp.Body.Close()
	if resp.StatusCode == http.StatusForbidden && !strings.Contains(resp.Header.Get("WWW-Authenticate"), "insufficient_scope") {
		return nil // logged in, and not allowed: the server's answer stands
	}
	if resp.StatusCode == http.StatusForbidden {
		return fault.New(fault.UpstreamUnavailable, "server %s wants more rights than the login has", b.server.Name).
			WithHint("wexec mcp login %s", b.server.Name)
	}
	sent, _ := strings.CutPrefix(req.Header.Get("Authorization"), "Bearer ")
	if sent == "" {
		return b.missing()
	}
	_, err := b.token(ctx, sent)
	return err
}

// missing is the error of a server at which nobody is logged in.
func (b *bearer) missing() error {
	return fault.New(fault.UpstreamUnavailable, "server %s asks for a login", b.server.Name).
		WithHint("wexec mcp login %s", b.server.Name)
}
