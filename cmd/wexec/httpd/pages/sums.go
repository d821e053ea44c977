package pages

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// usageCache keeps the sums of the last days for a short time: they read a row for each
// run.
type usageCache struct {
	mu    sync.Mutex
	known map[string]*usageSums // by tenant
}

type usageSums struct {
	mu   sync.Mutex
	sums []store.Sum
	read time.Time
}

const (
	usageFresh = 30 * time.Second
	usageDays  = 14
)

// get returns the sums of a tenant by day.
func (c *usageCache) get(ctx context.Context, s *service.Service, tenant string, now time.Time) ([]store.Sum, error) {
	c.mu.Lock()
	if c.known == nil {
		c.known = map[string]*usageSums{}
	}
	if c.known[tenant] == nil {
		c.known[tenant] = &usageSums{}
	}
	u := c.known[tenant]
	c.mu.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	if now.Sub(u.read) < usageFresh {
		return u.sums, nil
	}
	since := now.UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-usageDays)
	sums, err := s.Store().Usage(ctx, tenant, "run", store.ByDay, since, time.Time{})
	if err != nil {
		return nil, err
	}
	// What took long to read is kept longer.
	u.sums, u.read = sums, time.Now().Add(10*time.Since(now))
	return sums, nil
}

// bar is a column of a small chart.
type bar struct {
	Label   string
	Count   int64
	Failed  int64
	X, Y, H float64
	FailedY float64
	FailedH float64
}

// chartHeight is that of the columns.
const chartHeight = 48

// bars returns a column for each of the last days, those without runs included.
func bars(sums []store.Sum) []bar {
	byDay, most := map[string]store.Sum{}, int64(1)
	for _, s := range sums {
		byDay[s.Key] = s
		most = max(most, s.Count)
	}
	var all []bar
	today := time.Now().UTC()
	for i := range usageDays {
		day := today.AddDate(0, 0, i-usageDays+1).Format(time.DateOnly)
		s := byDay[day]
		b := bar{Label: fmt.Sprintf("%s: %s runs, %s failed", day, number(s.Count), number(s.Failed)), Count: s.Count, Failed: s.Failed, X: float64(i * 20)}
		b.H = float64(s.Count) / float64(most) * chartHeight
		if s.Count > 0 {
			b.H = max(b.H, 2)
		}
		b.Y = chartHeight - b.H
		if s.Failed > 0 {
			b.FailedH = max(float64(s.Failed)/float64(most)*chartHeight, 2)
			b.FailedY = chartHeight - b.FailedH
		}
		all = append(all, b)
	}
	return all
}
