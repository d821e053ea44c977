package storecmd

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/apiclient"
	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// PS is wexec ps.
func (c Commands) PS() *cli.Command {
	return &cli.Command{Name: "ps", Usage: "list the runs that have not ended", Action: c.of(existing(), c.listActive), Flags: serverFlags(tenantFlag()),
		Description: "Without --server these are the runs of a wexec serve with the same data folder."}
}

// Logs is wexec logs.
func (c Commands) Logs() *cli.Command {
	return &cli.Command{Name: "logs", Usage: "print what a run wrote and called", ArgsUsage: "RUN", Action: c.of(existing(), c.printLogs), Flags: serverFlags(
		tenantFlag(),
		&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "continue until the run has ended"}),
		Description: "The program's standard output goes to standard output, everything else to standard error. With --json each event is\na line of JSON."}
}

// Kill is wexec kill.
func (c Commands) Kill() *cli.Command {
	return &cli.Command{Name: "kill", Usage: "end runs", ArgsUsage: "RUN…", Action: c.of(existing(), c.killRuns), Flags: serverFlags(tenantFlag()),
		Description: "A run of another process ends within seconds, with the code cancelled."}
}

func (c Commands) listActive(ctx *cli.Context, r records) error {
	if _, err := commandline.Arguments(ctx); err != nil {
		return err
	}
	runs := []*service.Run{}
	for _, state := range states() {
		if state == string(store.StateDone) {
			continue
		}
		for f := (store.Filter{State: store.State(state), Limit: maxListed}); ; {
			page, next, err := r.Runs(ctx.Context, f)
			if err != nil {
				return err
			}
			if runs = append(runs, page...); next == "" {
				break
			}
			f.Before = next
		}
	}
	// A run that changed its state in between is in two lists.
	slices.SortStableFunc(runs, func(a, b *service.Run) int { return strings.Compare(b.RunID, a.RunID) })
	runs = slices.CompactFunc(runs, func(a, b *service.Run) bool { return a.RunID == b.RunID })
	if ctx.Bool("json") {
		return c.PrintJSON(map[string]any{"runs": runs})
	}
	if len(runs) == 0 {
		c.Term.Note("no run is active")
		return nil
	}
	var cells [][]string
	for _, run := range runs {
		purpose := run.Intent
		if len(run.Waiting) > 0 {
			purpose = "approve " + run.Waiting[0].Tool + "?"
		}
		cells = append(cells, []string{run.RunID, age(run.Started), string(run.State), run.Language, terminal.Clip(run.Actor, 24), terminal.Clip(purpose, 60)})
	}
	return c.table("ID SINCE STATE LANGUAGE ACTOR INTENT", cells)
}

// age is how long ago a time was.
func age(t time.Time) string { return time.Since(t).Round(time.Second).String() }

func (c Commands) printLogs(ctx *cli.Context, r records) error {
	args, err := commandline.Arguments(ctx, "the run")
	if err != nil {
		return err
	}
	return c.logsOf(ctx, r, args[0])
}

// LogsOf prints what a run of a server wrote and called.
func (c Commands) LogsOf(ctx *cli.Context, s *apiclient.Client, run string) error {
	return c.logsOf(ctx, s, run)
}

// events has the events of runs.
type events interface {
	Events(ctx context.Context, run string, after int64, follow bool, each func(store.Event) error) error
}

func (c Commands) logsOf(ctx *cli.Context, from events, run string) error {
	each := c.printEvent
	if ctx.Bool("json") {
		each = c.printEventLine
	}
	return unknownRun(from.Events(ctx.Context, run, 0, ctx.Bool("follow"), each))
}

// printEventLine prints an event as a line of JSON.
func (c Commands) printEventLine(e store.Event) error {
	line, err := json.Marshal(struct {
		Number int64           `json:"number"`
		At     time.Time       `json:"at,omitzero"`
		Type   string          `json:"type"`
		Data   json.RawMessage `json:"data"`
	}{e.Number, e.At, e.Type, e.Data})
	if err != nil {
		return fault.New(fault.Internal, "encode an event: %w", err)
	}
	c.printf("%s\n", line)
	return nil
}

// printEvent prints an event for a person.
func (c Commands) printEvent(e store.Event) error {
	var data struct {
		Stream, Text string // output
		engine.Call         // call
		ID           string // approval
		State        string // approval, state
		SHA256       string // of an event whose text is not kept
	}
	if e.Type == "end" {
		return c.printEnd(e.Data)
	}
	if err := json.Unmarshal(e.Data, &data); err != nil {
		return fault.New(fault.Internal, "read event %d of the run: %w", e.Number, err)
	}
	note := func(format string, args ...any) {
		c.Term.Print("%s", c.Term.Paint(terminal.Dim, fmt.Sprintf(format, args...)))
	}
	switch {
	case data.SHA256 != "":
		note("%s  the policy keeps no text; sha256 %s", e.Type, data.SHA256)
		return nil
	case e.Type == "output":
		to := c.Programs.Out
		if data.Stream == "stderr" {
			to = c.Programs.Err
		}
		_, err := to.Write([]byte(data.Text))
		return err
	case e.Type == "call":
		outcome := "ok"
		if !data.OK {
			outcome = cmp.Or(string(data.Code), "failed")
		}
		note("call  %s  %s  %s  %d ms, %s", data.Tool, data.Decision, outcome, data.MS, terminal.Bytes(data.Bytes))
	case e.Type == "approval":
		note("approval  %s  %s  %s", data.ID, data.Tool, data.State)
	case e.Type == "state":
		note("state  %s", data.State)
	}
	return nil
}

// printEnd prints how a run ended, after what it wrote.
func (c Commands) printEnd(result []byte) error {
	var res engine.Result
	if err := json.Unmarshal(result, &res); err != nil {
		return fault.New(fault.Internal, "read the result of the run: %w", err)
	}
	if res.Error != nil {
		c.Term.Error(res.Error)
	}
	c.Term.Note("the run ended after %s: %s", time.Duration(res.Usage.WallMS)*time.Millisecond, res.Status)
	return nil
}

func (c Commands) killRuns(ctx *cli.Context, r records) error {
	ids := ctx.Args().Slice()
	if len(ids) == 0 {
		_, err := commandline.Arguments(ctx, "the run")
		return err
	}
	type killed struct {
		RunID     string `json:"run_id"`
		Cancelled bool   `json:"cancelled"` // false: the run had ended
	}
	all := []killed{}
	var errs []error
	for _, id := range ids {
		ok, err := r.Cancel(ctx.Context, id)
		switch {
		case err != nil:
			errs = append(errs, unknownRun(err))
			continue
		case ctx.Bool("json"):
		case ok:
			c.printf("cancelled %s\n", id)
		default:
			c.Term.Note("run %s has ended already", id)
		}
		all = append(all, killed{id, ok})
	}
	if ctx.Bool("json") {
		errs = append(errs, c.PrintJSON(map[string]any{"runs": all}))
	}
	return errors.Join(errs...)
}
