package engine

import (
	"context"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// recorded runs a program whose record keeps everything, and gives it.
func recorded(t *testing.T, e *Engine, code string, calls *int) (*Result, audit.Recording) {
	t.Helper()
	p, err := policy.Parse("p.yaml", []byte("version: 1\ntools:\n  allow: [\"x.*\"]\naudit: {code: full, inputs: full, outputs: full}\npii: {mode: off}\n"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	next := hostfns.Func("x.next", func(context.Context, struct{}) (int, error) { *calls++; return *calls, nil })
	table, err := hostfns.NewTable(p, log, next)
	if err != nil {
		t.Fatal(err)
	}
	res, err := tiny(t, e, code, fixed, func(r *Request) { r.Table = table })
	if err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	rec, err := audit.Record(dir, res.RunID)
	if err != nil {
		t.Fatal(err)
	}
	return res, rec
}

func TestAReplayGivesTheRecordedValueAndCallsNothing(t *testing.T) {
	e := newTiny(t, Config{})
	calls := 0
	first, rec := recorded(t, e, "p 2 x.next {}\nc x.next {}", &calls)
	again, err := e.Replay(context.Background(), rec)
	wantValue(t, again, err, string(first.Value))
	if calls != 3 || again.Usage.Fuel != first.Usage.Fuel {
		t.Errorf("%d calls, fuel %d and %d", calls, first.Usage.Fuel, again.Usage.Fuel)
	}
}

func TestAReplayThatTakesAnotherCourseSaysSo(t *testing.T) {
	e := newTiny(t, Config{})
	calls := 0
	_, rec := recorded(t, e, "c x.next {}", &calls)
	rec.Start.Code = []byte("c x.next {}\nc x.next {}")
	_, err := e.Replay(context.Background(), rec)
	wantCode(t, err, fault.UsageAudit)
	rec.Start.Code = []byte("v 17")
	_, err = e.Replay(context.Background(), rec)
	wantCode(t, err, fault.UsageAudit)
}
