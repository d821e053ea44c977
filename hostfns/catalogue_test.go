package hostfns

import (
	"bytes"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
)

// lockedLog is a log that a test reads while it is written.
type lockedLog struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lockedLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func TestThePolicyIsCheckedAgainstToolsWhenTheyArrive(t *testing.T) {
	text := "version: 1\ntools:\n  allow:\n    - {tool: shop.buy, when: args.lables.size() < 3}\n    - shop.by\n"
	p := mustPolicy(t, text)
	server := &fakeProvider{call: echo, tools: []catalogue.Tool{{Server: "shop", Name: "buy", InputSchema: []byte(`{"type":"object","properties":{"labels":{"type":"array"}}}`)}}}
	table, err := NewTable(p, audit.None(), server)
	if err != nil {
		t.Fatal(err)
	}
	var log lockedLog
	table.With(Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		table.Catalogue(t.Context())
		table.changed("shop") // says that its tools changed, and they did not
	}
	deadline := time.Now().Add(time.Minute)
	for !strings.Contains(log.String(), "shop.by") {
		if time.Now().After(deadline) {
			t.Fatalf("the log has no warning: %s", log.String())
		}
		time.Sleep(5 * time.Millisecond)
	}
	time.Sleep(50 * time.Millisecond)
	all := log.String()
	if !strings.Contains(all, "policy.yaml:4:") || !strings.Contains(all, "unknown argument lables") || strings.Count(all, "lables") != 1 {
		t.Error(all)
	}
}
