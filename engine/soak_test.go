package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// strain is one kind of run of the soak, and how it has to end.
type strain struct {
	name  string
	makes func(r *rand.Rand) (req Request, want string)
	may   []fault.Code // "" is success
	after time.Duration
	short bool // cancelled after a random time up to after
}

// everyday is how many of the first strains are what most runs are.
const everyday = 7

// strains are what users and attackers do: every language, every limit, faults
// of programs and of tools, sessions, plugins, and callers that give up.
func strains() []strain {
	js := func(code string) func(*rand.Rand) (Request, string) {
		return func(*rand.Rand) (Request, string) { return Request{Language: JavaScript, Code: code}, "" }
	}
	py := func(code string) func(*rand.Rand) (Request, string) {
		return func(*rand.Rand) (Request, string) { return Request{Language: Python, Code: code}, "" }
	}
	with := func(l Limits, f func(*rand.Rand) (Request, string)) func(*rand.Rand) (Request, string) {
		return func(r *rand.Rand) (Request, string) { req, want := f(r); req.Limits = l; return req, want }
	}
	fuel, short, small := Limits{Fuel: 3_000_000}, Limits{Time: 20 * time.Millisecond}, Limits{Memory: 32 << 20}
	return []strain{
		{name: "javascript", makes: func(r *rand.Rand) (Request, string) {
			n := r.IntN(1000)
			return Request{Language: JavaScript, Code: "return args.n * 2 + [1,2,3].map(x => x * x).length", Args: fmt.Appendf(nil, `{"n":%d}`, n)}, strconv.Itoa(2*n + 3)
		}},
		{name: "typescript", makes: func(r *rand.Rand) (Request, string) {
			n := r.IntN(20)
			return Request{Language: TypeScript, Code: fmt.Sprintf("const n: number = %d; return n + 1", n)}, strconv.Itoa(n + 1)
		}},
		{name: "python", makes: func(r *rand.Rand) (Request, string) {
			n := r.IntN(1000)
			return Request{Language: Python, Code: "return sum(range(args['n']))", Args: fmt.Appendf(nil, `{"n":%d}`, n)}, strconv.Itoa(n * (n - 1) / 2)
		}},
		{name: "javascript, tools", makes: func(r *rand.Rand) (Request, string) {
			return Request{Language: JavaScript, Deterministic: r.IntN(2) == 0,
				Code: "const l = await tools.shop.list({n: 30}); const f = await Promise.all(l.slice(0, 5).map(i => tools.shop.find({id: i.id}))); return f.length"}, "5"
		}},
		{name: "python, tools", makes: func(*rand.Rand) (Request, string) {
			return Request{Language: Python, Code: "import asyncio\nfrom tools.aio import shop\nreturn len(await asyncio.gather(*[shop.find(id=i) for i in range(4)]))"}, "4"
		}},
		{name: "timers", makes: js("await new Promise(r => setTimeout(r, 3)); return 1")},
		{name: "output", makes: js("for (let i = 0; i < 200; i++) console.log('line', i); return 1")},
		{name: "fuel over, javascript", makes: with(fuel, js("for (;;) {}")), may: []fault.Code{fault.LimitFuel}},
		{name: "fuel over, python", makes: with(fuel, py("while True: pass")), may: []fault.Code{fault.LimitFuel}},
		{name: "time over, javascript", makes: with(short, js("for (;;) {}")), may: []fault.Code{fault.LimitTime}},
		{name: "time over, regex", makes: with(short, js("return /^(a+)+$/.test('a'.repeat(40) + 'b')")), may: []fault.Code{fault.LimitTime}},
		{name: "time over, python", makes: with(short, py("9**9**8")), may: []fault.Code{fault.LimitTime}},
		{name: "time over, a tool", makes: with(short, js("return tools.shop.find({id: 1, wait: 60000})")), may: []fault.Code{fault.LimitTime}},
		{name: "memory over, javascript", makes: with(small, js("const a = []; for (;;) a.push('x'.repeat(1e6) + a.length)")), may: []fault.Code{fault.LimitMemory}},
		{name: "memory over, python", makes: with(small, py("a = []\nwhile True: a.append('x' * 10**6 + str(len(a)))")), may: []fault.Code{fault.LimitMemory}},
		{name: "output over", makes: with(Limits{Output: 10_000}, js("for (;;) console.log('x'.repeat(100))")), may: []fault.Code{fault.LimitOutput}},
		{name: "calls over", makes: with(Limits{ToolCalls: 3}, js("for (;;) await tools.shop.find({id: 1})")), may: []fault.Code{fault.LimitToolCalls}},
		{name: "recursion", makes: js("const f = n => f(n + 1) + 1; return f(0)"), may: []fault.Code{fault.GuestException, fault.LimitRecursion}},
		{name: "exception", makes: py("return [][1]"), may: []fault.Code{fault.GuestException}},
		{name: "syntax", makes: js("let x = = 1"), may: []fault.Code{fault.GuestSyntax}},
		{name: "syntax, typescript", makes: func(*rand.Rand) (Request, string) {
			return Request{Language: TypeScript, Code: "const x: = 1"}, ""
		}, may: []fault.Code{fault.GuestSyntax}},
		{name: "exit", makes: py("import os\nos._exit(3)"), may: []fault.Code{fault.GuestExit}},
		{name: "a tool fails", makes: js("return tools.shop.find({id: -1})"), may: []fault.Code{fault.ToolFailed}},
		{name: "a tool panics", makes: js("return tools.rude.panic({})"), may: []fault.Code{fault.ToolFailed}},
		{name: "stalled", makes: js("await new Promise(() => {})"), may: []fault.Code{fault.GuestStalled}},
		{name: "session", makes: func(r *rand.Rand) (Request, string) {
			return Request{Language: JavaScript, Code: "globalThis.n = (globalThis.n ?? 0) + 1; return typeof n", Session: "s" + strconv.Itoa(r.IntN(6))}, `"number"`
		}, may: []fault.Code{"", fault.UsageSession}},
		{name: "plugin", makes: func(*rand.Rand) (Request, string) {
			return Request{Plugin: filepath.Join("testdata", "plugin", "plugin.wasm"), Function: "upper", Input: []byte("words")}, `"WORDS"`
		}},
		{name: "plugin that traps", makes: func(*rand.Rand) (Request, string) {
			return Request{Plugin: filepath.Join("testdata", "plugin", "plugin.wasm"), Function: "trap"}, ""
		}, may: []fault.Code{fault.GuestException}},
		{name: "cancelled, javascript", makes: js("for (;;) {}"), may: []fault.Code{fault.Cancelled}, after: 5 * time.Millisecond, short: true},
		{name: "cancelled, python", makes: py("import time\ntime.sleep(60)"), may: []fault.Code{fault.Cancelled}, after: 5 * time.Millisecond, short: true},
		{name: "cancelled in a tool", makes: js("return tools.shop.find({id: 1, wait: 60000})"), may: []fault.Code{fault.Cancelled}, after: 5 * time.Millisecond, short: true},
	}
}

// tally counts the runs of a strain.
type tally struct {
	runs  int
	took  time.Duration
	ended map[fault.Code]int
}

// soak runs strains in random order until the time is up.
func soak(t *testing.T, e *Engine, workers int, span time.Duration) map[string]*tally {
	all := strains()
	total := map[string]*tally{}
	var mu sync.Mutex
	var done sync.WaitGroup
	until := time.Now().Add(span)
	for w := range workers {
		done.Add(1)
		go func() {
			defer done.Done()
			r := rand.New(rand.NewPCG(uint64(w), uint64(time.Now().UnixNano())))
			for time.Now().Before(until) && !t.Failed() {
				s := all[r.IntN(len(all))]
				if r.IntN(2) == 0 {
					s = all[r.IntN(everyday)]
				}
				begun := time.Now()
				code, err := s.once(e, r)
				mu.Lock()
				one := total[s.name]
				if one == nil {
					one = &tally{ended: map[fault.Code]int{}}
					total[s.name] = one
				}
				one.runs++
				one.took += time.Since(begun)
				one.ended[code]++
				mu.Unlock()
				if err != nil {
					t.Errorf("%s: %v", s.name, err)
				}
			}
		}()
	}
	done.Wait()
	return total
}

// once is one run. The error says that it ended otherwise than it may.
func (s *strain) once(e *Engine, r *rand.Rand) (fault.Code, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req, want := s.makes(r)
	req.Actor.ID = strconv.Itoa(r.IntN(4))
	if req.Limits.Time == 0 {
		req.Limits.Time = 5 * time.Minute // on a machine that has no time for it, another limit is still reached first
	}
	if s.short {
		defer time.AfterFunc(time.Duration(r.Int64N(int64(s.after))), cancel).Stop()
	}
	res, err := e.Run(ctx, req)
	code := fault.Code("")
	if err != nil {
		code = fault.CodeOf(err)
	}
	may := s.may
	if len(may) == 0 {
		may = []fault.Code{""}
	}
	switch {
	case !slices.Contains(may, code):
		return code, fmt.Errorf("it ended with %q: %w", string(code), errors.Join(err))
	case err == nil && want != "" && string(res.Value) != want:
		return code, fmt.Errorf("it gave %s and not %s", res.Value, want)
	}
	return code, nil
}

// TestSoak runs everything at once for as long as WEXEC_SOAK says (make soak:
// an hour), prints what ran, and holds memory, goroutines, descriptors,
// mappings and children to where they were after a tenth of the time.
func TestSoak(t *testing.T) {
	span, err := time.ParseDuration(os.Getenv("WEXEC_SOAK"))
	if err != nil {
		t.Skip("needs WEXEC_SOAK, the duration: 2m")
	}
	rude := hostfns.Func("rude.panic", func(context.Context, struct{}) (int, error) { panic("rude") })
	e := newReal(t, Config{Table: newTable(t, audit.None(), append(shop(), rude)...)})
	if err := e.Warm(t.Context(), nil, JavaScript, TypeScript, Python); err != nil {
		t.Fatal(err)
	}
	totals := map[string]*tally{}
	begun := time.Now()
	var out strings.Builder
	table := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "after\truns\tresident, MiB\tgoroutines\tdescriptors\tmappings\tchildren\t")
	var before, after levels
	for step := range 10 {
		runs := 0
		for name, one := range soak(t, e, 8, span/10) {
			if totals[name] == nil {
				totals[name] = &tally{ended: map[fault.Code]int{}}
			}
			totals[name].runs += one.runs
			totals[name].took += one.took
			for code, n := range one.ended {
				totals[name].ended[code] += n
			}
		}
		for _, one := range totals {
			runs += one.runs
		}
		if after = take(t); step == 0 {
			before = after
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", time.Since(begun).Round(time.Second), runs, after.resident>>10, after.goroutines, after.descriptors, after.mappings, after.children)
		if t.Failed() {
			break
		}
	}
	fmt.Fprintln(table, "\t\t\t\t\t\t\t")
	fmt.Fprintln(table, "kind\truns\tms each\tended\t")
	runs := 0
	codes := map[fault.Code]int{}
	for _, name := range slices.Sorted(maps.Keys(totals)) {
		one := totals[name]
		runs += one.runs
		fmt.Fprintf(table, "%s\t%d\t%.1f\t%s\t\n", name, one.runs, float64(one.took.Microseconds())/1000/float64(one.runs), ends(one.ended))
		for code, n := range one.ended {
			codes[code] += n
		}
	}
	_ = table.Flush()
	fmt.Println(out.String())
	fmt.Printf("%d runs of %d kinds in %s: %s\n", runs, len(totals), time.Since(begun).Round(time.Second), ends(codes))
	if after.goroutines > before.goroutines+20 || after.descriptors > before.descriptors+5 || after.children > before.children ||
		after.mappings > before.mappings+100 || after.resident > before.resident+before.resident/4+32<<10 {
		t.Errorf("not level: before %+v, after %+v", before, after)
	}
	if held := e.ledger.Bytes(); held > int64(e.config.Ready*4+e.config.Sessions)*sandbox.InstanceSpace {
		t.Errorf("%d bytes of memory are counted while nothing runs", held)
	}
}

// ends lists how often runs ended how.
func ends(codes map[fault.Code]int) string {
	var out []string
	for _, code := range slices.Sorted(maps.Keys(codes)) {
		name := string(code)
		if name == "" {
			name = "ok"
		}
		out = append(out, fmt.Sprintf("%s %d", name, codes[code]))
	}
	return strings.Join(out, ", ")
}

type levels struct{ goroutines, descriptors, mappings, resident, children int }

// take measures what the process uses; resident is in KiB.
func take(t *testing.T) levels {
	t.Helper()
	time.Sleep(500 * time.Millisecond)
	runtime.GC()
	l := levels{goroutines: runtime.NumGoroutine()}
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		l.descriptors = len(list)
	}
	if data, err := os.ReadFile("/proc/self/maps"); err == nil {
		l.mappings = strings.Count(string(data), "\n")
	}
	if data, err := os.ReadFile("/proc/self/statm"); err == nil {
		f := strings.Fields(string(data))
		pages, _ := strconv.Atoi(f[1])
		l.resident = pages * os.Getpagesize() >> 10
	}
	lists, _ := filepath.Glob("/proc/self/task/*/children")
	for _, list := range lists {
		if data, err := os.ReadFile(list); err == nil {
			l.children += len(strings.Fields(string(data)))
		}
	}
	return l
}
