package queue

import (
	"context"
	"runtime"
	"testing"
	"time"
)

type task func()

func (t task) Run() { t() }

// onNewGoroutine runs f and waits for it.
func onNewGoroutine(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	<-done
}

func TestABoundGoroutineIsRecognized(t *testing.T) {
	onNewGoroutine(func() {
		if bound() {
			t.Error("a new goroutine counts as bound")
		}
		runtime.LockOSThread()
		if !bound() {
			t.Error("the runtime no longer shows that a goroutine is bound")
		}
		h := Handoff{ctx: t.Context()}
		if h.open() {
			t.Error("a coroutine was made on a bound goroutine")
		}
		runtime.UnlockOSThread()
		if bound() {
			t.Error("a released goroutine counts as bound")
		}
	})
}

// The runtime stops the process if a coroutine is resumed with another binding
// than it was made with.
func TestATaskThatBindsItsGoroutineLeavesItFree(t *testing.T) {
	onNewGoroutine(func() {
		h := Handoff{ctx: t.Context()}
		defer h.close()
		for n := range 17 {
			if !h.open() || !h.do(task(func() {
				for range n {
					runtime.LockOSThread()
				}
			})) {
				t.Errorf("after a task that bound its goroutine %d times", n)
			}
		}
		if !h.do(task(func() {
			if bound() {
				t.Error("the binding outlived its task")
			}
		})) {
			t.Error("the task did not run")
		}
	})
}

func TestATaskThatEndsItsGoroutineDoesNotEndTheOther(t *testing.T) {
	onNewGoroutine(func() {
		h := Handoff{ctx: t.Context()}
		defer func() { h.close() }()
		for range 3 {
			ran := false
			if !h.open() || !h.do(task(runtime.Goexit)) || !h.open() || !h.do(task(func() { ran = true })) || !ran {
				t.Error("no task ran after one that ended its goroutine")
			}
		}
	})
}

func TestAnAbandonedTaskGivesTheWaitingGoroutineBack(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	h := Handoff{ctx: ctx}
	release, ended := make(chan struct{}), make(chan struct{})
	if !h.open() {
		t.Fatal("the test is bound to its thread")
	}
	time.AfterFunc(time.Millisecond, cancel)
	if h.do(task(func() { defer close(ended); <-release })) {
		t.Fatal("a task that hangs has ended")
	}
	if h.open() {
		t.Error("an abandoned goroutine is given another task")
	}
	h.close()
	close(release)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Error("the abandoned task did not go on")
	}
}

// BenchmarkTask compares the two ways to run a task on another goroutine.
func BenchmarkTask(b *testing.B) {
	ran := 0
	add := task(func() { ran++ })
	b.Run("handoff", func(b *testing.B) {
		h := Handoff{ctx: b.Context()}
		defer h.close()
		w := NewWorkers(b.Context().Done())
		for b.Loop() {
			w.Do(b.Context(), &h, add)
		}
	})
	b.Run("worker", func(b *testing.B) {
		w := NewWorkers(b.Context().Done())
		for b.Loop() {
			w.Do(b.Context(), nil, add)
		}
	})
}
