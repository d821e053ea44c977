package upstream

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/toolmeta"
)

// LoginOptions configure a login.
type LoginOptions struct {
	// Show is called with the URL that the user has to open in a browser.
	Show func(address string)
	// Paste, if not nil, returns the URL that the browser was
	// redirected to, for a user whose browser is on another machine.
	Paste func(ctx context.Context) (string, error)
	// Client and Secret are of a client that was registered manually; if empty,
	// a client is registered dynamically.
	Client, Secret string
	// Port is the local port of the redirect; 0 is any.
	Port    int
	Version string
}

// Login logs the user in at an HTTP server: it finds the authorization server,
// registers a client, shows the URL at which the user consents, receives
// the code through a local redirect, and stores the token. It returns
// the number of tools of the server. It waits until ctx ends.
func (g *Grants) Login(ctx context.Context, s Server, o LoginOptions) (tools int, err error) {
	if s.URL == "" {
		return 0, fault.New(fault.UsageConfig, "server %s is a local program and has no login", s.Name).
			WithHint("put credentials into its \"env\"")
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", o.Port))
	if err != nil {
		return 0, fault.New(fault.UsageFlag, "listen for the redirect: %w", err).WithHint("choose another port")
	}
	back := newCallback(l, o)
	defer back.close()

	got := false
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:              back.address(),
		AuthorizationCodeFetcher: back.fetch,
		RequestRefreshToken:      true,
		AcceptUnadvertisedIss:    true, // if it matches
		Client:                   loginClient(s.URL),
		NewTokenSource: func(ctx context.Context, c *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			got = true
			if t.AccessToken == "" || (t.TokenType != "" && !strings.EqualFold(t.TokenType, "bearer")) {
				return nil, errors.New("not a bearer token")
			}
			one := grant{Token: *t, TokenURL: c.Endpoint.TokenURL, AuthStyle: c.Endpoint.AuthStyle,
				ClientID: c.ClientID, Secret: c.ClientSecret, Scopes: c.Scopes, Since: time.Now().UTC()}
			if err := g.change(func(all map[string]grant) { all[s.URL] = one }); err != nil {
				return nil, err
			}
			return oauth2.StaticTokenSource(t), nil
		},
	}
	if o.Client != "" {
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: o.Client}
		if o.Secret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.Secret}
		}
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "wexec", RedirectURIs: []string{back.address()}, TokenEndpointAuthMethod: "none",
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
		}}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return 0, fault.New(fault.UsageConfig, "log in at %s: %w", s.Name, err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "wexec", Version: (&Options{Version: o.Version}).version()},
		&mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	// A user completes the login, so the connection has no timeout other than
	// the caller's context.
	way := &headers{set: s.Headers, host: hostOf(s.URL), next: http.DefaultTransport}
	session, err := client.Connect(ctx, httpTransport(s, way, handler), nil)
	if err != nil {
		return 0, failedLogin(ctx, s, err, o)
	}
	defer func() { _ = session.Close() }()
	if !got {
		return 0, fault.New(fault.UsageConfig, "server %s requires no login", s.Name).WithHint("run wexec tools list %s", s.Name)
	}
	for _, err := range session.Tools(ctx, nil) {
		if err != nil {
			return tools, nil // the login succeeded
		}
		tools++
	}
	return tools, nil
}

func failedLogin(ctx context.Context, s Server, err error, o LoginOptions) error {
	if ctx.Err() != nil {
		return fault.New(fault.Cancelled, "login at server %s timed out", s.Name)
	}
	var own *fault.Error
	if errors.As(err, &own) {
		return own
	}
	why := err.Error()
	var sent *url.Error // of the SSE transport
	if errors.As(err, &sent) {
		why = sent.Err.Error()
	}
	if _, inner, ok := strings.Cut(why, "rejected by transport: "); ok {
		why = inner
	}
	failed := fault.New(fault.UpstreamUnavailable, "log in at server %s: %s", s.Name, toolmeta.Text(why, 500))
	if o.Client == "" && strings.Contains(err.Error(), "registration") {
		return failed.WithHint("the server does not support dynamic registration: register a client with the redirect URL http://127.0.0.1:PORT/callback, then log in with its client id and port")
	}
	return failed
}

// callback serves the redirect URL and waits for the code.
type callback struct {
	listener net.Listener
	options  LoginOptions
	server   *http.Server
	got      chan returned
	once     sync.Once
}

// returned is the query of the redirect.
type returned struct {
	code, state, issuer string
	err                 error
}

const callbackPath = "/callback"

func newCallback(l net.Listener, o LoginOptions) *callback {
	c := &callback{listener: l, options: o, got: make(chan returned, 1)}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+callbackPath, func(w http.ResponseWriter, r *http.Request) {
		res := c.take(r.URL.Query())
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'none'")
		text := "Login complete. You can close this window."
		if res.err != nil {
			text = "Login failed: " + res.err.Error()
		}
		_, _ = fmt.Fprintf(w, "<!doctype html><title>wexec</title><p>%s</p>", html.EscapeString(text))
	})
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	go func() { _ = c.server.Serve(l) }()
	return c
}

func (c *callback) address() string { return "http://" + c.listener.Addr().String() + callbackPath }

// take reads the query of the redirect URL. Only the
// first with a code or an error counts.
func (c *callback) take(q url.Values) returned {
	res := returned{code: q.Get("code"), state: q.Get("state"), issuer: q.Get("iss")}
	switch {
	case q.Get("error") != "":
		res.err = fault.New(fault.DeniedApproval, "server returned %s", toolmeta.Text(strings.TrimSpace(q.Get("error")+" "+q.Get("error_description")), 300))
	case res.code == "":
		res.err = fault.New(fault.UpstreamUnavailable, "the URL has no code")
		return res // ignore a stray request
	}
	select {
	case c.got <- res:
	default:
	}
	return res
}

// fetch shows the URL and waits for the code.
func (c *callback) fetch(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(args.URL)
	if err != nil || (u.Scheme != "https" && (u.Scheme != "http" || !loopbackHost(u.Hostname()))) {
		return nil, fault.New(fault.UpstreamUnavailable, "the server's authorization URL is not safe to open")
	}
	c.options.Show(u.String())
	if c.options.Paste != nil {
		go c.paste(ctx)
	}
	select {
	case res := <-c.got:
		if res.err != nil {
			return nil, res.err
		}
		return &auth.AuthorizationResult{Code: res.code, State: res.state, Iss: res.issuer}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *callback) paste(ctx context.Context) {
	text, err := c.options.Paste(ctx)
	if err != nil {
		return
	}
	if u, err := url.Parse(strings.TrimSpace(text)); err == nil {
		c.take(u.Query())
	}
}

func (c *callback) close() { c.once.Do(func() { _ = c.server.Close() }) }
