package store

import (
	"errors"
	"testing"
	"time"

	"github.com/wexec/wexec/fault"
)

// accepted is a run that an owner executes.
func accepted(t testing.TB, s *Store, id string) Lease {
	t.Helper()
	a, err := s.Accept(t.Context(), Run{Tenant: "t", ID: id, Actor: "ann", Language: "python"}, "me", Idempotency{})
	check(t, err)
	return a.Lease
}

// isClaimed claims the next run, which has to be this one, or none if id is "".
func isClaimed(t testing.TB, s *Store, id string) Lease {
	t.Helper()
	l, ok, err := s.Claim(t.Context(), KindRun, "you")
	check(t, err)
	if ok != (id != "") || l.ID != id {
		t.Fatalf("claimed %q, want %q", l.ID, id)
	}
	return l
}

func sealedText(text string) Sealed { return Sealed{Wrapped: []byte("key"), Data: []byte(text)} }

func TestEachThingThatAParkedRunWaitsForWakesIt(t *testing.T) {
	question := func(id, run string, c *clock) Approval {
		return Approval{ID: id, Run: run, Tool: "a.b", Question: []byte("{}"), Expires: c.now().Add(time.Hour)}
	}
	for name, one := range map[string]struct {
		waits func(c *clock) Waits
		wake  func(t *testing.T, s *Store, c *clock)
	}{
		"a timer": {func(c *clock) Waits { return Waits{Until: c.now().Add(time.Minute)} }, func(_ *testing.T, _ *Store, c *clock) { c.pass(time.Minute + time.Second) }},
		"an answer": {func(*clock) Waits { return Waits{Questions: []string{"q"}} }, func(t *testing.T, s *Store, _ *clock) {
			_, err := s.Decide(t.Context(), "t", "q", Decision{Answer: AnswerApproved})
			check(t, err)
		}},
		"a question that expires": {func(*clock) Waits { return Waits{Questions: []string{"q"}} }, func(t *testing.T, s *Store, c *clock) {
			c.pass(2 * time.Hour)
			check(t, s.ExpireApprovals(t.Context()))
		}},
		"a signal": {func(*clock) Waits { return Waits{Signals: map[string]int{"go": 0}} }, func(t *testing.T, s *Store, _ *clock) {
			n, err := s.AddSignal(t.Context(), "t", "run", "go", sealedText("1"))
			check(t, err)
			if n != 0 {
				t.Errorf("the first signal has number %d", n)
			}
		}},
		"a request": {func(*clock) Waits { return Waits{} }, func(t *testing.T, s *Store, _ *clock) {
			if woken, err := s.Wake(t.Context(), "t", "run"); !woken || err != nil {
				t.Error(woken, err)
			}
		}},
		"a cancellation": {func(*clock) Waits { return Waits{} }, func(t *testing.T, s *Store, _ *clock) {
			l, ok, err := s.ClaimLost(t.Context(), "t", "run", "it")
			check(t, err)
			if !ok {
				t.Fatal("nobody can end the run")
			}
			check(t, s.Requeue(t.Context(), l))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, s *Store, c *clock) {
				l := accepted(t, s, "run")
				check(t, s.AppendRecord(t.Context(), l, 0, sealedText("record")))
				check(t, s.Ask(t.Context(), l, question("q", "run", c), Event{Type: "approval"}))
				check(t, s.Park(t.Context(), l, one.waits(c), Outcome{Result: []byte("{}")}, Event{Type: "output"}))
				if err := s.AppendRecord(t.Context(), l, 1, sealedText("late")); !errors.Is(err, ErrLost) {
					t.Errorf("the process that parked the run still writes: %v", err)
				}
				isClaimed(t, s, "")
				if _, err := s.AddSignal(t.Context(), "t", "run", "other", sealedText("1")); err != nil {
					t.Error(err)
				}
				isClaimed(t, s, "")
				r, err := s.Run(t.Context(), "t", "run")
				if check(t, err); r.State != StateParked {
					t.Errorf("the state is %s", r.State)
				}
				one.wake(t, s, c)
				next := isClaimed(t, s, "run")
				records, err := s.Records(t.Context(), "t", "run")
				if check(t, err); len(records) != 1 || string(records[0].Data) != "record" {
					t.Errorf("the journal is %q", records)
				}
				check(t, s.End(t.Context(), next, Outcome{Status: "ok"}))
				if records, err := s.Records(t.Context(), "t", "run"); len(records) > 0 || err != nil {
					t.Errorf("the journal outlasts the run: %v, %v", records, err)
				}
				if _, ok, err := s.Signal(t.Context(), "t", "run", "other", 0); ok || err != nil {
					t.Error("a signal outlasts the run", err)
				}
				if _, err := s.AddSignal(t.Context(), "t", "run", "go", sealedText("1")); !errors.Is(err, fault.UsageConflict) {
					t.Errorf("a signal for a run that has ended: %v", err)
				}
				report, err := s.Check(t.Context())
				if check(t, err); len(report.Faults) > 0 {
					t.Error(report.Faults)
				}
			})
		})
	}
}

// What came before the run was parked is not missed.
func TestARunThatParksTooLateIsQueuedAtOnce(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		for name, one := range map[string]struct {
			before func(l Lease) error
			waits  Waits
		}{
			"signal": {func(l Lease) error {
				_, err := s.AddSignal(t.Context(), "t", l.ID, "go", sealedText("1"))
				return err
			}, Waits{Signals: map[string]int{"go": 0}}},
			"answer": {func(l Lease) error {
				if err := s.Ask(t.Context(), l, Approval{ID: "q", Run: l.ID, Expires: c.now().Add(time.Hour)}, Event{Type: "approval"}); err != nil {
					return err
				}
				_, err := s.Decide(t.Context(), "t", "q", Decision{Answer: AnswerDenied})
				return err
			}, Waits{Questions: []string{"q"}}},
			"cancel": {func(l Lease) error {
				_, err := s.Cancel(t.Context(), "t", l.ID)
				return err
			}, Waits{}},
		} {
			l := accepted(t, s, name)
			check(t, one.before(l))
			check(t, s.Park(t.Context(), l, one.waits, Outcome{}))
			check(t, s.Finish(t.Context(), isClaimed(t, s, name)))
		}
		// The second signal with a name is not there yet.
		l := accepted(t, s, "second")
		_, err := s.AddSignal(t.Context(), "t", l.ID, "go", sealedText("1"))
		check(t, err)
		check(t, s.Park(t.Context(), l, Waits{Signals: map[string]int{"go": 1}}, Outcome{}))
		isClaimed(t, s, "")
	})
}

func TestSignalsOfARunAreBounded(t *testing.T) {
	both(t, func(t *testing.T, s *Store, _ *clock) {
		accepted(t, s, "run")
		for n := range maxSignals {
			if _, err := s.AddSignal(t.Context(), "t", "run", string(rune('a'+n%2)), sealedText("1")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.AddSignal(t.Context(), "t", "run", "c", sealedText("1")); !errors.Is(err, fault.LimitQuota) {
			t.Errorf("one more: %v", err)
		}
		if _, err := s.AddSignal(t.Context(), "other", "run", "a", sealedText("1")); !errors.Is(err, fault.UsageRun) {
			t.Errorf("a signal of another tenant: %v", err)
		}
		if woken, err := s.Wake(t.Context(), "other", "run"); woken || err != nil {
			t.Error("another tenant wakes a run", err)
		}
	})
}

// A question that a parked run no longer asks is withdrawn. If the run asks it again, it
// is open again, unless its time has passed or it was answered.
func TestAParkedRunKeepsOnlyTheQuestionsThatItAsks(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		l := accepted(t, s, "run")
		ask := func(id string) {
			t.Helper()
			check(t, s.Ask(t.Context(), l, Approval{ID: id, Run: "run", Question: []byte("{}"), Expires: c.now().Add(time.Hour)}, Event{Type: "approval"}))
		}
		is := func(id string, want Answer) {
			t.Helper()
			a, err := s.Approval(t.Context(), "t", id)
			if check(t, err); a.State != want {
				t.Errorf("%s is %s, want %s", id, a.State, want)
			}
		}
		ask("old")
		ask("open")
		ask("answered")
		_, err := s.Decide(t.Context(), "t", "answered", Decision{Answer: AnswerDenied})
		check(t, err)
		check(t, s.Park(t.Context(), l, Waits{Questions: []string{"open"}}, Outcome{}))
		is("old", AnswerExpired)
		is("open", AnswerWaiting)
		is("answered", AnswerDenied)
		if woken, err := s.Wake(t.Context(), "t", "run"); !woken || err != nil {
			t.Fatal(woken, err)
		}
		l = isClaimed(t, s, "run")
		ask("old")
		ask("answered")
		is("old", AnswerWaiting)
		is("answered", AnswerDenied)
		c.pass(2 * time.Hour)
		check(t, s.ExpireApprovals(t.Context()))
		is("old", AnswerExpired)
	})
}
