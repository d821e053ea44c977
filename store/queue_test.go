package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func enqueue(t testing.TB, s *Store, tenant, id string, priority int64) {
	t.Helper()
	check(t, s.Enqueue(t.Context(), Work{Tenant: tenant, ID: id, Kind: KindTask, Priority: priority}))
}

// claim returns the next piece of work, "" if there is none.
func claim(t testing.TB, s *Store, owner string) (Lease, string) {
	t.Helper()
	l, ok, err := s.Claim(t.Context(), KindTask, owner)
	check(t, err)
	if !ok {
		return l, ""
	}
	return l, l.Tenant + "/" + l.ID
}

func TestAClaimTakesTheTenantWithTheFewestLeasesFirst(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		for i := range 5 {
			enqueue(t, s, "big", fmt.Sprint(i), 0)
			c.pass(time.Millisecond)
		}
		enqueue(t, s, "big", "urgent", 5)
		enqueue(t, s, "small", "0", 0)
		enqueue(t, s, "small", "1", 9)
		check(t, s.Enqueue(t.Context(), Work{Tenant: "small", ID: "run", Kind: KindRun, Priority: 9}))
		check(t, s.Enqueue(t.Context(), Work{Tenant: "small", ID: "later", Kind: KindTask, Priority: 99, Due: c.now().Add(time.Hour)}))
		for _, want := range []string{"small/1", "big/urgent", "big/0", "small/0", "big/1", "big/2", "big/3", "big/4", ""} {
			if _, got := claim(t, s, "me"); got != want {
				t.Errorf("claimed %q, want %q", got, want)
			}
		}
		c.pass(time.Hour + time.Second)
		var got []string
		for range 9 {
			_, w := claim(t, s, "you")
			got = append(got, w)
		}
		if all := strings.Join(got, " "); !strings.Contains(all, "small/later") || strings.Contains(all, "run") {
			t.Errorf("after an hour: %s", all)
		}
	})
}

func TestALeaseThatExpiresIsTakenOver(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		old := started(t, s, Run{Tenant: "a", ID: "1"})
		c.pass(LeaseTime - time.Second)
		old = must(s.Renew(t.Context(), old))(t)
		c.pass(LeaseTime - time.Second)
		if _, ok, err := s.Claim(t.Context(), KindRun, "you"); ok || err != nil {
			t.Fatalf("a lease that was renewed is taken over: %v", err)
		}
		c.pass(2 * time.Second)
		// it expired: the holder may not write even before another takes it
		if err := s.Append(t.Context(), old, Event{Type: "output"}); !errors.Is(err, ErrLost) {
			t.Errorf("%v", err)
		}
		if _, err := s.Renew(t.Context(), old); !errors.Is(err, ErrLost) {
			t.Errorf("%v", err)
		}
		l, ok, err := s.Claim(t.Context(), KindRun, "you")
		if !ok || err != nil || l.Fence != old.Fence+1 {
			t.Fatalf("%+v %t %v", l, ok, err)
		}
		for name, write := range map[string]func(Lease) error{
			"append":  func(l Lease) error { return s.Append(t.Context(), l, Event{Type: "output"}) },
			"state":   func(l Lease) error { return s.SetState(t.Context(), l, StateParked) },
			"end":     func(l Lease) error { return s.End(t.Context(), l, Outcome{Status: "ok"}) },
			"finish":  func(l Lease) error { return s.Finish(t.Context(), l) },
			"release": func(l Lease) error { return s.Release(t.Context(), l, time.Time{}) },
			"renew":   func(l Lease) error { _, err := s.Renew(t.Context(), l); return err },
		} {
			if err := write(old); !errors.Is(err, ErrLost) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if r := must(s.Run(t.Context(), "a", "1"))(t); r.State != StateRunning || r.Status != "" {
			t.Errorf("the old holder wrote: %+v", r)
		}
		check(t, s.End(t.Context(), l, Outcome{Status: "ok"}))
		if events := must(s.Events(t.Context(), "a", "1", 0, 10))(t); len(events) != 0 {
			t.Errorf("%v", events)
		}
	})
}

func TestReleasedWorkIsDueLater(t *testing.T) {
	both(t, func(t *testing.T, s *Store, c *clock) {
		enqueue(t, s, "a", "1", 0)
		l, _ := claim(t, s, "me")
		check(t, s.Release(t.Context(), l, c.now().Add(time.Minute)))
		if _, got := claim(t, s, "me"); got != "" {
			t.Errorf("claimed %q", got)
		}
		c.pass(time.Minute)
		again, got := claim(t, s, "me")
		if got != "a/1" || again.Fence != l.Fence+1 {
			t.Errorf("claimed %q, %+v", got, again)
		}
		check(t, s.Finish(t.Context(), again))
		if err := s.Finish(t.Context(), again); !errors.Is(err, ErrLost) {
			t.Errorf("%v", err)
		}
	})
}

// Many goroutines of several processes do all the work, each piece once.
func TestWorkIsDoneOnceByManyProcesses(t *testing.T) {
	const items, processes = 200, 3
	for name, address := range addresses(t) {
		t.Run(name, func(t *testing.T) {
			address := address(t)
			s := open(t, address, slow())
			for i := range items {
				enqueue(t, s, fmt.Sprint("tenant", i%7), strconv.Itoa(i), int64(i%3))
			}
			var all sync.WaitGroup
			outs := make([]bytes.Buffer, processes)
			for i := range processes {
				all.Go(func() {
					cmd := exec.CommandContext(t.Context(), os.Args[0])
					cmd.Env = append(os.Environ(), workerEnv+"="+address)
					cmd.Stdout, cmd.Stderr = &outs[i], &outs[i]
					if err := cmd.Run(); err != nil {
						t.Errorf("%v: %s", err, outs[i].String())
					}
				})
			}
			all.Wait()
			times := map[string]int{}
			for i := range outs {
				for line := range strings.Lines(outs[i].String()) {
					times[line]++
				}
			}
			if len(times) != items {
				t.Errorf("%d of %d pieces were done", len(times), items)
			}
			for line, n := range times {
				if n != 1 {
					t.Errorf("%q was done %d times", line, n)
				}
			}
			if q := must(s.Queue(t.Context(), KindTask, ""))(t); q != (Queued{}) {
				t.Errorf("%+v", q)
			}
		})
	}
}

// slow are options with which a lease outlasts any delay of a busy machine.
func slow() Options {
	return Options{Wait: time.Minute, Now: func() time.Time { return time.Unix(1_800_000_000, 0) }}
}

// workerEnv makes the test binary a process that does what is queued in a store.
const workerEnv = "WEXEC_TEST_STORE_WORKER"

func work() int {
	ctx := context.Background()
	s, err := Open(ctx, os.Getenv(workerEnv), slow())
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer s.Close()
	if os.Getenv(serverEnv) != "" {
		return serve(s)
	}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for {
				l, ok, err := s.Claim(ctx, KindTask, fmt.Sprint(os.Getpid(), "/", i))
				if err == nil && ok {
					if err = s.Finish(ctx, l); err == nil {
						fmt.Println(l.Tenant, l.ID)
						continue
					}
				}
				if err != nil {
					fmt.Println(err)
				}
				return
			}
		})
	}
	all.Wait()
	return 0
}

// BenchmarkClaim claims and finishes while 100,000 items of one tenant wait.
func BenchmarkClaim(b *testing.B) {
	for name, address := range addresses(b) {
		b.Run(name, func(b *testing.B) {
			s := open(b, address(b), Options{Wait: time.Minute})
			check(b, s.update(b.Context(), func(tx *Tx) error {
				for i := range 100_000 {
					if _, err := tx.enqueue(Work{Tenant: "big", ID: strconv.Itoa(i), Kind: KindTask}, ""); err != nil {
						return err
					}
				}
				return nil
			}))
			for b.Loop() {
				l, ok, err := s.Claim(b.Context(), KindTask, "me")
				if err != nil || !ok {
					b.Fatal(ok, err)
				}
				check(b, s.Finish(b.Context(), l))
			}
		})
	}
}

func TestTheHolderOfALeaseLearnsOfACancellation(t *testing.T) {
	both(t, func(t *testing.T, s *Store, _ *clock) {
		for _, id := range []string{"a", "b"} {
			if err := s.Enqueue(t.Context(), Work{Tenant: "t", ID: id, Kind: KindTask}); err != nil {
				t.Fatal(err)
			}
		}
		held, ok, err := s.Claim(t.Context(), KindTask, "me")
		if err != nil || !ok || held.Cancelled {
			t.Fatal(held, ok, err)
		}
		for _, id := range []string{"a", "b"} {
			if ok, err := s.Cancel(t.Context(), "t", id); err != nil || !ok {
				t.Fatal(ok, err)
			}
		}
		if held, err = s.Renew(t.Context(), held); err != nil || !held.Cancelled {
			t.Error(held, err)
		}
		if next, ok, err := s.Claim(t.Context(), KindTask, "me"); err != nil || !ok || !next.Cancelled {
			t.Error(next, ok, err)
		}
		for _, of := range [][2]string{{"t", "c"}, {"other", "a"}} {
			if ok, err := s.Cancel(t.Context(), of[0], of[1]); err != nil || ok {
				t.Error(of, ok, err)
			}
		}
	})
}
