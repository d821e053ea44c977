package engine

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
)

// hammer runs what users do, all at once and in any order, until the context
// ends, and reports every answer that is not one of those it may be.
func hammer(t testing.TB, e *Engine, workers int, until time.Time) (runs int64) {
	t.Helper()
	var all sync.WaitGroup
	var mu sync.Mutex
	for w := range workers {
		all.Add(1)
		go func() {
			defer all.Done()
			r := rand.New(rand.NewPCG(uint64(w), 7))
			n := int64(0)
			for time.Now().Before(until) {
				if err := blow(e, r); err != nil {
					t.Error(err)
					return
				}
				n++
			}
			mu.Lock()
			runs += n
			mu.Unlock()
		}()
	}
	all.Wait()
	return runs
}

// blow is one of them.
func blow(e *Engine, r *rand.Rand) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req := Request{Language: JavaScript, Actor: Actor{ID: strconv.Itoa(r.IntN(3))}}
	may := []fault.Code{""}
	want := ""
	switch r.IntN(8) {
	case 0:
		n := r.IntN(1e6)
		req.Code, want = fmt.Sprintf("l 5000\nv %d", n), strconv.Itoa(n)
	case 1:
		req.Code, req.Limits.Fuel, may = "l 0", 2_000_000, []fault.Code{fault.LimitFuel}
	case 2:
		req.Code, req.Limits.Time, may = "l 0", 3*time.Millisecond, []fault.Code{fault.LimitTime}
	case 3:
		req.Code, may = "s 1000", []fault.Code{fault.Cancelled}
		time.AfterFunc(time.Duration(r.IntN(3000))*time.Microsecond, cancel)
	case 4:
		req.Code, req.Session = "a 1", "s"+strconv.Itoa(r.IntN(4))
		may = append(may, fault.UsageSession)
	case 5:
		req.Code, want = `p 3 math.add {"a":1,"b":2}`, "3"
	case 6:
		req.Code, req.Limits.Memory, may = "m 4000", 16<<20, []fault.Code{fault.LimitMemory}
	case 7:
		req.Code, req.Deterministic = "l 1000\nr", true
	}
	res, err := e.Run(ctx, req)
	code := fault.Code("")
	if err != nil {
		code = fault.CodeOf(err)
	}
	for _, c := range may {
		if c == code {
			if want != "" && err == nil && string(res.Value) != want {
				return fmt.Errorf("%q gave %s", req.Code, res.Value)
			}
			return nil
		}
	}
	return fmt.Errorf("%q ended with %s: %w", req.Code, string(code), err)
}

func TestHammerOverRunsSessionsCancelAndClose(t *testing.T) {
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for range 3 {
		e, err := open(Config{Table: newTable(t, audit.None(), add()), Queue: 1000})
		if err != nil {
			t.Fatal(err)
		}
		m, err := tinyGuest()
		if err != nil {
			t.Fatal(err)
		}
		e.guests.Open = opens(m)
		hammer(t, e, 12, time.Now().Add(300*time.Millisecond))
		// Close in the middle of runs.
		var all sync.WaitGroup
		for range 20 {
			all.Add(1)
			go func() {
				defer all.Done()
				_, err := e.Run(context.Background(), Request{Language: JavaScript, Code: "l 0"})
				if fault.CodeOf(err) != fault.Cancelled {
					t.Errorf("a run that Close ended: %v", err)
				}
			}()
		}
		time.Sleep(5 * time.Millisecond)
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		all.Wait()
		if n := e.ledger.Bytes(); n != 0 {
			t.Fatalf("%d bytes of memory are still counted", n)
		}
		if live := len(e.sessions.byKey); live != 0 {
			t.Fatalf("%d sessions are left", live)
		}
	}
}

func TestAThousandRunsInFlightLoseNone(t *testing.T) {
	e := newTiny(t, Config{})
	var all sync.WaitGroup
	for i := range 1000 {
		all.Add(1)
		go func() {
			defer all.Done()
			res, err := tiny(t, e, fmt.Sprintf("s 1\nv %d", i), func(r *Request) { r.Actor.ID = strconv.Itoa(i % 7) })
			if err != nil || string(res.Value) != strconv.Itoa(i) {
				t.Errorf("run %d: %s %v", i, res.Value, err)
			}
		}()
	}
	all.Wait()
}

func TestTheQueueIsBoundedAndSaysSoAtOnce(t *testing.T) {
	e := newTiny(t, Config{Running: 1, Queue: 2})
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range 3 {
		all.Add(1)
		go func() {
			defer all.Done()
			_, _ = e.Run(ctx, Request{Language: "js", Code: "l 0"})
		}()
	}
	for until := time.Now().Add(time.Minute); e.cores.Waiting() < 2; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("no run waits")
		}
	}
	_, err := tiny(t, e, "v 1")
	wantCode(t, err, fault.LimitBusy)
	cancel()
	all.Wait()
	res, err := tiny(t, e, "v 1")
	wantValue(t, res, err, "1")
}

func TestARunWaitsWhileTheMemoryInFlightIsOverItsBound(t *testing.T) {
	e := newTiny(t, Config{Running: 4, Memory: 32 << 20, Ready: -1})
	started := make(chan struct{})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = e.Run(ctx, Request{Language: "js", Code: "m 1000\no grown\ns 60000", Progress: func(ev Event) {
			if ev.Type == EventOutput {
				close(started)
			}
		}})
	}()
	<-started
	short, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	_, err := e.Run(short, Request{Language: "js", Code: "v 1"})
	wantCode(t, err, fault.LimitTime)
	cancel()
	<-done
	res, err := tiny(t, e, "v 1")
	wantValue(t, res, err, "1")
}

// growing runs a program that grows by so many pages of memory, says so, and
// goes on with the rest.
func growing(t *testing.T, e *Engine, ctx context.Context, pages int, rest string) (grown, done chan error) {
	grown, done = make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := e.Run(ctx, Request{Language: "js", Code: fmt.Sprintf("m %d\no grown\n%s", pages, rest), Progress: func(ev Event) {
			if ev.Type == EventOutput {
				grown <- nil
			}
		}})
		done <- err
	}()
	return grown, done
}

func TestAProgramWaitsBeforeItGrowsOverTheMemoryInFlight(t *testing.T) {
	e := newTiny(t, Config{Running: 2, Memory: 64 << 20, Ready: -1})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first, firstDone := growing(t, e, ctx, 700, "l 0") // 44 MiB, and works on without an end
	<-first
	second, secondDone := growing(t, e, context.Background(), 700, "v 1")
	select {
	case <-second:
		t.Error("it grew over the bound")
	case <-time.After(100 * time.Millisecond):
	}
	if n := e.ledger.Bytes(); n > 64<<20 {
		t.Errorf("%d bytes are in flight", n)
	}
	cancel()
	<-firstDone
	<-second
	if err := <-secondDone; err != nil {
		t.Error(err)
	}
	wantLedger(t, e, 0)
}

func TestAProgramGrowsWhereAllOthersOnlyWait(t *testing.T) {
	e := newTiny(t, Config{Running: 2, Memory: 64 << 20, Ready: -1})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first, firstDone := growing(t, e, ctx, 700, "s 600000") // sleeps with what it holds
	<-first
	second, secondDone := growing(t, e, context.Background(), 700, "v 1")
	<-second
	if err := <-secondDone; err != nil {
		t.Error(err)
	}
	cancel()
	<-firstDone
}

func TestAProgramThatWaitsToGrowStillHasADeadline(t *testing.T) {
	e := newTiny(t, Config{Running: 2, Memory: 64 << 20, Ready: -1})
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	first, firstDone := growing(t, e, ctx, 700, "l 0")
	<-first
	_, err := tiny(t, e, "m 700\nv 1", limited(Limits{Time: 100 * time.Millisecond}))
	wantCode(t, err, fault.LimitTime)
	cancel()
	<-firstDone
}

func TestIdleSessionsGiveWayToRuns(t *testing.T) {
	e := newTiny(t, Config{Memory: 32 << 20, Ready: -1})
	for _, name := range []string{"a", "b", "c"} {
		if _, err := tiny(t, e, "m 400\na 1", inSession(name)); err != nil {
			t.Fatal(err)
		}
	}
	res, err := tiny(t, e, "v 1")
	wantValue(t, res, err, "1")
	if left := e.Sessions(nil, ""); len(left) == 3 {
		t.Errorf("sessions: %v", left)
	}
}

func TestABoundBelowWhatReadyInstancesTakeStopsNobody(t *testing.T) {
	e := newTiny(t, Config{Memory: 1, Ready: 4})
	if err := e.Warm(context.Background(), nil, "js"); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		res, err := tiny(t, e, "v 1")
		wantValue(t, res, err, "1")
	}
}
