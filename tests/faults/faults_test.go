// Package faults tests failures around a host: servers that die, hang or send
// nonsense, damaged caches, killed processes, cancelled runs, and exhausted resources.
// Every run must return, and no completed run may be lost.
package faults

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/policy"
)

const (
	childServer = "WEXEC_TEST_BROKEN_SERVER" // how the server fails
	childHost   = "WEXEC_TEST_HOST_DIR"      // the folder of the child
	childScarce = "WEXEC_TEST_SCARCE"        // the resource that the child exhausts
)

func TestMain(m *testing.M) {
	if how := os.Getenv(childServer); how != "" {
		brokenServer(how)
		return
	}
	if dir := os.Getenv(childHost); dir != "" {
		busyHost(dir)
		return
	}
	if what := os.Getenv(childScarce); what != "" {
		scarceHost(what)
		return
	}
	os.Exit(m.Run())
}

// brokenServer is an MCP server that fails during a call.
func brokenServer(how string) {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var msg struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Version string `json:"protocolVersion"`
			} `json:"params"`
		}
		if json.Unmarshal(line, &msg) != nil || msg.ID == nil {
			continue
		}
		answer := func(id json.RawMessage, result string) {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", id, result)
		}
		const done = `{"content":[{"type":"text","text":"done"}]}`
		switch msg.Method {
		case "initialize":
			answer(msg.ID, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"broken","version":"1"}}`, msg.Params.Version))
		case "tools/list":
			answer(msg.ID, `{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}`)
		case "tools/call":
			switch how {
			case "killed":
				os.Exit(9)
			case "hung":
			case "slow":
				time.Sleep(300 * time.Millisecond)
				answer(msg.ID, done)
			case "half":
				fmt.Print(`{"jsonrpc":"2.0","id":1,"res`)
				os.Exit(0)
			case "wrong id":
				answer(json.RawMessage(`987654`), done)
			case "no json":
				fmt.Println("Traceback (most recent call last):")
				answer(msg.ID, done)
			case "huge":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, msg.ID)
				block := strings.Repeat("x", 1<<20)
				for range 300 {
					if _, err := fmt.Print(block); err != nil {
						return
					}
				}
				fmt.Println(`"}]}}`)
			case "null":
				answer(msg.ID, `null`)
			case "deep":
				answer(msg.ID, `{"content":[{"type":"text","text":"`+strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000)+`"}]}`)
			}
		default:
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}`+"\n", msg.ID)
		}
	}
}

func newEngine(t *testing.T, cache string) *engine.Engine {
	t.Helper()
	e, err := engine.New(t.Context(), engine.Config{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// open returns a table that allows everything.
func open(sink audit.Sink, p hostfns.Provider) (*hostfns.Table, error) {
	rules, err := policy.Parse("policy.yaml", []byte("version: 1\ntools: {allow: [\"*\"]}\npii: {mode: \"off\"}\n"))
	if err != nil {
		return nil, err
	}
	return hostfns.NewTable(rules, sink, p)
}

func allow(t *testing.T, sink audit.Sink, p hostfns.Provider) *hostfns.Table {
	t.Helper()
	table, err := open(sink, p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = table.Close() })
	return table
}

// TestABrokenServerFailsItsCallAlone calls a server that fails, catches the error and
// continues.
func TestABrokenServerFailsItsCallAlone(t *testing.T) {
	e := newEngine(t, testenv.Cache())
	for how, want := range map[string][]fault.Code{
		"killed":   {fault.UpstreamUnavailable, fault.ToolFailed},
		"hung":     {fault.LimitTime},
		"slow":     {""},
		"half":     {fault.UpstreamUnavailable, fault.ToolFailed},
		"wrong id": {fault.LimitTime, fault.UpstreamUnavailable},
		"no json":  {"", fault.UpstreamUnavailable},
		"huge":     {fault.ToolTooLarge, fault.ToolFailed, fault.UpstreamUnavailable, fault.LimitHostBytes, fault.LimitTime},
		"null":     {"", fault.ToolFailed, fault.UpstreamUnavailable},
		"deep":     {"", fault.ToolFailed, fault.GuestException},
	} {
		t.Run(how, func(t *testing.T) {
			p, err := upstream.New([]upstream.Server{{Name: "broken", Command: os.Args[0], Env: map[string]string{childServer: how}}},
				upstream.Options{Environ: os.Environ(), Version: "test"})
			if err != nil {
				t.Fatal(err)
			}
			table := allow(t, audit.None(), p)
			begun := time.Now()
			res, err := e.Run(t.Context(), engine.Request{Language: "javascript", Table: table, Limits: engine.Limits{Time: 5 * time.Second, HostBytes: 64 << 20},
				Code: "try { await tools.broken.go({}); } catch (e) { return e.code ?? e.name; }\nreturn '';"})
			got := fault.CodeOf(err)
			if err == nil {
				var caught string
				if err := res.Decode(&caught); err != nil {
					t.Fatal(err)
				}
				got = fault.Code(caught)
			}
			if !slices.Contains(want, got) && !(slices.Contains(want, fault.GuestException) && got != fault.Internal) {
				t.Errorf("%q (%v), want one of %q", got, err, want)
			}
			if took := time.Since(begun); took > 2*time.Minute {
				t.Errorf("it took %s", took)
			}
			if res, err := e.Run(t.Context(), engine.Request{Language: "javascript", Code: "2"}); err != nil || string(res.Value) != "2" {
				t.Errorf("the next run returns %s: %v", res.Value, err)
			}
		})
	}
}

// TestACancelledRunEndsWhereverItWaits cancels during each kind of wait.
func TestACancelledRunEndsWhereverItWaits(t *testing.T) {
	e := newEngine(t, testenv.Cache())
	wait := hostfns.Func("slow.wait", func(ctx context.Context, _ struct{}) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	})
	stubborn := func(t *testing.T) *hostfns.Table { return allow(t, audit.None(), wait) }
	for name, req := range map[string]engine.Request{
		"a tool":               {Language: "javascript", Code: "await tools.slow.wait({});"},
		"a caught tool":        {Language: "javascript", Code: "for (;;) try { await tools.slow.wait({}); } catch {}"},
		"a timer":              {Language: "javascript", Code: "await new Promise((r) => setTimeout(r, 1e8));"},
		"a loop":               {Language: "javascript", Code: "for (;;) {}"},
		"a tool in Python":     {Language: "python", Code: "from tools import slow\nslow.wait()"},
		"tools in Python":      {Language: "python", Code: "import asyncio\nfrom tools.aio import slow\nawait asyncio.gather(slow.wait(), slow.wait())"},
		"sleep in Python":      {Language: "python", Code: "import time\ntime.sleep(1e6)"},
		"sleep in asyncio":     {Language: "python", Code: "import asyncio\nawait asyncio.sleep(1e6)"},
		"a loop in Python":     {Language: "python", Code: "while True:\n  try:\n    while True: pass\n  except BaseException: pass"},
		"a regular expression": {Language: "python", Code: "import re\nre.match(r'(a+)+$', 'a' * 60 + 'b')"},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			req.Table = stubborn(t)
			for _, after := range []time.Duration{0, time.Millisecond, 60 * time.Millisecond} {
				ctx, cancel := context.WithCancel(t.Context())
				var given time.Time
				time.AfterFunc(after, func() { given = time.Now(); cancel() })
				res, err := e.Run(ctx, req)
				ended := time.Now()
				<-ctx.Done()
				if !errors.Is(err, fault.Cancelled) || res == nil || res.Status != engine.StatusError {
					t.Errorf("after %s: %v", after, err)
				}
				if late := ended.Sub(given); late > 20*time.Second {
					t.Errorf("after %s: it continued for %s", after, late)
				}
			}
		})
	}
}

// TestADamagedCacheFolderIsNoticed damages the files of a warm cache in several ways.
// Runs still return the right answer. The native code of the Extism kernel, the
// smallest code file, is not damaged: wazero reads it without a check.
func TestADamagedCacheFolderIsNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("short: compiles a guest for each kind of damage")
	}
	r := rand.New(rand.NewPCG(1, 2))
	ways := map[string]func(path string, data []byte) error{
		"empty":     func(p string, _ []byte) error { return os.WriteFile(p, nil, 0o600) },
		"cut":       func(p string, d []byte) error { return os.WriteFile(p, d[:len(d)/2], 0o600) },
		"head":      func(p string, d []byte) error { copy(d, "damaged!"); return os.WriteFile(p, d, 0o600) },
		"removed":   func(p string, _ []byte) error { return os.Remove(p) },
		"read only": func(p string, _ []byte) error { return os.Chmod(p, 0o400) },
		"flipped at the end": func(p string, d []byte) error {
			if len(d) > 0 {
				d[len(d)-1-r.IntN(min(len(d), 8))] ^= 0xff
			}
			return os.WriteFile(p, d, 0o600)
		},
	}
	for name, damage := range ways {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			dir := t.TempDir()
			sum := func() {
				e, err := engine.New(t.Context(), engine.Config{Cache: dir})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = e.Close() }()
				for range 2 {
					res, err := e.Run(t.Context(), engine.Request{Language: "javascript", Code: "[1,2,3].reduce((a, b) => a + b)"})
					if err != nil || string(res.Value) != "6" {
						t.Fatalf("%s: %v", res.Value, err)
					}
				}
			}
			sum()
			files := 0
			err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				if err != nil || !d.Type().IsRegular() {
					return err
				}
				data, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				files++
				return damage(path, data)
			})
			if err != nil || files == 0 {
				t.Fatalf("%d files: %v", files, err)
			}
			sum()
		})
	}
}
