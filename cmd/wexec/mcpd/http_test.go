package mcpd

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

const testToken = "a-token-for-the-tests"

// bearer adds the token to every request.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// serve listens on the loopback and gives the server's address.
func serve(t *testing.T, s *Server, o HTTPOptions) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if o.Token == "" {
		o.Token = testToken
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.HTTP(ctx, l, o) }()
	t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Error("the server does not end")
		}
	})
	return "http://" + l.Addr().String() + Path
}

func dial(t *testing.T, address, version string, o *mcp.ClientOptions) (*mcp.ClientSession, error) {
	t.Helper()
	return mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, o).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: address, HTTPClient: &http.Client{Transport: bearer{testToken}}, MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

func TestManyClientsOverHTTP(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{})
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			c, err := dial(t, address, versions[i%2], nil)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for j := range 3 {
				res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{
					"language": "javascript", "code": "return args * 10 + (await tools.shop.list_items({})).length", "args": i*10 + j}})
				if err != nil || textOf(res) != fmt.Sprint((i*10+j)*10+1) {
					t.Errorf("client %d, call %d: %v %v", i, j, res, err)
				}
			}
		})
	}
	all.Wait()
}

func TestHTTPRefusesStrangers(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{Hosts: []string{"wexec.example.com"}, Origins: []string{"https://app.example.com"}})
	ask := func(change func(*http.Request)) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Header.Set("Authorization", "Bearer "+testToken)
		change(r)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if _, err := io.Copy(io.Discard, res.Body); err != nil {
			t.Fatal(err)
		}
		return res.StatusCode
	}
	for name, c := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"as it should be":        {func(*http.Request) {}, 200},
		"no token":               {func(r *http.Request) { r.Header.Del("Authorization") }, 401},
		"another token":          {func(r *http.Request) { r.Header.Set("Authorization", "Bearer a-token-for-the-testz") }, 401},
		"two tokens":             {func(r *http.Request) { r.Header.Add("Authorization", "Bearer "+testToken) }, 401},
		"a token as a password":  {func(r *http.Request) { r.Header.Set("Authorization", "Basic "+testToken) }, 401},
		"a rebound name":         {func(r *http.Request) { r.Host = "evil.example.com" }, 403},
		"a name that is allowed": {func(r *http.Request) { r.Host = "WEXEC.example.com:443" }, 200},
		"localhost":              {func(r *http.Request) { r.Host = "localhost:1" }, 200},
		"a page of another site": {func(r *http.Request) { r.Header.Set("Origin", "https://evil.example.com") }, 403},
		"a page of no site":      {func(r *http.Request) { r.Header.Set("Origin", "null") }, 403},
		"a page with two origins": {func(r *http.Request) {
			r.Header.Add("Origin", "http://localhost")
			r.Header.Add("Origin", "https://evil.example.com")
		}, 403},
		"a page that may":         {func(r *http.Request) { r.Header.Set("Origin", "https://app.example.com") }, 200},
		"a page of this machine":  {func(r *http.Request) { r.Header.Set("Origin", "http://localhost:3000") }, 200},
		"a name that looks local": {func(r *http.Request) { r.Header.Set("Origin", "http://localhost.evil.example.com") }, 403},
		"no content type":         {func(r *http.Request) { r.Header.Set("Content-Type", "text/plain") }, 415},
		"another path":            {func(r *http.Request) { r.URL.Path = "/" }, 404},
		"an unknown session":      {func(r *http.Request) { r.Header.Set("Mcp-Session-Id", "guessed") }, 404},
	} {
		if got := ask(c.change); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
	if _, err := s.Handler(HTTPOptions{Token: "short"}); err == nil {
		t.Error("a short token is taken")
	}
}

func TestHTTPHoldsAsManyClientsAsItMay(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{Sessions: 2})
	a, err := dial(t, address, "2025-06-18", nil)
	if err != nil {
		t.Fatal(err)
	}
	b, err := dial(t, address, "2025-06-18", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	if c, err := dial(t, address, "2025-06-18", nil); err == nil {
		t.Error("a third client connected")
		_ = c.Close()
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	c, err := dial(t, address, "2025-06-18", nil)
	if err != nil {
		t.Fatalf("a place that became free is not given: %v", err)
	}
	_ = c.Close()
}

// In the protocol without sessions, a client cancels a call by closing its
// connection. TestARunSurvivesACutConnection is about the other.
func TestARunEndsWithItsHTTPClient(t *testing.T) {
	for _, version := range versions[1:] {
		s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
		address := serve(t, s, HTTPOptions{})
		transport := &http.Transport{}
		c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
			Endpoint: address, MaxRetries: -1, HTTPClient: &http.Client{Transport: cutting{transport}}}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		execute(t, c, map[string]any{"code": "1"})
		ctx, cancel := context.WithCancel(context.WithValue(t.Context(), cutKey{}, true))
		go func() {
			_, _ = c.CallTool(ctx, &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript", "code": "for (;;);"}})
		}()
		run := onlyRun(t, s)
		cancel() // of the connection: no word is sent
		select {
		case <-run.done:
		case <-time.After(20 * time.Second): // its own limit is 30
			t.Errorf("%s: the run goes on without its client", version)
		}
		go func() { _ = c.Close() }()
	}
}

// cutting drops every notification, as a client does that is simply gone.
type cutting struct{ next *http.Transport }

type cutKey struct{}

func (c cutting) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+testToken)
	if r.Body != nil {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(data), "notifications/cancelled") {
			return nil, io.ErrUnexpectedEOF
		}
		r.Body = io.NopCloser(strings.NewReader(string(data)))
	}
	return c.next.RoundTrip(r)
}

func TestAClientOverHTTPIsAsked(t *testing.T) {
	for _, version := range versions {
		shop := &shop{}
		s := newServer(t, openPolicy, nil, shop.providers()...)
		address := serve(t, s, HTTPOptions{})
		p := &person{answers: []string{"yes"}}
		c, err := dial(t, address, version, p.options())
		if err != nil {
			t.Fatal(err)
		}
		res := execute(t, c, map[string]any{"code": "return await tools.shop.delete_item({id: 5})"})
		if textOf(res) != "deleted 5" || len(p.shown) != 1 || resultOf(t, res).Status != engine.StatusOK {
			t.Errorf("%s: %s, %d asked", version, textOf(res), len(p.shown))
		}
		_ = c.Close()
	}
}

// The servers of profiles share the door, its token and its bounds.
func TestProfilesAreServedBehindTheSameDoor(t *testing.T) {
	all := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	reading := newServer(t, "version: 1\ntools: {allow: ['shop.list_*']}\n", nil, (&shop{}).providers()...)
	address := serve(t, all, HTTPOptions{Sessions: 2, Profile: func(name string) (*Server, error) {
		if name != "reading" {
			return nil, fault.New(fault.UsageProfile, "there is no profile %q", name)
		}
		return reading, nil
	}})
	root := strings.TrimSuffix(address, Path)
	for token, status := range map[string]int{"": 401, "wrong": 401, testToken: 404} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, root+ProfilePath+"unknown", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		res, err := bearer{token}.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("token %q: %d", token, res.StatusCode)
		}
	}
	one, err := dial(t, root+ProfilePath+"reading", "2025-06-18", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	if res := execute(t, one, map[string]any{"code": "return await tools.shop.slow_meet({of: 1})"}); !strings.Contains(textOf(res), "denied.tool") {
		t.Errorf("a tool outside of the profile answers %s", textOf(res))
	}
	if res := execute(t, one, map[string]any{"code": "return (await tools.shop.list_items({})).length"}); textOf(res) != "1" {
		t.Error(textOf(res))
	}
	two, err := dial(t, address, "2025-06-18", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	if _, err := dial(t, address, "2025-06-18", nil); err == nil {
		t.Error("the sessions of profiles are not counted")
	}
}
