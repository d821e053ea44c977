package storecmd

import (
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// Token is wexec token.
func (c Commands) Token() *cli.Command {
	return &cli.Command{
		Name:  "token",
		Usage: "create, list and revoke the tokens of a server's clients",
		Subcommands: []*cli.Command{
			{Name: "create", Usage: "create a token and print it once", Action: c.createToken, Flags: serverFlags(
				&cli.StringFlag{Name: "name", Usage: "`NAME`: who or what will use it"},
				tenantFlag(),
				&cli.StringFlag{Name: "scopes", Usage: "`LIST`: what it allows, such as run,read: " + strings.Join(scopes(), ", ") + "; admin includes all but reveal"},
				&cli.StringFlag{Name: "type", Usage: "`TYPE`: agent or person; an agent does not approve its own calls", Value: store.TypeAgent},
				&cli.StringSliceFlag{Name: "tools", Usage: "`GLOB`: only tools that match, such as github.*; repeatable"},
				&cli.StringSliceFlag{Name: "quota", Usage: "`NAME=N`: bound what its runs use: " + strings.Join(store.QuotaNames(), ", ") + "; repeatable"},
				&cli.StringFlag{Name: "model", Usage: "`NAME`: the model of its holder; the cost of runs uses its price"},
				&cli.StringFlag{Name: "expires", Usage: "`TIME`: when it ends: after a duration, such as 30d, or at a time, such as 2027-01-31T08:00:00Z (default never)"}),
				Description: "The token goes to standard output and cannot be shown again: the store keeps its SHA-256. A store that does not exist\nis created."},
			{Name: "list", Usage: "list tokens, without the tokens themselves", Action: c.of(existing(), c.listTokens), Flags: serverFlags(
				&cli.StringFlag{Name: "tenant", Usage: "`NAME`: only tokens of this tenant"})},
			{Name: "revoke", Usage: "remove a token, from now on", ArgsUsage: "ID", Action: c.of(existing(), c.revokeToken), Flags: serverFlags()},
		},
	}
}

// scopes are the scopes as text.
func scopes() []string {
	var all []string
	for _, s := range store.Scopes() {
		all = append(all, string(s))
	}
	return all
}

func (c Commands) createToken(ctx *cli.Context) error {
	if _, err := commandline.Arguments(ctx); err != nil {
		return err
	}
	t := store.Token{Tenant: ctx.String("tenant"), ID: store.NewTokenID(), Name: ctx.String("name"), Type: ctx.String("type"), Tools: ctx.StringSlice("tools"), Model: ctx.String("model")}
	if t.Name == "" {
		return fault.New(fault.UsageFlag, "the token has no name").WithHint("set --name")
	}
	for scope := range strings.SplitSeq(ctx.String("scopes"), ",") {
		if scope = strings.TrimSpace(scope); scope != "" {
			t.Scopes = append(t.Scopes, store.Scope(scope))
		}
	}
	for _, quota := range ctx.StringSlice("quota") {
		name, value, _ := strings.Cut(quota, "=")
		if err := t.Quotas.Set(name, value); err != nil {
			return err
		}
	}
	var err error
	if t.Expires, err = commandline.Future(ctx, "expires"); err != nil {
		return err
	}
	if !t.Expires.IsZero() && !t.Expires.After(time.Now()) {
		return fault.New(fault.UsageFlag, "--expires: the time is in the past").WithHint("use 30d, or a time to come")
	}
	if err := t.Valid(); err != nil { // before the store is created
		return err
	}
	if t.Model != "" && c.server(ctx) == "" { // a server checks it itself
		data, err := c.Env.DataDir(ctx.String("data"))
		if err == nil {
			err = service.CheckModel(data, t.Model)
		}
		if err != nil {
			return err
		}
	}
	of := " of tenant " + t.Tenant
	if !ctx.IsSet("tenant") {
		t.Tenant, of = "", "" // a server takes that of its client
	}
	return c.of(store.Options{}, func(ctx *cli.Context, r records) error {
		token, id, err := r.CreateToken(ctx.Context, t)
		if err != nil {
			return err
		}
		if ctx.Bool("json") {
			return c.PrintJSON(map[string]string{"id": id, "token": token})
		}
		c.printf("%s\n", token)
		c.Term.Note("this is token %s%s; it cannot be shown again", id, of)
		return nil
	})(ctx)
}

func (c Commands) listTokens(ctx *cli.Context, r records) error {
	if _, err := commandline.Arguments(ctx); err != nil {
		return err
	}
	tokens, err := r.Tokens(ctx.Context)
	if err != nil {
		return err
	}
	var cells [][]string
	for _, t := range tokens {
		var allowed []string
		for _, s := range t.Scopes {
			allowed = append(allowed, string(s))
		}
		expires := at(t.Expires)
		if !t.Expires.IsZero() && !t.Expires.After(time.Now()) {
			expires += " (expired)"
		}
		cells = append(cells, []string{t.ID, t.Name, t.Tenant, t.Type, strings.Join(allowed, ","), strings.Join(t.Tools, ","), at(t.Created), at(t.Used), expires})
	}
	switch {
	case ctx.Bool("json"):
		return c.PrintJSON(map[string]any{"tokens": tokens})
	case len(tokens) == 0:
		c.Term.Note("there are no tokens: create one with wexec token create")
		return nil
	}
	return c.table("ID NAME TENANT TYPE SCOPES TOOLS CREATED USED EXPIRES", cells)
}

func (c Commands) revokeToken(ctx *cli.Context, r records) error {
	args, err := commandline.Arguments(ctx, "the id of the token")
	if err != nil {
		return err
	}
	tenant, err := r.RevokeToken(ctx.Context, args[0])
	if err != nil {
		return err
	}
	said, of := map[string]string{"id": args[0]}, ""
	if tenant != "" {
		said["tenant"], of = tenant, " of tenant "+tenant
	}
	if ctx.Bool("json") {
		return c.PrintJSON(said)
	}
	c.printf("revoked token %s%s\n", terminal.Visible(args[0]), of)
	return nil
}
