package upstream

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/hostfns"
)

// webServer is an MCP server over HTTP whose answers to tools/list and
// tools/call are texts of the test.
func webServer(t *testing.T, events bool, tools, answer func(io.Writer)) *Provider {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.NewDecoder(r.Body).Decode(&m) != nil || m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := func(w io.Writer) { io.WriteString(w, `{}`) }
		switch m.Method {
		case "initialize":
			result = func(w io.Writer) {
				io.WriteString(w, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`)
			}
		case "tools/list":
			result = tools
		case "tools/call":
			result = answer
		case "server/discover":
			w.WriteHeader(http.StatusNotFound)
			return
		}
		before, after := "", ""
		w.Header().Set("Content-Type", "application/json")
		if events {
			w.Header().Set("Content-Type", "text/event-stream")
			before, after = ": a comment\nevent: message\ndata: ", "\n\n"
		}
		fmt.Fprintf(w, `%s{"jsonrpc":"2.0","id":%s,"result":`, before, m.ID)
		result(w)
		io.WriteString(w, "}"+after)
	}))
	t.Cleanup(web.Close)
	p, err := New([]Server{{Name: "web", URL: web.URL, Timeout: 20 * time.Second}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func says(text string) func(io.Writer) { return func(w io.Writer) { io.WriteString(w, text) } }

var oneTool = says(`{"tools":[{"name":"numbers","inputSchema":{"type":"object"}}]}`)

func TestAnswersOverHTTPKeepTheirBytes(t *testing.T) {
	for _, events := range []bool{false, true} {
		p := webServer(t, events, oneTool, says(`{"structuredContent":{"big":9007199254740993,"e":1e400},"content":[]}`))
		got, err := call(p, "web", "numbers", `{}`)
		if err != nil || got.Kind != hostfns.JSON || string(got.Data) != `{"big":9007199254740993,"e":1e400}` {
			t.Errorf("events %v: %s, %v", events, got.Data, err)
		}
	}
}

// allocated is how many bytes f allocates, whatever becomes of them.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestAnAnswerOfManySmallItemsIsNotDecoded(t *testing.T) {
	const items = 2_000_000
	many := func(w io.Writer) {
		io.WriteString(w, `{"content":[{}`)
		for range items / 1000 {
			io.WriteString(w, strings.Repeat(",{}", 1000))
		}
		io.WriteString(w, `]}`)
	}
	for _, events := range []bool{false, true} {
		p := webServer(t, events, oneTool, many)
		var err error
		if got := allocated(func() { _, err = call(p, "web", "numbers", `{}`) }); got > 160<<20 {
			t.Errorf("events %v: %d MiB for an answer of %d MiB", events, got>>20, 3*items>>20)
		}
		if err == nil || !strings.Contains(err.Error(), "content items") {
			t.Errorf("events %v: %v", events, err)
		}
	}
}

func TestAListingOfHugeSchemasIsRefused(t *testing.T) {
	huge := func(w io.Writer) {
		io.WriteString(w, `{"tools":[{"name":"a","inputSchema":{"type":"object","enum":[0`+strings.Repeat(",0", maxListingValues)+`]}}]}`)
	}
	for _, events := range []bool{false, true} {
		p := webServer(t, events, huge, says(`{}`))
		if _, err := p.Tools(t.Context(), "web"); err == nil || !strings.Contains(err.Error(), "JSON values") {
			t.Errorf("events %v: %v", events, err)
		}
	}
}

func TestAMessageWithoutEndIsCut(t *testing.T) {
	if testing.Short() {
		t.Skip("short: reads 256 MiB twice")
	}
	endless := func(w io.Writer) {
		io.WriteString(w, `{"content":"`)
		part := strings.Repeat("x", 1<<20)
		for range 2 * maxMessage >> 20 {
			if _, err := io.WriteString(w, part); err != nil {
				return
			}
		}
	}
	for _, events := range []bool{false, true} {
		p := webServer(t, events, oneTool, endless)
		if _, err := call(p, "web", "numbers", `{}`); err == nil {
			t.Errorf("events %v: an answer without end arrived", events)
		}
	}
}

func TestAServerCannotSendOurRequestsElsewhere(t *testing.T) {
	for _, transport := range []string{HTTP, SSE} {
		var reached atomic.Int64
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
		web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/internal", http.StatusTemporaryRedirect)
		}))
		p, err := New([]Server{{Name: "web", Transport: transport, URL: web.URL, Timeout: 5 * time.Second}}, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = p.Tools(t.Context(), "web"); err == nil || !strings.Contains(err.Error(), "another origin") {
			t.Errorf("%s: %v", transport, err)
		}
		if n := reached.Load(); n > 0 {
			t.Errorf("%s: %d requests reached another port", transport, n)
		}
		_ = p.Close()
		web.Close()
		other.Close()
	}
}
