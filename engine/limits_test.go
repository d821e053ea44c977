package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/timing"
)

func limited(l Limits) func(*Request) { return func(r *Request) { r.Limits = l } }

func TestFuelIsExactAtTheEdge(t *testing.T) {
	e := newTiny(t, Config{})
	code := "l 100000\nv 1"
	res, err := tiny(t, e, code)
	wantValue(t, res, err, "1")
	n := res.Usage.Fuel
	if n < 100000 {
		t.Fatalf("100,000 rounds used %d fuel", n)
	}
	res, err = tiny(t, e, code, limited(Limits{Fuel: n}))
	wantValue(t, res, err, "1")
	if res.Usage.Fuel != n {
		t.Errorf("used %d, then %d", n, res.Usage.Fuel)
	}
	res, err = tiny(t, e, code, limited(Limits{Fuel: n - 1}))
	wantCode(t, err, fault.LimitFuel)
	if res.Status != StatusLimit || res.Usage.Fuel != n-1 || !strings.Contains(res.Error.Hint, "limits.fuel: ") || res.Value != nil {
		t.Errorf("%+v", res)
	}
}

func TestMemoryIsExactAtTheEdgeAndARefusedGrowthEndsTheRun(t *testing.T) {
	e := newTiny(t, Config{})
	code := "m 10\no grown\nv 1"
	res, err := tiny(t, e, code)
	wantValue(t, res, err, "1")
	peak := res.Usage.MemoryPeak
	res, err = tiny(t, e, code, limited(Limits{Memory: peak}))
	wantValue(t, res, err, "1")
	res, err = tiny(t, e, "o before\n"+code, limited(Limits{Memory: peak - 1}))
	wantCode(t, err, fault.LimitMemory)
	if res.Stdout != "before\n" || !strings.Contains(res.Error.Hint, "limits.memory: ") || res.Usage.MemoryPeak != peak-10<<16 {
		t.Errorf("%q %q %d", res.Stdout, res.Error.Hint, res.Usage.MemoryPeak)
	}
	_, err = tiny(t, e, code, limited(Limits{Memory: 1 << 16}))
	wantCode(t, err, fault.LimitMemory)
	wantLedger(t, e, int64(e.config.Ready)*sandbox.InstanceShare)
}

func TestMemoryBeyondThatOfReadyInstancesIsGranted(t *testing.T) {
	e := newTiny(t, Config{})
	res, err := tiny(t, e, "m 10000\nv 1", limited(Limits{Memory: 1 << 30}))
	wantValue(t, res, err, "1")
	_, err = tiny(t, e, "m 10000\nv 1")
	wantCode(t, err, fault.LimitMemory)
}

func TestOutputIsExactAtTheEdgeAndCounted(t *testing.T) {
	e := newTiny(t, Config{})
	code := "o 123456789\nw 1234\nv 12345"
	res, err := tiny(t, e, code, limited(Limits{Output: 20}))
	wantValue(t, res, err, "12345")
	if res.Usage.ResultSize != 20 {
		t.Errorf("%d bytes", res.Usage.ResultSize)
	}
	res, err = tiny(t, e, code, limited(Limits{Output: 19}))
	wantCode(t, err, fault.LimitOutput)
	if res.Stdout != "123456789\n" || res.Stderr != "1234\n" || res.Value != nil {
		t.Errorf("%q %q %s", res.Stdout, res.Stderr, res.Value)
	}
}

func TestOutputIsCutAtAWholeCharacter(t *testing.T) {
	e := newTiny(t, Config{})
	for limit, want := range map[int64]string{1: "a", 2: "a", 3: "a", 4: "a€", 5: "a€", 6: "a€", 7: "a€€"} {
		res, err := tiny(t, e, "O a€€b", limited(Limits{Output: limit}))
		wantCode(t, err, fault.LimitOutput)
		if res.Stdout != want {
			t.Errorf("%d bytes: %q", limit, res.Stdout)
		}
	}
}

func TestTheDeadlineEndsALoopAndASleep(t *testing.T) {
	e := newTiny(t, Config{})
	for _, code := range []string{"l 0", "s 60000"} {
		timing.Within(t, time.Second, code, func() time.Duration {
			begun := time.Now()
			res, err := tiny(t, e, "o x\n"+code, limited(Limits{Time: 50 * time.Millisecond}))
			wantCode(t, err, fault.LimitTime)
			if res.Stdout != "x\n" || !strings.Contains(res.Error.Hint, "limits.time: ") {
				t.Errorf("%q %q", res.Stdout, res.Error.Hint)
			}
			return time.Since(begun)
		})
	}
}

func TestCancellingEndsALoopAndASleep(t *testing.T) {
	e := newTiny(t, Config{})
	for _, code := range []string{"l 0", "s 60000"} {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(30*time.Millisecond, cancel)
		res, err := e.Run(ctx, Request{Language: "js", Code: code})
		wantCode(t, err, fault.Cancelled)
		if res.Status != StatusError {
			t.Error(res.Status)
		}
	}
}

func TestTheHostsCollectorIsNotHeldUpByALoop(t *testing.T) {
	if testing.Short() {
		t.Skip("short: uses all cores for seconds")
	}
	e := newTiny(t, Config{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = e.Run(ctx, Request{Language: "js", Code: "l 0"})
	}()
	time.Sleep(50 * time.Millisecond)
	timing.Within(t, 500*time.Millisecond, "a collection while a guest is busy", func() time.Duration {
		return timing.Of(runtime.GC)
	})
	cancel()
	<-done
}

func TestTrapsHaveCodes(t *testing.T) {
	e := newTiny(t, Config{})
	for code, want := range map[string]fault.Code{
		"x":                             fault.GuestException,
		"R":                             fault.LimitRecursion,
		"q 3":                           fault.GuestExit,
		"e {}":                          fault.GuestException,
		"e {\"code\":\"limit.fuel\"}":   fault.GuestException,
		"e {\"code\":\"denied.tool\"}":  fault.DeniedTool,
		"e {\"code\":\"tool.timeout\"}": fault.ToolTimeout,
		"e [1":                          fault.GuestException,
		"v [1":                          fault.Internal,
	} {
		res, err := tiny(t, e, "o seen\n"+code)
		if fault.CodeOf(err) != want || res.Stdout != "seen\n" || res.Error.Class != want.Class() {
			t.Errorf("%s: %v (%s), stdout %q", code, err, fault.CodeOf(err), res.Stdout)
		}
		if strings.Contains(fmt.Sprint(err), "wazero") || strings.Contains(fmt.Sprint(err), "wasm error") {
			t.Errorf("%s: the message is wazero's own: %v", code, err)
		}
	}
}

func TestErrorsPointIntoTheProgram(t *testing.T) {
	e := newTiny(t, Config{})
	res, err := tiny(t, e, `e {"code":"guest.exception","name":"TypeError","message":"no","file":"main.js","line":3,"column":5,"text":"let x = y","stack":"at main"}`)
	wantCode(t, err, fault.GuestException)
	want := "   3 | let x = y\n     |     ^"
	if x := res.Error; x.Excerpt != want || x.Line != 3 || x.Column != 5 || x.Name != "TypeError" || x.Stack != "at main" || err.Error() != "TypeError: no" {
		t.Errorf("%+v", x)
	}
}

func TestRequestsThatCannotBeUsedAreRefused(t *testing.T) {
	e := newTiny(t, Config{})
	for name, c := range map[string]struct {
		req  Request
		want fault.Code
	}{
		"no language":       {Request{Code: "v 1"}, fault.UsageLanguage},
		"unknown language":  {Request{Language: "perl", Code: "v 1"}, fault.UsageLanguage},
		"args":              {Request{Language: "js", Args: []byte("{")}, fault.UsageFlag},
		"deep args":         {Request{Language: "js", Args: []byte(strings.Repeat("[", 901) + strings.Repeat("]", 901))}, fault.UsageFlag},
		"limit":             {Request{Language: "js", Limits: Limits{Fuel: -1}}, fault.UsageFlag},
		"plugin with code":  {Request{Plugin: "x", Code: "y", Function: "f"}, fault.UsageFlag},
		"plugin, no export": {Request{Plugin: "x"}, fault.UsageFlag},
	} {
		res, err := e.Run(context.Background(), c.req)
		if !errors.Is(err, c.want) || res == nil || res.Error == nil || res.RunID == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// wantLedger waits until no more than so many bytes of memory are counted:
// instances are closed in the background.
func wantLedger(t *testing.T, e *Engine, most int64) {
	t.Helper()
	for until := time.Now().Add(time.Minute); e.ledger.Bytes() > most; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatalf("%d bytes are still counted", e.ledger.Bytes())
		}
	}
}
