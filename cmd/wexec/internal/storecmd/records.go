package storecmd

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/apiclient"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// records is where commands find runs, tokens and usage: in a store, or on a server
// with the rights of a token.
type records interface {
	fmt.Stringer // whose records, for messages
	Run(ctx context.Context, id string) (*service.Run, error)
	Runs(ctx context.Context, f store.Filter) (runs []*service.Run, next string, err error)
	// Events calls each with the events of a run after a number: those that there are,
	// or with follow until the run has ended.
	Events(ctx context.Context, id string, after int64, follow bool, each func(store.Event) error) error
	// Cancel ends a run. It reports whether the run had not ended yet.
	Cancel(ctx context.Context, id string) (bool, error)
	Usage(ctx context.Context, by string, since, until time.Time) ([]apiclient.Used, error)
	Tokens(ctx context.Context) ([]store.Token, error)
	CreateToken(ctx context.Context, t store.Token) (secret, id string, err error)
	// RevokeToken removes a token. It returns its tenant, as far as that is known.
	RevokeToken(ctx context.Context, id string) (tenant string, err error)
}

// serverFlags returns the flags that say which store or which server, after those of a
// command.
func serverFlags(own ...cli.Flag) []cli.Flag {
	return append(flags(own...), apiclient.Flags("default WEXEC_SERVER")...)
}

// server is the address of the server that the flags or WEXEC_SERVER name, which counts
// where no flag names a store; "" is the store.
func (c Commands) server(ctx *cli.Context) string {
	address := ctx.String("server")
	if address == "" && ctx.String("store") == "" && ctx.String("data") == "" {
		address = apiclient.Address(c.Env)
	}
	return address
}

// of makes an action over the records of the store or the server that the flags name.
func (c Commands) of(o store.Options, action func(ctx *cli.Context, r records) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		if ctx.String("server") != "" && ctx.String("store")+ctx.String("data") != "" {
			return fault.New(fault.UsageFlag, "--server and --store or --data name two places").WithHint("set one of them")
		}
		address := c.server(ctx)
		if address == "" {
			return c.with(o, func(ctx *cli.Context, s *store.Store, _ string) error {
				return action(ctx, kept{s, ctx.String("tenant")})
			})(ctx)
		}
		if ctx.IsSet("tenant") && ctx.Command.Name != "create" { // which sends it
			return fault.New(fault.UsageFlag, "--tenant has no effect with a server: the token has a tenant").WithHint("set --token-file to a token of that tenant")
		}
		client, err := apiclient.Open(ctx, c.Env, c.Term, address)
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		return action(ctx, client)
	}
}

// kept are the records of a tenant in a store; "" means all tenants, for tokens.
type kept struct {
	store  *store.Store
	tenant string
}

// String names the tenant.
func (k kept) String() string { return "tenant " + terminal.Visible(k.tenant) }

// Run returns a run.
func (k kept) Run(ctx context.Context, id string) (*service.Run, error) {
	if err := k.endLost(ctx); err != nil {
		return nil, err
	}
	return service.Kept(ctx, k.store, k.tenant, id)
}

// Runs returns the newest runs that a filter selects.
func (k kept) Runs(ctx context.Context, f store.Filter) ([]*service.Run, string, error) {
	if err := k.endLost(ctx); err != nil {
		return nil, "", err
	}
	return service.KeptRuns(ctx, k.store, k.tenant, f)
}

// endLost ends the runs of commands that died. Without a server on the store, nothing
// else does.
func (k kept) endLost(ctx context.Context) error {
	return service.EndLost(ctx, k.store, k.tenant, time.Now())
}

// pollEvery is how often a store is asked for new events.
const pollEvery = 200 * time.Millisecond

// Events implements records.
func (k kept) Events(ctx context.Context, id string, after int64, follow bool, each func(store.Event) error) error {
	for {
		if err := k.endLost(ctx); err != nil {
			return err
		}
		events, end, err := service.KeptEvents(ctx, k.store, k.tenant, id, after)
		if err != nil {
			return err
		}
		for _, e := range events {
			if err := each(e); err != nil {
				return err
			}
			after = e.Number
		}
		if end || !follow && len(events) == 0 {
			return nil
		}
		if len(events) == 0 {
			select {
			case <-time.After(pollEvery):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
}

// Cancel implements records. The process that runs the program ends it; if there is
// none any more, this one records the end.
func (k kept) Cancel(ctx context.Context, id string) (bool, error) {
	return service.CancelKept(ctx, k.store, k.tenant, id)
}

// Usage sums what runs used.
func (k kept) Usage(ctx context.Context, by string, since, until time.Time) ([]apiclient.Used, error) {
	kind, column := by, store.ByName
	if by == "day" || by == "actor" {
		kind, column = "run", store.By(by)
	}
	sums, err := k.store.Usage(ctx, k.tenant, kind, column, since, until)
	all := []apiclient.Used{}
	for _, u := range sums {
		all = append(all, apiclient.Used{Key: u.Key, Count: u.Count, Failed: u.Failed, Fuel: u.Fuel, Tokens: u.Tokens, Money: float64(u.Money) / 1e6, MS: u.Time.Milliseconds()})
	}
	return all, err
}

// Tokens returns the tokens.
func (k kept) Tokens(ctx context.Context) ([]store.Token, error) {
	return k.store.Tokens(ctx, k.tenant)
}

// CreateToken makes a token.
func (k kept) CreateToken(ctx context.Context, t store.Token) (secret, id string, err error) {
	t.ID, t.Tenant = store.NewTokenID(), k.tenant
	secret, err = k.store.CreateToken(ctx, t)
	return secret, t.ID, err
}

// RevokeToken implements records, for a token of any tenant.
func (k kept) RevokeToken(ctx context.Context, id string) (tenant string, err error) {
	all, err := k.store.Tokens(ctx, "")
	if err != nil {
		return "", err
	}
	for _, t := range all {
		if t.ID == id {
			tenant = t.Tenant
		}
	}
	return tenant, k.store.Revoke(ctx, tenant, id)
}
