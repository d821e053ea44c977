package mcpd

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// login is an authorization server with an RSA and an EC key.
type login struct {
	*httptest.Server
	rsa   *rsa.PrivateKey
	ec    *ecdsa.PrivateKey
	asked atomic.Int32 // how often for keys
}

func newLogin(t *testing.T) *login {
	t.Helper()
	l := &login{}
	var err error
	if l.rsa, err = rsa.GenerateKey(rand.Reader, 2048); err != nil {
		t.Fatal(err)
	}
	if l.ec, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	point, err := l.ec.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString
	mux := http.NewServeMux()
	mux.HandleFunc("/tenant/.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"issuer": l.URL + "/tenant", "jwks_uri": l.URL + "/keys"})
	})
	mux.HandleFunc("/keys", func(w http.ResponseWriter, _ *http.Request) {
		l.asked.Add(1)
		_ = json.NewEncoder(w).Encode(map[string]any{"keys": []any{
			map[string]any{"kty": "oct", "kid": "shared", "k": text([]byte("a shared secret"))},
			map[string]any{"kty": "RSA", "kid": "r", "use": "sig", "n": text(l.rsa.N.Bytes()), "e": text(big.NewInt(int64(l.rsa.E)).Bytes())},
			map[string]any{"kty": "EC", "kid": "e", "crv": "P-256", "x": text(point[1:33]), "y": text(point[33:])},
			map[string]any{"kty": "RSA", "kid": "enc", "use": "enc", "n": text(l.rsa.N.Bytes()), "e": "AQAB"},
		}})
	})
	l.Server = httptest.NewServer(mux)
	t.Cleanup(l.Close)
	return l
}

// token signs what a token says; changes are made before.
func (l *login) token(t *testing.T, resource string, change func(header, claims map[string]any)) string {
	t.Helper()
	header := map[string]any{"alg": "ES256", "kid": "e", "typ": "at+jwt"}
	said := map[string]any{"iss": l.URL + "/tenant", "sub": "ann", "aud": resource, "exp": time.Now().Add(time.Minute).Unix(), "scope": "wexec:run other"}
	if change != nil {
		change(header, said)
	}
	part := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(data)
	}
	text := part(header) + "." + part(said)
	sum := sha256.Sum256([]byte(text))
	var signature []byte
	var err error
	switch header["alg"] {
	case "ES256":
		var r, s *big.Int
		if r, s, err = ecdsa.Sign(rand.Reader, l.ec, sum[:]); err == nil {
			signature = append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...)
		}
	case "RS256":
		signature, err = rsa.SignPKCS1v15(rand.Reader, l.rsa, crypto.SHA256, sum[:])
	case "HS256": // with the public key as the secret, as attackers do
		mac := hmac.New(sha256.New, l.rsa.N.Bytes())
		_, _ = mac.Write([]byte(text))
		signature = mac.Sum(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// guarded is a server that takes access tokens for resource.
func guarded(t *testing.T, l *login, resource, fixed string) string {
	t.Helper()
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	h, err := s.Handler(HTTPOptions{Token: fixed, Hosts: []string{"wexec.example.com"},
		OAuth: &OAuth{Issuer: l.URL + "/tenant", Resource: resource, Scopes: []string{"wexec:run"}}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// knock sends an initialize and gives the answer without its body.
func knock(t *testing.T, address, token string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+Path, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 1<<16))
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

const resource = "https://wexec.example.com/mcp"

func TestOnlyTokensOfTheIssuerForThisServerAreTaken(t *testing.T) {
	l := newLogin(t)
	address := guarded(t, l, resource, "")
	set := func(key string, v any) func(_, claims map[string]any) {
		return func(_, claims map[string]any) { claims[key] = v }
	}
	head := func(key string, v any) func(header, _ map[string]any) {
		return func(header, _ map[string]any) { header[key] = v }
	}
	for name, c := range map[string]struct {
		token string
		want  int
	}{
		"as it should be":       {l.token(t, resource, nil), 200},
		"with RSA":              {l.token(t, resource, func(h, _ map[string]any) { h["alg"], h["kid"] = "RS256", "r" }), 200},
		"for several":           {l.token(t, resource, set("aud", []string{"https://other.example.com", resource})), 200},
		"scopes as a list":      {l.token(t, resource, func(_, c map[string]any) { delete(c, "scope"); c["scp"] = []string{"wexec:run"} }), 200},
		"no token":              {"", 401},
		"no JWT":                {"abc", 401},
		"for another server":    {l.token(t, "https://other.example.com/mcp", nil), 401},
		"for nobody":            {l.token(t, resource, set("aud", nil)), 401},
		"of another issuer":     {l.token(t, resource, set("iss", "https://evil.example.com")), 401},
		"expired":               {l.token(t, resource, set("exp", time.Now().Add(-time.Minute).Unix())), 401},
		"for ever":              {l.token(t, resource, func(_, c map[string]any) { delete(c, "exp") }), 401},
		"not yet":               {l.token(t, resource, set("nbf", time.Now().Add(time.Hour).Unix())), 401},
		"of nobody":             {l.token(t, resource, func(_, c map[string]any) { delete(c, "sub") }), 401},
		"without the scope":     {l.token(t, resource, set("scope", "other")), 403},
		"unsigned":              {l.token(t, resource, head("alg", "none")), 401},
		"with a shared secret":  {l.token(t, resource, func(h, _ map[string]any) { h["alg"], h["kid"] = "HS256", "r" }), 401},
		"another key's name":    {l.token(t, resource, head("kid", "r")), 401},
		"a key for encryption":  {l.token(t, resource, func(h, _ map[string]any) { h["alg"], h["kid"] = "RS256", "enc" }), 401},
		"an unknown key":        {l.token(t, resource, head("kid", "zzz")), 401},
		"what must be known":    {l.token(t, resource, head("crit", []string{"x"})), 401},
		"an id token":           {l.token(t, resource, head("typ", "logout+jwt")), 401},
		"a changed claim":       {swap(l.token(t, resource, nil), l.token(t, resource, set("sub", "eve"))), 401},
		"a signature too short": {strings.TrimRight(l.token(t, resource, nil), "abcdefghijklmnopqrstuvwxyz")[:100], 401},
		"larger than a token":   {strings.Repeat("a", maxToken) + "..", 401},
	} {
		res, body := knock(t, address, c.token)
		if res.StatusCode != c.want {
			t.Errorf("%s: %d %s, want %d", name, res.StatusCode, body, c.want)
		}
		if challenge := res.Header.Get("WWW-Authenticate"); c.want > 400 &&
			!strings.Contains(challenge, `resource_metadata="https://wexec.example.com/.well-known/oauth-protected-resource/mcp"`) {
			t.Errorf("%s: no metadata about tokens: %q", name, challenge)
		}
	}
	if n := l.asked.Load(); n > 2 {
		t.Errorf("keys were fetched %d times: strangers make this server ask", n)
	}
}

// swap gives a token the claims of another.
func swap(token, other string) string {
	a, b := strings.Split(token, "."), strings.Split(other, ".")
	return a[0] + "." + b[1] + "." + a[2]
}

func TestTheMetadataSaysWhereTokensAreToBeHad(t *testing.T) {
	l := newLogin(t)
	address := guarded(t, l, resource, "")
	for _, path := range []string{metadataPath, metadataPath + "/mcp"} {
		res, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		var said struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
		}
		err = json.NewDecoder(res.Body).Decode(&said)
		res.Body.Close()
		if err != nil || said.Resource != resource || len(said.Servers) != 1 || said.Servers[0] != l.URL+"/tenant" || len(said.Scopes) != 1 {
			t.Errorf("%s says %+v, %v", path, said, err)
		}
	}
	r, err := http.NewRequest(http.MethodGet, address+metadataPath, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "evil.example.com"
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusForbidden {
		t.Errorf("a rebound name gets %d", res.StatusCode)
	}
}

func TestAFixedTokenStaysGoodBesideOAuth(t *testing.T) {
	l := newLogin(t)
	address := guarded(t, l, resource, testToken)
	if res, _ := knock(t, address, testToken); res.StatusCode != 200 {
		t.Errorf("the fixed token gets %d", res.StatusCode)
	}
	if n := l.asked.Load(); n != 0 {
		t.Errorf("keys were fetched %d times for it", n)
	}
	l.Close()
	if res, body := knock(t, address, l.token(t, resource, nil)); res.StatusCode != 500 || strings.Contains(body, l.URL) {
		t.Errorf("an issuer that is away gives %d %s", res.StatusCode, body)
	}
}

func TestASessionBelongsToWhoOpenedIt(t *testing.T) {
	l := newLogin(t)
	address := guarded(t, l, resource, "")
	open := func(subject string) *mcp.ClientSession {
		token := l.token(t, resource, func(_, c map[string]any) { c["sub"] = subject })
		c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: address + Path, HTTPClient: &http.Client{Transport: bearer{token}}, MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	ann := open("ann")
	defer ann.Close()
	res, err := ann.CallTool(context.Background(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript", "code": "return 1"}})
	if err != nil || textOf(res) != "1" {
		t.Fatalf("%v %v", res, err)
	}
	for method, body := range map[string]string{http.MethodPost: `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, http.MethodDelete: ""} {
		r, err := http.NewRequest(method, address+Path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Mcp-Session-Id", ann.ID())
		r.Header.Set("Authorization", "Bearer "+l.token(t, resource, func(_, c map[string]any) { c["sub"] = "eve" }))
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusForbidden {
			t.Errorf("%s: another person's token gets %d in a session", method, answer.StatusCode)
		}
	}
	if _, err := ann.ListTools(context.Background(), nil); err != nil {
		t.Errorf("another person has ended the session: %v", err)
	}
}

func TestAnotherUsersRequestEndsNoRun(t *testing.T) {
	var w runs
	defer w.cancelAll()
	r := w.start("session", "oauth:ann", executeParams{})
	w.cancelOf("session", "oauth:eve")
	if _, ok := w.find("session", r.id); !ok || r.ctx.Err() != nil {
		t.Error("another user has ended the run")
	}
	w.cancelOf("session", "oauth:ann")
	if _, ok := w.find("session", r.id); ok || r.ctx.Err() == nil {
		t.Error("the run goes on after its client has left")
	}
}

func TestWrongOAuthOptionsAreRefused(t *testing.T) {
	s := newServer(t, openPolicy, nil)
	for _, o := range []OAuth{{}, {Issuer: "https://a.example.com"}, {Issuer: "http://a.example.com", Resource: resource},
		{Issuer: "https://u:p@a.example.com", Resource: resource}, {Issuer: "https://a.example.com", Resource: "/mcp"}} {
		if _, err := s.Handler(HTTPOptions{OAuth: &o}); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}
