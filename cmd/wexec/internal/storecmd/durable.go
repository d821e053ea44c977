package storecmd

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/sessioncmd"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// listAll lists the runs of the place that is named, or else the durable runs of this
// machine and those of the user's store.
func (c Commands) listAll(ctx *cli.Context) error {
	if ctx.String("store") != "" || ctx.String("data") != "" || c.server(ctx) != "" {
		return c.of(existing(), c.listRuns)(ctx)
	}
	here, err := c.durable(ctx.Context)
	if err != nil {
		return err
	}
	address, err := c.address(ctx)
	if err != nil {
		return err
	}
	if file, ok := strings.CutPrefix(address, "sqlite:"); ok && len(here) > 0 {
		if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
			return c.listRuns(ctx, machine{nil, here})
		}
	}
	return c.of(existing(), func(ctx *cli.Context, r records) error {
		if len(here) > 0 {
			r = machine{r, here}
		}
		return c.listRuns(ctx, r)
	})(ctx)
}

// durable returns the durable runs of this machine, the newest first.
func (c Commands) durable(ctx context.Context) ([]*service.Run, error) {
	folder, err := sessioncmd.Folder(c.Env)
	if err != nil {
		return nil, err
	}
	parked, err := folder.Runs().List(ctx)
	if err != nil {
		return nil, err
	}
	var all []*service.Run
	for _, p := range parked {
		r := &service.Run{State: store.StateParked, Actor: "person", Language: p.Language}
		r.RunID, r.Status, r.Started, r.Waiting = p.ID, engine.StatusWaiting, p.Started, p.Waiting
		all = append(all, r)
	}
	return all, nil
}

// machine are the records of a store, if there is one, after the durable runs of this
// machine.
type machine struct {
	records
	here []*service.Run
}

// String names the machine.
func (m machine) String() string { return "this machine" }

// Runs implements records.
func (m machine) Runs(ctx context.Context, f store.Filter) (all []*service.Run, next string, err error) {
	for _, r := range m.here {
		if len(all) < f.Limit && f.Before == "" && f.Tool == "" && (f.Actor == "" || f.Actor == r.Actor) && !r.Started.Before(f.Since) &&
			(f.State == "" || f.State == r.State) && (f.Status == "" || f.Status == string(r.Status)) {
			all = append(all, r)
		}
	}
	if f.Limit -= len(all); m.records == nil || f.Limit == 0 {
		return all, "", nil
	}
	kept, next, err := m.records.Runs(ctx, f)
	return append(all, kept...), next, err
}

// signalRun sends a signal to a durable run of this machine.
func (c Commands) signalRun(ctx *cli.Context) error {
	what, payload := []string{"the run", "the name of the signal"}, json.RawMessage("null")
	if ctx.NArg() > len(what) {
		what, payload = append(what, "the payload"), json.RawMessage(ctx.Args().Get(2))
	}
	args, err := commandline.Arguments(ctx, what...)
	if err != nil {
		return err
	}
	folder, err := sessioncmd.Folder(c.Env)
	if err != nil {
		return err
	}
	if _, err := folder.Runs().Signal(ctx.Context, args[0], args[1], payload); err != nil {
		return err
	}
	c.printf("sent %s to %s\n", terminal.Visible(args[1]), args[0])
	c.Term.Hint("if the run is parked, go on with it: wexec runs resume " + args[0])
	return nil
}

// dropRun deletes what is kept of a durable run of this machine.
func (c Commands) dropRun(ctx *cli.Context) error {
	args, err := commandline.Arguments(ctx, "the run")
	if err != nil {
		return err
	}
	folder, err := sessioncmd.Folder(c.Env)
	if err != nil {
		return err
	}
	if err := folder.Runs().Drop(args[0]); err != nil {
		return err
	}
	c.printf("dropped %s\n", args[0])
	return nil
}
