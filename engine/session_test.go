package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
)

func inSession(name string) func(*Request) { return func(r *Request) { r.Session = name } }

func TestASessionKeepsItsState(t *testing.T) {
	e := newTiny(t, Config{})
	for _, want := range []string{"1", "2", "3"} {
		res, err := tiny(t, e, "a 1", inSession("s"))
		wantValue(t, res, err, want)
	}
	res, err := tiny(t, e, "a 1", inSession("other"))
	wantValue(t, res, err, "1")
	res, err = tiny(t, e, "a 1")
	wantValue(t, res, err, "1")
	if got := strings.Join(e.Sessions(nil, ""), " "); got != "other s" {
		t.Errorf("sessions: %s", got)
	}
	if err := e.EndSession(nil, "", "s"); err != nil {
		t.Fatal(err)
	}
	res, err = tiny(t, e, "a 1", inSession("s"))
	wantValue(t, res, err, "1")
	wantCode(t, e.EndSession(nil, "", "unknown"), fault.UsageSession)
}

func TestSessionsOfTwoActorsAndOfTwoTenantsAreApart(t *testing.T) {
	e := newTiny(t, Config{})
	one, two := newTable(t, audit.None()), newTable(t, audit.None())
	for _, change := range []func(*Request){
		func(r *Request) {},
		func(r *Request) { r.Actor.ID = "ada" },
		func(r *Request) { r.Table = one },
		func(r *Request) { r.Table = two },
	} {
		res, err := tiny(t, e, "a 1", inSession("s"), change)
		wantValue(t, res, err, "1")
	}
}

func TestEachRunOfASessionHasItsOwnFuel(t *testing.T) {
	e := newTiny(t, Config{})
	var used []int64
	for range 3 {
		res, err := tiny(t, e, "l 10000", inSession("s"))
		if err != nil {
			t.Fatal(err)
		}
		used = append(used, res.Usage.Fuel)
	}
	if used[0] != used[1] || used[1] != used[2] {
		t.Errorf("fuel %v", used)
	}
	_, err := tiny(t, e, "l 10000", inSession("s"), limited(Limits{Fuel: used[0] - 1}))
	wantCode(t, err, fault.LimitFuel)
}

func TestALimitEndsTheSessionAndSaysSoOnce(t *testing.T) {
	e := newTiny(t, Config{})
	_, err := tiny(t, e, "a 1", inSession("s"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = tiny(t, e, "l 0", inSession("s"), limited(Limits{Fuel: 1000}))
	wantCode(t, err, fault.LimitFuel)
	_, err = tiny(t, e, "a 1", inSession("s"))
	wantCode(t, err, fault.UsageSession)
	if !strings.Contains(err.Error(), "fuel") {
		t.Errorf("the reason is missing: %v", err)
	}
	res, err := tiny(t, e, "a 1", inSession("s"))
	wantValue(t, res, err, "1")
}

func TestAnErrorOfTheProgramDoesNotEndTheSession(t *testing.T) {
	e := newTiny(t, Config{})
	_, err := tiny(t, e, "a 1\ne {}", inSession("s"))
	wantCode(t, err, fault.GuestException)
	res, err := tiny(t, e, "a 1", inSession("s"))
	wantValue(t, res, err, "2")
}

func TestASessionHasOneRunAtATimeAndOneLanguage(t *testing.T) {
	e := newTiny(t, Config{})
	started := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = e.Run(ctx, Request{Language: "js", Code: "s 60000", Session: "s", Progress: func(ev Event) {
			if ev.Type == EventStarted {
				close(started)
			}
		}})
	}()
	<-started
	_, err := tiny(t, e, "a 1", inSession("s"))
	wantCode(t, err, fault.UsageSession)
	wantCode(t, e.EndSession(nil, "", "s"), fault.UsageSession)
	cancel()
	<-done
	_, _ = tiny(t, e, "a 1", inSession("s")) // told that it was cancelled
	res, err := tiny(t, e, "a 1", inSession("s"))
	wantValue(t, res, err, "1")
	_, err = tiny(t, e, "a 1", inSession("s"), func(r *Request) { r.Language = Python })
	wantCode(t, err, fault.UsageSession)
}

func TestSessionsEndWhenIdleOrUsedUpAndAreBounded(t *testing.T) {
	e := newTiny(t, Config{SessionIdle: 20 * time.Millisecond, SessionRuns: 2, Sessions: 2})
	if _, err := tiny(t, e, "a 1", inSession("s")); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); len(e.Sessions(nil, "")) > 0; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("an idle session does not end")
		}
	}
	e = newTiny(t, Config{SessionRuns: 2, Sessions: 2})
	for range 2 {
		if _, err := tiny(t, e, "a 1", inSession("s")); err != nil {
			t.Fatal(err)
		}
	}
	_, err := tiny(t, e, "a 1", inSession("s"))
	wantCode(t, err, fault.UsageSession)
	for _, name := range []string{"a", "b", "c"} {
		if _, err := tiny(t, e, "a 1", inSession(name)); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(e.Sessions(nil, ""), " "); got != "b c" {
		t.Errorf("sessions: %s", got)
	}
}

func TestASessionEndsWithItsTimeInAll(t *testing.T) {
	e := newTiny(t, Config{SessionTime: 20 * time.Millisecond})
	for run := 0; ; run++ {
		res, err := tiny(t, e, "l 10000000\na 1", inSession("s"))
		if err != nil {
			wantCode(t, err, fault.UsageSession)
			if run == 0 || !strings.Contains(err.Error(), "limit of time") || res.Error.Hint == "" {
				t.Errorf("after %d runs: %v, hint %q", run, err, res.Error.Hint)
			}
			break
		}
		if run > 1000 {
			t.Fatal("it never ends")
		}
	}
	res, err := tiny(t, e, "a 1", inSession("s"))
	wantValue(t, res, err, "1")
}

// A fault that leaves the interpreter unusable, or an internal fault, ends the
// session, and the next run reports why.
func TestATrapOrAnInternalFaultEndsTheSessionAndSaysSoOnce(t *testing.T) {
	for code, want := range map[string]struct {
		code fault.Code
		says string
	}{
		"x":      {fault.GuestException, "crashed its interpreter"},
		"R":      {fault.LimitRecursion, "deeper"},
		"v [1":   {fault.Internal, "not JSON"},
		"b 30":   {fault.LimitOutput, "20B"},
		"m 4000": {fault.LimitMemory, "32MiB"},
	} {
		e := newTiny(t, Config{})
		if _, err := tiny(t, e, "a 1", inSession("s")); err != nil {
			t.Fatal(err)
		}
		_, err := tiny(t, e, code, inSession("s"), limited(Limits{Output: 20, Memory: 32 << 20}))
		wantCode(t, err, want.code)
		if left := e.Sessions(nil, ""); len(left) > 0 {
			t.Errorf("%s: still there: %v", code, left)
		}
		res, err := tiny(t, e, "a 1", inSession("s"))
		wantCode(t, err, fault.UsageSession)
		if !strings.Contains(err.Error(), want.says) || !strings.Contains(res.Error.Hint, "start a new one") {
			t.Errorf("%s: %v, hint %q", code, err, res.Error.Hint)
		}
		res, err = tiny(t, e, "a 1", inSession("s"))
		wantValue(t, res, err, "1")
		if err := e.EndSession(nil, "", "s"); err != nil {
			t.Error(err)
		}
		wantLedger(t, e, int64(e.config.Ready)*sandbox.InstanceShare)
	}
}

func TestBusySessionsDoNotGiveWayAndTheirMemoryCounts(t *testing.T) {
	e := newTiny(t, Config{Sessions: 1})
	if _, err := tiny(t, e, "m 300\na 1", inSession("a")); err != nil {
		t.Fatal(err)
	}
	// A run that may have less than the session holds changes nothing.
	_, err := tiny(t, e, "a 1", inSession("a"), limited(Limits{Memory: 16 << 20}))
	wantCode(t, err, fault.LimitMemory)
	res, err := tiny(t, e, "a 1", inSession("a"))
	wantValue(t, res, err, "2")
	ctx, cancel := context.WithCancel(t.Context())
	started, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		_, _ = e.Run(ctx, Request{Language: JavaScript, Code: "s 600000", Session: "a", Progress: func(ev Event) {
			if ev.Type == EventStarted {
				close(started)
			}
		}})
	}()
	<-started
	res, err = tiny(t, e, "a 1", inSession("b"))
	wantCode(t, err, fault.LimitBusy)
	if res.Error.Hint == "" {
		t.Error("no hint")
	}
	cancel()
	<-done
	res, err = tiny(t, e, "a 1", inSession("b"))
	wantValue(t, res, err, "1")
}
