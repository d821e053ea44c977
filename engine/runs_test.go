package engine

import (
	"context"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// silent never answers, as a person who is away.
type silent struct{}

func (silent) Ask(ctx context.Context, _ hostfns.Question) (hostfns.Reply, error) {
	<-ctx.Done()
	return hostfns.Reply{}, ctx.Err()
}

// listed waits until Runs has the wanted states by id, in the order of their start.
func listed(t *testing.T, e *Engine, want ...ActiveRun) []ActiveRun {
	t.Helper()
	same := func(have []ActiveRun) bool {
		for i := range have {
			if i >= len(want) || have[i].ID != want[i].ID || have[i].State != want[i].State {
				return false
			}
		}
		return len(have) == len(want)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		have := e.Runs()
		if same(have) {
			return have
		}
		if time.Now().After(end) {
			t.Fatalf("the runs are %+v, not %+v", have, want)
		}
	}
}

func TestRunsAreListedAndCancelledByID(t *testing.T) {
	p, err := policy.Parse("policy.yaml", []byte("version: 1\ntools: {ask: [math.add]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	table, err := hostfns.NewTable(p, audit.None(), add())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { table.Close() })
	e := newTiny(t, Config{Running: 1, Table: table})
	long := limited(Limits{Time: time.Hour, Fuel: 1 << 60})
	ended := make(chan *Result)
	start := func(id, code string, more ...func(*Request)) {
		go func() {
			res, _ := tiny(t, e, code, append(more, long, func(r *Request) { r.ID, r.Actor.ID = id, "of "+id })...)
			ended <- res
		}()
	}
	if e.Cancel("asks") || len(e.Runs()) != 0 {
		t.Error("an idle engine has runs")
	}
	asks, computes, queues := ActiveRun{ID: "asks", State: RunWaiting}, ActiveRun{ID: "computes", State: RunRunning}, ActiveRun{ID: "queues", State: RunQueued}
	start("asks", `c math.add {"a":1,"b":2}`, func(r *Request) { r.Asker = silent{} })
	listed(t, e, asks)
	start("computes", "l 0", func(r *Request) { r.Language = "js" })
	listed(t, e, asks, computes)
	start("queues", "v 1", func(r *Request) { r.Language, r.Session = Python, "mine" })
	all := listed(t, e, asks, computes, queues)
	if r := all[1]; r.Language != JavaScript || r.Actor.ID != "of computes" || r.Table != table || r.Started.IsZero() {
		t.Errorf("%+v", r)
	}
	if r := all[2]; r.Language != Python || r.Session != "mine" {
		t.Errorf("%+v", r)
	}
	for i, id := range []string{"queues", "asks", "computes"} {
		if !e.Cancel(id) {
			t.Errorf("%s is not active", id)
		}
		if res := <-ended; res.RunID != id || res.Error == nil || res.Error.Code != fault.Cancelled {
			t.Errorf("%s ended with %+v", id, res)
		}
		if n := len(e.Runs()); e.Cancel(id) || n != 2-i {
			t.Errorf("%s can be cancelled again, %d runs are left", id, n)
		}
	}
}
