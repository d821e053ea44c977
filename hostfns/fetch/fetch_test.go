package fetch

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
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

// TestNoTrickReachesAPrivateAddress is the table of ways to reach what the
// policy does not name. The rule lets every public host pass on the port of a
// server on this machine; none of these may reach it.
func TestNoTrickReachesAPrivateAddress(t *testing.T) {
	var hits atomic.Int64
	_, port := serve(t, func(w http.ResponseWriter, r *http.Request) { hits.Add(1) })
	if ln, err := net.Listen("tcp", fmt.Sprintf("[::1]:%d", port)); err == nil {
		six := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) })}
		go func() { _ = six.Serve(ln) }()
		t.Cleanup(func() { _ = six.Close() })
	}
	l := newLab(t, fmt.Sprintf("network:\n  allow:\n    - {host: '*', ports: [%d, 80, 443]}\n", port), Options{Timeout: 2 * time.Second})
	for name, addrs := range map[string][]string{
		"loop.test": {"127.0.0.1"}, "loop6.test": {"::1"}, "mapped.test": {"::ffff:127.0.0.1"}, "zero.test": {"0.0.0.0"},
		"mixed.test": {"8.8.8.8", "127.0.0.1"}, "mixed6.test": {"2001:4860:4860::8888", "::1"}, "meta.test": {"169.254.169.254"},
		"ten.test": {"10.1.2.3"}, "net172.test": {"172.20.0.1"}, "net192.test": {"192.168.1.1"}, "cgnat.test": {"100.64.1.1"},
		"linklocal6.test": {"fe80::1"}, "ula.test": {"fd12::1"}, "ec2v6.test": {"fd00:ec2::254"}, "nat64.test": {"64:ff9b::7f00:1"},
		"sixtofour.test": {"2002:7f00:1::"}, "teredo.test": {"2001:0:7f00:1::"}, "multicast.test": {"224.0.0.1"}, "broadcast.test": {"255.255.255.255"},
		"compat.test": {"::7f00:1"}, "unspecified6.test": {"::"}, "this.test": {"0.1.2.3"}, "bench.test": {"198.18.0.1"},
		"metadata.google.internal": {"8.8.8.8"}, "deep.a.b.test": {"127.8.9.10"}, "127.0.0.1.nip.test": {"127.0.0.1"},
	} {
		l.names[name] = addrs
	}
	if d := l.run.Table().Policy().DecideNetwork(policy.NetRequest{Host: "public.test", Method: "GET", Port: port}); d.Effect != policy.Allow {
		t.Fatal("the rule lets nothing pass, so the table shows nothing:", d.Message)
	}
	hosts := []string{
		"127.0.0.1", "127.1", "127.0.1", "127.255.255.254", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7f.1", "0177.0.0.1", "0177.1",
		"017700000001", "00177.0.0.1", "0", "0.0.0.0", "0x0", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
		"[0:0:0:0:0:ffff:7f00:0001]", "[::127.0.0.1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::1]", "[fe80::1]", "[fe80::1%25lo]", "[fd00:ec2::254]",
		"localhost", "LOCALHOST", "localhost.", "a.localhost", "127.0.0.1.", "127.0.0.1..", "169.254.169.254", "0xa9fea9fe", "2852039166", "[::ffff:a9fe:a9fe]",
		"metadata.google.internal", "METADATA.google.internal.", "100.100.100.200", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "192.0.0.192",
		"１２７.0.0.1", "127。0。0。1", "①②⑦.0.0.1", "ⓛocalhost", "%31%32%37.0.0.1", "local%68ost", "127.0.0.1%00.example.org",
		"user@127.0.0.1", "public.test@127.0.0.1", "public.test:80@127.0.0.1", ":@127.0.0.1", "1.1.1.1@127.0.0.1",
		"loop.test", "loop6.test", "mapped.test", "zero.test", "mixed.test", "mixed6.test", "meta.test", "ten.test", "net172.test", "net192.test",
		"cgnat.test", "linklocal6.test", "ula.test", "ec2v6.test", "nat64.test", "sixtofour.test", "teredo.test", "multicast.test", "broadcast.test",
		"compat.test", "unspecified6.test", "this.test", "bench.test", "deep.a.b.test", "127.0.0.1.nip.test", "nowhere.test",
	}
	urls := []string{
		fmt.Sprintf("http://127.0.0.1:%d\\@public.test/", port), fmt.Sprintf("http://127.0.0.1:%d#@public.test/", port),
		fmt.Sprintf("http://127.0.0.1:%d?@public.test/", port), fmt.Sprintf("http:127.0.0.1:%d", port), fmt.Sprintf("http:/127.0.0.1:%d", port),
		fmt.Sprintf("http:///127.0.0.1:%d/", port), fmt.Sprintf("//127.0.0.1:%d/", port), fmt.Sprintf("127.0.0.1:%d", port),
		fmt.Sprintf(" http://127.0.0.1:%d", port), fmt.Sprintf("http://\t127.0.0.1:%d", port), fmt.Sprintf("http://127.0.0.1:%d\r\nHost: x", port),
		fmt.Sprintf("HTTP://127.0.0.1:%d", port), fmt.Sprintf("http://127.0.0.1:0%d/", port), "http://127.0.0.1:0/", "http://127.0.0.1:99999/", "http://127.0.0.1:-1/",
		"http://[::1", "http://[127.0.0.1]:80/", "http://public.test:80:80/", "file:///etc/passwd", "file://127.0.0.1/etc/passwd", "data:text/plain,hello",
		"ftp://127.0.0.1/", "gopher://127.0.0.1:80/_x", "javascript:alert(1)", "unix:///run/x.sock", "ws://127.0.0.1/", "blob:x", "about:blank", "", "http://", "://x",
		"jar:http://x!/", "http+unix://%2Frun%2Fx/", "ldap://127.0.0.1/", "dict://127.0.0.1:11211/", "mailto:a@b.c",
	}
	for _, h := range hosts {
		urls = append(urls, fmt.Sprintf("http://%s:%d/", h, port))
	}
	for _, u := range urls {
		_, err := l.fetch(map[string]any{"url": u})
		var f *hostfns.Failure
		if !errors.As(err, &f) {
			t.Errorf("%s: %v", u, err)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Fatalf("%d requests arrived", n)
	}
	t.Logf("%d tricks", len(urls))
}

func TestRedirectsAreDecidedAnew(t *testing.T) {
	var hits atomic.Int64
	canary, private := serve(t, func(w http.ResponseWriter, r *http.Request) { hits.Add(1) })
	var where atomic.Value
	s, port := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/end" {
			fmt.Fprintf(w, "%s %q %q", r.Method, r.Header.Get("Authorization"), r.Header.Get("X-Plain"))
			return
		}
		w.Header().Set("Location", where.Load().(string))
		w.WriteHeader(map[string]int{"/303": 303, "/307": 307}[r.URL.Path])
	})
	other, otherPort := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%s %q %q", r.Method, r.Header.Get("Authorization"), r.Header.Get("X-Plain"))
	})
	l := newLab(t, fmt.Sprintf("network:\n  allow:\n    - {host: 127.0.0.1, ports: [%d, %d]}\n", port, otherPort), Options{})
	for _, to := range []string{canary.URL, fmt.Sprintf("http://localhost:%d/", private), fmt.Sprintf("http://[::1]:%d/", private),
		fmt.Sprintf("//127.0.0.1:%d/", private), "file:///etc/passwd", "data:,x", "gopher://127.0.0.1/", "http://169.254.169.254/latest/meta-data/",
		"http://2130706433:" + strconv.Itoa(private) + "/", "http://user:pw@127.0.0.1:" + strconv.Itoa(port) + "/end", "http://", "\x00", s.URL + "/307"} {
		where.Store(to)
		if _, err := l.fetch(map[string]any{"url": s.URL + "/307"}); err == nil {
			t.Errorf("a redirect to %q passed", to)
		}
	}
	if hits.Load() != 0 {
		t.Fatal("a redirect reached what the policy does not name")
	}
	read := func(url string) string {
		t.Helper()
		r, err := l.fetch(map[string]any{"method": "POST", "url": url, "body": "eA==", "headers": [][]string{{"Authorization", "mine"}, {"X-Plain", "p"}}})
		if err != nil {
			t.Fatal(err)
		}
		if !r.Redirected {
			t.Error("it does not say that it was redirected")
		}
		text, err := l.read(r, 1000)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	where.Store("/end")
	if got := read(s.URL + "/307"); got != `POST "mine" "p"` {
		t.Error(got)
	}
	if got := read(s.URL + "/303"); got != `GET "mine" "p"` {
		t.Error(got)
	}
	where.Store(other.URL)
	if got := read(s.URL + "/307"); got != `POST "" "p"` {
		t.Error("credentials went to another host:", got)
	}
	r, err := l.fetch(map[string]any{"url": s.URL + "/303", "redirect": "manual"})
	if err != nil || r.Status != 303 || r.header("location") != other.URL {
		t.Error(r, err)
	}
	if _, err := l.fetch(map[string]any{"url": s.URL + "/303", "redirect": "error"}); err == nil {
		t.Error("a redirect passed that was not wanted")
	}
}

// door is a gate that lets one address pass.
type door struct {
	allow string
	life  context.Context
	asked []string
}

func (d *door) Network(_ context.Context, req hostfns.NetworkRequest) error {
	d.asked = append(d.asked, req.Address)
	if req.Address == "" || req.Address == d.allow {
		return nil
	}
	return &hostfns.Failure{Code: fault.DeniedNetwork, Message: "denied"}
}
func (d *door) File(context.Context, hostfns.FileRequest) error               { return errors.New("no") }
func (d *door) Count(int64) error                                             { return nil }
func (d *door) HostSecrets(context.Context, string) ([]hostfns.Secret, error) { return nil, nil }
func (d *door) Lifetime() context.Context                                     { return d.life }

func TestANameIsResolvedOnceAndTheAddressIsHeld(t *testing.T) {
	var hits atomic.Int64
	s, port := serve(t, func(w http.ResponseWriter, r *http.Request) { hits.Add(1); fmt.Fprint(w, "ok") })
	_ = s
	answers := [][]string{{"127.0.0.1"}, {"127.0.0.9"}}
	n := 0
	p := New(Options{Resolve: func(context.Context, string) ([]netip.Addr, error) {
		a := netip.MustParseAddr(answers[min(n, 1)][0])
		n++
		return []netip.Addr{a}, nil
	}})
	defer p.Close()
	call := func(d *door) error {
		a, err := p.Call(t.Context(), hostfns.Call{Gate: d, Args: fmt.Appendf(nil, `{"url": "http://rebind.test:%d/"}`, port)})
		if err == nil {
			a.Body.Close()
		}
		return err
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := call(&door{allow: "127.0.0.1", life: ctx}); err != nil || n != 1 {
		t.Fatalf("resolved %d times: %v", n, err)
	}
	// The name now leads elsewhere; a run of its own has no connection left.
	second, end := context.WithCancel(t.Context())
	defer end()
	d := &door{allow: "127.0.0.1", life: second}
	if err := call(d); fault.CodeOf(err) != fault.DeniedNetwork {
		t.Fatal(err)
	}
	if hits.Load() != 1 {
		t.Fatalf("%d requests arrived", hits.Load())
	}
}

func TestTheConcreteAddressIsDecidedAtConnect(t *testing.T) {
	_, port := serve(t, func(w http.ResponseWriter, r *http.Request) {})
	p := New(Options{})
	defer p.Close()
	d := &door{allow: "127.0.0.1", life: t.Context()}
	a, err := p.Call(t.Context(), hostfns.Call{Gate: d, Args: fmt.Appendf(nil, `{"url": "http://127.0.0.1:%d/"}`, port)})
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if got := strings.Join(d.asked, ","); got != ",127.0.0.1,127.0.0.1" {
		t.Fatalf("asked about %q: by name, after resolution and at connect", got)
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
			for range 64 {
				_, _ = z.Write(make([]byte, 1<<20))
			}
			z.Close()
			w.Header().Set("Content-Encoding", "gzip")
		case "/broken":
			b.WriteString("this is no gzip")
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
	l := newLab(t, fmt.Sprintf("network:\n  allow:\n    - {host: 127.0.0.1, ports: [%d]}\n", port), Options{Timeout: 100 * time.Millisecond})
	start := time.Now()
	_, err := l.fetch(map[string]any{"url": s.URL + "/head"})
	if code := fault.CodeOf(err); (code != fault.ToolTimeout && code != fault.UpstreamUnavailable) || time.Since(start) > 5*time.Second {
		t.Fatal(err, time.Since(start))
	}
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
