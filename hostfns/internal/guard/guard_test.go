package guard

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

func TestCallReturnsWhateverTheFunctionDoes(t *testing.T) {
	failed, stopped := errors.New("failed"), errors.New("stopped")
	ended, end := context.WithCancelCause(t.Context())
	end(stopped)
	for name, c := range map[string]struct {
		ctx  context.Context
		f    func() (int, error)
		want func(int, error) bool
	}{
		"returns": {t.Context(), func() (int, error) { return 1, failed }, func(n int, err error) bool { return n == 1 && err == failed }},
		"hangs":   {ended, func() (int, error) { select {} }, func(n int, err error) bool { return n == 0 && err == stopped }},
		"panics": {t.Context(), func() (int, error) { panic("boom") }, func(_ int, err error) bool {
			var p *Panic
			return errors.As(err, &p) && p.Value == "boom" && len(p.Stack) > 0
		}},
		"ends its goroutine": {t.Context(), func() (int, error) { runtime.Goexit(); return 1, nil }, func(_ int, err error) bool {
			var p *Panic
			return errors.As(err, &p) && p.Value == nil
		}},
	} {
		if n, err := Call(c.ctx, c.f); !c.want(n, err) {
			t.Errorf("%s: %d, %v", name, n, err)
		}
	}
}
