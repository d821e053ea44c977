package upstream

import (
	"context"
	"strings"
	"testing"

	"github.com/wexec/wexec/hostfns"
)

// runGate is the gate of a call of a run.
type runGate struct {
	hostfns.Gate
	run context.Context
}

func (g runGate) Lifetime() context.Context { return g.run }

// A request over stdio names no call. The client of one program must not see what a
// server asks for another.
func TestARequestOfAServerGoesToTheRunItIsFor(t *testing.T) {
	one, cancel := context.WithCancel(t.Context())
	defer cancel()
	other, cancelOther := context.WithCancel(t.Context())
	defer cancelOther()
	var a answers
	if _, err := a.caller(t.Context()); err == nil {
		t.Error("a request without a call goes somewhere")
	}
	a.admit(1, runGate{run: one})
	a.admit(2, runGate{run: one})
	if gate, err := a.caller(t.Context()); err != nil || gate.Lifetime() != one {
		t.Errorf("two calls of one run: %v", err)
	}
	a.admit(3, runGate{run: other})
	if _, err := a.caller(t.Context()); err == nil || !strings.Contains(err.Error(), "several programs") {
		t.Errorf("calls of two runs: %v", err)
	}
	for n, run := range map[int64]context.Context{1: one, 3: other} {
		if gate, err := a.caller(context.WithValue(t.Context(), callKey{}, n)); err != nil || gate.Lifetime() != run {
			t.Errorf("a request in the answer of call %d: %v", n, err)
		}
	}
	a.admit(4, nil)
	a.forget(3)
	if gate, err := a.caller(t.Context()); err != nil || gate.Lifetime() != one {
		t.Errorf("a call of a Go host and two of a run: %v", err)
	}
}
