package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"testing"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/meter"
	"github.com/wexec/wexec/internal/snapshot"
	"github.com/wexec/wexec/internal/tools/tinyguest"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// tinyGuest returns the guest of package tinyguest.
var tinyGuest = sync.OnceValues(func() (*wasmmodules.Module, error) { return tinyguest.Module(meter.Options{}) })

// open returns an engine. With WEXEC_TEST_ON=interpreter it uses wazero's
// interpreter, and with "portable" memories that are copied, as on platforms that
// cannot map them.
func open(c Config) (*Engine, error) {
	on := os.Getenv("WEXEC_TEST_ON")
	c.Interpreter = c.Interpreter || on == "interpreter"
	e, err := New(context.Background(), c)
	if err == nil && on == "portable" {
		e.cache.store.Memories = snapshot.Copy
	}
	return e, err
}

// onInterpreter reports whether every engine of the tests is an interpreter,
// on which times mean nothing.
func onInterpreter() bool { return os.Getenv("WEXEC_TEST_ON") == "interpreter" }

// newTiny makes an engine whose every language is the tiny guest.
func newTiny(t testing.TB, c Config) *Engine {
	t.Helper()
	e, err := open(c)
	if err != nil {
		t.Fatal(err)
	}
	m, err := tinyGuest()
	if err != nil {
		t.Fatal(err)
	}
	e.guests.Open = opens(m)
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// opens gives the same module by every name.
func opens(m *wasmmodules.Module) func(string) (*wasmmodules.Module, error) {
	return func(string) (*wasmmodules.Module, error) { return m, nil }
}

// tiny runs a list of commands.
func tiny(t testing.TB, e *Engine, code string, change ...func(*Request)) (*Result, error) {
	t.Helper()
	r := Request{Language: JavaScript, Code: code}
	for _, f := range change {
		f(&r)
	}
	return e.Run(context.Background(), r)
}

func wantCode(t testing.TB, err error, code fault.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("the error is %v (%s), not %s", err, fault.CodeOf(err), code)
	}
}

func wantValue(t testing.TB, res *Result, err error, value string) {
	t.Helper()
	if err != nil {
		t.Fatalf("the run failed: %v (%s)", err, fault.CodeOf(err))
	}
	var have, want bytes.Buffer
	if json.Compact(&have, res.Value) != nil || json.Compact(&want, []byte(value)) != nil || have.String() != want.String() {
		t.Fatalf("the value is %s, not %s", res.Value, value)
	}
}
