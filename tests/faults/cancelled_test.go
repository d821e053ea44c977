package faults

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/policy"
)

// clock counts the operations of the host for a run and cancels at one of them.
type clock struct {
	n, at  atomic.Int64
	giveUp atomic.Pointer[context.CancelFunc]
}

func (c *clock) tick() {
	if c.n.Add(1) == c.at.Load() {
		(*c.giveUp.Load())()
	}
}

// countedSink counts records.
type countedSink struct {
	audit.Memory
	clock *clock
}

func (s *countedSink) Record(ctx context.Context, e audit.Event) (string, error) {
	s.clock.tick()
	head, err := s.Memory.Record(ctx, e)
	s.clock.tick()
	return head, err
}

// countedAsker approves after a delay.
type countedAsker struct{ clock *clock }

func (a countedAsker) Ask(ctx context.Context, _ hostfns.Question) (hostfns.Reply, error) {
	a.clock.tick()
	select {
	case <-ctx.Done():
		return hostfns.Reply{}, ctx.Err()
	case <-time.After(time.Millisecond):
	}
	a.clock.tick()
	return hostfns.Reply{Approved: true, By: "terminal"}, nil
}

// TestACancelAtAnyEventEndsTheRunCleanly cancels at the first, second, third … host
// operation until the program completes. Every run returns and has an end in the
// record, and the next run works.
func TestACancelAtAnyEventEndsTheRunCleanly(t *testing.T) {
	programs := map[string]string{
		"javascript": `console.log("a");
const [x, y] = await Promise.all([tools.x.one({}), tools.x.two({})]);
await new Promise((r) => setTimeout(r, 2));
const all = await settle([tools.x.one({}), tools.x.slow({})]);
console.error("b");
return [x, y, all.length];`,
		"python": `import asyncio, time
from tools import x
from tools.aio import x as later
print("a")
first = x.one()
pair = await asyncio.gather(later.one(), later.two())
time.sleep(0.002)
await asyncio.sleep(0.002)
slow = x.slow()
[first, pair, slow]`,
	}
	c := &clock{}
	sink := &countedSink{clock: c}
	rules, err := policy.Parse("policy.yaml", []byte("version: 1\ntools: {allow: [\"x.one\", \"x.slow\"], ask: [\"x.two\"]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	answer := func(name string, takes time.Duration) hostfns.Provider {
		return hostfns.Func("x."+name, func(ctx context.Context, _ struct{}) (int, error) {
			c.tick()
			select {
			case <-ctx.Done():
				return 0, ctx.Err()
			case <-time.After(takes):
			}
			c.tick()
			return 1, nil
		})
	}
	table, err := hostfns.NewTable(rules, sink, answer("one", 0), answer("two", 0), answer("slow", 3*time.Millisecond))
	if err != nil {
		t.Fatal(err)
	}
	table.With(hostfns.Options{Asker: countedAsker{c}})
	e := newEngine(t, testenv.Cache())
	t.Cleanup(func() { _ = table.Close() })
	var before int
	for language, code := range programs {
		through := false
		for at := int64(0); !through; at++ {
			if at > 400 {
				t.Fatalf("%s: the program never completes", language)
			}
			ctx, cancel := context.WithCancel(t.Context())
			c.n.Store(0)
			c.at.Store(at)
			c.giveUp.Store(&cancel)
			res, err := e.Run(ctx, engine.Request{Language: language, Code: code, Table: table,
				Progress: func(engine.Event) { c.tick() }})
			through = at > 0 && ctx.Err() == nil
			cancel()
			switch {
			case err == nil && len(res.Value) > 2: // it completed
			case errors.Is(err, fault.Cancelled) && res.Status == engine.StatusError:
			default:
				t.Fatalf("%s, cancelled at event %d: %v, %+v", language, at, err, res)
			}
		}
		t.Logf("%s: cancelled at each of %d events", language, c.n.Load())
		if before == 0 {
			before = runtime.NumGoroutine() // after the first language, which starts some
		}
	}
	open := map[string]bool{}
	for _, ev := range sink.Events() {
		switch {
		case ev.Start != nil:
			open[ev.Run] = true
		case ev.End != nil:
			delete(open, ev.Run)
		}
	}
	if len(open) > 0 {
		t.Errorf("%d runs have a start but no end in the record", len(open))
	}
	for range 3000 {
		if runtime.NumGoroutine() <= before+10 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if n := runtime.NumGoroutine(); n > before+10 {
		stack := make([]byte, 1<<16)
		t.Errorf("%d goroutines after %d:\n%s", n, before, strings.TrimSpace(string(stack[:runtime.Stack(stack, true)])))
	}
}
