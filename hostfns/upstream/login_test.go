package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/fault"
)

// guarded is an MCP server behind its authorization server, both in
// this process.
type guarded struct {
	*httptest.Server
	transport  string
	mu         sync.Mutex
	clients    map[string]string // id to its redirect address
	codes      map[string]string // code to its challenge
	access     map[string]bool   // accepted tokens
	renewals   map[string]bool   // refresh tokens that were not used
	lifetime   time.Duration
	register   bool
	made       int
	authorized []string // Authorization headers that tools saw
}

func newGuarded(t *testing.T) *guarded { return newGuardedOver(t, HTTP) }

func newGuardedOver(t *testing.T, transport string) *guarded {
	t.Helper()
	g := &guarded{transport: transport, clients: map[string]string{"byhand": ""}, codes: map[string]string{}, access: map[string]bool{}, renewals: map[string]bool{},
		lifetime: time.Hour, register: true}
	s := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "whoami", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "you"}}}, nil
	})
	var tools http.Handler = mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	if transport == SSE {
		tools = mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		g.mu.Lock()
		ok := g.access[token]
		g.authorized = append(g.authorized, token)
		g.mu.Unlock()
		if !ok {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, g.URL))
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		tools.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{g.URL}, "scopes_supported": []string{"read"}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		doc := map[string]any{"issuer": g.URL, "authorization_endpoint": g.URL + "/authorize", "token_endpoint": g.URL + "/token",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none", "client_secret_post"}}
		if g.register {
			doc["registration_endpoint"] = g.URL + "/register"
		}
		answer(w, doc)
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			RedirectURIs []string `json:"redirect_uris"`
			Method       string   `json:"token_endpoint_auth_method"`
		}
		if json.NewDecoder(r.Body).Decode(&in) != nil || len(in.RedirectURIs) != 1 {
			http.Error(w, "bad", http.StatusBadRequest)
			return
		}
		g.mu.Lock()
		g.clients["client-1"] = in.RedirectURIs[0]
		g.mu.Unlock()
		answerWith(w, http.StatusCreated, map[string]any{"client_id": "client-1", "redirect_uris": in.RedirectURIs, "token_endpoint_auth_method": in.Method})
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		g.mu.Lock()
		defer g.mu.Unlock()
		want, known := g.clients[q.Get("client_id")]
		if !known || (want != "" && want != q.Get("redirect_uri")) || q.Get("code_challenge_method") != "S256" || q.Get("resource") != g.URL+"/mcp" {
			http.Error(w, "bad "+r.URL.RawQuery, http.StatusBadRequest)
			return
		}
		g.codes["code-1"] = q.Get("code_challenge")
		http.Redirect(w, r, q.Get("redirect_uri")+"?code=code-1&state="+url.QueryEscape(q.Get("state")), http.StatusFound)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		g.mu.Lock()
		defer g.mu.Unlock()
		ok := false
		switch r.Form.Get("grant_type") {
		case "authorization_code":
			sum := sha256.Sum256([]byte(r.Form.Get("code_verifier")))
			ok = g.codes[r.Form.Get("code")] == base64.RawURLEncoding.EncodeToString(sum[:])
			delete(g.codes, r.Form.Get("code"))
		case "refresh_token":
			ok = g.renewals[r.Form.Get("refresh_token")]
			delete(g.renewals, r.Form.Get("refresh_token")) // each is good for once
		}
		if !ok {
			answerWith(w, http.StatusBadRequest, map[string]any{"error": "invalid_grant"})
			return
		}
		g.made++
		token, renew := fmt.Sprintf("access-%d", g.made), fmt.Sprintf("renew-%d", g.made)
		g.access[token], g.renewals[renew] = true, true
		answer(w, map[string]any{"access_token": token, "token_type": "Bearer", "expires_in": int(g.lifetime.Seconds()), "refresh_token": renew, "scope": "read"})
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

func answer(w http.ResponseWriter, v any) { answerWith(w, http.StatusOK, v) }

func answerWith(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

// agree is a person's browser: it follows the address and the redirect back.
func agree(t *testing.T) func(string) {
	return func(address string) {
		go func() {
			resp, err := http.Get(address)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				t.Errorf("the browser got %s", resp.Status)
			}
		}()
	}
}

func (g *guarded) server() Server {
	return Server{Name: "guarded", Transport: g.transport, URL: g.URL + "/mcp"}
}

func connected(t *testing.T, grants *Grants, s Server) *Provider {
	t.Helper()
	p, err := New([]Server{s}, Options{Authorize: grants.Authorize})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestAPersonLogsInOnce(t *testing.T) {
	for _, transport := range []string{HTTP, SSE} {
		t.Run(transport, func(t *testing.T) { logsInOnce(t, transport) })
	}
}

func logsInOnce(t *testing.T, transport string) {
	g := newGuardedOver(t, transport)
	path := filepath.Join(t.TempDir(), "state", "logins.json")
	grants := NewGrants(path)

	// Without a login the error says what to do.
	_, err := connected(t, grants, g.server()).Tools(t.Context(), "guarded")
	if !errors.Is(err, fault.UpstreamUnavailable) || fault.HintOf(err) != "run wexec mcp login guarded" {
		t.Fatalf("without a login: %v, hint %q", err, fault.HintOf(err))
	}
	tools, err := grants.Login(t.Context(), g.server(), LoginOptions{Show: agree(t)})
	if err != nil || tools != 1 {
		t.Fatalf("%d tools, %v", tools, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", info, err)
	}
	// Any later process reads the file.
	got, err := call(connected(t, NewGrants(path), g.server()), "guarded", "whoami", `{}`)
	if err != nil || string(got.Data) != "you" {
		t.Fatalf("%s, %v", got.Data, err)
	}
	if l, err := grants.Status(g.server()); err != nil || !l.In || !l.Renews || len(l.Scopes) == 0 {
		t.Errorf("status %+v, %v", l, err)
	}
	// The token is the address's: the same name elsewhere gets nothing.
	other := newGuarded(t)
	s := other.server()
	if _, err := connected(t, grants, s).Tools(t.Context(), "guarded"); fault.HintOf(err) == "" {
		t.Errorf("another server of that name: %v", err)
	}
	other.mu.Lock()
	for _, sent := range other.authorized {
		if sent != "" {
			t.Errorf("another server of that name was sent %q", sent)
		}
	}
	other.mu.Unlock()
	if there, err := grants.Forget(g.server()); !there || err != nil {
		t.Errorf("%v, %v", there, err)
	}
	if _, err := connected(t, grants, g.server()).Tools(t.Context(), "guarded"); fault.HintOf(err) != "run wexec mcp login guarded" {
		t.Errorf("after logging out: %v", err)
	}
}

func TestATokenIsRenewedWithoutAPerson(t *testing.T) {
	for _, transport := range []string{HTTP, SSE} {
		t.Run(transport, func(t *testing.T) { renewed(t, transport) })
	}
}

func renewed(t *testing.T, transport string) {
	g := newGuardedOver(t, transport)
	g.lifetime = time.Second // less than what counts as valid
	grants := NewGrants(filepath.Join(t.TempDir(), "logins.json"))
	if _, err := grants.Login(t.Context(), g.server(), LoginOptions{Show: agree(t)}); err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	g.lifetime = time.Hour
	g.mu.Unlock()
	p := connected(t, grants, g.server())
	if _, err := call(p, "guarded", "whoami", `{}`); err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	made := g.made
	g.mu.Unlock()
	if made < 2 {
		t.Fatalf("%d tokens were made", made)
	}
	// A token that the server takes back before its time is renewed too, in the
	// middle of a session, by many calls at once and once.
	g.mu.Lock()
	clear(g.access)
	before := g.made
	g.mu.Unlock()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := call(p, "guarded", "whoami", `{}`); err != nil {
				t.Errorf("a call after the token was taken back: %v", err)
			}
		})
	}
	wg.Wait()
	g.mu.Lock()
	if g.made != before+1 {
		t.Errorf("%d renewals", g.made-before)
	}
	// When the right to renew is gone too, a person is needed.
	clear(g.access)
	clear(g.renewals)
	g.mu.Unlock()
	if _, err := call(p, "guarded", "whoami", `{}`); !errors.Is(err, fault.UpstreamUnavailable) || fault.HintOf(err) != "run wexec mcp login guarded" {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
}

func TestAClientThatWasRegisteredByHandLogsIn(t *testing.T) {
	g := newGuarded(t)
	g.register = false
	grants := NewGrants(filepath.Join(t.TempDir(), "logins.json"))
	_, err := grants.Login(t.Context(), g.server(), LoginOptions{Show: agree(t)})
	if err == nil || !strings.Contains(fault.HintOf(err), "client id and port") {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
	if _, err := grants.Login(t.Context(), g.server(), LoginOptions{Show: agree(t), Client: "byhand"}); err != nil {
		t.Error(err)
	}
}

func TestTheAddressMayBePastedFromAnotherMachine(t *testing.T) {
	g := newGuarded(t)
	shown := make(chan string, 1)
	paste := func(context.Context) (string, error) {
		// A browser elsewhere: it is sent to an address that it cannot reach.
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := client.Get(<-shown)
		if err != nil {
			return "", err
		}
		_ = resp.Body.Close()
		return resp.Header.Get("Location") + "\n", nil
	}
	grants := NewGrants(filepath.Join(t.TempDir(), "logins.json"))
	if _, err := grants.Login(t.Context(), g.server(), LoginOptions{Show: func(a string) { shown <- a }, Paste: paste}); err != nil {
		t.Fatal(err)
	}
}

func TestALoginThatIsRefusedOrForgedKeepsNothing(t *testing.T) {
	for name, query := range map[string]string{"a refusal": "?error=access_denied&error_description=%1b%5b31mno", "a forged state": "?code=x&state=forged"} {
		g := newGuarded(t)
		path := filepath.Join(t.TempDir(), "logins.json")
		_, err := NewGrants(path).Login(t.Context(), g.server(), LoginOptions{Show: func(address string) {
			u, err := url.Parse(address)
			if err != nil {
				t.Error(err)
				return
			}
			go func() {
				if resp, err := http.Get(u.Query().Get("redirect_uri") + query); err == nil {
					_ = resp.Body.Close()
				}
			}()
		}})
		if err == nil || strings.ContainsRune(err.Error(), 0x1b) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s left a file", name)
		}
	}
}

func TestNobodyLogsInForEver(t *testing.T) {
	g := newGuarded(t)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_, err := NewGrants(filepath.Join(t.TempDir(), "x")).Login(ctx, g.server(), LoginOptions{Show: func(string) {}})
	if !errors.Is(err, fault.Cancelled) {
		t.Errorf("%v", err)
	}
}

func TestAnAuthorizationServerOnThisMachineIsNotForAServerElsewhere(t *testing.T) {
	g := newGuarded(t)
	if _, err := loginClient("https://mcp.example.com/mcp").Get(g.URL + "/register"); err == nil || !strings.Contains(err.Error(), "authorization server on this machine") {
		t.Errorf("%v", err)
	}
	c := &callback{options: LoginOptions{Show: func(a string) { t.Errorf("shown: %s", a) }}}
	for _, address := range []string{"javascript:alert(1)", "file:///etc/passwd", "http://elsewhere.example/login"} {
		if _, err := c.fetch(t.Context(), argsOf(address)); err == nil {
			t.Errorf("%s is shown", address)
		}
	}
}

func TestConfiguredCredentialsAreNotMixedWithALogin(t *testing.T) {
	g := newGuarded(t)
	s := g.server()
	s.Headers, s.Origin = map[string]string{"authorization": "Bearer configured"}, "mcp.json:3"
	_, err := connected(t, NewGrants(filepath.Join(t.TempDir(), "x")), s).Tools(t.Context(), "guarded")
	if !errors.Is(err, fault.UpstreamUnavailable) || !strings.Contains(fault.HintOf(err), "mcp.json:3") {
		t.Errorf("%v, hint %q", err, fault.HintOf(err))
	}
}

func argsOf(address string) *auth.AuthorizationArgs { return &auth.AuthorizationArgs{URL: address} }
