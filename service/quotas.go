package service

import (
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/store"
)

// quotas returns the quotas of all runs of the tenant.
func (t *Tenant) quotas() store.Quotas {
	q := t.settings.Quotas
	return store.Quotas{Running: int64(q.Running), Queued: int64(q.Queued), RunsPerDay: int64(q.RunsPerDay),
		FuelPerDay: int64(q.FuelPerDay), TokensPerDay: int64(q.TokensPerDay), MoneyPerDay: q.MoneyPerDay.Float()}
}

// accounts returns what a run is counted for: its tenant, with the present quotas,
// and its token.
func (x *tenants) accounts(run store.Run, ofToken store.Quotas) []store.Account {
	var all []store.Account
	if t := x.get(run.Tenant); t != nil {
		all = append(all, store.Account{Tenant: run.Tenant, Quotas: t.quotas()})
	}
	return append(all, store.Account{Tenant: run.Tenant, Token: run.Token, Quotas: ofToken})
}

// within lowers the limits of a run to the fuel that its accounts have left for this
// day.
func within(l policy.Limits, fuel int64) policy.Limits {
	if fuel < l.OrDefaults().Fuel {
		l.Fuel = fuel
	}
	return l
}

// spentUp says that a run which used all of the fuel that its accounts had left is
// over a quota, where the limit of the run would have allowed more.
func spentUp(res *engine.Result, err error, asked policy.Limits, fuel int64) (*engine.Result, error) {
	if res == nil || res.Error == nil || res.Error.Code != fault.LimitFuel || asked.OrDefaults().Fuel <= fuel {
		return res, err
	}
	over := fault.New(fault.LimitQuota, "the run used the last fuel that a quota allows on this day").
		WithHint("wait until midnight UTC, or ask an administrator for a higher quota")
	place := *res.Error
	res.Error = errorOf(over)
	res.Error.File, res.Error.Line, res.Error.Column, res.Error.Excerpt, res.Error.Stack = place.File, place.Line, place.Column, place.Excerpt, place.Stack
	return res, over
}
