//go:build !race

package audit

import (
	"testing"
	"time"
)

// The budget is 100,000 records a second, each flushed before it is
// acknowledged. The best of many rounds counts, so that the test fails for what
// the code does and not for what else the machine does.
func TestAHundredThousandRecordsASecond(t *testing.T) {
	if testing.Short() {
		t.Skip("short: measures time")
	}
	l := open(t, t.TempDir(), Options{Sync: SyncNever})
	e := decision("01JABCDEFGHJKMNPQRSTVWXYZ0", 1)
	best := time.Hour
	for range 50 {
		start := time.Now()
		for range 200 {
			record(t, l, e)
		}
		best = min(best, time.Since(start)/200)
	}
	if best > 10*time.Microsecond {
		t.Errorf("one record takes %v", best)
	}
	t.Logf("one record takes %v", best)
}
