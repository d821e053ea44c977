package mcpd

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestAnsweredRunsAreForgotten makes runs with programs of 20 KB through the
// door and compares the heap before and after.
func TestAnsweredRunsAreForgotten(t *testing.T) {
	s := newServer(t, openPolicy, nil, (&shop{}).providers()...)
	c := connect(t, s, versions[0], nil)
	padding := "// " + strings.Repeat("x", 20_000)
	run := func(n int) {
		for i := range n {
			if got := textOf(execute(t, c, map[string]any{"language": "javascript", "code": fmt.Sprintf("return %d\n%s", i, padding)})); got != fmt.Sprint(i) {
				t.Fatalf("run %d returned %s", i, got)
			}
		}
	}
	heap := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	run(50)
	before := heap()
	const more = 500
	run(more)
	if kept := (heap() - before) / more; kept > 4_000 {
		t.Errorf("each run keeps %d bytes", kept)
	}
	if s.runs.pending() {
		t.Error("answered runs are pending")
	}
}
