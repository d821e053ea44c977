// Package harness tests programs that call tools with Go tests and fake tools. It
// starts no server, and runs are deterministic.
package harness

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// A Fake implements a tool.
type Fake func(args map[string]any) (any, error)

// A Call is a call of a fake.
type Call struct {
	Tool string
	Args map[string]any
}

// A Bench runs programs with fakes.
type Bench struct {
	t     *testing.T
	eng   *engine.Engine
	table *hostfns.Table
	mu    sync.Mutex
	calls []Call
}

// New returns a bench with fakes by tool name. Pass the policy that the program uses
// in production, so the tests cover it.
func New(t *testing.T, rules string, fakes map[string]Fake) *Bench {
	t.Helper()
	b := &Bench{t: t}
	p, err := policy.Parse("policy.yaml", []byte(rules))
	if err != nil {
		t.Fatal(err)
	}
	var tools []hostfns.Provider
	for name, fake := range fakes {
		tools = append(tools, hostfns.Func(name, func(_ context.Context, args map[string]any) (any, error) {
			b.mu.Lock()
			b.calls = append(b.calls, Call{name, args})
			b.mu.Unlock()
			return fake(args)
		}))
	}
	if b.table, err = hostfns.NewTable(p, new(audit.Memory), tools...); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if base, err := os.UserCacheDir(); err == nil {
		folder = filepath.Join(base, "wexec-tests") // shared, to compile each guest once
	}
	if b.eng, err = engine.New(context.Background(), engine.Config{Cache: folder}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = b.eng.Close()
		_ = b.table.Close()
	})
	return b
}

// Run runs a program from a file and returns its Result, also after a failure.
func (b *Bench) Run(file string, args any) *engine.Result {
	b.t.Helper()
	code, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	language, ok := guests.LanguageOfFile(file)
	if !ok {
		b.t.Fatalf("unknown language of %s", file)
	}
	data, err := json.Marshal(args)
	if err != nil {
		b.t.Fatal(err)
	}
	res, _ := b.eng.Run(context.Background(), engine.Request{Language: language, Code: string(code), File: filepath.Base(file),
		Args: data, Table: b.table, Deterministic: true})
	return res
}

// Calls returns the calls of fakes since the last time.
func (b *Bench) Calls() []Call {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls := b.calls
	b.calls = nil
	return calls
}
