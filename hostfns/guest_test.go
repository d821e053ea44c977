package hostfns

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/queue"
	"github.com/wexec/wexec/policy"
)

func blocking(release <-chan struct{}) *fakeProvider {
	return &fakeProvider{tools: []catalogue.Tool{tool("a.block", `{}`), tool("a.now", `{}`)}, call: func(ctx context.Context, c Call) (Answer, error) {
		if c.Tool == "block" {
			select {
			case <-release:
			case <-ctx.Done():
				return Answer{}, ctx.Err()
			}
		}
		return Answer{Data: []byte(`"` + c.Tool + `"`)}, nil
	}}
}

func TestWaitTellsApartNothingATimeoutAndAnAnswer(t *testing.T) {
	release := make(chan struct{})
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), blocking(release))
	c := NewCalls(r, CallsOptions{})
	defer c.Close()
	for _, id := range []int64{0, 1, 99, -5} {
		if got, err := c.Wait(id, -1); got != -1 || err != nil {
			t.Errorf("waiting for %d with nothing in flight: %d %v", id, got, err)
		}
	}
	begun := time.Now()
	if got, err := c.Wait(0, 20*time.Millisecond); got != 0 || err != nil || time.Since(begun) < 20*time.Millisecond {
		t.Errorf("a sleep: %d %v %s", got, err, time.Since(begun))
	}
	one := start(t, c, "a.block", `{}`)
	if got, _ := c.Wait(0, 0); got != 0 {
		t.Errorf("a look without waiting: %d", got)
	}
	if got, _ := c.Wait(one, 5*time.Millisecond); got != 0 {
		t.Errorf("a wait that is over: %d", got)
	}
	if c.Size(one) != -1 {
		t.Error("an answer that is not there has a size")
	}
	two := start(t, c, "a.now", `{}`)
	if got, _ := c.Wait(0, -1); got != two {
		t.Errorf("the first answer: %d", got)
	}
	if got, _ := c.Wait(0, time.Millisecond); got != 0 {
		t.Errorf("an answer was announced twice: %d", got)
	}
	if kind, data := read(t, c, two); kind != JSON || data != `"now"` {
		t.Error(kind, data)
	}
	if c.Size(two) != -1 {
		t.Error("an answer that was read is still there")
	}
	close(release)
	if got, _ := c.Wait(one, -1); got != one {
		t.Errorf("the one waited for: %d", got)
	}
}

func TestACancelledCallNeverAnswers(t *testing.T) {
	release := make(chan struct{})
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), blocking(release))
	c := NewCalls(r, CallsOptions{})
	defer c.Close()
	id := start(t, c, "a.block", `{}`)
	c.Cancel(id)
	c.Cancel(id)
	c.Cancel(77)
	if got, err := c.Wait(id, -1); got != -1 || err != nil {
		t.Fatal(got, err)
	}
	for range 1000 {
		if got, _ := c.Wait(0, time.Millisecond); got != 0 {
			t.Fatal(got)
		}
		if n := r.Summary().Calls; len(n) == 1 && n[0].Code == fault.Cancelled {
			break
		}
	}
	if r.Err() != nil {
		t.Fatal("the run ended with the call:", r.Err())
	}
}

func TestAnEndOfTheRunReachesTheWaitingGuest(t *testing.T) {
	for name, c := range map[string]struct {
		limits policy.Limits
		end    func(cancel context.CancelCauseFunc, release chan struct{})
		code   fault.Code
	}{
		"budget":    {policy.Limits{HostBytes: 5}, func(_ context.CancelCauseFunc, release chan struct{}) { close(release) }, fault.LimitHostBytes},
		"cancelled": {policy.Limits{}, func(cancel context.CancelCauseFunc, _ chan struct{}) { cancel(nil) }, fault.Cancelled},
		"deadline":  {policy.Limits{}, func(cancel context.CancelCauseFunc, _ chan struct{}) { cancel(fault.New(fault.LimitTime, "up")) }, fault.LimitTime},
	} {
		release := make(chan struct{})
		table, err := NewTable(mustPolicy(t, allowAll), audit.None(), blocking(release))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		r, err := table.Open(ctx, RunInfo{ID: "x", Limits: c.limits})
		if err != nil {
			t.Fatal(err)
		}
		calls := NewCalls(r, CallsOptions{})
		start(t, calls, "a.block", `{}`)
		time.AfterFunc(5*time.Millisecond, func() { c.end(cancel, release) })
		if _, err := calls.Wait(0, -1); fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := calls.Start(heap("a.now{}"), 0, 5, 5, 2); fault.CodeOf(err) != c.code {
			t.Errorf("%s: a call after the end: %v", name, err)
		}
		calls.Close()
		if _, err := r.Close(context.Background(), audit.End{Status: "limit"}); err != nil {
			t.Error(err)
		}
	}
}

func TestPointersOfAGuestAreChecked(t *testing.T) {
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), blocking(nil))
	c := NewCalls(r, CallsOptions{})
	defer c.Close()
	mem := heap("a.now{}")
	for _, p := range [][4]uint32{{0, 5, 5, 3}, {3, 5, 0, 0}, {1 << 31, 5, 0, 0}, {0xffffffff, 0xffffffff, 0, 0}, {0, 5, 0xfffffff0, 0x20}, {0, maxNameSize + 1, 0, 0}, {0, 1, 0, maxArgsSize + 1}} {
		if _, err := c.Start(mem, p[0], p[1], p[2], p[3]); fault.CodeOf(err) != fault.GuestException {
			t.Errorf("%v: %v", p, err)
		}
	}
	id := start(t, c, "a.now", `{}`)
	if _, err := c.Wait(id, -1); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(mem, id, 5, 5); fault.CodeOf(err) != fault.GuestException {
		t.Error(err)
	}
	if n, err := c.Read(mem, 99, 0, 5); n != 0 || err != nil {
		t.Error(n, err)
	}
	id = start(t, c, "a.now", `{}`)
	if _, err := c.Wait(id, -1); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(mem, id, 0, 2); n != 2 || err != nil || string(mem[:2]) != `"n` {
		t.Error(n, err, string(mem[:2]))
	}
}

func TestAVirtualClockMovesInsteadOfSleeping(t *testing.T) {
	var slept time.Duration
	release := make(chan struct{})
	r := newRun(t, mustPolicy(t, allowAll), audit.None(), blocking(release))
	c := NewCalls(r, CallsOptions{Ordered: true, Sleep: func(_ context.Context, d time.Duration) error { slept += d; return nil }})
	defer c.Close()
	begun := time.Now()
	if got, err := c.Wait(0, time.Hour); got != 0 || err != nil || slept != time.Hour || time.Since(begun) > 30*time.Second {
		t.Fatal(got, err, slept)
	}
	id := start(t, c, "a.block", `{}`)
	time.AfterFunc(10*time.Millisecond, func() { close(release) })
	if got, err := c.Wait(0, time.Nanosecond); got != id || err != nil || slept != time.Hour {
		t.Fatal("a timer did not wait for a call in flight:", got, err, slept)
	}
}

func TestARunLeavesNothingBehind(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), blocking(nil))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		r, err := table.Open(t.Context(), RunInfo{ID: fmt.Sprint(i)})
		if err != nil {
			t.Fatal(err)
		}
		c := NewCalls(r, CallsOptions{})
		for range 30 {
			start(t, c, "a.block", `{}`)
			start(t, c, "a.now", `{}`)
		}
		if _, err := c.Wait(0, -1); err != nil {
			t.Fatal(err)
		}
		c.Close()
		if _, err := r.Close(t.Context(), audit.End{Status: "ok"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestUnreadAnswersAreBounded(t *testing.T) {
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), Func("math.add", add))
	if err != nil {
		t.Fatal(err)
	}
	r := openRun(t, table, RunInfo{Limits: policy.Limits{ToolCalls: 100_000}})
	c := NewCalls(r, CallsOptions{})
	defer c.Close()
	mem := heap("wexec:names{}")
	for i := 0; ; i++ {
		if _, err := c.Start(mem, 0, 11, 11, 2); err != nil {
			if fault.CodeOf(err) != fault.LimitToolCalls || i != queue.Max {
				t.Fatal(i, err)
			}
			return
		}
	}
}
