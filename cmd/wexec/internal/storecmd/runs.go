package storecmd

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// maxListed is how many runs one list can have.
const maxListed = 1000

// Runs is wexec runs.
func (c Commands) Runs() *cli.Command {
	return &cli.Command{
		Name:  "runs",
		Usage: "list and show the runs that a store or a server keeps, and go on with those of this machine",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list runs, the newest first; if no store and no server is named, after the durable runs of this machine", Action: c.listAll, Flags: serverFlags(
				tenantFlag(),
				&cli.IntFlag{Name: "limit", Usage: fmt.Sprintf("`N`: at most N runs, up to %d", maxListed), Value: 50},
				&cli.StringFlag{Name: "before", Usage: "`ID`: only runs older than this one, to continue a list"},
				&cli.StringFlag{Name: "status", Usage: "`STATUS`: only runs with this result: " + strings.Join(statuses(), ", ")},
				&cli.StringFlag{Name: "state", Usage: "`STATE`: only runs in this state: " + strings.Join(states(), ", ")},
				&cli.StringFlag{Name: "actor", Usage: "`ID`: only runs of this actor"},
				&cli.StringFlag{Name: "tool", Usage: "`TOOL`: only runs that called this tool"},
				&cli.StringFlag{Name: "since", Usage: "`TIME`: only runs after a time, such as 2026-01-31T08:00:00Z, or not older than a duration, such as 2h"})},
			{Name: "show", Usage: "show a run: its result, its state and its code", ArgsUsage: "ID", Action: c.of(existing(), c.showRun), Flags: serverFlags(tenantFlag())},
			{Name: "resume", Usage: "go on with a durable run of this machine, and ask at the terminal", ArgsUsage: "ID", Action: c.Resume, Flags: []cli.Flag{
				&cli.BoolFlag{Name: "json", Usage: "print the Result as JSON and nothing else"}}},
			{Name: "signal", Usage: "send a signal to a durable run of this machine: what wait_for returns", ArgsUsage: "ID NAME [JSON]", Action: c.signalRun},
			{Name: "drop", Usage: "delete what is kept of a durable run of this machine", ArgsUsage: "ID", Action: c.dropRun},
		},
	}
}

// statuses and states are what runs are selected by.
func statuses() []string {
	return []string{string(engine.StatusOK), string(engine.StatusError), string(engine.StatusDenied), string(engine.StatusLimit), string(engine.StatusWaiting)}
}

func states() []string {
	return []string{string(store.StateQueued), string(store.StateRunning), string(store.StateWaiting), string(store.StateParked), string(store.StateDone)}
}

func (c Commands) listRuns(ctx *cli.Context, r records) error {
	_, wrong := commandline.Arguments(ctx)
	limit := ctx.Int("limit")
	if limit < 1 || limit > maxListed {
		wrong = errors.Join(wrong, fault.New(fault.UsageFlag, "--limit must be between 1 and %d", maxListed))
	}
	since, err := commandline.Past(ctx, "since")
	if err := errors.Join(wrong, err, commandline.OneOf("status", ctx.String("status"), statuses()...), commandline.OneOf("state", ctx.String("state"), states()...)); err != nil {
		return err
	}
	runs, next, err := r.Runs(ctx.Context, store.Filter{State: store.State(ctx.String("state")), Status: ctx.String("status"),
		Actor: ctx.String("actor"), Tool: ctx.String("tool"), Since: since, Before: ctx.String("before"), Limit: limit})
	if err != nil {
		return err
	}
	var cells [][]string
	for _, r := range runs {
		cells = append(cells, []string{r.RunID, at(r.Started), string(r.State), string(r.Status), r.Language, terminal.Clip(r.Actor, 24), terminal.Clip(r.Intent, 60)})
	}
	switch {
	case ctx.Bool("json"):
		list := map[string]any{"runs": runs}
		if next != "" {
			list["next"] = next
		}
		return c.PrintJSON(list)
	case len(runs) == 0:
		c.Term.Note("no run of %s matches", r)
		return nil
	}
	err = c.table("ID STARTED STATE STATUS LANGUAGE ACTOR INTENT", cells)
	if next != "" {
		c.Term.Note("there are older runs: list them with --before %s", next)
	}
	return err
}

func (c Commands) showRun(ctx *cli.Context, r records) error {
	args, err := commandline.Arguments(ctx, "the run")
	if err != nil {
		return err
	}
	run, err := r.Run(ctx.Context, args[0])
	if err != nil {
		return unknownRun(err)
	}
	if ctx.Bool("json") {
		return c.PrintJSON(run)
	}
	c.printRun(run)
	return nil
}

// unknownRun adds what to do to the error of an unknown run.
func unknownRun(err error) error {
	if known, ok := errors.AsType[*fault.Error](err); ok && known.Code == fault.UsageRun {
		return known.WithHint("list the runs with wexec runs list")
	}
	return err
}

// printRun shows a run to a person.
func (c Commands) printRun(r *service.Run) {
	row := func(name, text string) {
		if text != "" {
			c.printf("%-9s %s\n", name, terminal.Visible(text))
		}
	}
	block := func(name, text string) {
		if text != "" && text != "null" {
			c.printf("%s\n%s", name, indented(text))
		}
	}
	row("run", r.RunID)
	row("state", string(r.State))
	row("status", string(r.Status))
	row("actor", r.Actor)
	row("language", r.Language)
	row("intent", r.Intent)
	row("started", at(r.Started))
	if r.State == store.StateDone {
		row("time", (time.Duration(r.Usage.WallMS) * time.Millisecond).String())
	}
	if r.Digests != nil {
		row("kept", "digests only, as the policy says")
		row("code", sum(r.Provenance.Code))
		row("args", sum(r.Provenance.Args))
		row("stdout", sum(r.Digests.Stdout))
		row("stderr", sum(r.Digests.Stderr))
		row("value", sum(r.Provenance.Value))
	}
	block("code", r.Code)
	block("stdout", r.Stdout)
	block("stderr", r.Stderr)
	block("value", string(r.Value))
	if e := r.Error; e != nil {
		row("error", fmt.Sprintf("%s [%s]", e.Message, e.Code))
	}
	for _, w := range r.Waiting {
		row("waiting", fmt.Sprintf("%s  %s  %s", w.ID, w.Tool, w.Message))
	}
}

// sum shows a digest; "" is no digest.
func sum(digest string) string {
	if digest == "" {
		return ""
	}
	return "sha256 " + digest
}

// indented returns text with each line indented, and its invisible characters
// shown.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		b.WriteString("  " + terminal.Visible(line) + "\n")
	}
	return b.String()
}
