package sandbox

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strings"
	"time"

	"github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/units"
)

// stop is the panic with which a host function ends a run. The guest's call
// returns it as an error.
type stop struct{ fault *fault.Error }

func (s *stop) Error() string { return s.fault.Error() }
func (s *stop) Unwrap() error { return s.fault }

// trapPrefix begins the message of a trap.
const trapPrefix = "the guest trapped: "

// trapFault returns the reason why a guest did not return, from the error of
// its call. It is the only place that parses wazero's messages: its traps have
// no types.
func trapFault(err error) *fault.Error {
	var s *stop
	if errors.As(err, &s) {
		return s.fault
	}
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return fault.New(fault.Internal, "the interpreter exited with status %d", exit.ExitCode())
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return known
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	text = strings.TrimPrefix(text, "failed to initialize runtime: ") // Extism's
	switch {
	case strings.Contains(text, "stack overflow"):
		return fault.New(fault.LimitRecursion, "the program recursed deeper than the sandbox's stack").
			WithHint("recurse less, or use a loop; limits.recursion: N ends it earlier, as an exception")
	case strings.HasPrefix(text, "wasm error: "):
		return fault.New(fault.Internal, trapPrefix+"%s", strings.TrimPrefix(text, "wasm error: "))
	}
	return fault.New(fault.Internal, "the guest failed: %s", text)
}

// crashFault turns the fault of an interpreter that a program may have crashed
// into one of the program: it exited or trapped. The instance is discarded
// either way.
func crashFault(f *fault.Error, err error) *fault.Error {
	var exit *sys.ExitError
	if errors.As(err, &exit) {
		return &fault.Error{Code: fault.GuestExit, Message: fmt.Sprintf("the program ended its interpreter with status %d", exit.ExitCode()), Err: exit}
	}
	if what, ok := strings.CutPrefix(f.Message, trapPrefix); ok {
		return fault.New(fault.GuestException, "the program crashed its interpreter: %s", what).
			WithHint("os.abort, crafted bytecode and the like end the sandbox and affect nothing else")
	}
	return f
}

// Interrupted returns the fault of a run whose context has ended, or nil.
func Interrupted(ctx context.Context) *fault.Error {
	cause := context.Cause(ctx)
	var known *fault.Error
	switch {
	case cause == nil:
		return nil
	case errors.As(cause, &known):
		return known
	case errors.Is(cause, context.DeadlineExceeded):
		return fault.New(fault.LimitTime, "the caller's deadline passed")
	}
	return fault.New(fault.Cancelled, "the run was cancelled")
}

func fuelFault(limit int64) *fault.Error {
	return fault.New(fault.LimitFuel, "the program used more than its %d units of fuel", limit).
		WithHint("do less work, or allow more with limits.fuel: %d", 2*min(limit, math.MaxInt64/2))
}

// timeFault is the end of a run whose time is up while it waits for tools, or for
// none.
func timeFault(limit time.Duration, tools []string) *fault.Error {
	waited, less := "", "do less work"
	if len(tools) > 0 {
		names := strings.Join(tools[:min(len(tools), maxAwaited)], ", ")
		if more := len(tools) - maxAwaited; more > 0 {
			names = fmt.Sprintf("%s and %d more", names, more)
		}
		waited, less = ": it was waiting for "+names, "ask "+names+" for less"
	}
	return fault.New(fault.LimitTime, "the program ran longer than its %s%s", limit, waited).
		WithHint("%s, or allow more with limits.time: %s", less, (2 * limit).Round(time.Millisecond))
}

// maxAwaited is how many tools an error names.
const maxAwaited = 3

func memoryFault(limit int64) *fault.Error {
	return fault.New(fault.LimitMemory, "the program used more than its %s of memory", units.FormatSize(limit)).
		WithHint("keep less at once, or allow more with limits.memory: %s", units.FormatSize(RoundUp(limit)))
}

func outputFault(limit int64) *fault.Error {
	return fault.New(fault.LimitOutput, "the run's output is larger than its %s", units.FormatSize(limit)).
		WithHint("return less, or allow more with limits.output: %s", units.FormatSize(max(RoundUp(limit), 64<<10)))
}

func boundsFault() *fault.Error {
	return fault.New(fault.Internal, "the guest passed an address outside its memory")
}

// RoundUp returns the next power of two above n, which hints propose.
func RoundUp(n int64) int64 {
	if n < 0 || n >= math.MaxInt64/2 {
		return math.MaxInt64
	}
	return 1 << bits.Len64(uint64(n))
}
