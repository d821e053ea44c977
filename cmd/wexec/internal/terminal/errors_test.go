package terminal

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
)

// Joined errors are printed separately, unless they are the cause of an error: then
// this error has the code and the hint.
func TestJoinedErrorsArePrintedOneAfterTheOther(t *testing.T) {
	a, b := fault.New(fault.UsageFlag, "a is wrong"), errors.New("b is wrong")
	for want, err := range map[string]error{
		"error: a is wrong [usage.flag]\nerror: b is wrong [internal]\n":                                     errors.Join(a, b),
		"error: a is wrong [usage.flag]\n":                                                                   errors.Join(a, nil),
		"error: no connection: b is wrong [store.unavailable]\nb is wrong\nhint: start it\n":                 fault.New(fault.StoreUnavailable, "no connection: %w", errors.Join(b, b)).WithHint("start it"),
		"error: a is wrong [usage.flag]\nerror: no connection: b is wrong [store.unavailable]\nb is wrong\n": errors.Join(a, fault.New(fault.StoreUnavailable, "no connection: %w", errors.Join(b, b))),
	} {
		var out strings.Builder
		New(io.Writer(&out), func(string) (string, bool) { return "", false }).Error(err)
		if out.String() != want {
			t.Errorf("got %q, want %q", &out, want)
		}
	}
}
