package service

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/internal/tools/testpg"
	"github.com/wexec/wexec/internal/tools/tests3"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/store"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testpg.Stop()
	tests3.Stop()
	os.Exit(code)
}

func TestTheServiceOnPostgreSQL(t *testing.T) {
	testpg.Again(t, "Events|Drain|DoesNotAnswer|TakenOver|Parked|Journal|Signal|Task")
}

// lasting is a service, its store, and a principal that runs programs.
type lasting struct {
	*Service
	store   *store.Store
	address string
	bot     Principal
}

// newLasting opens a service for running programs at once. Writes wait a short time
// for a store that is locked.
func newLasting(t *testing.T, running int) lasting {
	t.Helper()
	l := lasting{address: testpg.Store(t), bot: Principal{Token: store.Token{ID: "tok_bot", Tenant: DefaultTenant, Name: "bot", Type: store.TypeAgent, Scopes: []store.Scope{store.ScopeRun}}}}
	data := t.TempDir()
	write(t, data, "tenants/default/wexec.yaml", "cache: "+testenv.Cache()+"\n")
	var err error
	if l.store, err = store.Open(t.Context(), l.address, store.Options{Wait: 100 * time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.store.Close() })
	if l.Service, err = Open(t.Context(), Options{Store: l.store, Data: data, Env: testenv.Isolated(data), Version: "test", Running: running}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// submit sends a JavaScript program and waits for it.
func (l lasting) submit(ctx context.Context, code string, wait time.Duration) (*Run, error) {
	return l.Submit(ctx, l.bot, Submission{Program: Program{Language: "js", Code: code, Limits: policy.Limits{Time: time.Minute, Fuel: 1e12}}, Trigger: "api"}, wait)
}

// begin sends a program that goes on.
func (l lasting) begin(t *testing.T, code string) string {
	t.Helper()
	run, err := l.submit(t.Context(), code, 0)
	if err != nil {
		t.Fatal(err)
	}
	return run.RunID
}

// end waits for the end of a run.
func (l lasting) end(t *testing.T, id string) *Run {
	t.Helper()
	run, err := l.Wait(t.Context(), l.bot, id, time.Minute)
	if err != nil || run.State != store.StateDone {
		t.Fatalf("%+v %v", run, err)
	}
	return run
}

// empty fails the test unless all runs have ended and the store has no fault.
func (l lasting) empty(t *testing.T) {
	t.Helper()
	if q, err := l.store.Queue(t.Context(), store.KindRun, ""); err != nil || q != (store.Queued{}) {
		t.Errorf("the queue has %+v %v", q, err)
	}
	if r, err := l.store.Check(t.Context()); err != nil || len(r.Faults) != 0 {
		t.Errorf("the store has faults: %q %v", r.Faults, err)
	}
}

func codeOf(r *Run) fault.Code {
	if r.Error == nil {
		return ""
	}
	return r.Error.Code
}

func TestEventsAreWrittenTogetherAndInOrder(t *testing.T) {
	l := newLasting(t, 0)
	if _, err := l.submit(t.Context(), "1", time.Minute); err != nil {
		t.Fatal(err)
	}
	_, before, _ := l.store.Work()
	const lines = 2000
	run, err := l.submit(t.Context(), fmt.Sprintf("for (let i = 0; i < %d; i++) console.log(i)", lines), time.Minute)
	if err != nil || run.Status != engine.StatusOK {
		t.Fatalf("%+v %v", run, err)
	}
	_, after, _ := l.store.Work()
	var out, want strings.Builder
	for i := range lines {
		fmt.Fprintln(&want, i)
	}
	last := int64(0)
	for end := false; !end; {
		var events []store.Event
		if events, end, err = l.Events(t.Context(), l.bot, run.RunID, last, nil); err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if last++; e.Number != last {
				t.Fatalf("event %d has the number %d", last, e.Number)
			}
			var o struct{ Text string }
			if e.Type == "output" && json.Unmarshal(e.Data, &o) == nil {
				out.WriteString(o.Text)
			}
		}
	}
	if out.String() != want.String() {
		t.Errorf("the events have %d bytes of output, want %d", out.Len(), want.Len())
	}
	if n := after - before; n > lines/20 {
		t.Errorf("%d lines needed %d commits", lines, n)
	}
	l.empty(t)
}

// A run that another process took over ends here, and what that process records is
// its end.
func TestARunThatIsTakenOverEnds(t *testing.T) {
	l := newLasting(t, 0)
	id := l.begin(t, "for (;;) { console.log('.'); await new Promise(r => setTimeout(r, 20)) }")
	late, err := store.Open(t.Context(), l.address, store.Options{Now: func() time.Time { return time.Now().Add(time.Minute) }})
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	var lease store.Lease
	until(t, func() bool { // a claim passes over a run that is just being written
		var ok bool
		lease, ok, err = late.Claim(t.Context(), store.KindRun, "other")
		return ok || err != nil
	})
	if err != nil || lease.ID != id {
		t.Fatalf("%+v %v", lease, err)
	}
	x := l.runs.execution(DefaultTenant, id)
	if x == nil {
		t.Fatal("the run ended before it was taken over")
	}
	<-x.done
	if !errors.Is(x.err, fault.StoreUnavailable) || x.recorded {
		t.Errorf("%v, recorded: %t", x.err, x.recorded)
	}
	if run, err := l.Get(t.Context(), l.bot, id); err != nil || run.State != store.StateRunning {
		t.Errorf("%+v %v", run, err)
	}
	if err := late.End(t.Context(), lease, store.Outcome{Status: "ok", Result: []byte(`{"status":"ok","value":7}`)}); err != nil {
		t.Fatal(err)
	}
	if run := l.end(t, id); string(run.Value) != "7" {
		t.Errorf("%+v", run)
	}
	l.empty(t)
}

// What a process had begun and lost is begun again only if its journal shows that
// nothing happened: the process kept one, and wrote no record.
func TestARunThatHadStartedIsRunAgainOnlyIfNothingHappened(t *testing.T) {
	address := testpg.Store(t)
	dead, err := store.Open(t.Context(), address, store.Options{Now: func() time.Time { return time.Now().Add(-time.Minute) }})
	if err != nil {
		t.Fatal(err)
	}
	for id, state := range map[string]store.State{"01WAITING": store.StateWaiting, "01RUNNING": store.StateRunning, "01QUEUED": "",
		"02WAITING journal 1": store.StateWaiting, "03RUNNING journal 1": store.StateRunning, "04RUNNING journal 7": store.StateRunning} {
		id, mark, _ := strings.Cut(id, " journal ")
		program := []byte(`{"language":"javascript","code":"return 7","by":{"id":"bot"},"trigger":"api","journal":` + cmp.Or(mark, "0") + `}`)
		owner := "dead"
		if state == "" {
			owner = ""
		}
		a, err := dead.Accept(t.Context(), store.Run{Tenant: DefaultTenant, ID: id, Language: "javascript", Request: program}, owner, store.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		if state == store.StateWaiting {
			if err := errors.Join(dead.Ask(t.Context(), a.Lease, store.Approval{ID: "q" + id, Run: id, Question: []byte(`{}`), Expires: time.Now().Add(time.Hour)}, store.Event{Type: "approval"}),
				dead.SetState(t.Context(), a.Lease, state)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := dead.Close(); err != nil {
		t.Fatal(err)
	}
	data := t.TempDir()
	write(t, data, "tenants/default/wexec.yaml", "cache: "+testenv.Cache()+"\n")
	kept, err := store.Open(t.Context(), address, store.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	s, err := Open(t.Context(), Options{Store: kept, Data: data, Env: testenv.Isolated(data), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l := lasting{Service: s, store: kept, bot: Principal{Token: store.Token{Tenant: DefaultTenant}}}
	for id, want := range map[string]fault.Code{"01WAITING": fault.Cancelled, "01RUNNING": fault.Cancelled, "01QUEUED": "", "02WAITING": "", "03RUNNING": "", "04RUNNING": fault.Cancelled} {
		var run *Run
		for run = nil; run == nil || run.State != store.StateDone; {
			if run, err = s.Wait(t.Context(), l.bot, id, time.Minute); err != nil {
				t.Fatal(err)
			}
			time.Sleep(10 * time.Millisecond) // a run that waits for a person is returned at once
		}
		if codeOf(run) != want || want == "" && string(run.Value) != "7" {
			t.Errorf("%s: %+v", id, run)
		}
	}
	if open, _, err := s.Approvals(t.Context(), l.bot, store.ApprovalFilter{}); err != nil || len(open) != 0 {
		t.Errorf("%+v %v", open, err)
	}
	l.empty(t)
}

func TestARunEndsOnceHoweverOftenItIsCancelled(t *testing.T) {
	l := newLasting(t, 2) // so that some runs wait
	var all sync.WaitGroup
	for i := range 12 {
		all.Go(func() {
			run, err := l.submit(t.Context(), fmt.Sprintf("await new Promise(r => setTimeout(r, %d)); return 'done'", 10*i), 0)
			if err != nil {
				t.Error(err)
				return
			}
			var cancelling sync.WaitGroup
			for range 3 {
				cancelling.Go(func() {
					if _, err := l.Cancel(t.Context(), l.bot, run.RunID); err != nil {
						t.Error(err)
					}
				})
			}
			cancelling.Wait()
			ended, err := l.Wait(t.Context(), l.bot, run.RunID, time.Minute)
			if err != nil || ended.State != store.StateDone || codeOf(ended) != fault.Cancelled && ended.Status != engine.StatusOK {
				t.Errorf("%+v %v", ended, err)
			}
			if ok, err := l.Cancel(t.Context(), l.bot, run.RunID); ok || err != nil {
				t.Errorf("a run that has ended is cancelled: %t %v", ok, err)
			}
		})
	}
	all.Wait()
	l.empty(t)
}

func TestADrainEndsRunsAndTakesNoMore(t *testing.T) {
	l := newLasting(t, 1)
	first := l.begin(t, "await new Promise(r => setTimeout(r, 200)); return 'first'")
	second := l.begin(t, "return 'second'")
	l.Drain(t.Context())
	if run := l.end(t, first); string(run.Value) != `"first"` {
		t.Errorf("%+v", run)
	}
	if _, err := l.submit(t.Context(), "1", 0); !errors.Is(err, fault.LimitBusy) {
		t.Errorf("a service that drains takes a run: %v", err)
	}
	if run, err := l.Get(t.Context(), l.bot, second); err != nil || run.State != store.StateQueued {
		t.Errorf("a run that waits is begun by a service that drains: %+v %v", run, err)
	}
	// At a deadline, runs stop, and wait for the next process.
	m := newLasting(t, 1)
	id := m.begin(t, "for (;;) {}")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	m.Drain(ctx)
	if run, err := m.Get(t.Context(), m.bot, id); err != nil || run.State != store.StateQueued {
		t.Errorf("%+v %v", run, err)
	}
	if ok, err := m.Cancel(t.Context(), m.bot, id); !ok || err != nil {
		t.Error(ok, err)
	}
}

// While the store does not answer no run is accepted, and a run that ends is kept as
// soon as the store answers again.
func TestAStoreThatDoesNotAnswerLosesNothing(t *testing.T) {
	l := newLasting(t, 0)
	if _, err := l.submit(t.Context(), "1", time.Minute); err != nil { // everything is warm
		t.Fatal(err)
	}
	id := l.begin(t, "console.log('kept'); for (;;) {}")
	if _, _, err := l.Events(t.Context(), l.bot, id, 0, nil); err != nil { // it has begun
		t.Fatal(err)
	}
	x := l.runs.execution(DefaultTenant, id)
	thaw := freeze(t, l.address)
	x.cancel(errCancelled(l.bot))
	if _, err := l.submit(t.Context(), "2", time.Minute); !errors.Is(err, fault.StoreUnavailable) {
		t.Errorf("a run is accepted that is not kept: %v", err)
	}
	select {
	case <-x.done:
		t.Error("the run ended before its end was kept")
	default:
	}
	thaw()
	if run := l.end(t, id); codeOf(run) != fault.Cancelled || run.Stdout != "kept\n" {
		t.Errorf("%+v", run)
	}
	if run, err := l.submit(t.Context(), "3", time.Minute); err != nil || string(run.Value) != "3" {
		t.Errorf("%+v %v", run, err)
	}
	runs, _, err := l.List(t.Context(), l.bot, store.Filter{})
	if err != nil || len(runs) != 3 {
		t.Errorf("%d runs are kept: %v", len(runs), err)
	}
	l.empty(t)
}

// freeze makes writes to a store wait, until thaw.
func freeze(t *testing.T, address string) (thaw func()) {
	t.Helper()
	driver, name, lock := "pgx", address, "LOCK TABLE queue, runs IN EXCLUSIVE MODE"
	if file, ok := strings.CutPrefix(address, "sqlite:"); ok {
		driver, name, lock = "sqlite", file+"?_txlock=immediate", "SELECT 1"
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	var tx *sql.Tx
	for range 1000 { // another write may have the lock
		if tx, err = db.Begin(); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	if err == nil {
		_, err = tx.Exec(lock)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := errors.Join(tx.Rollback(), db.Close()); err != nil {
			t.Error(err)
		}
	}
}

// Events that cannot be written wait for the store in their order, up to a bound.
func TestEventsWaitForTheStore(t *testing.T) {
	l := newLasting(t, 0)
	id := l.begin(t, "for (;;) {}")
	x := l.runs.execution(DefaultTenant, id)
	thaw := freeze(t, l.address)
	const line = 1 << 10
	for i := range 2 * maxUnwritten / line {
		if i == 2 {
			x.flush() // fails
		}
		x.record("output", map[string]string{"text": fmt.Sprintf("%0*d", line, i)})
	}
	x.flushing.Lock() // no attempt has them
	x.mu.Lock()
	if x.size > maxUnwritten || x.size < maxUnwritten/2 || !x.failing {
		t.Errorf("%d bytes wait, failing: %v", x.size, x.failing)
	}
	x.mu.Unlock()
	x.flushing.Unlock()
	thaw()
	x.cancel(errCancelled(l.bot))
	l.end(t, id)
	next, last := 0, int64(0)
	for end := false; !end; {
		var events []store.Event
		var err error
		if events, end, err = l.Events(t.Context(), l.bot, id, last, nil); err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			last = e.Number
			var o struct{ Text string }
			if e.Type != "output" {
				continue
			}
			if err := json.Unmarshal(e.Data, &o); err != nil || o.Text != fmt.Sprintf("%0*d", line, next) {
				t.Fatalf("event %d is %.40s %v", next, o.Text, err)
			}
			next++
		}
	}
	if next < maxUnwritten/2/line {
		t.Errorf("%d events are kept", next)
	}
}

func TestARunThatIsAnsweredBeforeItsEndIsOnDisk(t *testing.T) {
	l := newLasting(t, 0)
	_, _, before := l.store.Work()
	run, err := l.submit(t.Context(), "for (;;) {}", time.Millisecond)
	if err != nil || run.State == store.StateDone {
		t.Fatalf("%+v %v", run, err)
	}
	if _, _, after := l.store.Work(); after == before {
		t.Error("the run was acknowledged and is not on disk")
	}
	if _, err := l.Cancel(t.Context(), l.bot, run.RunID); err != nil {
		t.Fatal(err)
	}
}
