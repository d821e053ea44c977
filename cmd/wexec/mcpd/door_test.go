package mcpd

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/internal/tools/timing"
)

// stranger opens a connection from an address of this machine and sends a text.
func stranger(t *testing.T, server, from, text string) net.Conn {
	t.Helper()
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(t.Context(), "tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if _, err := io.WriteString(c, text); err != nil {
		t.Fatal(err)
	}
	return c
}

// isOpen reports whether the server has not closed a connection within a time.
func isOpen(t *testing.T, c net.Conn, wait time.Duration) bool {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(wait))
	_, err := c.Read(make([]byte, 1))
	return errors.Is(err, os.ErrDeadlineExceeded)
}

// wantQuickAnswer connects a client with a token and has it call a tool.
func wantQuickAnswer(t *testing.T, address string) {
	t.Helper()
	timing.Within(t, time.Second, "an answer", func() time.Duration { return timing.Of(func() { wantAnswer(t, address) }) })
}

// wantAnswer has a new client call a tool.
func wantAnswer(t *testing.T, address string) {
	t.Helper()
	c, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: address, HTTPClient: &http.Client{Transport: ownConnections{&http.Transport{}}, Timeout: 20 * time.Second}, MaxRetries: -1,
		DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatalf("a client does not get in: %v", err)
	}
	defer c.Close()
	res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_tools", Arguments: map[string]any{"query": "item"}})
	if err != nil || res.IsError {
		t.Fatalf("a client gets no answer: %v", err)
	}
}

// ownConnections sends the token over connections that no other test has opened.
type ownConnections struct{ next *http.Transport }

func (o ownConnections) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+testToken)
	return o.next.RoundTrip(r)
}

// TestIdleStrangersDoNotLockOutAClient opens 800 connections from one address,
// of which some say nothing and some begin a request.
func TestIdleStrangersDoNotLockOutAClient(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{})
	for i := range 800 {
		stranger(t, address, "127.0.0.1", []string{"", "POST /mcp HTTP/1.1\r\nHost: local"}[i%2])
	}
	wantQuickAnswer(t, address)
}

func TestAnAddressHasFewPendingConnections(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{Pending: 3})
	var conns []net.Conn
	for range 5 {
		conns = append(conns, stranger(t, address, "127.0.0.1", ""))
	}
	for i, c := range conns[:2] {
		if isOpen(t, c, 10*time.Second) {
			t.Errorf("connection %d, one of the oldest, is still open", i)
		}
	}
	for i, c := range conns[2:] {
		if !isOpen(t, c, 50*time.Millisecond) {
			t.Errorf("connection %d, one of the newest, is closed", i+2)
		}
	}
	wantQuickAnswer(t, address)
}

// TestAProxyMayHaveManyPendingConnections has no bound for an address, only that
// for all.
func TestAProxyMayHaveManyPendingConnections(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{Pending: -1})
	var conns []net.Conn
	for range maxPending + 2 {
		conns = append(conns, stranger(t, address, "127.0.0.1", ""))
	}
	for i, c := range conns[:2] {
		if isOpen(t, c, 10*time.Second) {
			t.Errorf("connection %d of %d is still open", i, len(conns))
		}
	}
	for i, c := range conns[2:] {
		if !isOpen(t, c, time.Millisecond) {
			t.Errorf("connection %d of %d is closed", i+2, len(conns))
		}
	}
	wantQuickAnswer(t, address)
}

// TestStrangersAreClosedBeforeClients sends a request on a client's connection
// after strangers have come and gone.
func TestStrangersAreClosedBeforeClients(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{Pending: 2, HeaderTimeout: 100 * time.Millisecond})
	request := "GET /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + testToken + "\r\nAccept: text/event-stream\r\nMcp-Session-Id: unknown\r\n\r\n"
	c := stranger(t, address, "127.0.0.1", request)
	r := bufio.NewReader(c)
	for range 2 {
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("an authorized connection does not stay open: %v", err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.Close || res.StatusCode != http.StatusNotFound {
			t.Errorf("status %d, close %v, %v", res.StatusCode, res.Close, err)
		}
		for range 4 {
			stranger(t, address, "127.0.0.1", "")
		}
		time.Sleep(200 * time.Millisecond) // longer than a stranger may be idle
		if _, err := io.WriteString(c, request); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARefusedRequestEndsItsConnection(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{HeaderTimeout: time.Second})
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"no token":      {"GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", 401},
		"another host":  {"GET /mcp HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer " + testToken + "\r\n\r\n", 403},
		"another path":  {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
		"not HTTP":      {"hello\r\n\r\n", 400},
		"a long header": {"GET /mcp HTTP/1.1\r\nHost: localhost\r\nCookie: " + strings.Repeat("x", 2*maxHeader) + "\r\n\r\n", 431},
		"many headers":  {"GET /mcp HTTP/1.1\r\nHost: localhost\r\n" + strings.Repeat("a:\r\n", maxHeader) + "\r\n", 431},
		"endless body":  {"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffff\r\n", 401},
	} {
		conn := stranger(t, address, "127.0.0.1", "")
		go func() { _, _ = io.WriteString(conn, c.request) }() // the server may not read all of it
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		r := bufio.NewReader(conn)
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		_, _ = io.Copy(io.Discard, res.Body)
		if res.StatusCode != c.status || !res.Close {
			t.Errorf("%s: status %d, close %v", name, res.StatusCode, res.Close)
		}
		if _, err := r.ReadByte(); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%s: the connection is still open", name)
		}
	}
}

// TestStrangersHaveLittleTime has connections that say nothing, and that send a
// header byte by byte.
func TestStrangersHaveLittleTime(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{HeaderTimeout: 300 * time.Millisecond})
	idle, slow := stranger(t, address, "127.0.0.1", ""), stranger(t, address, "127.0.0.1", "POST /mcp HTTP/1.1\r\n")
	go func() {
		for i := 0; ; i++ {
			if _, err := fmt.Fprintf(slow, "X-%d: x\r\n", i); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	for name, c := range map[string]net.Conn{"idle": idle, "slow": slow} {
		if isOpen(t, c, 10*time.Second) {
			t.Errorf("an %s stranger is still connected", name)
		}
	}
}

// post sends a body with the token, and returns the status.
func post(t *testing.T, address string, body io.Reader, header map[string]string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, body)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	for k, v := range header {
		r.Header.Set(k, v)
	}
	res, err := (&http.Client{Transport: ownConnections{&http.Transport{DisableKeepAlives: true}}}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	return res.StatusCode
}

func TestBodiesAreBounded(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{})
	if got := post(t, address, endless{}, nil); got != http.StatusRequestEntityTooLarge {
		t.Errorf("a body without an end: %d", got)
	}
	var bomb bytes.Buffer
	z := gzip.NewWriter(&bomb)
	_, _ = z.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`))
	_, _ = z.Write(make([]byte, 64<<20))
	_, _ = z.Write([]byte(`"}}`))
	_ = z.Close()
	if got := post(t, address, &bomb, map[string]string{"Content-Encoding": "gzip"}); got != http.StatusBadRequest {
		t.Errorf("a compressed body, which is not supported: %d", got)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, strings.Repeat(" ", len(p))), nil }

// TestManyBodiesAtOnceAreBounded has clients that announce large bodies and send
// little of them.
func TestManyBodiesAtOnceAreBounded(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{ReadTimeout: 20 * time.Second})
	head := fmt.Sprintf("POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n{", testToken, maxBody)
	var conns []net.Conn
	for range maxBodies / maxBody {
		conns = append(conns, stranger(t, address, "127.0.0.1", head))
	}
	for _, c := range conns {
		if !isOpen(t, c, 20*time.Millisecond) {
			t.Error("a body within the bound was rejected")
		}
	}
	if got := post(t, address, strings.NewReader("{}"), nil); got != http.StatusServiceUnavailable {
		t.Errorf("one body too many: %d", got)
	}
	for _, c := range conns {
		_ = c.Close()
	}
	for range 100 {
		if got := post(t, address, strings.NewReader("{}"), nil); got == http.StatusBadRequest {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Error("memory of bodies whose client is gone is not given back")
}
