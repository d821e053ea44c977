package mcpd

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestNobodyHoldsAConnectionByHalfARequest begins requests and never ends them:
// a stranger's, one for another path, and a client's own.
func TestNobodyHoldsAConnectionByHalfARequest(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{ReadTimeout: 200 * time.Millisecond})
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for name, head := range map[string]string{
		"a stranger":   "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
		"no such path": "POST /other HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{",
		"another host": "POST /mcp HTTP/1.1\r\nHost: evil.example\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{",
		"a client":     "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " + testToken + "\r\nContent-Length: 1000\r\n\r\n{",
	} {
		c, err := net.Dial("tcp", u.Host)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := fmt.Fprint(c, head); err != nil {
			t.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := io.Copy(io.Discard, c); err != nil {
			t.Errorf("%s: the connection is still open: %v", name, err)
		}
	}
}

// TestAnAnswerMayTakeLongerThanARequest has a program that runs on after the
// time that a request may take to arrive.
func TestAnAnswerMayTakeLongerThanARequest(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{ReadTimeout: 100 * time.Millisecond})
	for _, version := range versions {
		c, err := dial(t, address, version, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{
			"language": "javascript", "code": "await new Promise(r => setTimeout(r, 400)); return 7"}})
		if err != nil || textOf(res) != "7" {
			t.Errorf("%s: %v %v", version, res, err)
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}
