package hostfns

import (
	"context"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
)

// callPath opens a run with policy and audit, and returns a function that makes one
// call of 100 bytes as a guest does.
func callPath(t testing.TB, pii string) (call func()) {
	text := "version: 1\n" + pii + "limits: {tool_calls: 2000000000, host_bytes: 1000GiB}\ntools:\n  deny:\n    - {tool: '*.delete_*', when: 'run.trigger == \"schedule\"'}\n  allow:\n    - {tool: gh.list, when: 'args.owner.startsWith(\"o\")'}\n"
	answer := []byte(`{"sha":"0123456789abcdef","message":"fix the parser so that it reads what it wrote","n":12345}`)
	readOnly := true // records of effects that write are synced to disk, which is the disk's time
	reads := tool("gh.list", commits)
	reads.Annotations.ReadOnly = &readOnly
	p := &fakeProvider{tools: []catalogue.Tool{reads}, call: func(context.Context, Call) (Answer, error) { return Answer{Data: answer}, nil }}
	log, err := audit.Open(t.TempDir(), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table, err := NewTable(mustPolicy(t, text), log, p)
	if err != nil {
		t.Fatal(err)
	}
	r, err := table.Open(context.Background(), RunInfo{ID: "cheap"})
	if err != nil {
		t.Fatal(err)
	}
	c := NewCalls(r, CallsOptions{})
	t.Cleanup(func() {
		c.Close()
		_, _ = r.Close(context.Background(), audit.End{Status: "ok"})
		_ = log.Close()
	})
	args := []byte(`{"owner":"octocat-and-friends","per_page":50,"state":"open"}`)
	mem := append(heap("gh.list"), args...)
	mem = append(mem, make([]byte, 4096)...)
	return func() {
		id, err := c.Start(mem, 0, 7, 7, uint32(len(args)))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.Wait(id, -1); err != nil || got != id {
			t.Fatal(got, err)
		}
		size := c.Size(id)
		if Kind(size>>32) != JSON {
			t.Fatal(size)
		}
		if _, err := c.Read(mem, id, 200, uint32(size)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestACallAllocatesLittle bounds the cost of a call by allocations, which a busy
// machine does not change.
func TestACallAllocatesLittle(t *testing.T) {
	const most = 30
	call := callPath(t, "pii: {mode: off}\n")
	call() // lists the tools
	// The lowest of a few: what else the process does counts too.
	least := testing.AllocsPerRun(200, call)
	for range 4 {
		least = min(least, testing.AllocsPerRun(200, call))
	}
	if least > most {
		t.Errorf("a call takes %v allocations, and %d at the most", least, most)
	}
}
