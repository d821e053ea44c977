package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// TestNoTrickReachesAPrivateAddress is the table of ways to reach what the
// policy does not name. The rule lets every public host pass on the port of a
// server on this machine; no case may reach it.
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
	if d := l.table.Policy().DecideNetwork(policy.NetRequest{Host: "public.test", Method: "GET", Port: port}); d.Effect != policy.Allow {
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
	if len(urls) < 60 {
		t.Errorf("only %d tricks", len(urls))
	}
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
func (d *door) Arriving(int64) bool                                           { return true }
func (d *door) HostSecrets(context.Context, string) ([]hostfns.Secret, error) { return nil, nil }
func (d *door) Permit(context.Context, policy.Feature, json.RawMessage) error {
	return hostfns.ErrNobody
}
func (d *door) Feature(context.Context, policy.Feature, json.RawMessage) (json.RawMessage, error) {
	return nil, hostfns.ErrNobody
}
func (d *door) Lifetime() context.Context { return d.life }

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
	// The name now leads elsewhere; a new run has no open connection.
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
