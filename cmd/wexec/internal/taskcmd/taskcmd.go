// Package taskcmd has the command wexec task: work that is left to a server.
package taskcmd

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/apiclient"
	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
	"github.com/wexec/wexec/tasks"
)

// Commands makes the command of an invocation.
type Commands struct {
	Env       *config.Environment
	Term      *terminal.Printer
	Stdout    io.Writer
	PrintJSON func(v any) error
	// Logs prints the events of a run, as wexec logs does.
	Logs func(ctx *cli.Context, s *apiclient.Client, run string) error
}

// maxProgram bounds the file of a program, and maxListed a list.
const (
	maxProgram = 4 << 20
	maxListed  = 1000
)

// flags returns the flags of a command, and those that name the server.
func flags(own ...cli.Flag) []cli.Flag {
	own = append(own, &cli.BoolFlag{Name: "json", Usage: "print JSON"})
	return append(own, apiclient.Flags("default WEXEC_SERVER")...)
}

// States returns the states of a task, for completion.
func States() (all []string) {
	for _, s := range store.TaskStates() {
		all = append(all, string(s))
	}
	return all
}

// Task returns wexec task.
func (c Commands) Task() *cli.Command {
	return &cli.Command{
		Name:  "task",
		Usage: "leave programs to a server: later, again and again, or until they succeed",
		Description: "A task belongs to the server that --server or WEXEC_SERVER names. Each attempt of it is a run, which wexec logs\n" +
			"and wexec runs show as well.",
		Subcommands: []*cli.Command{
			{Name: "add", Usage: "add a task; the words say what it is for", ArgsUsage: "WORDS", Action: c.with(c.add), Flags: flags(
				&cli.StringFlag{Name: "file", Usage: "`PROGRAM`: what each attempt runs", TakesFile: true},
				&cli.StringFlag{Name: "l", Aliases: []string{"language"}, Usage: "`LANG`: js, ts or py (default by the name of the file)"},
				&cli.StringFlag{Name: "workspace", Usage: "`ID`: the program sees this workspace of the server as /workspace; what it changes waits for accept or reject"},
				&cli.StringFlag{Name: "args", Usage: "`JSON`: what the program sees as args"},
				&cli.StringFlag{Name: "name", Usage: "`NAME`: refuse the task if one with this name has not ended"},
				&cli.IntFlag{Name: "priority", Usage: "`N`: 0 to 9; the highest is first"},
				&cli.StringFlag{Name: "at", Usage: "`TIME`: not before a time, such as 2026-01-31T08:00:00Z, or after a duration, such as 2h"},
				&cli.StringFlag{Name: "schedule", Usage: "`CRON`: run again and again, such as '30 6 * * MON-FRI' or @daily"},
				&cli.StringFlag{Name: "zone", Usage: "`ZONE`: the time zone of the schedule, such as Europe/Berlin (default UTC)"},
				&cli.IntFlag{Name: "attempts", Usage: "`N`: run the program at most N times (default 3)"},
				&cli.StringFlag{Name: "delay", Usage: "`DURATION`: the pause before the second attempt; it doubles with each further one (default 10s)"},
				&cli.StringSliceFlag{Name: "retry-on", Usage: "`CODE`: run the program again after this code or class of errors (default: what is unavailable)"})},
			{Name: "list", Usage: "list tasks, the newest first", Action: c.with(c.list), Flags: flags(
				&cli.StringFlag{Name: "state", Usage: "`STATE`: only tasks in this state: " + strings.Join(States(), ", ")},
				&cli.StringFlag{Name: "name", Usage: "`NAME`: only tasks with this name"},
				&cli.StringFlag{Name: "before", Usage: "`ID`: only tasks older than this one, to continue a list"},
				&cli.IntFlag{Name: "limit", Usage: fmt.Sprintf("`N`: at most N tasks, up to %d", maxListed), Value: 50})},
			{Name: "show", Usage: "show a task and its newest attempts", ArgsUsage: "ID", Action: c.with(c.show), Flags: flags()},
			{Name: "logs", Usage: "print what the present or last attempt of a task wrote", ArgsUsage: "ID", Action: c.with(c.logs), Flags: flags(
				&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "continue until the attempt has ended"})},
			{Name: "retry", Usage: "try a task again that failed or was cancelled", ArgsUsage: "ID", Action: c.with(c.retry), Flags: flags()},
			{Name: "accept", Usage: "make the changes of a task in review in the folder of its workspace", ArgsUsage: "ID", Action: c.with(c.decide(true)), Flags: flags()},
			{Name: "reject", Usage: "drop the changes of a task in review", ArgsUsage: "ID", Action: c.with(c.decide(false)), Flags: flags()},
			{Name: "cancel", Usage: "end a task and its schedule", ArgsUsage: "ID", Action: c.with(c.cancel), Flags: flags()},
		},
	}
}

// with makes an action over the server that the flags name.
func (c Commands) with(action func(ctx *cli.Context, s *apiclient.Client) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		address := apiclient.Address(c.Env)
		if ctx.String("server") == "" && address == "" {
			return fault.New(fault.UsageFlag, "no server is named, which would do the task").WithHint("start one with wexec serve, and set --server or WEXEC_SERVER to its address")
		}
		client, err := apiclient.Open(ctx, c.Env, c.Term, address)
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		return action(ctx, client)
	}
}

func (c Commands) add(ctx *cli.Context, s *apiclient.Client) error {
	n, err := c.newTask(ctx)
	if err != nil {
		return err
	}
	task, err := s.AddTask(ctx.Context, n, rand.Text())
	if err != nil {
		return err
	}
	return c.print(ctx, task)
}

// newTask reads the flags of a new task.
func (c Commands) newTask(ctx *cli.Context) (n service.NewTask, err error) {
	file := ctx.String("file")
	if file == "" {
		return n, fault.New(fault.UsageTask, "the task has no program, and this server has no model that writes it").WithHint("name it with --file PROGRAM")
	}
	path := file
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.Env.Dir, path)
	}
	code, err := readProgram(path)
	if err != nil {
		return n, err
	}
	language, known := guests.LanguageOfFile(file)
	if given := ctx.String("l"); given != "" {
		if language, err = engine.Language(given); err != nil {
			return n, err
		}
	} else if !known {
		return n, fault.New(fault.UsageLanguage, "the language of %s is unknown", file).WithHint("set it with -l js, -l ts or -l py")
	}
	n = service.NewTask{Name: ctx.String("name"), Priority: int64(ctx.Int("priority")),
		Program: service.Program{Language: language, Code: code, File: filepath.ToSlash(filepath.Base(file)), Intent: strings.Join(ctx.Args().Slice(), " "), Workspace: ctx.String("workspace")},
		Retry:   tasks.Retry{Attempts: ctx.Int("attempts"), Delay: tasks.Duration(ctx.String("delay")), Codes: ctx.StringSlice("retry-on")}}
	if args := ctx.String("args"); args != "" {
		if n.Program.Args = json.RawMessage(args); !json.Valid(n.Program.Args) {
			return n, fault.New(fault.UsageFlag, "--args is not JSON").WithHint(`quote it for the shell: --args '{"limit": 10}'`)
		}
	}
	at, err := commandline.Future(ctx, "at")
	if err != nil {
		return n, err
	}
	if !at.IsZero() {
		n.At = &at
	}
	switch cron, zone := ctx.String("schedule"), ctx.String("zone"); {
	case cron != "":
		n.Schedule = &tasks.Schedule{Cron: cron, Zone: zone}
	case zone != "":
		return n, fault.New(fault.UsageFlag, "--zone is the time zone of --schedule, which is missing")
	}
	return n, nil
}

func readProgram(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fault.New(fault.UsageFile, "read the program: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxProgram+1))
	switch {
	case err != nil:
		return "", fault.New(fault.UsageFile, "read the program: %w", err)
	case len(data) > maxProgram:
		return "", fault.New(fault.UsageFile, "the program is larger than %d MiB", maxProgram>>20)
	}
	return string(data), nil
}

func (c Commands) list(ctx *cli.Context, s *apiclient.Client) error {
	_, wrong := commandline.Arguments(ctx)
	limit := ctx.Int("limit")
	if limit < 1 || limit > maxListed {
		wrong = errors.Join(wrong, fault.New(fault.UsageFlag, "--limit must be between 1 and %d", maxListed))
	}
	if err := errors.Join(wrong, commandline.OneOf("state", ctx.String("state"), States()...)); err != nil {
		return err
	}
	all, next, err := s.Tasks(ctx.Context, store.TaskFilter{State: store.TaskState(ctx.String("state")), Name: ctx.String("name"), Before: ctx.String("before"), Limit: limit})
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		out := map[string]any{"tasks": all}
		if next != "" {
			out["next"] = next
		}
		return c.PrintJSON(out)
	}
	if len(all) == 0 {
		c.Term.Note("no task of the server matches")
		return nil
	}
	rows := [][]string{{"ID", "STATE", "ATTEMPT", "DUE", "CODE", "NAME", "INTENT"}}
	for _, t := range all {
		rows = append(rows, []string{t.ID, string(t.State), strconv.FormatInt(t.Attempt, 10), when(t.Due), string(t.Code), terminal.Clip(t.Name, 24), terminal.Clip(t.Intent, 60)})
	}
	err = c.table(rows)
	if next != "" {
		c.Term.Note("there are older tasks: list them with --before %s", next)
	}
	return err
}

// table prints rows in columns.
func (c Commands) table(rows [][]string) error {
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if row[i] = terminal.Visible(cell); row[i] == "" {
				row[i] = "-"
			}
		}
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

// when writes a time for a person; "" is no time.
func when(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Local().Format("2006-01-02 15:04:05")
}

func (c Commands) show(ctx *cli.Context, s *apiclient.Client) error {
	task, err := c.named(ctx, s)
	if err != nil {
		return err
	}
	return c.print(ctx, task)
}

// named returns the task that the argument names.
func (c Commands) named(ctx *cli.Context, s *apiclient.Client) (service.Task, error) {
	args, err := commandline.Arguments(ctx, "the task")
	if err != nil {
		return service.Task{}, err
	}
	return s.Task(ctx.Context, args[0])
}

// print shows a task.
func (c Commands) print(ctx *cli.Context, t service.Task) error {
	if ctx.Bool("json") {
		return c.PrintJSON(t)
	}
	row := func(name, text string) {
		if text != "" {
			fmt.Fprintf(c.Stdout, "%-9s %s\n", name, terminal.Visible(text))
		}
	}
	row("task", t.ID)
	row("state", string(t.State))
	row("intent", t.Intent)
	row("name", t.Name)
	if t.Priority > 0 {
		row("priority", strconv.FormatInt(t.Priority, 10))
	}
	if t.Schedule != nil {
		row("schedule", strings.TrimSpace(t.Schedule.Cron+" "+t.Schedule.Zone))
	}
	row("due", when(t.Due))
	row("attempt", fmt.Sprintf("%d of %d", t.Attempt, t.Retry.Attempts))
	row("status", t.Status)
	row("code", string(t.Code))
	for _, r := range t.Runs {
		row("run", strings.TrimSpace(fmt.Sprintf("%s  %s  %s  %s", r.ID, r.State, r.Status, r.Code)))
	}
	return nil
}

func (c Commands) logs(ctx *cli.Context, s *apiclient.Client) error {
	task, err := c.named(ctx, s)
	if err != nil {
		return err
	}
	return c.Logs(ctx, s, task.Run)
}

func (c Commands) retry(ctx *cli.Context, s *apiclient.Client) error {
	task, err := c.named(ctx, s)
	if err != nil {
		return err
	}
	if task, err = s.RetryTask(ctx.Context, task.ID); err != nil {
		return err
	}
	return c.print(ctx, task)
}

// decide makes the action that accepts or rejects a task.
func (c Commands) decide(accept bool) func(ctx *cli.Context, s *apiclient.Client) error {
	return func(ctx *cli.Context, s *apiclient.Client) error {
		task, err := c.named(ctx, s)
		if err != nil {
			return err
		}
		if task, err = s.DecideTask(ctx.Context, task.ID, accept); err != nil {
			return err
		}
		return c.print(ctx, task)
	}
}

func (c Commands) cancel(ctx *cli.Context, s *apiclient.Client) error {
	task, err := c.named(ctx, s)
	if err != nil {
		return err
	}
	cancelled, err := s.CancelTask(ctx.Context, task.ID)
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		return c.PrintJSON(map[string]any{"id": task.ID, "cancelled": cancelled})
	}
	if !cancelled {
		c.Term.Note("the task %s had ended before", task.ID)
		return nil
	}
	c.Term.Note("cancelled the task %s", task.ID)
	return nil
}
