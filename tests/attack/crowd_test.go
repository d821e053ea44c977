package attack

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/internal/tools/timing"
	"github.com/wexec/wexec/policy"
)

// crowd is a server with many tools, whose words are all different and similar.
type crowd struct {
	victim
	tools []catalogue.Tool
}

func newCrowd(tools, words int) *crowd {
	r := rand.New(rand.NewPCG(1, 2))
	c := &crowd{}
	for i := range tools {
		var b strings.Builder
		for range words {
			b.WriteByte('x')
			for range 20 {
				b.WriteByte(byte('a' + r.IntN(26)))
			}
			b.WriteByte(' ')
		}
		c.tools = append(c.tools, catalogue.Tool{Server: "crowd", Name: fmt.Sprintf("tool_%d", i), Description: b.String()})
	}
	return c
}

func (c *crowd) Servers() []string { return []string{"crowd"} }

func (c *crowd) Tools(context.Context, string) ([]catalogue.Tool, error) { return c.tools, nil }

func (c *crowd) table(t *testing.T) *hostfns.Table {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte("version: 1\ntools: {allow: ['crowd.*']}\n"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(p, audit.None(), c, files.New())
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// searching is a program that looks for words that are similar to all words of a
// crowd.
const searching = `for (;;) await searchTools("xqwertyuiopasdfghjkl xzxcvbnmasdfghjklqwe ".repeat(8), 1);`

// TestSearchesEndWithTheirRuns runs searches over thousands of tools in many runs at
// once: their time, their bytes and their caller end them.
func TestSearchesEndWithTheirRuns(t *testing.T) {
	eng, err := engine.New(t.Context(), engine.Config{Cache: testenv.Cache()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = eng.Close() }()
	tools, runs := 3000, 30
	if testing.Short() {
		tools, runs = 300, 10
	}
	table := newCrowd(tools, 20).table(t)
	if _, err := eng.Run(t.Context(), engine.Request{Language: "javascript", Table: table, Code: `await searchTools("crowd")`}); err != nil {
		t.Fatal(err)
	}
	t.Run("time", func(t *testing.T) {
		const limit, late = 500 * time.Millisecond, 2 * time.Second // on a busy machine
		var wg sync.WaitGroup
		for range runs {
			wg.Go(func() {
				var begun time.Time
				_, err := eng.Run(t.Context(), engine.Request{Language: "javascript", Table: table, Code: "console.log('begun');" + searching,
					Limits: engine.Limits{Time: limit, HostBytes: 1 << 50}, Progress: func(e engine.Event) {
						if e.Type == engine.EventOutput {
							begun = time.Now()
						}
					}})
				if !errors.Is(err, fault.LimitTime) {
					t.Errorf("ended with %v", err)
				}
				if took := time.Since(begun); took > limit+late {
					t.Errorf("a run of at most %v took %v", limit, took)
				}
			})
		}
		wg.Wait()
	})
	t.Run("bytes", func(t *testing.T) {
		res, err := eng.Run(t.Context(), engine.Request{Language: "javascript", Table: table, Code: searching,
			Limits: engine.Limits{Time: time.Minute, HostBytes: int64(tools) << 16}})
		if !errors.Is(err, fault.LimitHostBytes) {
			t.Errorf("ended with %v", err)
		}
		if res.Usage.Fuel > 100e6 {
			t.Errorf("the program had %d units of fuel", res.Usage.Fuel)
		}
	})
	t.Run("caller", func(t *testing.T) {
		timing.Within(t, 100*time.Millisecond, "ended after it was cancelled", func() time.Duration {
			ctx, cancel := context.WithCancel(t.Context())
			var at time.Time
			time.AfterFunc(300*time.Millisecond, func() { at = time.Now(); cancel() })
			_, err := eng.Run(ctx, engine.Request{Language: "javascript", Table: table, Code: searching, Limits: engine.Limits{HostBytes: 1 << 50}})
			if !errors.Is(err, fault.Cancelled) {
				t.Fatalf("ended with %v", err)
			}
			return time.Since(at)
		})
	})
}

// TestDeclarationsAreChargedToTheirRun asks for the declarations of tools with large
// schemas: in searches, one by one, and as files.
func TestDeclarationsAreChargedToTheirRun(t *testing.T) {
	eng, err := engine.New(t.Context(), engine.Config{Cache: testenv.Cache()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = eng.Close() }()
	c := newCrowd(40, 1)
	var fields []string
	for i := range 1000 {
		fields = append(fields, fmt.Sprintf(`"f%d":{"type":"object","properties":{"a":{"type":"string","pattern":"^[a-z]+$"}}}`, i))
	}
	for i := range c.tools {
		c.tools[i].InputSchema = []byte(`{"type":"object","properties":{` + strings.Join(fields, ",") + `}}`)
	}
	table := c.table(t)
	for name, code := range map[string]string{
		"search":   `await searchTools("crowd", 50, "full")`,
		"describe": `for (let i = 0; i < 40; i++) await describeTool("crowd.tool_" + i)`,
		"file":     `await (await import("fs/promises")).readFile("/mcp-servers/crowd/index.ts")`,
		"sizes":    `const fs = await import("fs/promises"); for (const f of await fs.readdir("/mcp-servers/crowd")) await fs.stat("/mcp-servers/crowd/" + f)`,
	} {
		_, err := eng.Run(t.Context(), engine.Request{Language: "javascript", Table: table, Code: code, Limits: engine.Limits{HostBytes: 1 << 20, Time: time.Minute}})
		if !errors.Is(err, fault.LimitHostBytes) {
			t.Errorf("%s: ended with %v", name, err)
		}
	}
}
