package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
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
