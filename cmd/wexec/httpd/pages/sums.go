package pages

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/wexec/wexec/store"
)

// usageCache keeps the sums of the last days: they read some rows for each run, so a
// page shows the last ones while new ones are counted.
type usageCache struct {
	store *store.Store

	mu    sync.Mutex
	known map[string]*usageSums // by tenant
}

// usageSums are the sums of a tenant.
type usageSums struct {
	days    map[string]map[string]store.Use // by kind and day; nil: never counted
	changes int
	until   time.Time     // they are fresh
	done    chan struct{} // closed when they are counted; nil: nobody counts
}

const (
	usageFresh = 15 * time.Second
	usageDays  = 14
	usageWait  = 15 * time.Millisecond // for the first sums
	usageTime  = time.Minute
)

// usageKinds are the kinds of usage that are summed.
var usageKinds = []string{"run", "tool", "saved"}

// get returns the sums of a tenant by kind and day, and nil if they are being counted for
// the first time.
func (c *usageCache) get(ctx context.Context, tenant string) map[string]map[string]store.Use {
	c.mu.Lock()
	u := c.of(tenant)
	if u.done == nil && time.Now().After(u.until) {
		u.done = make(chan struct{})
		go c.count(tenant, u, u.done)
	}
	days, done := u.days, u.done
	c.mu.Unlock()
	if days != nil || done == nil {
		return days
	}
	soon := time.NewTimer(usageWait)
	defer soon.Stop()
	select {
	case <-done:
	case <-soon.C:
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return u.days
}

// of returns the sums of a tenant; the cache is locked.
func (c *usageCache) of(tenant string) *usageSums {
	if c.known == nil {
		c.known = map[string]*usageSums{}
	}
	if c.known[tenant] == nil {
		c.known[tenant] = &usageSums{}
	}
	return c.known[tenant]
}

// changes changes when the sums of a tenant do.
func (c *usageCache) changes(tenant string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of(tenant).changes
}

// count reads the sums of a tenant.
func (c *usageCache) count(tenant string, u *usageSums, done chan struct{}) {
	defer close(done)
	began := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), usageTime)
	defer cancel()
	since := began.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-usageDays)
	days := map[string]map[string]store.Use{}
	for _, kind := range usageKinds {
		sums, err := c.store.Usage(ctx, tenant, kind, store.ByDay, since, time.Time{})
		if err != nil {
			days = nil // the next page tries again
			break
		}
		days[kind] = map[string]store.Use{}
		for _, s := range sums {
			days[kind][s.Key] = s.Use
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	u.done = nil
	if days == nil {
		return
	}
	if !maps.EqualFunc(days, u.days, maps.Equal[map[string]store.Use]) {
		u.changes++
	}
	// What takes long to count is counted less often.
	u.days, u.until = days, time.Now().Add(max(usageFresh, 20*time.Since(began)))
}

// figure is a number of today, and a small chart of the last days.
type figure struct {
	Name, Value string
	Days        []bar
}

// figuresOf returns the figures of a tenant; without values if there are no sums yet.
func figuresOf(sums map[string]map[string]store.Use) []figure {
	money := func(n int64) string {
		if n < 1e6 && n > -1e6 {
			return fmt.Sprintf("%.4f", float64(n)/1e6)
		}
		return fmt.Sprintf("%.2f", float64(n)/1e6)
	}
	count := func(n int64) string { return number(n) }
	all := []figure{}
	add := func(name, kind string, show func(int64) string, of func(store.Use) int64) {
		f := figure{Name: name, Value: "–", Days: bars(sums[kind], name, show, of)}
		if sums != nil {
			f.Value = show(of(sums[kind][time.Now().UTC().Format(time.DateOnly)]))
		}
		all = append(all, f)
	}
	add("runs", "run", count, func(u store.Use) int64 { return u.Count })
	add("failed", "run", count, func(u store.Use) int64 { return u.Failed })
	add("calls", "tool", count, func(u store.Use) int64 { return u.Count })
	add("tokens saved", "saved", count, func(u store.Use) int64 { return u.Tokens })
	add("money saved", "saved", money, func(u store.Use) int64 { return u.Money })
	add("money spent", "run", money, func(u store.Use) int64 { return u.Money })
	return all
}

// bar is a column of a small chart.
type bar struct {
	Label   string
	X, Y, H float64
}

// chartHeight is that of the columns.
const chartHeight = 48

// bars returns a column for each of the last days, those without runs included.
func bars(days map[string]store.Use, name string, show func(int64) string, of func(store.Use) int64) []bar {
	most := int64(1)
	for _, u := range days {
		most = max(most, of(u))
	}
	today := time.Now().UTC()
	all := make([]bar, 0, usageDays)
	for i := range usageDays {
		day := today.AddDate(0, 0, i-usageDays+1).Format(time.DateOnly)
		n := max(of(days[day]), 0)
		b := bar{Label: fmt.Sprintf("%s: %s %s", day, show(n), name), X: float64(i * 20), H: float64(n) / float64(most) * chartHeight}
		if n > 0 {
			b.H = max(b.H, 2)
		}
		b.Y = chartHeight - b.H
		all = append(all, b)
	}
	return all
}

// dayUses are sums by day.
func dayUses(sums []store.Sum) map[string]store.Use {
	days := map[string]store.Use{}
	for _, s := range sums {
		days[s.Key] = s.Use
	}
	return days
}
