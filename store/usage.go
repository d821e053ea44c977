package store

import (
	"context"
	"time"

	"github.com/wexec/wexec/fault"
)

// By is what usage is summed by.
type By string

// The sums of usage.
const (
	ByDay   By = "day" // in UTC
	ByActor By = "actor"
	ByName  By = "name" // of a tool, a skill or a model
)

// Sum is the usage of one day, actor or name.
type Sum struct {
	Key string // 2026-05-01, an actor or a name
	Use
}

// Usage sums what the runs of a tenant used of a kind within a time, by day, actor
// or name, in the order of the keys. What was pruned is not in it.
func (s *Store) Usage(ctx context.Context, tenant, kind string, by By, since, until time.Time) (sums []Sum, err error) {
	const day = int64(24 * time.Hour / time.Microsecond)
	columns := map[By]string{ByDay: "(at / CAST($5 AS BIGINT)) * CAST($5 AS BIGINT)", ByActor: "actor", ByName: "name"}
	column, ok := columns[by]
	if !ok {
		return nil, fault.New(fault.UsageStore, "usage cannot be summed by %.20q", by).WithHint("use day, actor or name")
	}
	if until.IsZero() {
		until = time.UnixMicro(1 << 60)
	}
	err = s.look(ctx, func(tx *Tx) error {
		sums = nil
		for scan, err := range tx.rows(`SELECT k, SUM(count), SUM(failed), SUM(fuel), SUM(tokens), SUM(money), SUM(micros) FROM
			(SELECT `+column+` AS k, count, failed, fuel, tokens, money, micros FROM uses WHERE tenant = $1 AND kind = $2 AND at >= $3 AND at < $4 AND CAST($5 AS BIGINT) > 0) u
			GROUP BY k ORDER BY k`, tenant, kind, microsOf(since), until.UnixMicro(), day) {
			if err != nil {
				return err
			}
			u := Sum{Use: Use{Kind: kind}}
			var micros, at int64
			key := any(&u.Key)
			if by == ByDay {
				key = &at
			}
			if err := scan(key, &u.Count, &u.Failed, &u.Fuel, &u.Tokens, &u.Money, &micros); err != nil {
				return err
			}
			switch u.Time = time.Duration(micros) * time.Microsecond; by {
			case ByDay:
				u.Key = timeOf(at).Format(time.DateOnly)
			case ByName:
				u.Name = u.Key
			}
			sums = append(sums, u)
		}
		return nil
	})
	return sums, err
}
