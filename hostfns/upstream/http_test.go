package upstream

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/internal/scrub"
)

// TestServersOverHTTPOldAndNewAreReached calls one tool over streamable HTTP
// and over the older transport, with the configured headers.
func TestServersOverHTTPOldAndNewAreReached(t *testing.T) {
	s := mcp.NewServer(&mcp.Implementation{Name: "web", Version: "3"}, nil)
	s.AddTool(&mcp.Tool{Name: "numbers", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: `{"big": 9007199254740993}`}}}, nil
	})
	for transport, handler := range map[string]http.Handler{
		HTTP: mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil),
		SSE:  mcp.NewSSEHandler(func(*http.Request) *mcp.Server { return s }, nil),
	} {
		t.Run(transport, func(t *testing.T) {
			var mu sync.Mutex
			keys := map[string]int{}
			web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				keys[r.Header.Get("X-Key")]++
				mu.Unlock()
				handler.ServeHTTP(w, r)
			}))
			t.Cleanup(web.Close)
			p, err := New([]Server{{Name: "web", Transport: transport, URL: web.URL, Headers: map[string]string{"X-Key": "k1"}}}, Options{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = p.Close() })
			tools, err := p.Tools(t.Context(), "web")
			if err != nil || len(tools) != 1 || tools[0].Version != "3" {
				t.Fatalf("%+v, %v", tools, err)
			}
			got, err := call(p, "web", "numbers", `{}`)
			if err != nil || got.Kind != hostfns.JSON || string(got.Data) != `{"big": 9007199254740993}` {
				t.Errorf("%s, %v", got.Data, err)
			}
			mu.Lock()
			defer mu.Unlock()
			if keys["k1"] == 0 || len(keys) != 1 {
				t.Errorf("headers %v", keys)
			}
		})
	}
}

func TestHeadersOfAServerGoToNoOtherHost(t *testing.T) {
	var leaked sync.Map
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { leaked.Store(r.Header.Get("X-Key"), true) }))
	t.Cleanup(other.Close)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	}))
	t.Cleanup(web.Close)
	p, err := New([]Server{{Name: "web", URL: web.URL, Headers: map[string]string{"X-Key": "k1"}, Timeout: 2 * time.Second}}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	if _, err := p.Tools(t.Context(), "web"); err == nil {
		t.Error("a redirect to nowhere is a server")
	}
	if _, there := leaked.Load("k1"); there {
		t.Error("the key went to another host")
	}
}

func TestEveryKindOfContentIsUnwrapped(t *testing.T) {
	for _, c := range []struct {
		raw  string
		kind hostfns.Kind
		data string
	}{
		{`{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`, hostfns.Content, `[{"text":"a","type":"text"},{"text":"b","type":"text"}]`},
		{`{"content":[{"type":"audio","data":"AQI=","mimeType":"audio/wav"}]}`, hostfns.Content, `[{"data":{"$bytes":"AQI="},"mimeType":"audio/wav","type":"audio"}]`},
		{`{"content":[{"type":"resource","resource":{"uri":"file:///x","mimeType":"text/plain","text":"words"}}]}`, hostfns.Content,
			`[{"resource":{"mimeType":"text/plain","text":"words","uri":"file:///x"},"type":"resource"}]`},
		{`{"content":[{"type":"resource","resource":{"uri":"file:///x","blob":"AQI="}}]}`, hostfns.Content, `[{"resource":{"blob":{"$bytes":"AQI="},"uri":"file:///x"},"type":"resource"}]`},
		{`{"content":[{"type":"resource_link","uri":"file:///x","name":"x"}]}`, hostfns.Content, `[{"name":"x","type":"resource_link","uri":"file:///x"}]`},
		{`{"content":[{"type":"text","text":"shown"}],"structuredContent":{"n":1}}`, hostfns.JSON, `{"n":1}`},
		{`{"content":[{"type":"text","text":"null"}]}`, hostfns.Text, `null`},
		{`{"content":[{"type":"text","text":"x` + "\xff\xfe" + `y"}]}`, hostfns.Text, "x\ufffdy"},
		{`{"content":[{"type":"text","text":"\tx` + "\xff\xfe" + `y"}]}`, hostfns.Text, "\tx\ufffdy"},
		{`{"content":[]}`, hostfns.JSON, `null`},
	} {
		got, err := unwrap("s", "t", json.RawMessage(c.raw))
		if err != nil || got.Kind != c.kind || string(got.Data) != c.data {
			t.Errorf("%s is %d %s, %v; want %d %s", c.raw, got.Kind, got.Data, err, c.kind, c.data)
		}
	}
}

// lockedBuffer is a log that is read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

func TestWhatAServerLogsIsPassedOnCleaned(t *testing.T) {
	var log lockedBuffer
	p, err := New([]Server{{Name: "plain", Command: os.Args[0], Env: map[string]string{"SERVER": "plain"}}},
		Options{Environ: os.Environ(), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	if _, err := call(p, "plain", "log", `{}`); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(log.String(), "low on tea"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing is heard: %s", log.String())
		}
	}
	if strings.Contains(log.String(), "\x1b") || !strings.Contains(log.String(), "server=plain") {
		t.Error(log.String())
	}
}

func TestOnlyTheEndOfStderrIsKept(t *testing.T) {
	kept := newTail(&scrub.Scrubber{})
	for range 100 {
		_, _ = kept.Write(bytes.Repeat([]byte("x"), 10_000))
	}
	_, _ = kept.Write([]byte("the end"))
	if s := kept.String(); len(s) != 64<<10 || !strings.HasSuffix(s, "xthe end") {
		t.Errorf("%d bytes are kept, ending %q", len(s), s[len(s)-10:])
	}
	_, _ = kept.Write(bytes.Repeat([]byte("y"), 1<<20))
	if s := kept.String(); len(s) != 64<<10 || strings.Trim(s, "y") != "" {
		t.Errorf("%d bytes are kept of one long line", len(s))
	}
}
