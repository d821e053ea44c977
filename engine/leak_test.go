package engine

import (
	"testing"
	"time"
)

// Engines that come and go give everything back: descriptors, mappings and the
// code they had mapped.
func TestEnginesThatComeAndGoLeaveNothing(t *testing.T) {
	var before levels
	for i := range 9 {
		e, err := open(Config{Cache: testCache(t)})
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range []string{"1 + 1", "for (;;) {}", "null.x"} {
			_, _ = e.Run(t.Context(), Request{Language: JavaScript, Code: code, Limits: Limits{Time: 5 * time.Millisecond}})
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if i == 3 {
			before = take(t)
		}
	}
	if after := take(t); after.descriptors > before.descriptors || after.mappings > before.mappings+10 || after.goroutines > before.goroutines {
		t.Errorf("before %+v, after %+v", before, after)
	}
}
