package store

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
)

// Quotas bound what the runs of a tenant or of a token use; 0 sets no bound. Days are
// those of UTC.
type Quotas struct {
	Running      int64   `json:"running,omitempty" jsonschema:"runs that were accepted and have not ended"`
	Queued       int64   `json:"queued,omitempty" jsonschema:"of these, runs that wait for a server with room"`
	RunsPerDay   int64   `json:"runs_per_day,omitempty" jsonschema:"runs that were accepted since midnight UTC"`
	FuelPerDay   int64   `json:"fuel_per_day,omitempty" jsonschema:"fuel since midnight UTC"`
	TokensPerDay int64   `json:"tokens_per_day,omitempty" jsonschema:"tokens since midnight UTC"`
	MoneyPerDay  float64 `json:"money_per_day,omitempty" jsonschema:"cost since midnight UTC, in the currency of the prices"`
}

// Check reports a negative quota, as usage.flag.
func (q Quotas) Check() error {
	if min(q.Running, q.Queued, q.RunsPerDay, q.FuelPerDay, q.TokensPerDay) < 0 || !(q.MoneyPerDay >= 0) {
		return fault.New(fault.UsageFlag, "a quota is negative").WithHint("leave it out for no bound")
	}
	return nil
}

// Under returns the quotas, with the quota of bound for each that is not set. A quota
// above bound is an error.
func (q Quotas) Under(bound Quotas) (Quotas, error) {
	most := bound.counts()
	for i, f := range q.counts() {
		if limit := *most[i].value; limit > 0 && *f.value > limit {
			return q, fault.New(fault.DeniedScope, "a token with the quota %s=%d cannot give %d", f.name, limit, *f.value)
		} else if *f.value == 0 {
			*f.value = limit
		}
	}
	if limit := bound.MoneyPerDay; limit > 0 && q.MoneyPerDay > limit {
		return q, fault.New(fault.DeniedScope, "a token with the quota %s=%v cannot give %v", moneyQuota, limit, q.MoneyPerDay)
	} else if q.MoneyPerDay == 0 {
		q.MoneyPerDay = limit
	}
	return q, nil
}

// counts returns the quotas that are whole numbers, by name.
func (q *Quotas) counts() []quotaField {
	return []quotaField{{"running", &q.Running}, {"queued", &q.Queued}, {"runs_per_day", &q.RunsPerDay}, {"fuel_per_day", &q.FuelPerDay}, {"tokens_per_day", &q.TokensPerDay}}
}

type quotaField struct {
	name  string
	value *int64
}

const moneyQuota = "money_per_day"

// QuotaNames returns the names of the quotas.
func QuotaNames() (names []string) {
	for _, f := range new(Quotas).counts() {
		names = append(names, f.name)
	}
	return append(names, moneyQuota)
}

// Set reads a quota by its name, such as "4" or "5e12".
func (q *Quotas) Set(name, text string) error {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n > 0 && n < 1<<62) || name != moneyQuota && n != math.Trunc(n) {
		return fault.New(fault.UsageFlag, "invalid quota %.40q for %.40q", text, name).WithHint("write it as running=4")
	}
	if name == moneyQuota {
		q.MoneyPerDay = n
		return nil
	}
	for _, f := range q.counts() {
		if f.name == name {
			*f.value = int64(n)
			return nil
		}
	}
	return fault.New(fault.UsageFlag, "unknown quota %.40q", name).WithHint("quotas are %s", strings.Join(QuotaNames(), ", "))
}

// moneyPerDay is the quota of money in millionths.
func (q Quotas) moneyPerDay() int64 { return int64(min(math.Ceil(q.MoneyPerDay*1e6), 1<<60)) }

// Account is what quotas are counted for: a token of a tenant, or all of the tenant
// if Token is empty.
type Account struct {
	Tenant, Token string
	Quotas        Quotas
}

// String names the account in messages.
func (a Account) String() string {
	if a.Token != "" {
		return "token " + a.Token
	}
	return "tenant " + a.Tenant
}

// bounded returns the accounts that have quotas.
func bounded(accounts []Account) []Account {
	return slices.DeleteFunc(slices.Clone(accounts), func(a Account) bool { return a.Quotas == Quotas{} })
}

// OverQuota is the refusal of a run for a quota.
type OverQuota struct {
	err   *fault.Error
	Retry time.Duration // after it a run may be accepted again
}

// Error says which quota was reached.
func (o *OverQuota) Error() string { return o.err.Error() }

// Unwrap returns the error with its code, [fault.LimitQuota].
func (o *OverQuota) Unwrap() error { return o.err }

// retryRun is when a client tries again that waits for the end of a run.
const retryRun = 5 * time.Second

// over returns the refusal for a quota by its name.
func (a Account) over(name string, used, limit any, retry time.Duration) error {
	when := "wait until a run ends"
	if retry != retryRun {
		when = "wait until midnight UTC"
	}
	return &OverQuota{fault.New(fault.LimitQuota, "the quota %s of %s is used up: %v of %v", name, a, used, limit).
		WithHint("%s, or ask an administrator for a higher quota", when), retry}
}

// Spent is what the runs of an account used on one day. Runs are counted when they
// are accepted, the rest when they end.
type Spent struct {
	Runs, Fuel, Tokens int64
	Money              int64 // millionths of the currency
}

const dayMicros = int64(24 * time.Hour / time.Microsecond)

// over returns the refusal of an account that has used up a day, or nil.
func (s Spent) over(a Account, now int64) error {
	rest := time.Duration(dayMicros-now%dayMicros) * time.Microsecond
	q := a.Quotas
	for _, bound := range []struct {
		name        string
		used, limit int64
	}{{"fuel_per_day", s.Fuel, q.FuelPerDay}, {"tokens_per_day", s.Tokens, q.TokensPerDay}} {
		if bound.limit > 0 && bound.used >= bound.limit {
			return a.over(bound.name, bound.used, bound.limit, rest)
		}
	}
	if q.MoneyPerDay > 0 && s.Money >= q.moneyPerDay() {
		return a.over(moneyQuota, fmt.Sprintf("%.2f", float64(s.Money)/1e6), q.MoneyPerDay, rest)
	}
	return nil
}

// within counts a run for accounts, or refuses it for one of their quotas. The rows
// of the accounts stay locked until the transaction ends, so that runs which several
// processes accept are counted one after the other. Of tasks, which may wait long, only
// what they use in a day is bounded.
func (tx *Tx) within(accounts []Account, kind Kind, queued bool, now int64) error {
	for _, a := range bounded(accounts) {
		spent, err := tx.today(a, now)
		if err != nil {
			return err
		}
		if err := spent.over(a, now); err != nil {
			return err
		}
		if most := a.Quotas.RunsPerDay; most > 0 && spent.Runs >= most {
			return a.over("runs_per_day", spent.Runs, most, time.Duration(dayMicros-now%dayMicros)*time.Microsecond)
		}
		if kind == KindRun {
			if err := tx.inFlight(a, "running", a.Quotas.Running, " AND leased <> 2"); err != nil {
				return err
			}
		}
		if kind == KindRun && queued {
			if err := tx.inFlight(a, "queued", a.Quotas.Queued, " AND leased = 0"); err != nil {
				return err
			}
		}
		if _, err := tx.exec(`UPDATE spent SET runs = runs + 1 WHERE tenant = $1 AND token = $2`, a.Tenant, a.Token); err != nil {
			return err
		}
	}
	return nil
}

// inFlight refuses a run if the queue has as many of the account as it may.
func (tx *Tx) inFlight(a Account, name string, most int64, condition string) error {
	if most <= 0 {
		return nil
	}
	var n int64
	if _, err := tx.row([]any{&n}, `SELECT COUNT(*) FROM (SELECT 1 FROM queue WHERE tenant = $1 AND kind = 'run' AND ($2 = '' OR token = $2)`+condition+` LIMIT $3) q`,
		a.Tenant, a.Token, most); err != nil {
		return err
	}
	if n >= most {
		return a.over(name, n, most, retryRun)
	}
	return nil
}

// today locks the row of an account and returns what it used on this day. The first
// run of a day, or of an account that had no quotas, makes the row.
func (tx *Tx) today(a Account, now int64) (s Spent, err error) {
	if _, err := tx.exec(`INSERT INTO spent (tenant, token, day, runs, fuel, tokens, money) VALUES ($1, $2, -1, 0, 0, 0, 0) ON CONFLICT DO NOTHING`, a.Tenant, a.Token); err != nil {
		return s, err
	}
	var day int64
	if _, err := tx.row([]any{&day, &s.Runs, &s.Fuel, &s.Tokens, &s.Money}, `SELECT day, runs, fuel, tokens, money FROM spent WHERE tenant = $1 AND token = $2`+tx.s.lock(),
		a.Tenant, a.Token); err != nil || day == now/dayMicros {
		return s, err
	}
	midnight := now - now%dayMicros
	if _, err := tx.row([]any{&s.Runs}, `SELECT COUNT(*) FROM runs WHERE tenant = $1 AND created >= $2 AND ($3 = '' OR token = $3)`, a.Tenant, midnight, a.Token); err != nil {
		return s, err
	}
	if _, err := tx.row([]any{&s.Fuel, &s.Tokens, &s.Money}, `SELECT CAST(COALESCE(SUM(fuel), 0) AS BIGINT), CAST(COALESCE(SUM(tokens), 0) AS BIGINT), CAST(COALESCE(SUM(money), 0) AS BIGINT)
		FROM uses u WHERE tenant = $1 AND at >= $2 AND kind = 'run' AND ($3 = '' OR EXISTS (SELECT 1 FROM runs r WHERE r.tenant = u.tenant AND r.id = u.run AND r.token = $3))`,
		a.Tenant, midnight, a.Token); err != nil {
		return s, err
	}
	_, err = tx.exec(`UPDATE spent SET day = $3, runs = $4, fuel = $5, tokens = $6, money = $7 WHERE tenant = $1 AND token = $2`,
		a.Tenant, a.Token, now/dayMicros, s.Runs, s.Fuel, s.Tokens, s.Money)
	return s, err
}

// spend adds what a run used to its accounts.
func (tx *Tx) spend(accounts []Account, s Spent, now int64) error {
	for _, a := range bounded(accounts) {
		if _, err := tx.exec(`UPDATE spent SET fuel = fuel + $4, tokens = tokens + $5, money = money + $6 WHERE tenant = $1 AND token = $2 AND day = $3`,
			a.Tenant, a.Token, now/dayMicros, s.Fuel, s.Tokens, s.Money); err != nil {
			return err
		}
	}
	return nil
}

// Within returns how much fuel the accounts leave for this day, or
// [fault.LimitQuota] if one has used up what it may use in a day. A run that is in
// flight ends then.
func (s *Store) Within(ctx context.Context, accounts ...Account) (fuel int64, err error) {
	fuel = math.MaxInt64
	if accounts = bounded(accounts); len(accounts) == 0 {
		return fuel, nil
	}
	err = s.view(ctx, func(tx *Tx) error {
		now := tx.s.micros()
		for _, a := range accounts {
			var spent Spent
			if _, err := tx.row([]any{&spent.Fuel, &spent.Tokens, &spent.Money}, `SELECT fuel, tokens, money FROM spent WHERE tenant = $1 AND token = $2 AND day = $3`,
				a.Tenant, a.Token, now/dayMicros); err != nil {
				return err
			}
			if err := spent.over(a, now); err != nil {
				return err
			}
			if a.Quotas.FuelPerDay > 0 {
				fuel = min(fuel, a.Quotas.FuelPerDay-spent.Fuel)
			}
		}
		return nil
	})
	return fuel, err
}
