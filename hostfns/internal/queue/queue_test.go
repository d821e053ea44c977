package queue

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

// job is a call of a test.
type job func(ctx context.Context, t *Ticket) (Answer, error)

func (j job) Do(ctx context.Context, t *Ticket) (Answer, error) { return j(ctx, t) }

func newQueue(t *testing.T, o Options) *Queue {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	o.Context, o.Fail, o.Err = ctx, func(err error) { cancel(err) }, ctx.Err
	if o.Announced == nil {
		o.Announced = func(uint64) {}
	}
	o.Workers = NewWorkers(ctx.Done())
	q := New(o)
	t.Cleanup(func() { q.Close(); cancel(nil) })
	return q
}

func TestNoCallIsDecidedBeforeTheOnesStartedEarlier(t *testing.T) {
	q := newQueue(t, Options{Ordered: true})
	var mu sync.Mutex
	var decided []string
	decide := func(name string) job {
		return func(ctx context.Context, t *Ticket) (Answer, error) {
			if name == "first" {
				time.Sleep(20 * time.Millisecond)
			}
			t.WaitPrevious(ctx)
			mu.Lock()
			decided = append(decided, name)
			mu.Unlock()
			t.Decided()
			t.WaitDue(ctx)
			return Answer{}, nil
		}
	}
	undecided := job(func(context.Context, *Ticket) (Answer, error) { return Answer{}, nil })
	early := job(func(_ context.Context, t *Ticket) (Answer, error) { t.Decided(); return Answer{}, nil })
	for i, one := range []Job{decide("first"), undecided, early, decide("second")} {
		if err := q.Start(int64(i+1), one); err != nil {
			t.Fatal(err)
		}
	}
	for want := int64(1); want <= 4; want++ {
		if id, err := q.Wait(0, -1); id != want || err != nil {
			t.Fatalf("call %d was announced instead of %d: %v", id, want, err)
		}
	}
	if !slices.Equal(decided, []string{"first", "second"}) {
		t.Errorf("decided %v", decided)
	}
}

func TestAnErrorOfACallEndsTheRun(t *testing.T) {
	q := newQueue(t, Options{})
	if err := q.Start(1, job(func(context.Context, *Ticket) (Answer, error) { return Answer{}, context.DeadlineExceeded })); err != nil {
		t.Fatal(err)
	}
	if _, err := q.Wait(1, -1); err == nil {
		t.Fatal("the run goes on")
	}
	q.Close()
	if err := q.Start(2, nil); err != ErrClosed {
		t.Fatal(err)
	}
}
