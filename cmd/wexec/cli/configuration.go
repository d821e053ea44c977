package cli

import (
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
)

func (d *door) configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "see the configuration, and trust a project's",
		Subcommands: []*cli.Command{
			{Name: "show", Usage: "show every value that somebody set", Action: d.configShow, Flags: append([]cli.Flag{
				&cli.BoolFlag{Name: "origin", Usage: "say where each came from"},
				&cli.BoolFlag{Name: "json", Usage: "print JSON"}}, settingFlags()...)},
			{Name: "trust", Usage: "let this project's files start servers and allow tools, as they are now", Action: d.configTrust},
		},
	}
}

func (d *door) configShow(ctx *cli.Context) error {
	s, err := d.settings(ctx)
	if err != nil {
		return err
	}
	values := s.Values()
	if ctx.Bool("json") {
		return d.printJSON(map[string]any{"values": values, "project": map[string]any{"dir": s.Project.Dir, "trusted": s.Project.Trusted}})
	}
	for _, v := range values {
		if ctx.Bool("origin") {
			fmt.Fprintf(d.inv.Stdout, "%-24s %-40s %s\n", v.Key, v.Value, v.Origin)
			continue
		}
		fmt.Fprintf(d.inv.Stdout, "%-24s %s\n", v.Key, v.Value)
	}
	return nil
}

func (d *door) configTrust(ctx *cli.Context) error {
	if ctx.Args().Len() > 0 {
		return fault.New(fault.UsageFlag, "config trust takes no arguments").WithHint("run it in the project's folder")
	}
	p, err := config.Trust(d.inv.Env)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		d.voice.note("trusted: %s", name)
	}
	d.voice.note("a change to any of these asks again")
	return nil
}
