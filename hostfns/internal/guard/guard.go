// Package guard calls foreign code that may panic, hang or end its goroutine.
package guard

import (
	"context"
	"fmt"
	"runtime/debug"
)

// Panic is the error of a function that did not return.
type Panic struct {
	Value any // nil if the function ended its goroutine
	Stack []byte
}

// Error returns the value of the panic.
func (p *Panic) Error() string { return fmt.Sprintf("panic: %v", p.Value) }

// Call runs f in a new goroutine and returns its result, or the cause of the
// context if that ends before f does. It returns a panic as a *[Panic].
func Call[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		res := result{err: &Panic{}}
		defer func() {
			if p := recover(); p != nil {
				res.err = &Panic{p, debug.Stack()}
			}
			done <- res
		}()
		value, err := f()
		res = result{value, err}
	}()
	select {
	case res := <-done:
		return res.value, res.err
	case <-ctx.Done():
		var zero T
		return zero, context.Cause(ctx)
	}
}
