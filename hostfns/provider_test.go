package hostfns

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

// misbehaving has a tool for each thing that a provider must not do to the goroutine
// that calls it.
func misbehaving(release <-chan struct{}) *fakeProvider {
	var tools []catalogue.Tool
	for _, name := range []string{"a.fine", "a.panics", "a.exits", "a.binds", "a.hangs"} {
		tools = append(tools, tool(name, `{}`))
	}
	return &fakeProvider{tools: tools, call: func(_ context.Context, c Call) (Answer, error) {
		switch c.Tool {
		case "panics":
			panic("fakeProvider")
		case "exits":
			runtime.Goexit()
		case "binds":
			runtime.LockOSThread()
			runtime.LockOSThread()
		case "hangs":
			<-release
		}
		return Answer{Data: []byte(`"` + c.Tool + `"`)}, nil
	}}
}

// ask makes one call and waits for it at once, as most programs do.
func ask(t *testing.T, c *Calls, name string) (Kind, string) {
	t.Helper()
	id := start(t, c, name, `{}`)
	if got, err := c.Wait(id, -1); got != id || err != nil {
		t.Fatalf("waiting for %s: %d %v", name, got, err)
	}
	return read(t, c, id)
}

func TestWhatAProviderDoesToItsGoroutineStaysThere(t *testing.T) {
	try := func() {
		r := newRun(t, mustPolicy(t, allowAll), audit.None(), misbehaving(nil))
		c := NewCalls(r, CallsOptions{})
		defer c.Close()
		for range 3 {
			for _, name := range []string{"a.panics", "a.exits"} {
				if kind, data := ask(t, c, name); kind != Error || !strings.Contains(data, string(fault.ToolFailed)) {
					t.Errorf("%s: %v %s", name, kind, data)
				}
			}
			for _, name := range []string{"a.binds", "a.fine"} {
				if kind, data := ask(t, c, name); kind != JSON || data != `"`+name[2:]+`"` {
					t.Errorf("%s: %v %s", name, kind, data)
				}
			}
		}
	}
	t.Run("on a goroutine of no thread", func(*testing.T) { try() })
	t.Run("on a goroutine bound to its thread", func(*testing.T) {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		try()
	})
}

func TestAProviderThatHangsHoldsNoRunPastItsEnd(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for range 20 {
		r := newRun(t, mustPolicy(t, allowAll), audit.None(), misbehaving(release))
		c := NewCalls(r, CallsOptions{})
		if kind, data := ask(t, c, "a.fine"); kind != JSON {
			t.Fatal(data)
		}
		id := start(t, c, "a.hangs", `{}`)
		up := time.AfterFunc(time.Millisecond, func() { r.fail(fault.New(fault.LimitTime, "the time is up")) })
		if _, err := c.Wait(id, -1); fault.CodeOf(err) != fault.LimitTime {
			t.Fatal(err)
		}
		up.Stop()
		c.Close()
	}
}

func TestARunThatEndsWhileACallBeginsIsNotHeldByIt(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	for n := range 200 {
		r := newRun(t, mustPolicy(t, allowAll), audit.None(), misbehaving(release))
		c := NewCalls(r, CallsOptions{})
		ask(t, c, "a.fine")
		id := start(t, c, "a.hangs", `{}`)
		go func() {
			for range n * 20 {
				runtime.KeepAlive(n)
			}
			r.fail(fault.New(fault.Cancelled, "enough"))
		}()
		if _, err := c.Wait(id, -1); fault.CodeOf(err) != fault.Cancelled {
			t.Fatal(err)
		}
		c.Close()
	}
}

func TestAHeldCallIsSentBeforeTheGuestDoesSomethingElse(t *testing.T) {
	for name, then := range map[string]func(c *Calls, id int64){
		"launch": func(c *Calls, _ int64) { c.Launch() },
		"look":   func(c *Calls, _ int64) { _, _ = c.Wait(0, 0) },
		"timer":  func(c *Calls, _ int64) { _, _ = c.Wait(0, time.Millisecond) },
		"call":   func(c *Calls, _ int64) { start(t, c, "a.now", `{}`) },
		"other":  func(c *Calls, id int64) { _, _ = c.Wait(id+7, -1) },
	} {
		made := make(chan struct{})
		release := make(chan struct{})
		p := blocking(release)
		answer := p.call
		p.call = func(ctx context.Context, c Call) (Answer, error) {
			if c.Tool == "block" {
				close(made)
			}
			return answer(ctx, c)
		}
		r := newRun(t, mustPolicy(t, allowAll), audit.None(), p)
		c := NewCalls(r, CallsOptions{})
		id := start(t, c, "a.block", `{}`)
		then(c, id)
		select {
		case <-made:
		case <-time.After(20 * time.Second):
			t.Errorf("%s: the call was not made", name)
		}
		close(release)
		c.Close()
	}
}
