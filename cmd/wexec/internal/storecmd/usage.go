package storecmd

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/store"
)

// Usage is wexec usage.
func (c Commands) Usage() *cli.Command {
	return &cli.Command{
		Name:   "usage",
		Usage:  "sum what runs used, by day, actor, tool, skill or model",
		Action: c.with(existing(), c.usage),
		Flags: flags(
			&cli.StringFlag{Name: "by", Usage: "`WHAT`: " + strings.Join(sums(), ", "), Value: "day"},
			tenantFlag(),
			&cli.StringFlag{Name: "since", Usage: "`TIME`: only runs that ended after a time, such as 2026-01-31T08:00:00Z, or within a duration, such as 30d"},
			&cli.StringFlag{Name: "until", Usage: "`TIME`: only runs that ended before a time, or longer ago than a duration"}),
		Description: "Days are those of UTC. What was pruned is not in the sums.",
	}
}

// sums are what usage is summed by.
func sums() []string { return []string{"day", "actor", "tool", "skill", "model"} }

// usageRow is a sum. Key is a day, an actor or a name.
type usageRow struct {
	Key    string  `json:"key"`
	Count  int64   `json:"count"`
	Failed int64   `json:"failed"`
	Fuel   int64   `json:"fuel"`
	Tokens int64   `json:"tokens"`
	Money  float64 `json:"money"`
	MS     int64   `json:"ms"`
}

func (c Commands) usage(ctx *cli.Context, s *store.Store, _ string) error {
	_, wrong := commandline.Arguments(ctx)
	by := ctx.String("by")
	since, badSince := commandline.Past(ctx, "since")
	until, badUntil := commandline.Past(ctx, "until")
	if err := errors.Join(wrong, badSince, badUntil, commandline.OneOf("by", by, sums()...)); err != nil {
		return err
	}
	kind, column := by, store.ByName
	if by == "day" || by == "actor" {
		kind, column = "run", store.By(by)
	}
	all, err := s.Usage(ctx.Context, ctx.String("tenant"), kind, column, since, until)
	if err != nil {
		return err
	}
	rows, cells := []usageRow{}, [][]string{}
	for _, u := range all {
		money := float64(u.Money) / 1e6
		rows = append(rows, usageRow{u.Key, u.Count, u.Failed, u.Fuel, u.Tokens, money, u.Time.Milliseconds()})
		cells = append(cells, []string{u.Key, terminal.Thousands(u.Count), terminal.Thousands(u.Failed), terminal.Thousands(u.Fuel), terminal.Thousands(u.Tokens),
			strconv.FormatFloat(money, 'f', -1, 64), u.Time.Round(time.Millisecond).String()})
	}
	switch {
	case ctx.Bool("json"):
		return c.PrintJSON(map[string]any{"by": by, "usage": rows})
	case len(rows) == 0:
		c.Term.Note("no usage of tenant %s matches", terminal.Visible(ctx.String("tenant")))
		return nil
	}
	return c.table(strings.ToUpper(by)+" COUNT FAILED FUEL TOKENS MONEY TIME", cells)
}
