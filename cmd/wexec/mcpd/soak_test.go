package mcpd

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestSoak serves clients that stay and clients that leave, for as long as
// WEXEC_SOAK says, and holds heap and goroutines to where they were after a fifth
// of the time.
func TestSoak(t *testing.T) {
	span, err := time.ParseDuration(os.Getenv("WEXEC_SOAK"))
	if err != nil {
		t.Skip("needs WEXEC_SOAK, the duration: 40s")
	}
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	address := serve(t, s, HTTPOptions{})
	padding := "\n// " + strings.Repeat("x", 20_000)
	var calls atomic.Int64
	one := func(c *mcp.ClientSession, i int) {
		code := []string{"return i", "throw Error('no')", "for (;;) ;", "return 'x'.repeat(30_000)", "await tools.shop.list_items({}); return i"}[i%5]
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if i%5 == 2 {
			time.AfterFunc(5*time.Millisecond, cancel)
		}
		res, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{
			"language": "javascript", "code": strings.ReplaceAll(code, "return i", fmt.Sprint("return ", i)) + padding}})
		if i%5 == 0 && (err != nil || textOf(res) != fmt.Sprint(i)) {
			t.Errorf("call %d: %v", i, err)
		}
		calls.Add(1)
	}
	stay := connect(t, s, versions[0], nil)
	work := func(span time.Duration) (bytes int64, goroutines int) {
		var all sync.WaitGroup
		end := time.Now().Add(span)
		all.Go(func() {
			for i := 0; time.Now().Before(end); i++ {
				if i%5 != 3 { // its large values are kept for ten minutes
					one(stay, i)
				}
			}
		})
		for _, version := range versions {
			all.Go(func() {
				for time.Now().Before(end) {
					c, err := dial(t, address, version, nil)
					if err != nil {
						t.Error(err)
						return
					}
					for i := range 10 {
						if version == versions[0] || i%5 != 3 { // without a session nobody leaves
							one(c, i)
						}
					}
					_ = c.Close()
				}
			})
		}
		all.Wait()
		for deadline := time.Now().Add(time.Minute); s.runs.pending() && time.Now().Before(deadline); {
			time.Sleep(10 * time.Millisecond)
		}
		var m runtime.MemStats
		for range 3 { // finalizers and pools
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc), runtime.NumGoroutine()
	}
	bytes, goroutines := work(span / 5)
	first := calls.Load()
	after, more := work(span - span/5)
	t.Logf("%d calls; heap %d KiB after a fifth, %d KiB in the end; %d and %d goroutines", calls.Load(), bytes>>10, after>>10, goroutines, more)
	// The events of streams fill their bound in the course of it.
	if after > bytes+maxEvents+8<<20 || more > goroutines+20 {
		t.Errorf("not level: %d bytes for each of %d more calls, %d more goroutines", (after-bytes)/(calls.Load()-first), calls.Load()-first, more-goroutines)
	}
	if s.runs.pending() {
		t.Error("runs are kept that no client waits for")
	}
}
