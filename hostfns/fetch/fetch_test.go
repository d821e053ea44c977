package fetch

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// lab is a run with a policy and servers on this machine.
type lab struct {
	t       testing.TB
	table   *hostfns.Table
	run     *hostfns.Run
	sink    *audit.Memory
	names   map[string][]string // what names resolve to
	secrets map[string]string
}

func newLab(t testing.TB, rules string, opts Options) *lab {
	t.Helper()
	l := &lab{t: t, sink: &audit.Memory{}, names: map[string][]string{}, secrets: map[string]string{}}
	p, err := policy.Parse("policy.yaml", []byte("version: 1\npii: {mode: off}\n"+rules))
	if err != nil {
		t.Fatal(err)
	}
	if opts.Resolve == nil {
		opts.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
			var out []netip.Addr
			for _, a := range l.names[host] {
				out = append(out, netip.MustParseAddr(a))
			}
			if out == nil {
				return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
			}
			return out, nil
		}
	}
	provider := New(opts)
	table, err := hostfns.NewTable(p, l.sink, provider)
	if err != nil {
		t.Fatal(err)
	}
	l.table = table
	table.With(hostfns.Options{Secrets: func(_ context.Context, from string) (string, error) { return l.secrets[from], nil }})
	if l.run, err = table.Open(t.Context(), hostfns.RunInfo{ID: "r", Limits: policy.Limits{ToolCalls: 10_000}}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = l.run.Close(context.Background(), audit.End{Status: "ok"})
		_ = table.Close()
	})
	return l
}

type response struct {
	Status     int
	StatusText string
	URL        string
	Headers    [][2]string
	Body       int64
	Redirected bool
}

func (r response) header(name string) string {
	for _, h := range r.Headers {
		if h[0] == name {
			return h[1]
		}
	}
	return ""
}

// fetch makes a request as the prelude does.
func (l *lab) fetch(req map[string]any) (response, error) {
	l.t.Helper()
	args, err := json.Marshal(req)
	if err != nil {
		l.t.Fatal(err)
	}
	a, err := l.run.Call(l.t.Context(), "wexec:fetch", args)
	if err != nil {
		return response{}, err
	}
	var r response
	if err := json.Unmarshal(a.Data, &r); err != nil {
		l.t.Fatalf("%s: %v", a.Data, err)
	}
	return r, nil
}

// read reads a body to its end, in slices.
func (l *lab) read(r response, slice int) (string, error) {
	var out []byte
	for {
		a, err := l.run.Call(l.t.Context(), "wexec:read", fmt.Appendf(nil, `{"stream": %d, "max": %d}`, r.Body, slice))
		if err != nil {
			return string(out), err
		}
		if a.Kind != hostfns.Bytes || len(a.Data) > slice {
			l.t.Fatalf("a slice of kind %v with %d bytes", a.Kind, len(a.Data))
		}
		if len(a.Data) == 0 {
			return string(out), nil
		}
		out = append(out, a.Data...)
	}
}

func portOf(t testing.TB, s *httptest.Server) int {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	n, err := strconv.Atoi(u.Port())
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func serve(t testing.TB, h http.HandlerFunc) (*httptest.Server, int) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s, portOf(t, s)
}

func TestAResponseIsReadInSlices(t *testing.T) {
	s, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Echo", r.Header.Get("X-Mine"))
		w.WriteHeader(201)
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL.Path, strings.Repeat(string(b), 1000))
	})
	l := newLab(t, fmt.Sprintf("network:\n  allow:\n    - {host: 127.0.0.1, methods: [POST], ports: [%d]}\n", port), Options{})
	r, err := l.fetch(map[string]any{"method": "post", "url": s.URL + "/p#frag", "headers": [][]string{{"X-Mine", "yes"}},
		"body": base64.StdEncoding.EncodeToString([]byte("hello"))})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != 201 || r.StatusText != "Created" || r.header("x-echo") != "yes" || r.URL != s.URL+"/p" || r.Redirected {
		t.Fatalf("got %+v", r)
	}
	body, err := l.read(r, 700)
	if err != nil || body != "POST /p "+strings.Repeat("hello", 1000) {
		t.Fatalf("%d bytes, %v", len(body), err)
	}
	_, err = l.fetch(map[string]any{"url": s.URL})
	if fault.CodeOf(err) != fault.DeniedNetwork {
		t.Fatal("a method without a rule passed:", err)
	}
	var kinds []string
	for _, e := range l.sink.Events() {
		if e.Decision != nil {
			kinds = append(kinds, e.Decision.Kind+" "+e.Decision.Effect)
		}
	}
	if got := strings.Join(kinds, ", "); got != "network allow, network deny" {
		t.Fatalf("recorded %s", got)
	}
}

func TestHeadersThatBelongToTheHostAreRefused(t *testing.T) {
	var hits atomic.Int64
	s, port := serve(t, func(w http.ResponseWriter, r *http.Request) { hits.Add(1) })
	l := newLab(t, fmt.Sprintf("network:\n  allow:\n    - {host: 127.0.0.1, ports: [%d]}\n", port), Options{})
	for _, h := range [][]string{{"Host", "x"}, {"host", "x"}, {"Content-Length", "0"}, {"Transfer-Encoding", "chunked"}, {"Connection", "x"}, {"Upgrade", "h2c"},
		{"Proxy-Authorization", "x"}, {"Sec-Fetch-Site", "x"}, {"TE", "x"}, {"X-A", "a\r\nHost: b"}, {"X-A\r\nHost", "b"}, {"X A", "b"}, {"", "b"}, {":authority", "x"},
		{"X-A", "a\x00b"}, {"Expect", "100-continue"}, {"X-Forwarded-For", "127.0.0.1"}, {"X-Long", strings.Repeat("x", 20<<10)}} {
		if _, err := l.fetch(map[string]any{"url": s.URL, "headers": [][]string{h}}); fault.CodeOf(err) != fault.ToolInvalidArgs {
			t.Errorf("%q: %v", h, err)
		}
	}
	for _, m := range []string{"CONNECT", "TRACE", "track", "GET / HTTP/1.1\r\nX: y", "G T", strings.Repeat("X", 30)} {
		if _, err := l.fetch(map[string]any{"url": s.URL, "method": m}); err == nil {
			t.Errorf("method %q passed", m)
		}
	}
	if hits.Load() != 0 {
		t.Fatal("a request arrived")
	}
}

func TestSecretsGoInForTheirHostAndNeverComeBack(t *testing.T) {
	const token = "s3cr3t-value-of-the-token"
	echo := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Seen", r.Header.Get("Authorization"))
		if r.URL.Path == "/slow" {
			for i := range len(token) {
				fmt.Fprint(w, token[i:i+1])
				w.(http.Flusher).Flush()
			}
			return
		}
		fmt.Fprintf(w, "you sent %s twice %s", r.Header.Get("Authorization"), r.Header.Get("Authorization"))
	}
	s, port := serve(t, echo)
	other, otherPort := serve(t, echo)
	l := newLab(t, fmt.Sprintf("network:\n  allow:\n    - {host: 127.0.0.1, ports: [%d]}\n    - {host: localhost, ports: [%d]}\n"+
		"secrets:\n  - {name: KEY, from: 'env:KEY', to: ['host:127.0.0.1'], as: 'header:Authorization: Bearer {}'}\n", port, otherPort), Options{})
	l.secrets["env:KEY"] = token
	l.names["localhost"] = []string{"127.0.0.1"}
	for _, slice := range []int{1, 3, 7, 1000} {
		r, err := l.fetch(map[string]any{"url": s.URL, "headers": [][]string{{"Authorization", "the program's own"}}})
		if err != nil {
			t.Fatal(err)
		}
		if got := r.header("x-seen"); got != "Bearer [secret KEY]" {
			t.Fatalf("the header came back as %q", got)
		}
		body, err := l.read(r, slice)
		if err != nil || body != "you sent Bearer [secret KEY] twice Bearer [secret KEY]" {
			t.Fatalf("in slices of %d: %q %v", slice, body, err)
		}
	}
	r, err := l.fetch(map[string]any{"url": s.URL + "/slow"})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := l.read(r, 5); err != nil || body != "[secret KEY]" {
		t.Fatalf("%q %v", body, err)
	}
	r, err = l.fetch(map[string]any{"url": strings.Replace(other.URL, "127.0.0.1", "localhost", 1)})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := l.read(r, 1000); err != nil || strings.Contains(body, "Bearer") {
		t.Fatalf("another host saw the secret: %q %v", body, err)
	}
	for _, e := range l.sink.Events() {
		if b, _ := json.Marshal(e); bytes.Contains(b, []byte(token)) {
			t.Fatalf("the record has the secret: %s", b)
		}
	}
}

func TestASecretGoesOverHTTPSOnly(t *testing.T) {
	tg, err := newTarget(request{URL: "http://api.example.org/"})
	if err != nil {
		t.Fatal(err)
	}
	g := &keeper{door: door{life: t.Context()}}
	if _, err := tg.secrets(t.Context(), g); fault.CodeOf(err) != fault.DeniedNetwork {
		t.Fatal(err)
	}
}

type keeper struct{ door }

func (*keeper) Arriving(int64) bool { return true }
func (*keeper) HostSecrets(context.Context, string) ([]hostfns.Secret, error) {
	return []hostfns.Secret{{Name: "K", As: "header:Authorization: {}", Value: "v"}}, nil
}

func TestCompressedBodiesAreReadAndBounded(t *testing.T) {
	var plain = strings.Repeat("hello ", 10_000)
	s, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var b bytes.Buffer
		switch r.URL.Path {
		case "/gzip":
			z := gzip.NewWriter(&b)
			fmt.Fprint(z, plain)
			z.Close()
			w.Header().Set("Content-Encoding", "gzip")
		case "/deflate":
			z := zlib.NewWriter(&b)
			fmt.Fprint(z, plain)
			z.Close()
			w.Header().Set("Content-Encoding", "deflate")
		case "/bomb":
			z := gzip.NewWriter(&b)
			for range 8 {
				_, _ = z.Write(make([]byte, 1<<20))
			}
			z.Close()
			w.Header().Set("Content-Encoding", "gzip")
		case "/broken":
			b.WriteString("this is not gzip")
			w.Header().Set("Content-Encoding", "gzip")
		case "/empty":
			w.Header().Set("Content-Encoding", "gzip")
		case "/endless":
			for r.Context().Err() == nil {
				if _, err := w.Write(make([]byte, 1<<16)); err != nil {
					return
				}
			}
			return
		}
		_, _ = w.Write(b.Bytes())
	})
	l := newLab(t, fmt.Sprintf("network:\n  allow:\n    - {host: 127.0.0.1, ports: [%d]}\n", port), Options{Body: 2 << 20})
	for path, want := range map[string]fault.Code{"/gzip": "", "/deflate": "", "/bomb": fault.ToolTooLarge, "/broken": fault.ToolFailed, "/empty": "", "/endless": fault.ToolTooLarge} {
		r, err := l.fetch(map[string]any{"url": s.URL + path})
		if err != nil {
			t.Fatal(path, err)
		}
		body, err := l.read(r, 1<<20)
		if fault.CodeOf(err) != want || len(body) > 2<<20 {
			t.Errorf("%s: %d bytes, %v", path, len(body), err)
		}
		if want == "" && path != "/empty" && body != plain {
			t.Errorf("%s: %d bytes", path, len(body))
		}
		if path != "/endless" && path != "/broken" && r.header("content-encoding") != "" {
			t.Errorf("%s says that it is compressed", path)
		}
	}
}

func TestTimesAreBounded(t *testing.T) {
	release := make(chan struct{})
	s, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/body" {
			fmt.Fprint(w, "x")
			w.(http.Flusher).Flush()
		}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	defer close(release)
	rules := fmt.Sprintf("network:\n  allow:\n    - {host: 127.0.0.1, ports: [%d]}\n", port)
	l := newLab(t, rules, Options{Timeout: 100 * time.Millisecond})
	start := time.Now()
	_, err := l.fetch(map[string]any{"url": s.URL + "/head"})
	if code := fault.CodeOf(err); (code != fault.ToolTimeout && code != fault.UpstreamUnavailable) || time.Since(start) > 30*time.Second {
		t.Fatal(err, time.Since(start))
	}
	l = newLab(t, rules, Options{})
	// A body that never ends goes when the call does.
	r, err := l.fetch(map[string]any{"url": s.URL + "/body"})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := l.run.Call(t.Context(), "wexec:read", fmt.Appendf(nil, `{"stream": %d, "max": 10}`, r.Body)); err != nil || string(a.Data) != "x" {
		t.Fatal(string(a.Data), err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := l.run.Call(ctx, "wexec:read", fmt.Appendf(nil, `{"stream": %d, "max": 10}`, r.Body)); err == nil {
		t.Fatal("an endless read came back")
	}
	if l.run.Err() != nil {
		t.Fatal("the run ended with the read:", l.run.Err())
	}
}

func TestAnUntrustedCertificateIsRefused(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	rules := fmt.Sprintf("network:\n  allow:\n    - {host: 127.0.0.1, ports: [%d]}\n", portOf(t, s))
	_, err := newLab(t, rules, Options{}).fetch(map[string]any{"url": s.URL})
	if fault.CodeOf(err) != fault.UpstreamUnavailable {
		t.Fatal(err)
	}
	pool := s.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	l := newLab(t, rules, Options{TLS: &tls.Config{RootCAs: pool}})
	r, err := l.fetch(map[string]any{"url": s.URL})
	if err != nil {
		t.Fatal(err)
	}
	if body, err := l.read(r, 100); err != nil || body != "HTTP/2.0" {
		t.Fatal(body, err)
	}
}

func TestErrorsSayNothingOfTheInside(t *testing.T) {
	l := newLab(t, "network:\n  allow:\n    - {host: 127.0.0.1, ports: [1]}\n    - {host: gone.test}\n", Options{})
	for _, u := range []string{"http://127.0.0.1:1/", "http://gone.test/"} {
		_, err := l.fetch(map[string]any{"url": u})
		if fault.CodeOf(err) != fault.UpstreamUnavailable || strings.Contains(err.Error(), "dial") || strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", u, err)
		}
	}
}

func FuzzTargets(f *testing.F) {
	f.Add("http://a/", "GET", "X-A", "b")
	f.Add("http://[::1]:80/", "post", "Host", "x")
	f.Add("http://[::1]:", "GET", "X-A", "b")
	f.Add("http://a:?q", "GET", "X-A", "b")
	f.Fuzz(func(t *testing.T, u, method, name, value string) {
		tg, err := newTarget(request{URL: u, Method: method, Headers: [][2]string{{name, value}}})
		if err != nil {
			return
		}
		if tg.host == "" || tg.port < 1 || tg.port > 65535 || (tg.url.Scheme != "http" && tg.url.Scheme != "https") || tg.url.User != nil {
			t.Fatalf("%q became %+v", u, tg)
		}
		if req, err := tg.request(context.Background(), nil); err == nil && (req.Host != tg.url.Host || req.Header.Get("Host") != "") {
			t.Fatalf("%q goes to %q", u, req.Host)
		}
	})
}
