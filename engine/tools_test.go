package engine

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine/internal/world"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

type pair struct {
	A int `json:"a"`
	B int `json:"b"`
}

// newTable makes a table that allows every tool of its providers.
func newTable(t testing.TB, sink audit.Sink, providers ...hostfns.Provider) *hostfns.Table {
	t.Helper()
	p, err := policy.FromFlags(policy.Flags{AllowTool: []string{"*"}, NoPII: true})
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(p, sink, providers...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	return table
}

func add() hostfns.Provider {
	return hostfns.Func("math.add", func(_ context.Context, in pair) (int, error) { return in.A + in.B, nil })
}

func TestAToolIsCalledAndCounted(t *testing.T) {
	sink := &audit.Memory{}
	e := newTiny(t, Config{Table: newTable(t, sink, add())})
	var events []string
	res, err := tiny(t, e, `c math.add {"a":2,"b":3}`, func(r *Request) {
		r.Progress = func(e Event) {
			if e.Type == EventFuel { // where the machine is slow
				return
			}
			events = append(events, string(e.Type))
			if (e.Type == EventCalling && e.Text != "math.add") || (e.Type == EventCall) != (e.Call != nil) {
				t.Errorf("%+v", e)
			}
			if (e.Type == EventCalling || e.Type == EventCall) && (e.Number != 1 || e.Fuel == 0) {
				t.Errorf("%s: number %d, fuel %d", e.Type, e.Number, e.Fuel)
			}
		}
	})
	wantValue(t, res, err, "5")
	if len(res.Calls) != 1 || res.Calls[0].Tool != "math.add" || !res.Calls[0].OK || res.Calls[0].Decision != "allow" || res.Usage.ToolCalls != 1 {
		t.Errorf("%+v", res.Calls)
	}
	if got := strings.TrimPrefix(strings.Join(events, " "), "compiling "); got != "started calling call done" {
		t.Errorf("events: %s", got)
	}
	if res.Provenance.AuditHead == "" || len(res.Provenance.Tools) != 1 || res.Usage.ContextSavings == nil {
		t.Errorf("%+v %+v", res.Provenance, res.Usage)
	}
	var kinds []string
	for _, e := range sink.Events() {
		kinds = append(kinds, string(e.Type))
	}
	if got := strings.Join(kinds, " "); got != "start decision call end" {
		t.Errorf("the record holds %s", got)
	}
}

func TestAnEngineWithoutATableDeniesEveryTool(t *testing.T) {
	e := newTiny(t, Config{})
	res, err := tiny(t, e, `c math.add {}`)
	wantCode(t, err, fault.ToolUnknown)
	if res.Status != StatusError {
		t.Error(res.Status)
	}
	table, err := hostfns.NewTable(nil, audit.None(), add())
	if err != nil {
		t.Fatal(err)
	}
	res, err = tiny(t, e, `c math.add {"a":1,"b":2}`, func(r *Request) { r.Table = table })
	wantCode(t, err, fault.DeniedTool)
	if res.Status != StatusDenied {
		t.Error(res.Status)
	}
}

func TestToolCallLimitsAreExactAtTheEdge(t *testing.T) {
	e := newTiny(t, Config{Table: newTable(t, audit.None(), add())})
	res, err := tiny(t, e, `p 5 math.add {"a":1,"b":2}`, limited(Limits{ToolCalls: 5}))
	wantValue(t, res, err, "5")
	res, err = tiny(t, e, `p 5 math.add {"a":1,"b":2}`, limited(Limits{ToolCalls: 4}))
	wantCode(t, err, fault.LimitToolCalls)
	if res.Error.Hint == "" || res.Usage.ToolCalls < 4 {
		t.Errorf("%+v", res.Usage)
	}
	bytes := res.Usage.ToolBytes
	_ = bytes
	_, err = tiny(t, e, `p 5 math.add {"a":1,"b":2}`, limited(Limits{HostBytes: 3}))
	wantCode(t, err, fault.LimitHostBytes)
}

func TestParallelCallsStayWithinTheirLimit(t *testing.T) {
	var now, most atomic.Int64
	slow := hostfns.Func("x.slow", func(ctx context.Context, _ struct{}) (int, error) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		for until := time.Now().Add(10 * time.Second); most.Load() < 3 && time.Now().Before(until); {
			time.Sleep(time.Millisecond) // the others come
		}
		time.Sleep(5 * time.Millisecond)
		now.Add(-1)
		return 1, nil
	})
	e := newTiny(t, Config{Table: newTable(t, audit.None(), slow)})
	res, err := tiny(t, e, "p 12 x.slow {}", limited(Limits{Parallel: 3}))
	wantValue(t, res, err, "12")
	if m := most.Load(); m != 3 {
		t.Errorf("%d calls at once", m)
	}
}

func TestARunThatWaitsForAToolGivesItsCoreToAnother(t *testing.T) {
	gate := make(chan struct{})
	var waiting sync.WaitGroup
	waiting.Add(10)
	wait := hostfns.Func("x.wait", func(ctx context.Context, _ struct{}) (int, error) {
		waiting.Done()
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return 1, ctx.Err()
	})
	e := newTiny(t, Config{Running: 1, Table: newTable(t, audit.None(), wait)})
	var all sync.WaitGroup
	for range 10 {
		all.Add(1)
		go func() {
			defer all.Done()
			if res, err := tiny(t, e, "c x.wait {}"); err != nil || string(res.Value) != "1" {
				t.Errorf("%s %v", res.Value, err)
			}
		}()
	}
	waiting.Wait() // ten runs are parked
	res, err := tiny(t, e, "v 11")
	wantValue(t, res, err, "11")
	close(gate)
	all.Wait()
}

func TestTheClockStandsStillOnlyWhilePeopleAreWaitedFor(t *testing.T) {
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools:\n  ask: [\"x.pay\"]\n"))
	if err != nil {
		t.Fatal(err)
	}
	pay := hostfns.Func("x.pay", func(context.Context, struct{}) (int, error) { return 7, nil })
	table, err := hostfns.NewTable(p, audit.None(), pay)
	if err != nil {
		t.Fatal(err)
	}
	e := newTiny(t, Config{Table: table})
	var res *Result
	for limit := 100 * time.Millisecond; limit < 30*time.Second; limit *= 4 { // enough for any machine to do the rest
		res, err = tiny(t, e, "c x.pay {}", limited(Limits{Time: limit}), func(r *Request) { r.Asker = slowYes(limit + limit/2) })
		if err == nil {
			break
		}
		wantCode(t, err, fault.LimitTime)
	}
	wantValue(t, res, err, "7")
	slow := hostfns.Func("x.slow", func(ctx context.Context, _ struct{}) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	})
	e2 := newTiny(t, Config{Table: newTable(t, audit.None(), slow)})
	_, err = tiny(t, e2, "c x.slow {}", limited(Limits{Time: 50 * time.Millisecond}))
	wantCode(t, err, fault.LimitTime)
}

type slowYes time.Duration

func (s slowYes) Ask(ctx context.Context, q hostfns.Question) (hostfns.Reply, error) {
	select {
	case <-time.After(time.Duration(s)):
		return hostfns.Reply{Approved: true, By: "test"}, nil
	case <-ctx.Done():
		return hostfns.Reply{}, ctx.Err()
	}
}

func TestDeterministicRunsAreRepeatedBitForBit(t *testing.T) {
	var n atomic.Int64
	jitter := hostfns.Func("x.jitter", func(context.Context, struct{}) (int, error) {
		time.Sleep(time.Duration(n.Add(1)%5) * time.Millisecond)
		return 1, nil
	})
	e := newTiny(t, Config{Table: newTable(t, audit.None(), jitter)})
	code := "r\ns 1000\nl 5000\np 6 x.jitter {}\nt"
	var first string
	for k := range 20 {
		res, err := tiny(t, e, code, func(r *Request) { r.Deterministic, r.Seed = true, 7 })
		if err != nil {
			t.Fatal(err)
		}
		one := fmt.Sprintf("%s %d %q", res.Value, res.Usage.Fuel, res.Stdout)
		if k == 0 {
			first = one
		} else if one != first {
			t.Fatalf("run %d: %s, before: %s", k, one, first)
		}
	}
	if want := fmt.Sprint(world.VirtualStart().Add(time.Second).UnixNano()); !strings.HasPrefix(first, want+" ") {
		t.Errorf("%s does not begin with %s", first, want)
	}
	a, _ := tiny(t, e, "r", func(r *Request) { r.Deterministic, r.Seed = true, 7 })
	b, _ := tiny(t, e, "r", func(r *Request) { r.Deterministic, r.Seed = true, 8 })
	c, _ := tiny(t, e, "r")
	d, _ := tiny(t, e, "r")
	if string(a.Value) == string(b.Value) || string(c.Value) == string(d.Value) {
		t.Error("the same random bytes twice")
	}
}

func TestAuditFailureEndsTheRunAndShowsNothing(t *testing.T) {
	broken := sinkFunc(func(ctx context.Context, ev audit.Event) (string, error) {
		if ev.Start != nil {
			return "x", nil
		}
		return "", fault.New(fault.AuditUnavailable, "the disk is full")
	})
	e := newTiny(t, Config{Table: newTable(t, broken, add())})
	res, err := tiny(t, e, "o secret\nc math.add {\"a\":1,\"b\":1}")
	wantCode(t, err, fault.AuditUnavailable)
	if res.Value != nil {
		t.Errorf("value %s", res.Value)
	}
	res, err = tiny(t, e, "v 1")
	wantCode(t, err, fault.AuditUnavailable)
	if res.Value != nil || res.Stdout != "" {
		t.Errorf("value %s", res.Value)
	}
}

type sinkFunc func(context.Context, audit.Event) (string, error)

func (f sinkFunc) Record(ctx context.Context, e audit.Event) (string, error) { return f(ctx, e) }
