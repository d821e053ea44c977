package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/cmd/wexec/httpd"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// serve starts a server and returns its address and a token of an administrator.
func serve(t *testing.T) (address, token string) {
	t.Helper()
	data := t.TempDir()
	s, err := store.Open(t.Context(), "sqlite:"+filepath.Join(data, "wexec.db"), store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	served, err := service.Open(t.Context(), service.Options{Store: s, Data: data, Env: testenv.Isolated(data), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	api, err := httpd.New(httpd.Options{Service: served})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(api)
	t.Cleanup(func() {
		web.CloseClientConnections()
		web.Close()
		_, _ = served.Close(), s.Close()
	})
	token, _, err = served.CreateToken(t.Context(), store.Token{Tenant: service.DefaultTenant, Name: "ada", Type: store.TypePerson, Scopes: []store.Scope{store.ScopeAdmin}})
	if err != nil {
		t.Fatal(err)
	}
	return web.URL, token
}

// client returns a client of an address.
func client(t *testing.T, address, token string) *Client {
	t.Helper()
	c, err := New(address, token, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// cutting is a network in front of a server. It closes a connection after as many bytes
// of answers as left returns; a negative number means never.
func cutting(t *testing.T, address string, left func() int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	target := strings.TrimPrefix(address, "http://")
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer in.Close()
				out, err := net.Dial("tcp", target)
				if err != nil {
					return
				}
				defer out.Close()
				go func() { _, _ = io.Copy(out, in) }()
				if n := left(); n >= 0 {
					// At least one byte is read, so that the server has acted.
					_, _ = io.CopyN(in, out, n)
					_, _ = out.Read(make([]byte, 1))
					return
				}
				_, _ = io.Copy(in, out)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func TestARequestThatIsCutOffRunsOnce(t *testing.T) {
	address, token := serve(t)
	var requests atomic.Int64
	cut := client(t, cutting(t, address, func() int64 {
		if requests.Add(1) <= 2 {
			return 0 // the server has the request, the client no answer
		}
		return -1
	}), token)
	run, err := cut.Submit(t.Context(), service.Program{Language: "javascript", Code: "return 6 * 7"}, "once")
	if err != nil {
		t.Fatal(err)
	}
	if requests.Load() < 3 {
		t.Errorf("%d connections: none was cut", requests.Load())
	}
	runs, _, err := client(t, address, token).Runs(t.Context(), store.Filter{})
	if err != nil || len(runs) != 1 || runs[0].RunID != run.RunID {
		t.Errorf("%d runs, %v", len(runs), err)
	}
}

func TestARequestWithoutAKeyIsNotSentAgainAfterItWasCutOff(t *testing.T) {
	address, token := serve(t)
	cut := client(t, cutting(t, address, func() int64 { return 0 }), token)
	if _, _, err := cut.CreateToken(t.Context(), store.Token{Name: "ci", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRun}}); !errors.Is(err, fault.UpstreamUnavailable) {
		t.Errorf("error %v", err)
	}
	if all, err := client(t, address, token).Tokens(t.Context()); err != nil || len(all) != 2 {
		t.Errorf("%d tokens, %v", len(all), err)
	}
}

func TestEventsThatAreCutOffAreComplete(t *testing.T) {
	address, token := serve(t)
	whole := client(t, address, token)
	var want strings.Builder
	for i := range 60 {
		fmt.Fprintf(&want, "line %d of the program\n", i)
	}
	run, err := whole.Submit(t.Context(), service.Program{Language: "javascript",
		Code: "for (let i = 0; i < 60; i++) { console.log(`line ${i} of the program`); if (i % 6 == 0) await new Promise(r => setTimeout(r, 120)) }; return 'end'"}, "")
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int64
	cut := client(t, cutting(t, address, func() int64 {
		return 500 + 300*connections.Add(1) // the headers and some events; the last one has the result
	}), token)
	for _, follow := range []bool{true, false} {
		var got strings.Builder
		var last int64
		var end service.Run
		if err := cut.Events(t.Context(), run.RunID, 0, follow, func(e store.Event) error {
			if e.Number != last+1 {
				t.Errorf("event %d after %d", e.Number, last)
			}
			last = e.Number
			var data struct{ Text string }
			if err := json.Unmarshal(e.Data, &data); err != nil {
				return err
			}
			switch e.Type {
			case "output":
				got.WriteString(data.Text)
			case "end":
				return json.Unmarshal(e.Data, &end)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if got.String() != want.String() || string(end.Value) != `"end"` {
			t.Errorf("follow %v: output %q, end %s", follow, got.String(), end.Value)
		}
	}
	if connections.Load() < 4 {
		t.Errorf("%d connections: none was cut", connections.Load())
	}
}

func TestAnErrorOfTheReaderEndsTheEvents(t *testing.T) {
	address, token := serve(t)
	c := client(t, address, token)
	run, err := c.Submit(t.Context(), service.Program{Language: "javascript", Code: "console.log(1)"}, "")
	if err != nil {
		t.Fatal(err)
	}
	enough := errors.New("enough")
	if err := c.Events(t.Context(), run.RunID, 0, true, func(store.Event) error { return enough }); !errors.Is(err, enough) {
		t.Error(err)
	}
}

func TestWhatAServerRefusesIsAFault(t *testing.T) {
	address, token := serve(t)
	c := client(t, address, token)
	for _, at := range []struct {
		name string
		want fault.Code
		call func() error
	}{
		{"unknown run", fault.UsageRun, func() error { _, err := c.Run(t.Context(), "01/../NOTHING"); return err }},
		{"events of an unknown run", fault.UsageRun, func() error { return c.Events(t.Context(), "01NOTHING", 0, true, nil) }},
		{"a program that cannot be", fault.UsageLanguage, func() error {
			_, err := c.Submit(t.Context(), service.Program{Language: "cobol", Code: "x"}, "")
			return err
		}},
		{"a key of another program", fault.UsageConflict, func() error {
			_, first := c.Submit(t.Context(), service.Program{Language: "js", Code: "1"}, "same")
			_, err := c.Submit(t.Context(), service.Program{Language: "js", Code: "2"}, "same")
			return errors.Join(first, err)
		}},
		{"a wrong token", fault.DeniedToken, func() error { _, _, err := client(t, address, "wx_no").Runs(t.Context(), store.Filter{}); return err }},
	} {
		if err := at.call(); fault.CodeOf(err) != at.want {
			t.Errorf("%s: error %v", at.name, err)
		}
	}
}

func TestServersThatMisbehaveAreFaults(t *testing.T) {
	var other atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { other.Add(1) }))
	t.Cleanup(elsewhere.Close)
	body := func(status int, media, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	for name, answer := range map[string]http.HandlerFunc{
		"a page":              body(200, "text/html", "<html>"),
		"a page as a problem": body(404, "text/html", "<html>"),
		"not JSON":            body(200, "application/json", "{"),
		"an unknown code":     body(400, "application/problem+json", `{"code": "usage.invented", "detail": "x"}`),
		"another server": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		},
		"endless": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for block := bytes.Repeat([]byte(" "), 1<<20); r.Context().Err() == nil; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			web := httptest.NewServer(answer)
			defer web.Close()
			if _, err := client(t, web.URL, "wx_secret").Run(t.Context(), "01"); !errors.Is(err, fault.UpstreamUnavailable) {
				t.Errorf("error %v", err)
			}
		})
	}
	if other.Load() > 0 {
		t.Error("a redirect was followed with the token")
	}
}

func TestACertificateThatNobodyVouchesForIsRefused(t *testing.T) {
	var got atomic.Int64
	web := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
	defer web.Close()
	web.Config.ErrorLog = nil
	_, err := client(t, web.URL, "wx_secret").Run(t.Context(), "01")
	if !errors.Is(err, fault.UpstreamUnavailable) || !strings.Contains(fault.HintOf(err), "SSL_CERT_FILE") || got.Load() > 0 {
		t.Errorf("error %v, hint %q, %d requests", err, fault.HintOf(err), got.Load())
	}
}

func TestATokenGoesUnencryptedToThisMachineOnly(t *testing.T) {
	for address, ok := range map[string]bool{
		"http://127.0.0.1:8080": true, "http://[::1]:8080": true, "http://localhost": true, "https://wexec.example.com/prefix/": true,
		"http://wexec.example.com": false, "http://127.0.0.1.example.com": false, "http://10.0.0.1": false,
		"https://user:password@wexec.example.com": false, "wexec.example.com": false, "ftp://127.0.0.1": false, "https://": false, "": false, "http://%": false,
	} {
		if _, err := New(address, "wx_secret", false); (err == nil) != ok {
			t.Errorf("%s: error %v", address, err)
		}
	}
	if _, err := New("http://10.0.0.1", "wx_secret", true); err != nil {
		t.Error(err)
	}
}

func TestACallEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := fault.New(fault.Cancelled, "interrupted")
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		cancel(stopped)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer web.Close()
	began := time.Now()
	if _, err := client(t, web.URL, "wx_secret").Run(ctx, "01"); !errors.Is(err, stopped) || time.Since(began) > 30*time.Second {
		t.Error(err)
	}
}
