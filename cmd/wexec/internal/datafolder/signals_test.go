package datafolder

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/wexec/wexec/fault"
)

// TestASignalReachesARunThatAnotherProcessExecutes sends signals from many processes at
// once. Each is kept, those with one name come in their order, and the file is sealed.
func TestASignalReachesARunThatAnotherProcessExecutes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	run := begun(t, dir, 1)
	waiting := make(chan string, 1)
	go func() {
		payload, err := run.Await(t.Context(), run.ID, "go", 1)
		if err != nil {
			t.Error(err)
		}
		waiting <- string(payload)
	}()
	for n, payload := range []string{`{"mail":"` + secret + `"}`, `"second"`} {
		number, err := New(dir, "").Runs().Signal(t.Context(), run.ID, "go", json.RawMessage(payload))
		if err != nil || number != n {
			t.Fatalf("%d, %v", number, err)
		}
	}
	if got := <-waiting; got != `"second"` {
		t.Errorf("%s", got)
	}
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() {
			if _, err := New(dir, "").Runs().Signal(t.Context(), run.ID, "other", json.RawMessage("1")); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	run = resumed(t, dir, run, 1)
	for range 2 {
		if payload, err := run.Await(t.Context(), run.ID, "go", 0); err != nil || string(payload) != `{"mail":"`+secret+`"}` {
			t.Errorf("%s %v", payload, err)
		}
	}
	if payload, err := run.Await(t.Context(), run.ID, "other", 9); err != nil || string(payload) != "1" {
		t.Errorf("%s %v", payload, err)
	}
	text, err := os.ReadFile(filepath.Join(run.dir, signalsName))
	if err != nil || strings.Contains(string(text), secret) {
		t.Errorf("the file is not sealed: %v", err)
	}
	ended, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	cancel(stopped)
	if _, err := run.Await(ended, run.ID, "never", 0); !errors.Is(err, stopped) {
		t.Error(err)
	}
	if err := run.Remove(); err != nil {
		t.Error(err)
	}
	_, err = New(dir, "").Runs().Signal(t.Context(), run.ID, "go", json.RawMessage("1"))
	refusesRun(t, err, "no parked run")
}

func TestSignalsOfARunOfThisMachineAreBounded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	run := begun(t, dir, 0)
	defer run.Close()
	runs := New(dir, "").Runs()
	for name, c := range map[string]struct{ name, payload string }{
		"no name":     {"", "1"},
		"a long name": {strings.Repeat("n", 101), "1"},
		"no JSON":     {"go", "text"},
		"too large":   {"go", `"` + strings.Repeat("x", 64<<10) + `"`},
	} {
		if _, err := runs.Signal(t.Context(), run.ID, c.name, json.RawMessage(c.payload)); !errors.Is(err, fault.UsageFlag) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := run.write(t.Context(), signalsName, make([]signal, maxSignals)); err != nil {
		t.Fatal(err)
	}
	if _, err := runs.Signal(t.Context(), run.ID, "go", json.RawMessage("1")); !errors.Is(err, fault.LimitQuota) {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(filepath.Join(run.dir, signalsName), []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := run.Await(t.Context(), run.ID, "go", 0)
	refusesRun(t, err, "its signals")
}
