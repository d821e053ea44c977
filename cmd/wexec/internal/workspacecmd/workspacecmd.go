// Package workspacecmd has the command wexec workspace: what programs changed in a
// folder is shown, and accepted or rejected.
package workspacecmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/internal/units"
	"github.com/wexec/wexec/workspace"
)

// Commands makes the command of an invocation.
type Commands struct {
	Env       *config.Environment
	Term      *terminal.Printer
	Stdin     io.Reader
	Stdout    io.Writer
	Terminal  bool                // Stdout is one
	Path      func(string) string // of an argument that names a file
	PrintJSON func(v any) error
	Settings  func(ctx *cli.Context) (*config.Settings, error)
}

// Workspace returns wexec workspace.
func (c Commands) Workspace() *cli.Command {
	jsonFlag := func() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON"} }
	return &cli.Command{
		Name:  "workspace",
		Usage: "show, accept or reject what programs changed in a folder",
		Description: "A program that runs with --workspace DIR changes a layer over the folder. The folder changes when a person\n" +
			"accepts the workspace. An id may be shortened.",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the workspaces, the newest first", Flags: []cli.Flag{jsonFlag()}, Action: c.list},
			{Name: "diff", Usage: "show the changes as git does", ArgsUsage: "ID", Flags: []cli.Flag{jsonFlag()}, Action: c.opened(c.diff)},
			{Name: "export", Usage: "write the files that changed into a new folder", ArgsUsage: "ID DIR", Action: c.export},
			{Name: "accept", Usage: "make the changes in the folder", ArgsUsage: "ID",
				Description: "Texts that changed in the folder too are merged. If that fails the folder stays as it was, and the conflicts\n" +
					"are shown as git shows them. After a crash the next command on the workspace completes or undoes the accept.",
				Flags: []cli.Flag{
					&cli.BoolFlag{Name: "yes", Usage: "accept without a question"},
					&cli.BoolFlag{Name: "commit", Usage: "commit the changes with git"},
					&cli.StringFlag{Name: "message", Usage: "`TEXT`: the message of the commit (default the summary of the program)"},
					jsonFlag(),
				}, Action: c.opened(c.accept)},
			{Name: "reject", Usage: "drop the changes", ArgsUsage: "ID", Action: c.reject},
			{Name: "gc", Usage: "delete workspaces that ended or changed nothing",
				Flags: []cli.Flag{&cli.StringFlag{Name: "older", Usage: "`TIME`: only those made longer ago", Value: "168h"}, jsonFlag()}, Action: c.collect},
		},
	}
}

func (c Commands) workspaces(ctx *cli.Context) (*config.Workspaces, error) {
	settings, err := c.Settings(ctx)
	if err != nil {
		return nil, err
	}
	return settings.Workspaces(c.Env)
}

// opened makes an action on an open workspace.
func (c Commands) opened(action func(ctx *cli.Context, w *workspace.Workspace) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		args, err := commandline.Arguments(ctx, "the id of the workspace")
		if err != nil {
			return err
		}
		all, err := c.workspaces(ctx)
		if err != nil {
			return err
		}
		w, err := all.Open(args[0])
		if err != nil {
			return err
		}
		defer w.Close()
		return action(ctx, w)
	}
}

func (c Commands) list(ctx *cli.Context) error {
	if _, err := commandline.Arguments(ctx); err != nil {
		return err
	}
	workspaces, err := c.workspaces(ctx)
	if err != nil {
		return err
	}
	all, err := workspaces.List()
	switch {
	case err != nil:
		return err
	case ctx.Bool("json"):
		return c.PrintJSON(map[string]any{"workspaces": append([]workspace.Info{}, all...)})
	case len(all) == 0:
		c.Term.Note("there are no workspaces: run a program with --workspace DIR")
		return nil
	}
	table := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tSTATE\tCHANGED\tCREATED\tFOLDER\tSUMMARY")
	for _, i := range all {
		summary, _, _ := strings.Cut(i.Summary, "\n")
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\n", terminal.Visible(i.ID), i.State, i.Changed, i.Created.Local().Format(time.DateTime),
			terminal.Visible(i.Base), terminal.Visible(summary))
	}
	return table.Flush()
}

func (c Commands) diff(ctx *cli.Context, w *workspace.Workspace) error {
	if ctx.Bool("json") {
		changes, err := w.Changes(ctx.Context)
		if err != nil {
			return err
		}
		return c.PrintJSON(map[string]any{"workspace": w.Info(), "changes": append([]workspace.Change{}, changes...)})
	}
	return c.print(w)
}

// print shows the changes. At a terminal they have colors and no control characters.
func (c Commands) print(w *workspace.Workspace) error {
	if !c.Terminal {
		return w.Diff(c.Stdout)
	}
	var out bytes.Buffer
	if err := w.Diff(&out); err != nil {
		return err
	}
	for line := range strings.Lines(out.String()) {
		if _, err := fmt.Fprintln(c.Stdout, c.Term.PaintDiff(text.VisibleLines(strings.TrimSuffix(line, "\n")))); err != nil {
			return err
		}
	}
	return nil
}

func (c Commands) export(ctx *cli.Context) error {
	args, err := commandline.Arguments(ctx, "the id of the workspace", "a new folder")
	if err != nil {
		return err
	}
	workspaces, err := c.workspaces(ctx)
	if err != nil {
		return err
	}
	w, err := workspaces.Open(args[0])
	if err != nil {
		return err
	}
	defer w.Close()
	return w.Export(c.Path(args[1]))
}

func (c Commands) accept(ctx *cli.Context, w *workspace.Workspace) error {
	info := w.Info()
	if info.State == workspace.Accepted { // what an earlier command began is complete now
		c.Term.Note("the workspace %s is accepted", info.ID)
		return nil
	}
	changes, err := w.Changes(ctx.Context)
	if err != nil {
		return err
	}
	var repository *git
	if ctx.Bool("commit") {
		if repository, err = openGit(ctx.Context, info.Base); err != nil {
			return err
		}
	} else if ctx.IsSet("message") {
		return fault.New(fault.UsageFlag, "--message has no effect without --commit").WithHint("add --commit")
	}
	if !ctx.Bool("yes") {
		if !c.Term.CanAsk(c.Stdin) {
			return fault.New(fault.UsageFlag, "accept asks at a terminal, and standard input is not one").WithHint("read wexec workspace diff %s; to accept it: wexec workspace accept --yes %s", info.ID, info.ID)
		}
		if err := c.print(w); err != nil {
			return err
		}
		if !c.Term.Confirm(c.Stdin, fmt.Sprintf("change %s in %s", terminal.Count(len(changes), "path"), terminal.Visible(info.Base))) {
			c.Term.Note("the workspace %s is unchanged", info.ID)
			return nil
		}
	}
	if changes, err = w.Accept(ctx.Context); err != nil {
		c.showConflicts(err)
		return err
	}
	said := map[string]any{"id": info.ID, "changed": len(changes)}
	if repository != nil && len(changes) > 0 {
		message := ctx.String("message")
		for _, m := range []string{info.Summary, "Accept workspace " + info.ID} {
			if strings.TrimSpace(message) == "" {
				message = m
			}
		}
		commit, err := repository.commit(ctx.Context, changes, message)
		if err != nil {
			return err
		}
		said["commit"] = commit
	}
	if ctx.Bool("json") {
		return c.PrintJSON(said)
	}
	fmt.Fprintf(c.Stdout, "accepted %s: %s changed\n", info.ID, terminal.Count(len(changes), "path"))
	return nil
}

// showConflicts prints the lines between the marks of each conflict.
func (c Commands) showConflicts(err error) {
	conflicts, ok := errors.AsType[*workspace.ConflictError](err)
	if !ok {
		return
	}
	for _, one := range conflicts.Conflicts {
		fmt.Fprintf(c.Stdout, "CONFLICT in %s: %s\n", terminal.Visible(one.Path), one.Reason)
		inside, number := false, 0
		for line := range strings.Lines(string(one.Merged)) {
			number++
			line = strings.TrimSuffix(line, "\n")
			if strings.HasPrefix(line, "<<<<<<< ") {
				fmt.Fprintf(c.Stdout, "@@ line %s @@\n", strconv.Itoa(number))
				inside = true
			}
			if inside {
				fmt.Fprintln(c.Stdout, terminal.Visible(line))
			}
			if strings.HasPrefix(line, ">>>>>>> ") {
				inside = false
			}
		}
	}
}

func (c Commands) reject(ctx *cli.Context) error {
	args, err := commandline.Arguments(ctx, "the id of the workspace")
	if err != nil {
		return err
	}
	workspaces, err := c.workspaces(ctx)
	if err != nil {
		return err
	}
	info, err := workspaces.Find(args[0])
	if err != nil {
		return err
	}
	if err := workspaces.Reject(info.ID); err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "rejected %s\n", terminal.Visible(info.ID))
	return nil
}

func (c Commands) collect(ctx *cli.Context) error {
	if _, err := commandline.Arguments(ctx); err != nil {
		return err
	}
	older, err := units.ParseDuration(ctx.String("older"))
	if err != nil {
		return fault.New(fault.UsageFlag, "--older: %w", err)
	}
	workspaces, err := c.workspaces(ctx)
	if err != nil {
		return err
	}
	gone, err := workspaces.Collect(time.Now().Add(-older))
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		return c.PrintJSON(map[string]any{"workspaces": append([]workspace.Info{}, gone...)})
	}
	fmt.Fprintf(c.Stdout, "deleted %s\n", terminal.Count(len(gone), "workspace"))
	return nil
}
