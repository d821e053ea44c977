package engine

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
)

// However a run ends, its listener hears of it once, last, with the status and
// under the run's own id.
func TestEveryRunEndsWithOneDone(t *testing.T) {
	e := newTiny(t, Config{Queue: -1, Running: 1, Table: newTable(t, audit.None(), add())})
	closed, err := open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		e      *Engine
		ctx    context.Context
		req    Request
		code   fault.Code
		status Status
	}{
		"a value":          {e, t.Context(), Request{Code: "v 1"}, "", StatusOK},
		"an exception":     {e, t.Context(), Request{Code: "e {}"}, fault.GuestException, StatusError},
		"a trap":           {e, t.Context(), Request{Code: "x"}, fault.GuestException, StatusError},
		"a limit":          {e, t.Context(), Request{Code: "l 0", Limits: Limits{Fuel: 1000}}, fault.LimitFuel, StatusLimit},
		"a denial":         {e, t.Context(), Request{Code: `e {"code":"denied.tool"}`}, fault.DeniedTool, StatusDenied},
		"a cancelled run":  {e, gone, Request{Code: "l 0"}, fault.Cancelled, StatusError},
		"a bad request":    {e, t.Context(), Request{Code: "v 1", Args: []byte("{")}, fault.UsageFlag, StatusError},
		"no language":      {e, t.Context(), Request{Language: "cobol"}, fault.UsageLanguage, StatusError},
		"a missing plugin": {e, t.Context(), Request{Plugin: "none.wasm", Function: "f"}, fault.UsageFile, StatusError},
		"a closed engine":  {closed, t.Context(), Request{Code: "v 1"}, fault.Cancelled, StatusError},
		"a session":        {e, t.Context(), Request{Code: "a 1", Session: "s"}, "", StatusOK},
		"a first run":      {e, t.Context(), Request{Code: "r", Deterministic: true}, "", StatusOK},
	} {
		for range 2 { // the second of the last is answered from the cache
			var heard []Event
			req := c.req
			if req.Language == "" && req.Plugin == "" {
				req.Language = JavaScript
			}
			req.Progress = func(ev Event) { heard = append(heard, ev) }
			res, err := c.e.Run(c.ctx, req)
			if err != nil || c.code != "" {
				wantCode(t, err, c.code)
			}
			if len(heard) == 0 {
				t.Errorf("%s: nothing was heard", name)
				continue
			}
			for i, ev := range heard {
				if last := i == len(heard)-1; (ev.Type == EventDone) != last || ev.Run != res.RunID || ev.Time.IsZero() {
					t.Errorf("%s: event %d of %d is %+v", name, i, len(heard), ev)
				}
			}
			if last := heard[len(heard)-1]; last.Text != string(c.status) || res.Status != c.status {
				t.Errorf("%s: done says %q, the result %q, wanted %q", name, last.Text, res.Status, c.status)
			}
		}
	}
}

// What a program writes arrives while it still runs, stdout and stderr in the
// order in which they were written.
func TestOutputArrivesWhileTheProgramRuns(t *testing.T) {
	e := newTiny(t, Config{})
	for _, rest := range []string{"l 0", "s 600000"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		var both strings.Builder
		end := writer(func(p []byte) (int, error) {
			if both.Write(p); strings.HasSuffix(both.String(), "four\n") {
				cancel() // it does not end by itself
			}
			return len(p), nil
		})
		_, err := e.Run(ctx, Request{Language: JavaScript, Code: "o one\nw two\no three\nw four\n" + rest, Limits: Limits{Time: time.Hour, Fuel: 1 << 60},
			Output: Output{Stdout: end, Stderr: end}})
		cancel()
		wantCode(t, err, fault.Cancelled)
		if both.String() != "one\ntwo\nthree\nfour\n" {
			t.Errorf("%s: %q", rest, both.String())
		}
	}
}

type writer func([]byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }
