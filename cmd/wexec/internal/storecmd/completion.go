package storecmd

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// FlagValues lists the values of a flag of these commands, for completion. It
// returns nil for all others.
func FlagValues(command, flag string) []string {
	switch command + " " + flag {
	case "token create type":
		return []string{store.TypeAgent, store.TypePerson}
	case "token create scopes":
		return scopes()
	case "runs list status":
		return statuses()
	case "runs list state":
		return states()
	case "usage by":
		return sums()
	}
	return nil
}

// Bounds of completion: a person waits for it, and reads what it lists.
const (
	completionTime = 2 * time.Second
	completionRuns = 50
)

// Arguments lists the newest runs, if they are arguments of a command with some flags:
// for wexec kill those that have not ended. It is for completion, where a failure means
// that there is nothing to list.
func (c Commands) Arguments(command string, flags []string) []commandline.Candidate {
	states := []store.State{""}
	switch command {
	case "logs", "runs show":
	case "kill":
		states = []store.State{store.StateQueued, store.StateRunning, store.StateWaiting, store.StateParked}
	case "runs resume", "runs signal", "runs drop":
		ctx, cancel := context.WithTimeout(context.Background(), completionTime)
		defer cancel()
		runs, _ := c.durable(ctx)
		return candidates(runs)
	default:
		return nil
	}
	set := flag.NewFlagSet(command, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	like := c.Kill() // all these commands have its flags
	for _, f := range like.Flags {
		if f.Apply(set) != nil {
			return nil
		}
	}
	_ = set.Parse(flags) // what a person has not finished is not valid
	ctx := cli.NewContext(nil, set, nil)
	ctx.Command = like
	var cancel context.CancelFunc
	ctx.Context, cancel = context.WithTimeout(context.Background(), completionTime)
	defer cancel()
	var all []commandline.Candidate
	_ = c.of(existing(), func(ctx *cli.Context, r records) error {
		for _, state := range states {
			runs, _, err := r.Runs(ctx.Context, store.Filter{State: state, Limit: completionRuns})
			if err != nil {
				return err
			}
			all = append(all, candidates(runs)...)
		}
		return nil
	})(ctx)
	return all
}

// candidates describes runs for completion.
func candidates(runs []*service.Run) (all []commandline.Candidate) {
	for _, run := range runs {
		what := run.Intent
		if what == "" {
			what = run.Language
		}
		all = append(all, commandline.Candidate{Word: run.RunID, Doc: terminal.Visible(fmt.Sprintf("%s, %s ago, %s", run.Status, age(run.Started), terminal.Clip(what, 40)))})
	}
	return all
}
