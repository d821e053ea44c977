package engine

import (
	"context"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// recorded runs a program whose record keeps everything, and gives it.
func recorded(t *testing.T, e *Engine, code string, calls *int, change ...func(*Request)) (*Result, audit.Recording) {
	t.Helper()
	return recordedUnder(t, e, "pii: {mode: off}\n", code, calls, change...)
}

func recordedUnder(t *testing.T, e *Engine, rules, code string, calls *int, change ...func(*Request)) (*Result, audit.Recording) {
	t.Helper()
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools:\n  allow: [\"x.*\"]\naudit: {code: full, inputs: full, outputs: full}\n"+rules))
	if err != nil {
		t.Fatal(err)
	}
	var sink audit.Memory
	var counting sync.Mutex // calls may overlap
	next := hostfns.Func("x.next", func(context.Context, struct {
		A int `json:"a,omitempty"`
	}) (int, error) {
		counting.Lock()
		defer counting.Unlock()
		*calls++
		return *calls, nil
	})
	table, err := hostfns.NewTable(p, &sink, next)
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Language: JavaScript, Code: code, Table: table}
	for _, f := range change {
		f(&r)
	}
	res, err := e.Run(context.Background(), r)
	if err != nil && fault.CodeOf(err) == fault.Internal {
		t.Fatal(err)
	}
	rec, err := sink.Recording(res.RunID)
	if err != nil {
		t.Fatal(err)
	}
	return res, rec
}

func TestAReplayGivesTheRecordedValueAndCallsNothing(t *testing.T) {
	e := newTiny(t, Config{})
	calls := 0
	first, rec := recorded(t, e, "p 2 x.next {}\nc x.next {}", &calls, fixed)
	again, err := e.Replay(context.Background(), rec)
	wantValue(t, again, err, string(first.Value))
	if calls != 3 || again.Usage.Fuel != first.Usage.Fuel {
		t.Errorf("%d calls, fuel %d and %d", calls, first.Usage.Fuel, again.Usage.Fuel)
	}
}

// What a program saw of clock, chance and standard input is in its record.
func TestAReplayNeedsNoDeterministicRun(t *testing.T) {
	e := newTiny(t, Config{})
	calls := 0
	for _, code := range []string{"t", "r", "s 5\nt", "i\nr", "p 5 x.next {}\nr", "e {\"code\":\"guest.exception\",\"message\":\"no\"}", "q 3"} {
		first, rec := recorded(t, e, code, &calls, func(r *Request) {
			r.Stdin = io.MultiReader(strings.NewReader("one\n"), strings.NewReader("two"))
		})
		again, err := e.Replay(context.Background(), rec)
		if fault.CodeOf(err) == fault.UsageAudit || string(again.Value) != string(first.Value) || again.Stdout != first.Stdout || again.Usage.Fuel != first.Usage.Fuel {
			t.Errorf("%q: %v\n%s %q %d, was %s %q %d", code, err, again.Value, again.Stdout, again.Usage.Fuel, first.Value, first.Stdout, first.Usage.Fuel)
		}
	}
}

func TestAReplayThatTakesAnotherCourseNamesTheFirstDifference(t *testing.T) {
	e := newTiny(t, Config{})
	const code = "o hello\nc x.next {\"a\":1}"
	for name, c := range map[string]struct {
		change func(*audit.Recording)
		want   string
	}{
		"one call more":   {func(r *audit.Recording) { r.Start.Code = []byte(code + "\nc x.next {}") }, "call 2 of x.next is not in the record"},
		"one call less":   {func(r *audit.Recording) { r.Start.Code = []byte("o hello\nv 1") }, "did not make call 1 of x.next"},
		"fewer arguments": {func(r *audit.Recording) { r.Start.Code = []byte("o hello\nc x.next {}") }, "other arguments"},
		"more arguments": {func(r *audit.Recording) {
			r.Start.Code = []byte("o hello\nc x.next {\"a\":1,\"b\":2}")
		}, "other arguments"},
		"another name": {func(r *audit.Recording) { r.Start.Code = []byte("o hello\nc x.nest {\"a\":1}") }, "the record has x.next"},
		"another value": {func(r *audit.Recording) {
			r.Start.Code = []byte(code + "\nv 99")
		}, "another value: 99, but the record has 1"},
		"other output": {func(r *audit.Recording) { r.Start.Code = []byte("o hellO\nc x.next {\"a\":1}") }, "another output"},
		"other error output": {func(r *audit.Recording) {
			r.Start.Code = []byte("w oh\n" + code)
		}, "another error output"},
		"other fuel":    {func(r *audit.Recording) { r.Start.Code = []byte("l 5\n" + code) }, "another use of fuel"},
		"another order": {func(r *audit.Recording) { r.End.Order = []uint64{} }, "another order of answers"},
		"another end":   {func(r *audit.Recording) { r.Start.Code = []byte(code + "\nq 3") }, "another status"},
	} {
		calls := 0
		_, rec := recorded(t, e, code, &calls)
		if _, err := e.Replay(context.Background(), rec); err != nil {
			t.Fatalf("unchanged: %v", err)
		}
		c.change(&rec)
		res, err := e.Replay(context.Background(), rec)
		if fault.CodeOf(err) != fault.UsageAudit || !strings.Contains(err.Error(), c.want) || res.Value != nil {
			t.Errorf("%s: %v (value %s)", name, err, res.Value)
		}
	}
}

func TestARunThatCannotBeRepeatedSaysWhy(t *testing.T) {
	e := newTiny(t, Config{})
	calls := 0
	_, whole := recorded(t, e, "v 1", &calls)
	for want, change := range map[string]func(*audit.Recording){
		"not all kept":    func(r *audit.Recording) { r.Start.Keep.Inputs = "hash" },
		"session":         func(r *audit.Recording) { r.Start.Session = "s" },
		"result cache":    func(r *audit.Recording) { r.End.Cache = "hit" },
		"limit.time":      func(r *audit.Recording) { r.End.Code = "limit.time" },
		"cancelled":       func(r *audit.Recording) { r.End.Code = "cancelled" },
		"what it saw":     func(r *audit.Recording) { r.End.World = nil },
		"clock and files": func(r *audit.Recording) { r.End.World = &audit.World{Dropped: []string{"clock", "files"}} },
	} {
		rec := whole
		change(&rec)
		res, err := e.Replay(context.Background(), rec)
		if fault.CodeOf(err) != fault.UsageAudit || !strings.Contains(err.Error(), want) || res == nil || res.Status != StatusError {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestAPluginIsRepeatedAsItWas(t *testing.T) {
	e := newTiny(t, Config{})
	calls := 0
	path := filepath.Join(t.TempDir(), "plugin.wasm")
	wasm, err := os.ReadFile(filepath.Join("testdata", "plugin", "plugin.wasm"))
	if err != nil || os.WriteFile(path, wasm, 0o600) != nil {
		t.Fatal(err)
	}
	first, rec := recorded(t, e, "", &calls, func(r *Request) {
		r.Language, r.Plugin, r.Function, r.Input = "", path, "upper", []byte("words")
	})
	again, err := e.Replay(context.Background(), rec)
	wantValue(t, again, err, `"WORDS"`)
	if again.Usage.Fuel != first.Usage.Fuel {
		t.Errorf("fuel %d and %d", first.Usage.Fuel, again.Usage.Fuel)
	}
	if err := os.WriteFile(path, append(wasm, 0, 1, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Replay(context.Background(), rec); err == nil || fault.CodeOf(err) != fault.UsageFile {
		t.Errorf("another plugin: %v", err)
	}
}

// Personal data in the input of a run leaves it as tokens; the replay knows their
// values.
func TestAReplayKnowsThatTokensStandForData(t *testing.T) {
	e := newTiny(t, Config{})
	calls := 0
	first, rec := recordedUnder(t, e, "pii: {mode: tokenize}\n", "i\nv 1", &calls, func(r *Request) {
		r.Input = []byte("write to grace.hopper@acme-corp.io and ada@acme-corp.io today\n")
	})
	if !strings.Contains(first.Stdout, "EMAIL") {
		t.Fatalf("nothing was replaced: %q", first.Stdout)
	}
	again, err := e.Replay(context.Background(), rec)
	if err != nil || again.Stdout != first.Stdout {
		t.Errorf("%v %q", err, again.Stdout)
	}
}

// races are programs whose course depends on what comes first: answers, timers
// or their own giving up. WAIT is a random number of milliseconds each time.
var races = []program{
	{"race.js", JavaScript, `
const find = (id, wait) => tools.shop.find({ id, wait }), late = (n, ms) => new Promise(done => setTimeout(() => done(n), ms))
const out = []
out.push(await Promise.race([find(1, WAIT), late('timer', 4)]))
out.push(await Promise.race([find(2, WAIT), find(3, WAIT), late('timer', WAIT)]))
await Promise.all([4, 5, 6].map(async id => { await find(id, WAIT); out.push(id, Date.now(), Math.random()) }))
return out`},
	{"poll.js", JavaScript, `
let ticks = 0, done = false
const call = tools.shop.find({ id: 1, wait: 2 * WAIT }).then(() => { done = true })
while (!done) { await new Promise(r => setTimeout(r, 1)); ticks++ }
await call
return [ticks, performance.now()]`},
	{"settle.ts", TypeScript, `
const r: unknown[] = await settle([tools.shop.find({ id: -1 }), tools.shop.find({ id: 2, wait: WAIT }), attempt(() => tools.shop.find({ id: -2 }), { retries: 2, backoff: 1, fallback: () => 'none' })])
return [JSON.stringify(r), crypto.randomUUID()]`},
	{"wait.py", Python, `
import asyncio, random, time
from tools.aio import shop
out = []
async def one(id, wait):
    await shop.find(id=id, wait=wait)
    out.append([id, time.monotonic()])
done, pending = await asyncio.wait([asyncio.ensure_future(one(i, w)) for i, w in [(1, WAIT), (2, WAIT), (3, WAIT)]], timeout=0.004)
for p in pending:
    p.cancel()
try:
    await asyncio.wait_for(shop.find(id=4, wait=WAIT), 0.003)
    out.append("in time")
except asyncio.TimeoutError:
    out.append("too late")
await asyncio.sleep(0.001)
return [out, random.random(), time.time(), len(done)]`},
	{"both.py", Python, `
import asyncio
from tools import shop as now
from tools.aio import shop
task = asyncio.ensure_future(shop.find(id=1, wait=WAIT))
first = now.find(id=2, wait=WAIT)["id"]
ticks = 0
while not task.done():
    await asyncio.sleep(0.001)
    ticks += 1
return [first, ticks, (await task)["id"]]`},
}

func TestAReplayTakesTheSameTurnsAsTheRun(t *testing.T) {
	times := 12
	if testing.Short() {
		times = 3
	}
	e := newReal(t, Config{})
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools:\n  allow: [\"shop.*\"]\naudit: {code: full, inputs: full, outputs: full}\npii: {mode: off}\n"))
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, race := range races {
		for range times {
			var sink audit.Memory
			table, err := hostfns.NewTable(p, &sink, shop()...)
			if err != nil {
				t.Fatal(err)
			}
			code := race.code
			for strings.Contains(code, "WAIT") {
				code = strings.Replace(code, "WAIT", strconv.Itoa(r.IntN(7)), 1)
			}
			first, err := e.Run(t.Context(), Request{Language: race.language, Code: code, Table: table})
			if err != nil {
				t.Fatalf("%s: %v", race.name, err)
			}
			rec, err := sink.Recording(first.RunID)
			if err != nil {
				t.Fatal(err)
			}
			again, err := e.Replay(t.Context(), rec)
			if err != nil || string(again.Value) != string(first.Value) || again.Usage.Fuel != first.Usage.Fuel {
				t.Errorf("%s: %v\nwas %s for %d\nnow %s for %d\norder %v\n%s", race.name, err, first.Value, first.Usage.Fuel, again.Value, again.Usage.Fuel, rec.End.Order, code)
			}
		}
	}
}

// A value that was too large and became an artifact does so in a replay, which keeps
// nothing.
func TestAReplayOfALargeValueKeepsNothing(t *testing.T) {
	e := newReal(t, Config{})
	for _, language := range []string{JavaScript, Python} {
		puts := 0
		p, err := policy.Parse("p.yaml", []byte("version: 1\ntools: {allow: [artifacts.put]}\naudit: {code: full, inputs: full, outputs: full}\nlimits: {output: 10KiB}\noutput: artifact\n"))
		if err != nil {
			t.Fatal(err)
		}
		put := hostfns.Func("artifacts.put", func(_ context.Context, in struct {
			Name string `json:"name"`
			Type string `json:"type"`
			Data string `json:"data"`
		}) (map[string]any, error) {
			puts++
			return map[string]any{"artifact": "sha256:00", "name": in.Name, "type": in.Type, "bytes": len(in.Data)}, nil
		})
		var sink audit.Memory
		table, err := hostfns.NewTable(p, &sink, put)
		if err != nil {
			t.Fatal(err)
		}
		code := map[string]string{JavaScript: "return Array.from({length: 5000}, (_, i) => i)", Python: "return list(range(5000))"}[language]
		first, err := e.Run(t.Context(), Request{Language: language, Code: code, Table: table})
		if err != nil || !strings.Contains(string(first.Value), "sha256:00") || len(first.Value) > 5000 {
			t.Fatalf("%.300s %v", first.Value, err)
		}
		rec, err := sink.Recording(first.RunID)
		if err != nil {
			t.Fatal(err)
		}
		again, err := e.Replay(t.Context(), rec)
		if err != nil || string(again.Value) != string(first.Value) || puts != 1 {
			t.Errorf("%s: %d puts, %v\n%s\nwas\n%s", language, puts, err, again.Value, first.Value)
		}
	}
}
