package storecmd

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
)

// Usage is wexec usage.
func (c Commands) Usage() *cli.Command {
	return &cli.Command{
		Name:   "usage",
		Usage:  "sum what runs used, by day, actor, tool, skill or model",
		Action: c.of(existing(), c.usage),
		Flags: serverFlags(
			&cli.StringFlag{Name: "by", Usage: "`WHAT`: " + strings.Join(sums(), ", "), Value: "day"},
			tenantFlag(),
			&cli.StringFlag{Name: "since", Usage: "`TIME`: only runs that ended after a time, such as 2026-01-31T08:00:00Z, or within a duration, such as 30d"},
			&cli.StringFlag{Name: "until", Usage: "`TIME`: only runs that ended before a time, or longer ago than a duration"}),
		Description: "Days are those of UTC. What was pruned is not in the sums.",
	}
}

// sums are what usage is summed by.
func sums() []string { return []string{"day", "actor", "tool", "skill", "model"} }

func (c Commands) usage(ctx *cli.Context, r records) error {
	_, wrong := commandline.Arguments(ctx)
	by := ctx.String("by")
	since, badSince := commandline.Past(ctx, "since")
	until, badUntil := commandline.Past(ctx, "until")
	if err := errors.Join(wrong, badSince, badUntil, commandline.OneOf("by", by, sums()...)); err != nil {
		return err
	}
	all, err := r.Usage(ctx.Context, by, since, until)
	if err != nil {
		return err
	}
	var cells [][]string
	for _, u := range all {
		cells = append(cells, []string{u.Key, terminal.Thousands(u.Count), terminal.Thousands(u.Failed), terminal.Thousands(u.Fuel), terminal.Thousands(u.Tokens),
			strconv.FormatFloat(u.Money, 'f', -1, 64), (time.Duration(u.MS) * time.Millisecond).String()})
	}
	switch {
	case ctx.Bool("json"):
		return c.PrintJSON(map[string]any{"by": by, "usage": all})
	case len(all) == 0:
		c.Term.Note("no usage of %s matches", r)
		return nil
	}
	return c.table(strings.ToUpper(by)+" COUNT FAILED FUEL TOKENS MONEY TIME", cells)
}
