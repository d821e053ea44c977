package tests

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/tools/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// machine returns an isolated environment with the path of the demo server.
func machine(t *testing.T) *config.Environment {
	t.Helper()
	return testenv.Isolated(t.TempDir(), "DEMO_SERVER="+testenv.Program(t, "demo-server"))
}

// run runs a program and fails the test if it fails.
func run(t *testing.T, host *config.Host, req engine.Request) *engine.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	res, err := host.Engine.Run(ctx, req)
	if err != nil {
		t.Fatalf("%v\nstdout %s\nstderr %s\nerror %+v", err, res.Stdout, res.Stderr, res.Error)
	}
	return res
}

// sameJSON compares two JSON documents by value.
func sameJSON(t *testing.T, what string, got, want []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Errorf("%s: invalid JSON %q: %v", what, got, err)
		return
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatalf("%s: invalid JSON in the expectation %q: %v", what, want, err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
