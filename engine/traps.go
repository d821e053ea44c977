package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/sys"
	"github.com/wexec/wexec/fault"
)

// stop is what a host function panics with to end a run. It comes out of the
// guest's call as an error that wraps it.
type stop struct{ fault *fault.Error }

func (s *stop) Error() string { return s.fault.Error() }
func (s *stop) Unwrap() error { return s.fault }

// guestTrapped begins the message of a trap.
const guestTrapped = "the guest trapped: "

// trapped says why a guest did not return, from the error its call gave. It is
// the only place that reads wazero's words: its traps have no types.
func trapped(err error) *fault.Error {
	var s *stop
	if errors.As(err, &s) {
		return s.fault
	}
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return fault.New(fault.Internal, "the interpreter ended itself with status %d", exit.ExitCode())
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return known
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	text = strings.TrimPrefix(text, "failed to initialize runtime: ") // Extism's words
	switch {
	case strings.Contains(text, "stack overflow"):
		return fault.New(fault.LimitRecursion, "the program recursed deeper than the sandbox's stack").
			WithHint("recurse less, or use a loop; --recursion N ends it earlier, as an exception")
	case strings.HasPrefix(text, "wasm error: "):
		return fault.New(fault.Internal, guestTrapped+"%s", strings.TrimPrefix(text, "wasm error: "))
	}
	return fault.New(fault.Internal, "the guest failed: %s", text)
}

// broughtDown is what an internal fault is where a program's own doing may be
// behind it: it ended its interpreter, or made it trap. The instance is gone
// either way, and the host is as whole as before.
func broughtDown(f *fault.Error, err error) *fault.Error {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return &fault.Error{Code: fault.GuestExit, Message: fmt.Sprintf("the program ended its interpreter with status %d", exit.ExitCode()), Err: exit}
	}
	if what, ok := strings.CutPrefix(f.Message, guestTrapped); ok {
		return fault.New(fault.GuestException, "the program brought its interpreter down: %s", what).
			WithHint("os.abort, crafted bytecode and the like end the sandbox; nothing else was touched")
	}
	return f
}

// interrupted says why a context ended, as the fault of the run that it held.
func interrupted(ctx context.Context) *fault.Error {
	cause := context.Cause(ctx)
	var known *fault.Error
	switch {
	case cause == nil:
		return nil
	case errors.As(cause, &known):
		return known
	case errors.Is(cause, context.DeadlineExceeded):
		return fault.New(fault.LimitTime, "the caller's deadline has passed")
	}
	return fault.New(fault.Cancelled, "the run was cancelled")
}
