package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// parked is a run that a process parked which is gone.
func (l lasting) parked(t *testing.T, id, code string, w store.Waits, records ...string) {
	t.Helper()
	lease := l.leased(t, id, code)
	for n, r := range records {
		sealed, err := l.o.Keys.sealBytes(t.Context(), recordPurpose(lease.Tenant, id, int64(n)), []byte(r))
		if err == nil {
			err = l.store.AppendRecord(t.Context(), lease, int64(n), sealed)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	o := store.Outcome{Result: []byte(`{"status":"waiting","stdout":"so far\n","parked":{"signals":["go"]}}`)}
	if err := l.store.Park(t.Context(), lease, w, o, store.Event{Type: "output", Data: []byte(`{"stream":"stdout","text":"so far\n"}`)}); err != nil {
		t.Fatal(err)
	}
}

// leased is a run that a process executes which is gone.
func (l lasting) leased(t *testing.T, id, code string) store.Lease {
	t.Helper()
	program := Program{Language: engine.JavaScript, Code: code}
	asked := request{Program: program, By: l.bot.Actor(), Trigger: "api"}
	data, _, err := asked.stored(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a, err := l.store.Accept(t.Context(), store.Run{Tenant: DefaultTenant, ID: id, Actor: "bot", Token: l.bot.ID, Language: program.Language, Program: code, Request: data}, "gone", store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	return a.Lease
}

func TestAParkedRunGoesOnInAnotherProcess(t *testing.T) {
	l := newLasting(t, 0)
	for id, wake := range map[string]func() error{
		"resume": func() error {
			_, err := l.Resume(t.Context(), l.bot, "resume")
			return err
		},
		"signal": func() error {
			_, err := l.Signal(t.Context(), l.bot, "signal", "go", []byte("1"))
			return err
		},
		"timer": func() error { return nil },
	} {
		w := store.Waits{Signals: map[string]int{"go": 0}}
		if id == "timer" {
			w.Until = time.Now().Add(time.Second)
		}
		l.parked(t, id, "return 7", w)
		if run, err := l.Wait(t.Context(), l.bot, id, time.Minute); err != nil || id != "timer" && (run.State != store.StateParked || run.Status != engine.StatusWaiting || run.Stdout != "so far\n" || run.Parked == nil) {
			t.Errorf("%s: %+v %v", id, run, err)
		}
		if err := wake(); err != nil {
			t.Fatal(id, err)
		}
		until(t, func() bool { return l.get(t, id).State == store.StateDone })
		if run := l.get(t, id); string(run.Value) != "7" || run.Parked != nil {
			t.Errorf("%s: %+v", id, run)
		}
	}
	l.empty(t)
}

func (l lasting) get(t *testing.T, id string) *Run {
	t.Helper()
	run, err := l.Get(t.Context(), l.bot, id)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func TestAParkedRunIsCancelledAtOnceWithItsJournal(t *testing.T) {
	l := newLasting(t, 0)
	l.parked(t, "run", "return 7", store.Waits{}, "a record")
	if ok, err := l.Cancel(t.Context(), l.bot, "run"); !ok || err != nil {
		t.Fatal(ok, err)
	}
	if run := l.get(t, "run"); run.State != store.StateDone || codeOf(run) != fault.Cancelled || run.Stdout != "so far\n" || run.Parked != nil {
		t.Errorf("%+v", run)
	}
	if records, err := l.store.Records(t.Context(), DefaultTenant, "run"); len(records) > 0 || err != nil {
		t.Errorf("the journal is kept: %v %v", records, err)
	}
	if _, err := l.Resume(t.Context(), l.bot, "run"); !errors.Is(err, fault.UsageConflict) {
		t.Errorf("a run that has ended goes on: %v", err)
	}
	l.empty(t)
}

func TestADeletionFindsAPersonInAJournalAndInASignal(t *testing.T) {
	l := newLasting(t, 0)
	l.parked(t, "journal", "return 7", store.Waits{}, "first", `{"to":"zoe.mueller@example.org"}`)
	l.parked(t, "signal", "return 7", store.Waits{})
	l.parked(t, "stays", "return 7", store.Waits{}, "a record")
	if _, err := l.Signal(t.Context(), l.bot, "signal", "mail", []byte(`["zoe.mueller@example.org"]`)); err != nil {
		t.Fatal(err)
	}
	admin := l.bot
	admin.Scopes = []store.Scope{store.ScopeAdmin}
	done, err := l.Delete(t.Context(), admin, Subject{Kind: "email", Value: "zoe.mueller@example.org"})
	if err != nil || done.Runs != 2 {
		t.Errorf("%+v %v", done, err)
	}
	if l.get(t, "stays").State != store.StateParked {
		t.Error("a run without the value ended")
	}
}

func TestAJournalIsSealedAndFenced(t *testing.T) {
	l := newLasting(t, 0)
	l.runs.mu.Lock()
	l.runs.draining = true // nothing else takes the run
	l.runs.mu.Unlock()
	lease := l.leased(t, "run", "return 7")
	lost := 0
	of := func(lease store.Lease) *journal {
		return &journal{store: l.store, keys: l.o.Keys, lease: lease, lost: func() { lost++ }}
	}
	first := of(lease)
	want := [][]byte{[]byte("one"), bytes.Repeat([]byte("two "), 100<<10), {}}
	for _, r := range want {
		if err := first.Append(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := first.Append(t.Context(), make([]byte, maxJournal)); !errors.Is(err, fault.LimitMemory) {
		t.Errorf("a journal without bounds: %v", err)
	}
	rows, err := l.store.Records(t.Context(), DefaultTenant, "run")
	if err != nil || len(rows) != len(want) || strings.Contains(string(rows[1].Data), "two two") {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, purpose := range []string{recordPurpose(DefaultTenant, "run", 0), recordPurpose(DefaultTenant, "other", 1), recordPurpose("other", "run", 1)} {
		if _, err := l.o.Keys.plain(t.Context(), purpose, rows[1]); err == nil {
			t.Errorf("a record is read as %s", purpose)
		}
	}
	if err := l.store.Requeue(t.Context(), lease); err != nil {
		t.Fatal(err)
	}
	next, ok, err := l.store.Claim(t.Context(), store.KindRun, "next")
	if err != nil || !ok {
		t.Fatal("the run is not in the queue", err)
	}
	second := of(next)
	got, err := second.read(t.Context())
	if err != nil || len(got) != len(want) {
		t.Fatalf("%d records, %v", len(got), err)
	}
	for n := range want {
		if !bytes.Equal(got[n], want[n]) {
			t.Errorf("record %d is another one", n)
		}
	}
	if err := first.Append(t.Context(), []byte("late")); !errors.Is(err, fault.StoreUnavailable) || lost != 1 {
		t.Errorf("a process without the lease writes: %v", err)
	}
	if err := second.Append(t.Context(), []byte("four")); err != nil {
		t.Error(err)
	}
	if err := l.store.End(t.Context(), next, store.Outcome{Status: "ok"}); err != nil {
		t.Error(err)
	}
}

func TestASignalComesInOrderAndIsTheSameEachTime(t *testing.T) {
	l := newLasting(t, 0)
	l.leased(t, "run", "return 7")
	x := &signals{store: l.store, keys: l.o.Keys, tenant: DefaultTenant, run: "run", awaited: map[string]int{},
		watch: func() (<-chan struct{}, func()) { return l.runs.watchers.watch(runKey{DefaultTenant, "run"}) }}
	type answer struct {
		payload string
		err     error
	}
	second := make(chan answer, 1)
	go func() {
		payload, err := x.Await(t.Context(), "run", "go", 1)
		second <- answer{string(payload), err}
	}()
	for n, payload := range []string{`{"a":1}`, `"second"`} {
		if number, err := l.Signal(t.Context(), l.bot, "run", "go", []byte(payload)); err != nil || number != int64(n) {
			t.Fatal(number, err)
		}
	}
	if got := <-second; got != (answer{`"second"`, nil}) {
		t.Errorf("%+v", got)
	}
	for range 2 {
		if payload, err := x.Await(t.Context(), "run", "go", 0); err != nil || string(payload) != `{"a":1}` {
			t.Errorf("%s %v", payload, err)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errStopped)
	if _, err := x.Await(ctx, "run", "never", 0); !errors.Is(err, errStopped) {
		t.Error(err)
	}
}

// A run that began in a process that is gone, and whose journal has no record, begins
// again. What clients got of its output is not sent twice.
func TestALostRunWithoutRecordsBeginsAgain(t *testing.T) {
	l := newLasting(t, 0)
	l.runs.mu.Lock()
	l.runs.draining = true // until it is lost
	l.runs.mu.Unlock()
	run := store.Run{Tenant: DefaultTenant, ID: "lost", Actor: "bot", Token: l.bot.ID, Language: engine.JavaScript}
	asked := request{Program: Program{Language: engine.JavaScript, Code: "console.log('first'); console.log('second'); return 7"}, By: l.bot.Actor(), Trigger: "api"}
	accepted, err := l.runs.accept(t.Context(), &run, asked, "gone", store.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	lease := accepted.Lease
	if err := l.store.Append(t.Context(), lease, store.Event{Type: "output", Data: []byte(`{"stream":"stdout","text":"first\n"}`)}); err != nil {
		t.Fatal(err)
	}
	late, err := store.Open(t.Context(), l.address, store.Options{Now: func() time.Time { return time.Now().Add(time.Minute) }})
	if err != nil {
		t.Fatal(err)
	}
	next, ok, err := late.Claim(t.Context(), store.KindRun, l.runs.owner)
	if err = errors.Join(err, late.Close()); err != nil || !ok {
		t.Fatal(ok, err)
	}
	stored, err := l.store.Run(t.Context(), DefaultTenant, "lost")
	if err != nil || stored.State != store.StateRunning {
		t.Fatal(stored.State, err)
	}
	l.runs.mu.Lock()
	l.runs.draining, l.runs.reserved = false, l.runs.reserved+1
	l.runs.mu.Unlock()
	<-l.runs.begin(next, stored, nil).done
	if run := l.get(t, "lost"); string(run.Value) != "7" || run.Stdout != "first\nsecond\n" {
		t.Errorf("%+v", run)
	}
	events, _, err := KeptEvents(t.Context(), l.store, DefaultTenant, "lost", 0)
	var output strings.Builder
	for _, e := range events {
		var out struct{ Text string }
		if e.Type == "output" && json.Unmarshal(e.Data, &out) == nil {
			output.WriteString(out.Text)
		}
	}
	if err != nil || output.String() != "first\nsecond\n" {
		t.Errorf("clients got %q, %v", output.String(), err)
	}
	l.empty(t)
}

// A run whose caller waits in the server's process goes on in the next one from its
// records: the call that it made is not made again.
func TestARunOfACallerInThisProcessGoesOnInTheNext(t *testing.T) {
	l := newLasting(t, 0)
	write(t, l.o.Data, "tenants/default/policy.yaml", "version: 1\ntools: {allow: ['artifacts.*']}\n")
	if err := l.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	table, err := l.Table(l.bot)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan *engine.Result, 1)
	go func() {
		res, _ := l.Run(t.Context(), l.bot, engine.Request{ID: "given", Language: engine.JavaScript, Trigger: "mcp", Table: table, Actor: l.bot.Actor(),
			Code: `const a = await artifacts.put("a", "text", {type: "text/plain"}); console.log("put"); await waitFor("go"); return a.bytes`})
		ended <- res
	}()
	until(t, func() bool {
		records, err := l.store.Records(t.Context(), DefaultTenant, "given")
		return err == nil && len(records) >= 2
	})
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	l.Drain(stopped)
	if res := <-ended; res.Error == nil || res.Error.Code != fault.Cancelled {
		t.Errorf("the caller has %+v", res)
	}
	next, err := Open(t.Context(), Options{Store: l.store, Data: l.o.Data, Env: l.o.Env, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if _, err := next.Signal(t.Context(), l.bot, "given", "go", nil); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return l.get(t, "given").State == store.StateDone })
	if run := l.get(t, "given"); string(run.Value) != "4" || run.Stdout != "put\n" || len(run.Calls) != 2 {
		t.Errorf("%+v", run)
	}
}
