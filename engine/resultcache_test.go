package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/tools/tinyguest"
	"github.com/wexec/wexec/policy"
)

func fixed(r *Request) { r.Deterministic = true }

func TestADeterministicRunIsAnsweredFromTheCache(t *testing.T) {
	sink := &audit.Memory{}
	e := newTiny(t, Config{Table: newTable(t, sink)})
	code := "o out\nw err\nr"
	first, err := tiny(t, e, code, fixed)
	if err != nil || first.Cache != "miss" {
		t.Fatalf("%v %s", err, first.Cache)
	}
	again, err := tiny(t, e, code, fixed)
	if err != nil || again.Cache != "hit" || string(again.Value) != string(first.Value) || again.Stdout != "out\n" || again.Stderr != "err\n" {
		t.Fatalf("%v %+v", err, again)
	}
	events := sink.Events()
	if end := events[len(events)-1].End; end == nil || end.Cache != "hit" {
		t.Errorf("the record does not show the hit: %+v", events[len(events)-1])
	}
	off := false
	res, err := tiny(t, e, code, fixed, func(r *Request) { r.Cache = &off })
	if err != nil || res.Cache != "off" {
		t.Errorf("%v %s", err, res.Cache)
	}
	for name, change := range map[string]func(*Request){
		"code": func(r *Request) { r.Code += "\n" }, "args": func(r *Request) { r.Args = []byte("1") },
		"input": func(r *Request) { r.Input = []byte("x") }, "seed": func(r *Request) { r.Seed = 1 },
		"limits": func(r *Request) { r.Limits.Fuel = 1e9 }, "actor": func(r *Request) { r.Actor.ID = "x" },
		"language": func(r *Request) { r.Language = Python }, "argv": func(r *Request) { r.Argv = []string{"x"} },
	} {
		if res, _ := tiny(t, e, code, fixed, change); res.Cache != "miss" {
			t.Errorf("another %s: %s", name, res.Cache)
		}
	}
}

func TestWhatIsNotCertainIsNotKept(t *testing.T) {
	e := newTiny(t, Config{Table: newTable(t, audit.None(), add())})
	a, _ := tiny(t, e, "r")
	b, _ := tiny(t, e, "r")
	if string(a.Value) == string(b.Value) || b.Cache == "hit" {
		t.Error("a random number was answered from the cache")
	}
	for range 2 { // no rule marks the call
		if res, err := tiny(t, e, `c math.add {"a":1,"b":1}`, fixed); err != nil || res.Cache == "hit" {
			t.Errorf("%v %s", err, res.Cache)
		}
		if res, err := tiny(t, e, "e {}", fixed); err == nil || res.Cache == "hit" {
			t.Errorf("an error was kept: %v %s", err, res.Cache)
		}
		if res, err := tiny(t, e, "v 1", fixed, inSession("s")); err != nil || res.Cache != "off" {
			t.Errorf("%v %s", err, res.Cache)
		}
	}
}

// A door hands over its standard input whether or not the program reads it.
func TestOnlyAProgramThatReadsAStreamIsNotKept(t *testing.T) {
	e := newTiny(t, Config{})
	stream := func(text string) func(*Request) {
		return func(r *Request) { r.Stdin = strings.NewReader(text) }
	}
	for _, want := range []string{"miss", "hit"} {
		if res, err := tiny(t, e, "r", fixed, stream("x")); err != nil || res.Cache != want {
			t.Errorf("it reads nothing: %v %s", err, res.Cache)
		}
	}
	for _, text := range []string{"one\n", "two\n", "two\n"} {
		if res, err := tiny(t, e, "i", fixed, stream(text)); err != nil || res.Cache == "hit" || res.Stdout != text {
			t.Errorf("it reads: %v %s %q", err, res.Cache, res.Stdout)
		}
	}
	if _, err := tiny(t, e, "i\nv 1", fixed); err != nil {
		t.Fatal(err)
	}
	if res, err := tiny(t, e, "i\nv 1", fixed, stream("three\n")); err != nil || res.Cache == "hit" || res.Stdout != "three\n" {
		t.Errorf("a run without input answered for one with: %v %s", err, res.Cache)
	}
}

// cachingTable marks every call of its tools as reusable for a while.
func cachingTable(t *testing.T, calls *atomic.Int64, how string) *hostfns.Table {
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools:\n  allow:\n    - tool: \"x.*\"\n      cache: "+how+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(p, audit.None(), hostfns.Func("x.get", func(context.Context, struct{}) (int64, error) { return calls.Add(1), nil }))
	if err != nil {
		t.Fatal(err)
	}
	if _, errs := table.Catalogue(context.Background()); len(errs) > 0 {
		t.Fatal(errs)
	}
	return table
}

func TestCallsThatARuleMarksAreReusedUntilTheyExpire(t *testing.T) {
	for kept := 100 * time.Millisecond; ; kept *= 4 {
		var calls atomic.Int64
		e := newTiny(t, Config{})
		table := cachingTable(t, &calls, kept.String())
		with := func(r *Request) { r.Table = table }
		begun := time.Now()
		first, err := tiny(t, e, "c x.get {}", with)
		wantValue(t, first, err, "1")
		again, err := tiny(t, e, "c x.get {}", with)
		if time.Since(begun) > kept && kept < time.Minute {
			continue // the machine did something else
		}
		wantValue(t, again, err, "1")
		if again.Cache != "hit" {
			t.Error(again.Cache)
		}
		time.Sleep(kept + kept/4)
		late, err := tiny(t, e, "c x.get {}", with)
		wantValue(t, late, err, "2")
		return
	}
}

// servers is a provider with a server of each name; some change their tools.
type servers struct {
	hostfns.Provider
	names   []string
	listed  map[string]int
	version map[string]int
	changed func(string)
}

func (s *servers) Servers() []string { return s.names }

func (s *servers) Tools(_ context.Context, server string) ([]catalogue.Tool, error) {
	s.listed[server]++
	return []catalogue.Tool{{Server: server, Name: "get", Description: fmt.Sprint("version ", s.version[server])}}, nil
}

func (s *servers) Watch(changed func(string)) func() { s.changed = changed; return func() {} }
func (s *servers) Close() error                      { return nil }

// An unknown catalogue is a miss and no more: what the run listed is known from
// then on, in the next process too, and an unused server is not
// started for it.
func TestAnUnknownCatalogueIsAMissAndThenKnown(t *testing.T) {
	dir := t.TempDir()
	var calls atomic.Int64
	state := &servers{names: []string{"x", "y"}, listed: map[string]int{}, version: map[string]int{}}
	state.Provider = hostfns.Func("x.get", func(context.Context, struct{}) (int64, error) { return calls.Add(1), nil })
	open := func() *Engine {
		p, err := policy.Parse("p.yaml", []byte("version: 1\ntools:\n  allow:\n    - tool: \"x.*\"\n      cache: 1h\n"))
		if err != nil {
			t.Fatal(err)
		}
		table, err := hostfns.NewTable(p, audit.None(), state)
		if err != nil {
			t.Fatal(err)
		}
		return newTiny(t, Config{Cache: dir, Table: table})
	}
	e := open()
	for i, want := range []string{"miss 1", "hit 1", "hit 1"} {
		if i == 2 {
			e = open() // another process
		}
		res, err := tiny(t, e, "c x.get {}")
		if got := res.Cache + " " + string(res.Value); err != nil || got != want {
			t.Fatalf("run %d: %s %v", i, got, err)
		}
	}
	if state.listed["x"] != 1 || state.listed["y"] != 0 {
		t.Errorf("servers were asked for their tools: %v", state.listed)
	}
	// A server whose tools have changed is unknown until it has listed them.
	state.version["x"] = 2
	state.changed("x")
	for i, want := range []string{"miss 2", "hit 2"} {
		res, err := tiny(t, e, "c x.get {}")
		if got := res.Cache + " " + string(res.Value); err != nil || got != want {
			t.Fatalf("run %d after the change: %s %v", i, got, err)
		}
	}
}

func TestTwoTenantsNeverShareAnAnswer(t *testing.T) {
	var calls atomic.Int64
	e := newTiny(t, Config{})
	one, two := cachingTable(t, &calls, "1h"), cachingTable(t, &calls, "1h")
	for k, table := range []*hostfns.Table{one, two, one, two} {
		res, err := tiny(t, e, "c x.get {}", func(r *Request) { r.Table = table })
		wantValue(t, res, err, []string{"1", "2"}[k%2])
	}
}

func TestResultsOutliveTheEngineInTheCacheFolder(t *testing.T) {
	dir := t.TempDir()
	code := "o x\nl 1000\nr"
	e := newTiny(t, Config{Cache: dir})
	first, err := tiny(t, e, code, fixed)
	if err != nil {
		t.Fatal(err)
	}
	e2 := newTiny(t, Config{Cache: dir})
	res, err := tiny(t, e2, code, fixed)
	if err != nil || res.Cache != "hit" || string(res.Value) != string(first.Value) {
		t.Fatalf("%v %s %s", err, res.Cache, res.Value)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "results", "*"))
	if len(files) != 1 {
		t.Fatalf("%d files", len(files))
	}
	if info, _ := os.Stat(files[0]); info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for name, damage := range map[string]func([]byte) []byte{
		"cut":     func(b []byte) []byte { return b[:len(b)/2] },
		"changed": func(b []byte) []byte { b[len(b)-3] ^= 1; return b },
		"empty":   func([]byte) []byte { return nil },
	} {
		data, _ := os.ReadFile(files[0])
		if err := os.WriteFile(files[0], damage(data), 0o600); err != nil {
			t.Fatal(err)
		}
		e3 := newTiny(t, Config{Cache: dir})
		res, err := tiny(t, e3, code, fixed)
		if err != nil || res.Cache != "miss" || string(res.Value) != string(first.Value) {
			t.Fatalf("%s: %v %s %s", name, err, res.Cache, res.Value)
		}
	}
}

func TestEqualRunsRunOnce(t *testing.T) {
	e := newTiny(t, Config{})
	var all sync.WaitGroup
	var misses atomic.Int64
	for range 20 {
		all.Add(1)
		go func() {
			defer all.Done()
			res, err := tiny(t, e, "l 3000000\nr", fixed)
			if err != nil {
				t.Error(err)
			}
			if res.Cache == "miss" {
				misses.Add(1)
			}
		}()
	}
	all.Wait()
	if n := misses.Load(); n != 1 {
		t.Errorf("%d of 20 equal runs ran", n)
	}
}

func TestTheCacheIsBoundedAndForgetsWhatWasUsedLeast(t *testing.T) {
	e := newTiny(t, Config{Results: 20000})
	big := "b 4000\nv 1\n"
	for _, more := range []string{"", "n", "n\nn", "n\nn\nn", "n\nn\nn\nn"} {
		if _, err := tiny(t, e, big+more, fixed); err != nil {
			t.Fatal(err)
		}
		if res, _ := tiny(t, e, big, fixed); res.Cache != "hit" {
			t.Errorf("what is used was forgotten")
		}
	}
	if res, _ := tiny(t, e, big+"n", fixed); res.Cache == "hit" {
		t.Error("nothing was forgotten")
	}
	if e.results.entries.Bytes() > 20000 {
		t.Errorf("%d bytes", e.results.entries.Bytes())
	}
}

// The rest of the key: the guest's build and the policy.
func TestAnAnswerIsOfItsGuestAndItsPolicyAlone(t *testing.T) {
	dir := t.TempDir()
	run := func(price int64, flags policy.Flags) string {
		t.Helper()
		m, err := tinyguest.Module(meter.Options{Weights: meter.Weights{Host: price}})
		if err != nil {
			t.Fatal(err)
		}
		rules, err := policy.FromFlags(flags)
		if err != nil {
			t.Fatal(err)
		}
		table, err := hostfns.NewTable(rules, audit.None())
		if err != nil {
			t.Fatal(err)
		}
		defer table.Close()
		e := newTiny(t, Config{Cache: dir, Table: table})
		e.guests.Open = opens(m)
		res, err := tiny(t, e, "r", fixed)
		if err != nil {
			t.Fatal(err)
		}
		return res.Cache
	}
	for i, c := range []struct {
		price int64
		flags policy.Flags
		want  string
	}{
		{100, policy.Flags{}, "miss"}, {100, policy.Flags{}, "hit"},
		{101, policy.Flags{}, "miss"}, {101, policy.Flags{}, "hit"}, {100, policy.Flags{}, "hit"},
		{100, policy.Flags{AllowTool: []string{"x.*"}}, "miss"}, {100, policy.Flags{AllowTool: []string{"x.*"}}, "hit"},
		{100, policy.Flags{NoPII: true, AllowTool: []string{"x.*"}}, "miss"},
	} {
		if got := run(c.price, c.flags); got != c.want {
			t.Errorf("run %d, %+v: a %s and no %s", i, c, got, c.want)
		}
	}
}

// If the run that others wait for is cancelled, one of them runs, and the rest
// wait for that one.
func TestRunsThatWaitForACancelledOneGoOn(t *testing.T) {
	var calls atomic.Int64
	called, answer := make(chan struct{}), make(chan struct{})
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools:\n  allow:\n    - tool: \"x.*\"\n      cache: 1h\n"))
	if err != nil {
		t.Fatal(err)
	}
	// The first call blocks until its run is cancelled, all others answer.
	get := hostfns.Func("x.get", func(ctx context.Context, _ struct{}) (int64, error) {
		if calls.Add(1) == 1 {
			close(called)
			<-ctx.Done()
			<-answer
			return 0, ctx.Err()
		}
		return 7, nil
	})
	table, err := hostfns.NewTable(p, audit.None(), get)
	if err != nil {
		t.Fatal(err)
	}
	if _, errs := table.Catalogue(t.Context()); len(errs) > 0 {
		t.Fatal(errs)
	}
	e := newTiny(t, Config{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req := Request{Language: JavaScript, Code: "c x.get {}", Deterministic: true, Table: table}
	first := make(chan error, 1)
	go func() {
		_, err := e.Run(ctx, req)
		first <- err
	}()
	<-called
	var all sync.WaitGroup
	var misses atomic.Int64
	for range 6 {
		all.Go(func() {
			res, err := e.Run(t.Context(), req)
			if err != nil || string(res.Value) != "7" {
				t.Errorf("%s %v", res.Value, err)
			}
			if res.Cache == "miss" {
				misses.Add(1)
			}
		})
	}
	cancel()
	close(answer)
	all.Wait()
	if err := <-first; !errors.Is(err, fault.Cancelled) {
		t.Errorf("the first run ended with %v", err)
	}
	if n := misses.Load(); n != 1 {
		t.Errorf("%d of 6 runs called the tool", n)
	}
}
