package engine_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/fetch"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/policy"
)

// host runs programs of one tenant.
type host struct {
	engine *engine.Engine
	table  *hostfns.Table

	mu    sync.Mutex
	calls map[string]int // by tool
}

type query struct {
	Customer string `json:"customer" jsonschema:"whose orders"`
}

type order struct {
	Total float64 `json:"total"`
}

func newHost(ctx context.Context, cache, folder string) (*host, error) {
	rules, err := policy.Parse("policy.yaml", []byte(`version: 1
tools: {allow: [orders.*]}
files: {read: [`+filepath.ToSlash(folder)+`]}
network: {allow: [api.example.com]}
`))
	if err != nil {
		return nil, err
	}
	find := hostfns.Func("orders.find", func(_ context.Context, q query) ([]order, error) {
		return []order{{Total: 12.5}, {Total: 30}}, nil
	}, hostfns.Describe("orders of a customer"), hostfns.ReadOnly())
	// Programs cannot reach the files that New is given, whatever the policy says.
	table, err := hostfns.NewTable(rules, audit.None(), find, files.New(cache), fetch.New(fetch.Options{Timeout: 10 * time.Second}))
	if err != nil {
		return nil, err // also if query had no JSON schema
	}
	eng, err := engine.New(ctx, engine.Config{Cache: cache})
	if err != nil {
		return nil, err
	}
	table = table.With(hostfns.Options{Listing: 5 * time.Second})
	return &host{engine: eng, table: table, calls: map[string]int{}}, nil
}

func (h *host) run(ctx context.Context, id, code string) (*engine.Result, error) {
	return h.engine.Run(ctx, engine.Request{
		ID: id, Language: engine.JavaScript, Code: code, Table: h.table,
		Actor: engine.Actor{Type: "agent", ID: "ann"}, Limits: engine.Limits{Time: 30 * time.Second},
		Progress: h.count,
	})
}

// count makes metrics of the steps of runs.
func (h *host) count(e engine.Event) {
	if e.Type == engine.EventCall {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.calls[e.Call.Tool]++
	}
}

// list returns the ids of the runs of an actor.
func (h *host) list(actor string) (ids []string) {
	for _, r := range h.engine.Runs() {
		if r.Table == h.table && r.Actor.ID == actor {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

func Example_host() {
	ctx := context.Background()
	folder, err := os.MkdirTemp("", "wexec-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	if err := os.WriteFile(filepath.Join(folder, "note.txt"), []byte("paid"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	h, err := newHost(ctx, cacheFolder(), folder)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer h.engine.Close()
	defer h.table.Close()

	res, err := h.run(ctx, "first", `const orders = await tools.orders.find({customer: "ann"});
return orders.map(o => o.total)`)
	fmt.Println(string(res.Value), err, h.calls)
	res, err = h.run(ctx, "second", "const fs = require('fs'); return fs.readFileSync('"+filepath.ToSlash(folder)+"/note.txt', 'utf8')")
	fmt.Println(string(res.Value), err)
	_, err = h.run(ctx, "third", "return (await fetch('https://example.org')).status")
	fmt.Println(strings.Contains(fmt.Sprint(err), "example.org"))

	done := make(chan string)
	go func() {
		res, _ := h.run(ctx, "endless", "while (true) {}")
		done <- string(res.Error.Code)
	}()
	for len(h.list("ann")) == 0 {
		time.Sleep(time.Millisecond)
	}
	fmt.Println(h.list("ann"), h.engine.Cancel("endless"))
	fmt.Println(<-done)
	// Output:
	// [12.5,30] <nil> map[orders.find:1]
	// "paid" <nil>
	// true
	// [endless] true
	// cancelled
}
