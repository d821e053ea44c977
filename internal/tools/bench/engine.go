package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

func measures() []measure {
	return []measure{
		{"fresh sandbox", fresh},
		{"ready sandbox", ready},
		{"command", commands},
		{"fuel overhead", overhead},
		{"tool call", toolCall},
		{"large answer", largeAnswer},
		{"stringify", stringify},
		{"commits", commitsJob},
		{"private memory", privateMemory},
		{"collector and deadline", collector},
		{"runs in flight", inFlight},
		{"result cache", resultHit},
		{"package initialization", initialization},
		{"service", service},
		{"sessions", sessions},
		{"asleep", asleep},
		{"resume", resume},
	}
}

// open returns an engine with the cache folder of the benchmark.
func (b *bench) open(c engine.Config) (*engine.Engine, error) {
	c.Cache = b.cache
	return engine.New(b.ctx, c)
}

// oneLiner returns a function that runs 1+1.
func (b *bench) oneLiner(e *engine.Engine, language string) func() error {
	return b.program(e, language, "1+1", "2")
}

func (b *bench) program(e *engine.Engine, language, code, want string) func() error {
	return func() error {
		res, err := e.Run(b.ctx, engine.Request{Language: language, Code: code})
		if err != nil {
			return err
		}
		if want != "" && string(res.Value) != want {
			return fmt.Errorf("%s: value %.80s, want %s", language, res.Value, want)
		}
		return nil
	}
}

func fresh(b *bench) ([]figure, error) {
	e, err := b.open(engine.Config{Ready: -1})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	// the pages that 1+1 writes to: go run ./wasm-modules/bake -cost
	pages := map[string]int{engine.JavaScript: 14, engine.Python: 65}
	var all []figure
	for _, language := range []string{engine.JavaScript, engine.Python} {
		floor, err := b.memoryFloor(pages[language])
		if err != nil {
			return nil, err
		}
		f := b.oneLiner(e, language)
		if err := f(); err != nil {
			return nil, err
		}
		d, err := median(b.runs, f)
		if err != nil {
			return nil, err
		}
		all = append(all, d.of("fresh "+language+" sandbox, 1+1", "µs", time.Microsecond, 1).above(floor, time.Microsecond))
	}
	return all, nil
}

func ready(b *bench) ([]figure, error) {
	var all []figure
	for _, language := range []string{engine.JavaScript, engine.Python} {
		n := min(b.runs, 100)
		e, err := b.open(engine.Config{Ready: 2*n + 2})
		if err != nil {
			return nil, err
		}
		if err := e.Warm(b.ctx, nil, language); err != nil {
			return nil, err
		}
		d, err := median(n-1, b.oneLiner(e, language))
		e.Close()
		if err != nil {
			return nil, err
		}
		all = append(all, d.of("the same from a warm pool, "+language, "µs", time.Microsecond, 1))
	}
	return all, nil
}

// table returns a table that allows all tools of the providers and records calls
// in a file.
func (b *bench) table(providers ...hostfns.Provider) (*hostfns.Table, func(), error) {
	p, err := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, NoPII: true})
	if err != nil {
		return nil, nil, err
	}
	log, err := audit.Open(filepath.Join(b.work, "audit"), audit.Options{})
	if err != nil {
		return nil, nil, err
	}
	t, err := hostfns.NewTable(p, log, providers...)
	if err != nil {
		return nil, nil, err
	}
	return t, func() { t.Close(); log.Close() }, nil
}

// answers returns a provider with one tool, bench.get, which returns doc.
func answers(doc any) hostfns.Provider {
	return hostfns.Func("bench.get", func(context.Context, struct{}) (any, error) { return doc, nil }, hostfns.ReadOnly())
}

// calls has the call of bench.get in each language.
var calls = map[string]string{
	engine.JavaScript: "await tools.bench.get({})",
	engine.Python:     "bench.get()",
}

// both returns the median time of a program in each language, with a tool that
// returns doc.
func (b *bench) both(doc any, n int, programs map[string]string) (map[string]took, error) {
	t, closeAll, err := b.table(answers(doc))
	if err != nil {
		return nil, err
	}
	defer closeAll()
	e, err := b.open(engine.Config{Table: t})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	out := map[string]took{}
	for language, code := range programs {
		if language == engine.Python {
			code = "from tools import bench\n" + code
		}
		f := b.program(e, language, code, "")
		if err := f(); err != nil {
			return nil, err
		}
		if out[language], err = median(n, f); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func toolCall(b *bench) ([]figure, error) {
	const n = 190
	doc := map[string]string{"text": strings.Repeat("x", 85)}
	many, err := b.both(doc, 21, map[string]string{
		engine.JavaScript: fmt.Sprintf("for (let i = 0; i < %d; i++) %s; return 0", n, calls[engine.JavaScript]),
		engine.Python:     fmt.Sprintf("for i in range(%d): %s\n0", n, calls[engine.Python]),
	})
	if err != nil {
		return nil, err
	}
	none, err := b.both(doc, 21, map[string]string{engine.JavaScript: "0", engine.Python: "0"})
	if err != nil {
		return nil, err
	}
	floor, err := b.turnFloor()
	if err != nil {
		return nil, err
	}
	var all []figure
	for language := range many {
		all = append(all, many[language].less(none[language]).of("tool call round trip, "+language, "µs", time.Microsecond, n).
			above(floor, time.Microsecond))
	}
	return all, nil
}

func largeAnswer(b *bench) ([]figure, error) {
	doc := records(1 << 20)
	with, err := b.both(doc, 11, map[string]string{
		engine.JavaScript: "const x = " + calls[engine.JavaScript] + "; return x.length",
		engine.Python:     "len(" + calls[engine.Python] + ")",
	})
	if err != nil {
		return nil, err
	}
	return []figure{
		with[engine.JavaScript].of("1 MiB answer into an object, javascript", "ms", time.Millisecond, 1),
		with[engine.Python].of("1 MiB answer into an object, python", "ms", time.Millisecond, 1),
	}, nil
}

func stringify(b *bench) ([]figure, error) {
	doc := records(2_000_000)
	with, err := b.both(doc, 11, map[string]string{
		engine.JavaScript: "const x = " + calls[engine.JavaScript] + "; return JSON.stringify(x).length",
		engine.Python:     "import json\nx = " + calls[engine.Python] + "\nlen(json.dumps(x))",
	})
	if err != nil {
		return nil, err
	}
	without, err := b.both(doc, 11, map[string]string{
		engine.JavaScript: "const x = " + calls[engine.JavaScript] + "; return x.length",
		engine.Python:     "import json\nx = " + calls[engine.Python] + "\nlen(x)",
	})
	if err != nil {
		return nil, err
	}
	return []figure{
		with[engine.JavaScript].less(without[engine.JavaScript]).of("JSON.stringify of 2 MB", "ms", time.Millisecond, 1),
		with[engine.Python].less(without[engine.Python]).of("json.dumps of 2 MB", "ms", time.Millisecond, 1),
	}, nil
}

// records returns a JSON list of commits of about size bytes.
func records(size int) json.RawMessage {
	type person struct{ Name, Email, Date string }
	type commit struct {
		SHA       string   `json:"sha"`
		Message   string   `json:"message"`
		Author    person   `json:"author"`
		Parents   []string `json:"parents"`
		Additions int      `json:"additions"`
		Verified  bool     `json:"verified"`
		URL       string   `json:"url"`
	}
	var list []commit
	total := 0
	for i := 0; total < size; i++ {
		sha := fmt.Sprintf("%040x", uint64(i)*2654435761)
		c := commit{
			SHA: sha, Message: fmt.Sprintf("fix: handle case %d of the parser when input is empty\n\n%s", i, strings.Repeat("The reason in words. ", 72)),
			Author:  person{"Ada Lovelace", fmt.Sprintf("ada%d@example.com", i%17), fmt.Sprintf("2026-%02d-%02dT10:00:00Z", 1+i%12, 1+i%28)},
			Parents: []string{sha[:20]}, Additions: i * 7 % 500, Verified: i%3 == 0, URL: "https://api.example.com/repos/acme/shop/commits/" + sha,
		}
		one, _ := json.Marshal(c)
		total += len(one) + 1
		list = append(list, c)
	}
	out, _ := json.Marshal(list)
	return out
}

func commitsJob(b *bench) ([]figure, error) {
	got, err := b.both(records(2_000_000), 11, map[string]string{
		engine.JavaScript: `const all = ` + calls[engine.JavaScript] + `;
const by = {};
for (const c of all.filter(c => c.verified)) by[c.author.Email] = (by[c.author.Email] ?? 0) + c.additions;
return Object.entries(by).sort((a, b) => b[1] - a[1]).slice(0, 10)`,
		engine.Python: `by = {}
for c in ` + calls[engine.Python] + `:
    if c["verified"]:
        by[c["author"]["Email"]] = by.get(c["author"]["Email"], 0) + c["additions"]
sorted(by.items(), key=lambda p: -p[1])[:10]`,
	})
	if err != nil {
		return nil, err
	}
	return []figure{
		got[engine.JavaScript].of("commits job, 2 MB, javascript", "ms", time.Millisecond, 1),
		got[engine.Python].of("commits job, 2 MB, python", "ms", time.Millisecond, 1),
	}, nil
}

func privateMemory(b *bench) ([]figure, error) {
	const n = 100
	var all []figure
	for _, language := range []string{engine.JavaScript, engine.Python} {
		e, err := b.open(engine.Config{Ready: n + 1})
		if err != nil {
			return nil, err
		}
		if err := e.Warm(b.ctx, nil, language); err != nil {
			return nil, err
		}
		ready, err := private()
		if err != nil {
			return nil, err
		}
		e.Close()
		runtime.GC()
		gone, err := private()
		if err != nil {
			return nil, err
		}
		all = append(all, figure{Name: "private memory of an idle instance, " + language, Unit: "KiB",
			Measured: max(0, float64(ready-gone)) / n, Note: "ready instances, with what Go holds for them"})
	}
	return all, nil
}

// private returns the private memory of the process in KiB.
func private() (int64, error) {
	debug.FreeOSMemory() // do not count free heap
	return privateOf("self")
}

// privateOf returns the private memory of a process in KiB.
func privateOf(process string) (int64, error) {
	data, err := os.ReadFile("/proc/" + process + "/smaps_rollup")
	if err != nil {
		return 0, errors.New("cannot read private memory of a process on this system")
	}
	total := int64(0)
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "Private_") {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			total += n
		}
	}
	return total, nil
}

func collector(b *bench) ([]figure, error) {
	e, err := b.open(engine.Config{})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = e.Run(ctx, engine.Request{Language: engine.JavaScript, Code: "for(;;){}", Limits: engine.Limits{Time: time.Minute}})
	}()
	time.Sleep(200 * time.Millisecond)
	gc, err := median(11, func() error { runtime.GC(); return nil })
	cancel()
	<-done
	if err != nil {
		return nil, err
	}
	// eight guests with infinite loops, all admitted at the same time
	crowd, err := b.open(engine.Config{Running: 10})
	if err != nil {
		return nil, err
	}
	defer crowd.Close()
	limit := 100 * time.Millisecond
	worst := time.Duration(0)
	var busy sync.WaitGroup
	ctx, cancel = context.WithCancel(b.ctx)
	started := make(chan struct{}, 8)
	for range 8 {
		busy.Add(1)
		go func() {
			defer busy.Done()
			_, _ = crowd.Run(ctx, engine.Request{Language: engine.JavaScript, Code: "for(;;){}", Limits: engine.Limits{Time: time.Minute},
				Progress: func(ev engine.Event) {
					if ev.Type == engine.EventStarted {
						started <- struct{}{}
					}
				}})
		}()
	}
	for range 8 {
		<-started
	}
	defer busy.Wait()
	defer cancel()
	for range 11 {
		started := time.Time{}
		_, err := crowd.Run(b.ctx, engine.Request{Language: engine.Python, Code: "while True: pass", Limits: engine.Limits{Time: limit},
			Progress: func(ev engine.Event) {
				if ev.Type == engine.EventStarted {
					started = time.Now()
				}
			}})
		if !errors.Is(err, fault.LimitTime) {
			return nil, fmt.Errorf("infinite loop: %w", err)
		}
		worst = max(worst, time.Since(started)-limit)
	}
	return []figure{
		{Name: "runtime.GC next to a busy guest", Unit: "ms", Measured: millis(gc.wall)},
		{Name: "worst overshoot of a deadline next to eight busy guests", Unit: "ms", Measured: millis(worst)},
	}, nil
}

func inFlight(b *bench) ([]figure, error) {
	e, err := b.open(engine.Config{})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	var all sync.WaitGroup
	var mu sync.Mutex
	lost := 0
	for i := range 1000 {
		all.Add(1)
		go func() {
			defer all.Done()
			res, err := e.Run(b.ctx, engine.Request{Language: engine.JavaScript, Code: fmt.Sprintf("%d+1", i)})
			if err != nil || string(res.Value) != strconv.Itoa(i+1) {
				mu.Lock()
				lost++
				mu.Unlock()
			}
		}()
	}
	all.Wait()
	return []figure{{Name: "1,000 runs in flight, lost", Unit: "runs", Measured: float64(lost), Note: "none may be lost"}}, nil
}

func resultHit(b *bench) ([]figure, error) {
	e, err := b.open(engine.Config{})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	req := engine.Request{Language: engine.Python, Code: "sum(range(100000))", Deterministic: true}
	if _, err := e.Run(b.ctx, req); err != nil {
		return nil, err
	}
	hits := 0
	d, err := median(b.runs, func() error {
		res, err := e.Run(b.ctx, req)
		if err == nil && res.Cache == "hit" {
			hits++
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if hits < b.runs-1 {
		return nil, fmt.Errorf("%d of %d runs were hits", hits, b.runs)
	}
	return []figure{d.of("result-cache hit", "ms", time.Millisecond, 1)}, nil
}
