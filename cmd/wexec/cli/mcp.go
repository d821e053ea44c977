package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
)

func (d *door) mcpCommand() *cli.Command {
	return &cli.Command{
		Name:  "mcp",
		Usage: "be an MCP server for agents, over stdio or HTTP",
		Flags: append(append([]cli.Flag{}, settingFlags()...), limitFlags()...),
		Action: func(ctx *cli.Context) error {
			if ctx.Args().Len() > 0 {
				return unknownCommand(ctx, ctx.Command.Subcommands, "mcp ")
			}
			settings, err := d.settings(ctx)
			if err != nil {
				return err
			}
			host, err := settings.Open(ctx.Context, config.Options{Env: d.inv.Env, Version: d.inv.Version, Logger: d.logger(settings.Log)})
			if err != nil {
				return err
			}
			defer host.Close()
			return mcpd.New(mcpd.Options{
				Engine: host.Engine, Table: host.Table, Limits: settings.Limits, Env: d.inv.Env.Map(), Dir: d.inv.Env.Dir,
				Asker: host.Approvals, Logger: d.logger(settings.Log), Version: d.inv.Version,
			}).Stdio(ctx.Context)
		},
	}
}

func (d *door) promptCommand() *cli.Command {
	return &cli.Command{
		Name: "prompt", Usage: "print a system prompt that teaches a model to write programs",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "the `FAMILY`: " + strings.Join(mcpd.Families(), ", "), Value: "claude"},
			&cli.IntFlag{Name: "budget", Usage: "at most `N` tokens", Value: 600}}, settingFlags()...),
		Action: func(ctx *cli.Context) error {
			settings, err := d.settings(ctx)
			if err != nil {
				return err
			}
			var servers []string
			for _, s := range settings.Servers {
				servers = append(servers, s.Name)
			}
			text, ok := mcpd.Prompt(ctx.String("model"), servers, ctx.Int("budget"))
			if !ok {
				return fault.New(fault.UsageFlag, "there is no prompt for %q", ctx.String("model")).WithHint("one of %s", strings.Join(mcpd.Families(), ", "))
			}
			_, err = fmt.Fprintln(d.inv.Stdout, text)
			return err
		},
	}
}
