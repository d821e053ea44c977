package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/testpg"
)

func TestMain(m *testing.M) {
	if os.Getenv(workerEnv) != "" {
		os.Exit(work())
	}
	code := m.Run()
	testpg.Stop()
	os.Exit(code)
}

// addresses returns an empty store of each kind.
func addresses(t testing.TB) map[string]func(testing.TB) string {
	return map[string]func(testing.TB) string{
		"sqlite":   func(t testing.TB) string { return "sqlite:" + filepath.Join(t.TempDir(), "a b%?.db") },
		"postgres": testpg.Address,
	}
}

// clock is a time that tests set.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// both runs a test on an empty store of each kind, with a clock that tests move.
func both(t *testing.T, test func(t *testing.T, s *Store, c *clock)) {
	t.Helper()
	for name, address := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &clock{at: time.Date(2026, 5, 1, 12, 0, 0, 1000, time.UTC)}
			test(t, open(t, address(t), Options{Now: c.now}), c)
		})
	}
}

// open opens a store until the end of the test.
func open(t testing.TB, address string, o Options) *Store {
	t.Helper()
	s, err := Open(t.Context(), address, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// must returns a value of a call that has to succeed.
func must[T any](v T, err error) func(t testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func check(t testing.TB, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func wantCode(t testing.TB, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code || err == nil {
		t.Errorf("%v, want %s", err, code)
	}
}

// started accepts a run that this process executes.
func started(t testing.TB, s *Store, r Run) Lease {
	t.Helper()
	return must(s.Accept(t.Context(), r, "me", Idempotency{}))(t).Lease
}

func TestARunIsKeptFromItsRequestToItsResult(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		begun := c.now()
		want := Run{Tenant: "acme", ID: "01A", State: StateRunning, Actor: "bot", Token: "t1", Language: "python", Skill: "sum", Session: "work",
			Intent: "add\x00 up \xff", Program: "print(1)", Request: []byte("{\"code\":\"\\u0000\"}\x00\xff"), Created: begun}
		l := started(t, s, want)
		want.Program, want.Intent = "", "add\uFFFD up \uFFFD"
		if diff := cmp.Diff(want, must(s.Run(t.Context(), "acme", "01A"))(t)); diff != "" {
			t.Error(diff)
		}
		c.pass(time.Second)
		check(t, s.SetState(t.Context(), l, StateRunning))
		want.Started = c.now()
		c.pass(time.Second)
		check(t, s.SetState(t.Context(), l, StateWaiting), s.SetState(t.Context(), l, StateRunning))
		check(t, s.End(t.Context(), l, Outcome{Status: "error", Code: fault.GuestException, Error: "TypeError", Result: []byte(`{}`),
			Uses: []Use{{Kind: "tool", Name: "github.list", Count: 3}}}, Event{Type: "end", Data: []byte(`{}`)}))
		want.State, want.Status, want.Code, want.Result, want.Ended = StateDone, "error", fault.GuestException, []byte(`{}`), c.now()
		if diff := cmp.Diff(want, must(s.Run(t.Context(), "acme", "01A"))(t)); diff != "" {
			t.Error(diff)
		}
		var types []string
		for i, e := range must(s.Events(t.Context(), "acme", "01A", 0, 100))(t) {
			if e.Number != int64(i+1) {
				t.Errorf("event %d has number %d", i, e.Number)
			}
			types = append(types, e.Type)
		}
		if want := []string{"state", "state", "state", "end"}; !slices.Equal(types, want) {
			t.Errorf("events %q", types)
		}
		if q := must(s.Queue(t.Context(), KindRun, ""))(t); q != (Queued{}) {
			t.Errorf("the queue has %+v", q)
		}
	})
}

func TestRunsOfAnotherTenantAreUnknown(t *testing.T) {
	both(t, func(t *testing.T, s *Store, _ *clock) {
		l := started(t, s, Run{Tenant: "a", ID: "1"})
		check(t, s.Append(t.Context(), l, Event{Type: "output"}))
		for _, id := range []string{"1", "1\x00", "\xff"} {
			_, err := s.Run(t.Context(), "b", id)
			wantCode(t, err, fault.UsageRun)
		}
		if events := must(s.Events(t.Context(), "b", "1", 0, 10))(t); len(events) != 0 {
			t.Errorf("%v", events)
		}
		if runs, _, err := s.Runs(t.Context(), "b", Filter{}); len(runs) != 0 || err != nil {
			t.Errorf("%v %v", runs, err)
		}
		started(t, s, Run{Tenant: "b", ID: "1"}) // ids of tenants are apart
		l.Tenant = "b"
		if err := s.Append(t.Context(), Lease{Tenant: "b", ID: "1", Owner: "you", Fence: 1}, Event{}); !errors.Is(err, ErrLost) {
			t.Errorf("another owner: %v", err)
		}
	})
}

func TestRunsAreFoundByTheirFilters(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		begun := c.now()
		for i := range 6 {
			r := Run{Tenant: "a", ID: fmt.Sprint("r", i), Actor: fmt.Sprint("actor", i%2), Language: []string{"python", "javascript"}[i%2],
				Skill: []string{"", "sum"}[i/3], Intent: fmt.Sprintf("Count 100%% of_%d", i), Program: fmt.Sprintf("const ÄRGER%d = 'x\\y'", i)}
			l := started(t, s, r)
			if i < 4 {
				check(t, s.End(t.Context(), l, Outcome{Status: []string{"ok", "error"}[i%2], Error: fmt.Sprintf("RangeError %d", i), Uses: []Use{{Kind: "tool", Name: fmt.Sprint("t.", i)}}}))
			}
			c.pass(time.Minute)
		}
		for _, test := range []struct {
			f    Filter
			want string
		}{
			{Filter{}, "r5 r4 r3 r2 r1 r0"},
			{Filter{State: StateDone}, "r3 r2 r1 r0"},
			{Filter{Status: "error"}, "r3 r1"},
			{Filter{Actor: "actor1", Language: "javascript"}, "r5 r3 r1"},
			{Filter{Skill: "sum", State: StateRunning}, "r5 r4"},
			{Filter{Tool: "t.2"}, "r2"},
			{Filter{Since: begun.Add(2 * time.Minute), Until: begun.Add(4 * time.Minute)}, "r3 r2"},
			{Filter{Words: "ärger3"}, "r3"},
			{Filter{Words: "RANGEERROR count"}, "r3 r2 r1 r0"},
			{Filter{Words: "%"}, "r5 r4 r3 r2 r1 r0"},
			{Filter{Words: "of_1"}, "r1"},
			{Filter{Words: `x\y`}, "r5 r4 r3 r2 r1 r0"},
			{Filter{Words: "x_y"}, ""},
			{Filter{Words: "a\x00\xff"}, ""},
			{Filter{Actor: "\x00"}, ""},
			{Filter{Words: "'; DROP TABLE runs; --"}, ""},
			{Filter{Limit: 2}, "r5 r4"},
			{Filter{Limit: 2, Before: "r4"}, "r3 r2"},
			{Filter{Limit: 2, Before: "r2"}, "r1 r0"},
		} {
			runs, more, err := s.Runs(t.Context(), "a", test.f)
			check(t, err)
			var got []string
			for _, r := range runs {
				got = append(got, r.ID)
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("%+v finds %q, want %s", test.f, got, test.want)
			}
			if want := test.f.Limit == 2 && test.f.Before != "r2"; more != want {
				t.Errorf("%+v: more is %t", test.f, more)
			}
		}
	})
}

func TestARequestThatIsSentTwiceIsOneRun(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		key := Idempotency{Key: "k", Digest: "d", Keep: time.Hour}
		accept := func(id, token string, i Idempotency) (Accepted, error) {
			return s.Accept(t.Context(), Run{Tenant: "a", ID: id, Token: token}, "", i)
		}
		if a := must(accept("1", "t", key))(t); a.ID != "1" || a.Again {
			t.Errorf("%+v", a)
		}
		if a := must(accept("2", "t", key))(t); a.ID != "1" || !a.Again {
			t.Errorf("%+v", a)
		}
		if _, err := s.Run(t.Context(), "a", "2"); fault.CodeOf(err) != fault.UsageRun {
			t.Errorf("the second request made a run: %v", err)
		}
		_, err := accept("3", "t", Idempotency{Key: "k", Digest: "other", Keep: time.Hour})
		wantCode(t, err, fault.UsageConflict)
		if a := must(accept("4", "u", key))(t); a.ID != "4" {
			t.Errorf("another token's key: %+v", a)
		}
		c.pass(2 * time.Hour)
		if a := must(accept("5", "t", key))(t); a.ID != "5" {
			t.Errorf("an old key: %+v", a)
		}
		_, err = accept("5", "t", Idempotency{})
		wantCode(t, err, fault.UsageConflict)
	})
}

// Many clients that send one request at the same time get one run.
func TestRequestsAtTheSameTimeAreOneRun(t *testing.T) {
	both(t, func(t *testing.T, s *Store, _ *clock) {
		ids := make([]string, 20)
		var all sync.WaitGroup
		for i := range ids {
			all.Go(func() {
				a, err := s.Accept(t.Context(), Run{Tenant: "a", ID: fmt.Sprint("r", i)}, "", Idempotency{Key: "k", Digest: "d", Keep: time.Hour})
				if err != nil {
					t.Error(err)
				}
				ids[i] = a.ID
			})
		}
		all.Wait()
		if len(slices.Compact(ids)) != 1 {
			t.Errorf("%q", ids)
		}
		if runs, _, err := s.Runs(t.Context(), "a", Filter{}); len(runs) != 1 || err != nil {
			t.Errorf("%d runs: %v", len(runs), err)
		}
	})
}

func TestAWriteThatFailsLeavesTheOthersAlone(t *testing.T) {
	both(t, func(t *testing.T, s *Store, _ *clock) {
		var all sync.WaitGroup
		for i := range 60 {
			all.Go(func() {
				id := fmt.Sprint("r", i/2) // each is accepted by one of two
				_, err := s.Accept(t.Context(), Run{Tenant: "a", ID: id}, "", Idempotency{})
				if err != nil && fault.CodeOf(err) != fault.UsageConflict {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if runs, _, err := s.Runs(t.Context(), "a", Filter{Limit: 100}); len(runs) != 30 || err != nil {
			t.Errorf("%d runs: %v", len(runs), err)
		}
		if q := must(s.Queue(t.Context(), KindRun, "a"))(t); q.Waiting != 30 {
			t.Errorf("%+v", q)
		}
	})
}

// A reader sees one state of the store and waits for no writer.
func TestReadersDoNotWaitForAWriter(t *testing.T) {
	both(t, func(t *testing.T, s *Store, _ *clock) {
		started(t, s, Run{Tenant: "a", ID: "1", Intent: "before"})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		check(t, s.update(ctx, func(tx *Tx) error {
			if _, err := tx.exec("UPDATE runs SET intent = 'after' WHERE tenant = 'a' AND id = '1'"); err != nil {
				return err
			}
			r, err := s.Run(ctx, "a", "1")
			if err == nil && r.Intent != "before" {
				err = fmt.Errorf("a reader sees %q", r.Intent)
			}
			return err
		}))
		if r := must(s.Run(ctx, "a", "1"))(t); r.Intent != "after" {
			t.Errorf("%q", r.Intent)
		}
	})
}

func TestACallerThatLeavesWritesNothing(t *testing.T) {
	both(t, func(t *testing.T, s *Store, _ *clock) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := s.Accept(ctx, Run{Tenant: "a", ID: "1"}, "", Idempotency{})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if _, err := s.Run(t.Context(), "a", "1"); fault.CodeOf(err) != fault.UsageRun {
			t.Errorf("%v", err)
		}
	})
}

func TestAClosedStoreRefusesWritesAndReads(t *testing.T) {
	for name, address := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := Open(t.Context(), address(t), Options{})
			if err != nil {
				t.Fatal(err)
			}
			var writers sync.WaitGroup
			for range 8 {
				writers.Go(func() {
					for { // until the store is closed
						_, err := s.CreateToken(t.Context(), Token{ID: NewTokenID(), Tenant: "default", Name: "n", Scopes: []Scope{ScopeRead}, Type: "agent"})
						if err != nil {
							if fault.CodeOf(err) != fault.StoreUnavailable {
								t.Errorf("a write while the store closes: %v", err)
							}
							return
						}
					}
				})
			}
			time.Sleep(20 * time.Millisecond)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			writers.Wait()
			if _, err := s.Run(t.Context(), "default", "run"); fault.CodeOf(err) != fault.StoreUnavailable {
				t.Errorf("a read of a closed store: %v", err)
			}
		})
	}
}
