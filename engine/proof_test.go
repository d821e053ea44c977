package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// Each limit ends the run at its edge and not before, with what was allowed in
// the message, the setting that raises it in the hint, and everything that the
// program did until then in the result.
func TestEachLimitIsExactSaysWhatItAllowsAndKeepsWhatWasDone(t *testing.T) {
	e := newReal(t, Config{Table: newTable(t, audit.None(), shop()...)})
	const js, py = JavaScript, Python
	begin := map[string]string{
		js: "console.log('begun'); await tools.shop.find({id: 1});\n",
		py: "print('begun')\nfrom tools import shop\nshop.find(id=1)\n",
	}
	for _, c := range []struct {
		name, language, code string
		within, beyond       Limits
		want                 fault.Code
		allowed, setting     string
	}{
		{"tool calls", js, "for (let i = 0; i < 3; i++) await tools.shop.find({id: i})", Limits{ToolCalls: 4}, Limits{ToolCalls: 3}, fault.LimitToolCalls, "3", "tool_calls"},
		{"tool calls", py, "for i in range(3): shop.find(id=i)", Limits{ToolCalls: 4}, Limits{ToolCalls: 3}, fault.LimitToolCalls, "3", "tool_calls"},
		{"output", js, "console.log('x'.repeat(93)); return 1", Limits{Output: 101}, Limits{Output: 100}, fault.LimitOutput, "100", "limits.output: "},
		{"output", py, "print('x' * 93)\n1", Limits{Output: 101}, Limits{Output: 100}, fault.LimitOutput, "100", "limits.output: "},
		{"memory", js, "const a = new Uint8Array(40e6).fill(1); return a.length", Limits{Memory: 64 << 20}, Limits{Memory: 24 << 20}, fault.LimitMemory, "24MiB", "limits.memory: "},
		{"memory", py, "len(bytearray(30_000_000))", Limits{Memory: 96 << 20}, Limits{Memory: 40 << 20}, fault.LimitMemory, "40MiB", "limits.memory: "},
		{"time", js, "await new Promise(r => setTimeout(r, 300)); return 1", Limits{Time: 20 * time.Second}, Limits{Time: 150 * time.Millisecond}, fault.LimitTime, "150ms", "limits.time: "},
		{"time", py, "import time\ntime.sleep(0.3)\n1", Limits{Time: 20 * time.Second}, Limits{Time: 150 * time.Millisecond}, fault.LimitTime, "150ms", "limits.time: "},
	} {
		t.Run(c.name+"/"+c.language, func(t *testing.T) {
			run := func(l Limits) (*Result, error) {
				return e.Run(t.Context(), Request{Language: c.language, Code: begin[c.language] + c.code, Limits: l})
			}
			if res, err := run(c.within); err != nil || res.Usage.Fuel == 0 {
				t.Fatalf("within the limit: %v", err)
			}
			res, err := run(c.beyond)
			wantCode(t, err, c.want)
			if !strings.Contains(res.Error.Message, c.allowed) || !strings.Contains(res.Error.Hint, c.setting) || strings.Contains(res.Error.Hint, "--") {
				t.Errorf("it says %q, hint %q", res.Error.Message, res.Error.Hint)
			}
			if !strings.HasPrefix(res.Stdout, "begun\n") || res.Usage.Fuel == 0 || len(res.Calls) == 0 || res.Status != StatusLimit || res.Value != nil {
				t.Errorf("stdout %q, %+v, calls %v, %s", res.Stdout, res.Usage, res.Calls, res.Status)
			}
		})
	}
	for _, language := range []string{js, py} {
		run := func(l Limits) (*Result, error) {
			return e.Run(t.Context(), Request{Language: language, Code: begin[language] + "for_ = 1", Limits: l, Deterministic: true})
		}
		res, err := run(Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if res, err = run(Limits{Fuel: res.Usage.Fuel}); err != nil {
			t.Errorf("%s, with the fuel it uses: %v", language, err)
		}
		res, err = run(Limits{Fuel: res.Usage.Fuel - 1})
		wantCode(t, err, fault.LimitFuel)
		if !strings.Contains(res.Error.Hint, "limits.fuel: ") || !strings.Contains(res.Error.Message, fmt.Sprint(res.Usage.Fuel)) {
			t.Errorf("%q %q %d", res.Error.Message, res.Error.Hint, res.Usage.Fuel)
		}
	}
}

// What passes through the host is counted to the byte.
func TestHostBytesAreExactAtTheEdge(t *testing.T) {
	e := newTiny(t, Config{Table: newTable(t, audit.None(), add())})
	const args = `{"a":1,"b":20}`
	edge := int64(len(args) + len("21"))
	res, err := tiny(t, e, "c math.add "+args, limited(Limits{HostBytes: edge}))
	wantValue(t, res, err, "21")
	res, err = tiny(t, e, "o seen\nc math.add "+args, limited(Limits{HostBytes: edge - 1}))
	wantCode(t, err, fault.LimitHostBytes)
	if res.Stdout != "seen\n" || !strings.Contains(res.Error.Message, fmt.Sprint(edge-1)) || !strings.Contains(res.Error.Hint, "host_bytes") {
		t.Errorf("%q %q %q", res.Stdout, res.Error.Message, res.Error.Hint)
	}
}

// Python counts its frames exactly; a program may catch it.
func TestRecursionIsExactInPython(t *testing.T) {
	e := newReal(t, Config{})
	deep := func(n int) string {
		return fmt.Sprintf("def f(n):\n    return 0 if n == 0 else 1 + f(n - 1)\nf(%d)", n)
	}
	most := 0
	for n := 40; n <= 60; n++ {
		if _, err := e.Run(t.Context(), Request{Language: Python, Code: deep(n), Limits: Limits{Recursion: 60}}); err == nil {
			most = n
		} else if most == 0 {
			t.Fatal(err)
		}
	}
	if most == 0 || most == 60 {
		t.Fatalf("%d calls deep within 60 frames", most)
	}
	_, err := e.Run(t.Context(), Request{Language: Python, Code: deep(most + 1), Limits: Limits{Recursion: 60}})
	wantCode(t, err, fault.GuestException)
	res, err := e.Run(t.Context(), Request{Language: Python, Code: deep(most + 1), Limits: Limits{Recursion: 61}})
	wantValue(t, res, err, fmt.Sprint(most+1))
	_, err = e.Run(t.Context(), Request{Language: JavaScript, Code: "const f = n => f(n + 1) + 1; f(0)", Limits: Limits{Recursion: 500}})
	if code := fault.CodeOf(err); code != fault.LimitRecursion && code != fault.GuestException {
		t.Errorf("JavaScript: %v", err)
	}
}

// Ten runs that wait for people leave the only core to an eleventh run, and all ten
// finish.
func TestTenRunsParkedOnApprovalsDoNotStopAnEleventh(t *testing.T) {
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools:\n  ask: [\"shop.find\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(p, audit.None(), shop()...)
	if err != nil {
		t.Fatal(err)
	}
	e := newReal(t, Config{Running: 1, Table: table})
	asked, yes := make(chan struct{}, 10), make(chan struct{})
	asker := askers(func(ctx context.Context) (hostfns.Reply, error) {
		asked <- struct{}{}
		select {
		case <-yes:
			return hostfns.Reply{Approved: true, By: "test"}, nil
		case <-ctx.Done():
			return hostfns.Reply{}, ctx.Err()
		}
	})
	var all sync.WaitGroup
	for range 10 {
		all.Add(1)
		go func() {
			defer all.Done()
			res, err := e.Run(t.Context(), Request{Language: JavaScript, Code: "return (await tools.shop.find({id: 2})).id", Asker: asker})
			if err != nil || string(res.Value) != "2" {
				t.Errorf("%s %v", res.Value, err)
			}
		}()
	}
	for range 10 {
		<-asked
	}
	res, err := e.Run(t.Context(), Request{Language: JavaScript, Code: "11"})
	wantValue(t, res, err, "11")
	close(yes)
	all.Wait()
}

type askers func(context.Context) (hostfns.Reply, error)

func (a askers) Ask(ctx context.Context, _ hostfns.Question) (hostfns.Reply, error) { return a(ctx) }

// A listener hears each stage, in order and one at a time.
func TestProgressTellsEachStageInOrder(t *testing.T) {
	dir := t.TempDir()
	e := newTiny(t, Config{Running: 1, Cache: dir, Ready: -1, Table: newTable(t, audit.None(), add())})
	var mu sync.Mutex
	var heard []EventType
	listen := func(r *Request) {
		r.Progress = func(ev Event) {
			if !mu.TryLock() {
				t.Error("two events at a time")
				return
			}
			defer mu.Unlock()
			if ev.Type != EventFuel && (len(heard) == 0 || heard[len(heard)-1] != ev.Type) {
				heard = append(heard, ev.Type)
			}
		}
	}
	if _, err := tiny(t, e, "o text\nc math.add {\"a\":1,\"b\":2}", listen); err != nil {
		t.Fatal(err)
	}
	if want := []EventType{EventCompiling, EventStarted, EventOutput, EventCalling, EventCall, EventDone}; !slices.Equal(heard, want) {
		t.Errorf("a first run: %v", heard)
	}
	heard = nil
	ctx, cancel := context.WithCancel(t.Context())
	started, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = e.Run(ctx, Request{Language: JavaScript, Code: "l 0", Progress: func(ev Event) {
			if ev.Type == EventStarted {
				close(started)
			}
		}})
	}()
	<-started
	if _, err := tiny(t, e, "v 1", listen, func(r *Request) {
		note := r.Progress
		r.Progress = func(ev Event) {
			if note(ev); ev.Type == EventQueued {
				cancel()
			}
		}
	}); err != nil {
		t.Fatal(err)
	}
	<-done
	if want := []EventType{EventQueued, EventStarted, EventDone}; !slices.Equal(heard, want) {
		t.Errorf("a run that waits: %v", heard)
	}
}

// Without a cache folder an engine leaves no file, and none outside of it
// where it has one.
func TestNoFilesAreWrittenButBelowTheCacheFolder(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"HOME", "TMPDIR", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"} {
		t.Setenv(name, home)
	}
	before, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	if !testing.Short() { // the guests as users have them, compiled for this
		e, err := open(Config{})
		if err != nil {
			t.Fatal(err)
		}
		res, err := e.Run(t.Context(), Request{Language: JavaScript, Code: "1 + 1", Deterministic: true})
		wantValue(t, res, err, "2")
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if left, err := os.ReadDir(home); err != nil || len(left) > 0 {
			t.Errorf("%v %v", left, err)
		}
	}
	cache := filepath.Join(home, "cache")
	for _, c := range []Config{{}, {Cache: cache}} {
		e := newTiny(t, c)
		if _, err := tiny(t, e, "o x\nr", fixed); err != nil {
			t.Fatal(err)
		}
	}
	left, err := os.ReadDir(home)
	if err != nil || len(left) != 1 || left[0].Name() != "cache" {
		t.Errorf("%v %v", left, err)
	}
	if after, _ := os.ReadDir("."); len(after) != len(before) {
		t.Errorf("the working folder has %d files, and had %d", len(after), len(before))
	}
}

// Imports, definitions and globals of a Python session outlive a run, and an
// exception.
func TestAPythonSessionKeepsImportsAndDefinitions(t *testing.T) {
	e := newReal(t, Config{})
	run := func(code string) (*Result, error) {
		return e.Run(t.Context(), Request{Language: Python, Code: code, Session: "p"})
	}
	if _, err := run("import math\ndef half(x):\n    return x / 2\nkept = [1]"); err != nil {
		t.Fatal(err)
	}
	_, err := run("kept.append(2)\nraise ValueError('no')")
	wantCode(t, err, fault.GuestException)
	res, err := run("[half(math.floor(7.5)), kept]")
	wantValue(t, res, err, "[3.5,[1,2]]")
}
