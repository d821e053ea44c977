package httpd

import (
	"strings"
	"testing"

	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// parks makes a run that a process parked which is gone.
func (a *api) parks(id string, w store.Waits) {
	a.t.Helper()
	request := `{"language":"javascript","code":"return 7","by":{"id":"bot","type":"agent"},"trigger":"api"}`
	accepted, err := a.store.Accept(a.t.Context(), store.Run{Tenant: "default", ID: id, Actor: "bot", Language: "javascript", Request: []byte(request)}, "gone", store.Idempotency{})
	if err == nil {
		err = a.store.Park(a.t.Context(), accepted.Lease, w, store.Outcome{})
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

func TestAParkedRunIsListedAndResumed(t *testing.T) {
	a := newAPI(t, nil)
	a.parks("run", store.Waits{})
	var page struct{ Runs []shownRun }
	if a.call("reader", "GET", "/v1/runs?state=parked", "").is(200, &page); len(page.Runs) != 1 || page.Runs[0].RunID != "run" || page.Runs[0].Status != "waiting" {
		t.Errorf("%+v", page)
	}
	var run shownRun
	a.call("agent", "POST", "/v1/runs/run/resume", "").is(200, &run)
	until(t, "the run is done", func() bool {
		a.call("reader", "GET", "/v1/runs/run", "").is(200, &run)
		return run.State == "done"
	})
	if string(run.Value) != "7" {
		t.Errorf("%+v", run)
	}
	events, _, err := service.KeptEvents(t.Context(), a.store, "default", "run", 0)
	if err != nil || len(events) != 4 {
		t.Fatalf("%+v %v", events, err)
	}
	for n, state := range []string{"parked", "queued", "running"} {
		if got := string(events[n].Data); got != `{"state":"`+state+`"}` {
			t.Errorf("event %d is %s", n, got)
		}
	}
	a.call("agent", "POST", "/v1/runs/run/resume", "").problem(409, "usage.conflict")
}

// What a signal has is written by strangers.
func TestAHostileSignalIsRefused(t *testing.T) {
	a := newAPI(t, nil)
	a.parks("run", store.Waits{Signals: map[string]int{"go": 0}})
	const path = "/v1/runs/run/signals/"
	big := strings.Repeat("x", service.MaxSignal)
	a.call("other", "POST", path+"go", "").problem(404, "usage.run") // another tenant
	a.call("other", "POST", "/v1/runs/run/resume", "").problem(404, "usage.run")
	a.call("reader", "POST", path+"go", "").problem(403, "denied.scope")
	a.call("reader", "POST", "/v1/runs/run/resume", "").problem(403, "denied.scope")
	a.call("", "POST", path+"go", "").problem(401, "denied.token")
	a.call("agent", "POST", "/v1/runs/none/signals/go", "").problem(404, "usage.run")
	a.call("agent", "POST", path+"go", `"`+big+`"`).problem(413, "limit.artifact")
	for _, name := range []string{"a%00b", "a%0Ab", strings.Repeat("n", 201)} {
		a.call("agent", "POST", path+name, "1").problem(400, "usage.flag")
	}
	for _, body := range []string{"{", "1 2", "nul", `{"a":}`} {
		a.call("agent", "POST", path+"go", body).problem(400, "usage.flag")
	}
	var run shownRun
	if a.call("agent", "GET", "/v1/runs/run", "").is(200, &run); run.State != "parked" {
		t.Errorf("a signal that was refused woke the run: %+v", run)
	}
	var got struct {
		Name   string
		Number int
	}
	a.call("agent", "POST", path+"other", `"`+big[2:]+`"`).is(200, &got)
	if a.call("agent", "POST", path+"other", "[]").is(200, &got); got.Number != 1 || got.Name != "other" {
		t.Errorf("%+v", got)
	}
	if a.call("agent", "POST", path+"a%2Fb%20c", "").is(200, &got); got.Name != "a/b c" {
		t.Errorf("%+v", got)
	}
	if a.call("agent", "GET", "/v1/runs/run", "").is(200, &run); run.State != "parked" {
		t.Errorf("a signal for which the run does not wait woke it: %+v", run)
	}
	a.call("agent", "POST", path+"go", "").is(200)
	until(t, "the run is done", func() bool {
		a.call("reader", "GET", "/v1/runs/run", "").is(200, &run)
		return run.State == "done"
	})
	a.call("agent", "POST", path+"go", "").problem(409, "usage.conflict")
}
