package hostfns

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/wexec/wexec/fault"
)

// visit is one call at its provider, which may panic, hang or end its
// goroutine. It is a job of its own, which nobody but the provider may touch
// before it is done.
type visit struct {
	run      *Run
	ctx      context.Context
	provider Provider
	call     Call

	answer Answer
	err    error
}

// guarded calls a provider in a goroutine that is not the caller's: beside it,
// or where beside is nil on one of the run's workers. A provider that does not
// come back when it is told to is left behind.
func (r *Run) guarded(ctx context.Context, p Provider, call Call, beside *aside) (Answer, error) {
	v := &visit{run: r, ctx: ctx, provider: p, call: call}
	if beside != nil && beside.open() {
		if !beside.do(v) {
			return Answer{}, ctx.Err()
		}
		return v.answer, v.err
	}
	came := make(chan struct{})
	r.work.run(func() {
		defer close(came)
		v.work()
	})
	select {
	case <-came:
		return v.answer, v.err
	case <-ctx.Done():
		select {
		case <-came: // it was done at the same moment
			return v.answer, v.err
		default:
			return Answer{}, ctx.Err()
		}
	}
}

// work makes the call and notes what came of it.
func (v *visit) work() {
	returned := false
	defer func() {
		if !returned {
			p := recover()
			v.answer, v.err = Answer{}, fault.New(fault.ToolFailed, "the provider of the tool failed")
			v.run.table.log().Error("a provider failed", "server", v.call.Server, "tool", v.call.Tool, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
		}
		if v.ctx.Err() != nil && v.answer.Body != nil {
			closeBody(v.answer)
			v.answer, v.err = Answer{}, v.ctx.Err()
		}
	}()
	v.answer, v.err = v.provider.Call(v.ctx, v.call)
	returned = true
}
