package cli

import (
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/sessioncmd"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/approvals"
)

func (a *app) approvalsCommand() *cli.Command {
	return &cli.Command{
		Name:  "approvals",
		Usage: "approve or deny calls of running programs, and of durable runs that left memory",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list open questions", Action: a.approvalsList, Flags: []cli.Flag{jsonFlag()}},
			{Name: "show", Usage: "show one question with its arguments", ArgsUsage: "ID", Action: a.approvalsShow, Flags: []cli.Flag{jsonFlag()}},
			{Name: "approve", Usage: "approve the call", ArgsUsage: "ID", Action: a.decide(true), Flags: []cli.Flag{
				&cli.BoolFlag{Name: "always", Usage: "approve such calls for as long as the policy remembers answers"}}},
			{Name: "deny", Usage: "deny the call", ArgsUsage: "ID", Action: a.decide(false), Flags: []cli.Flag{
				&cli.StringFlag{Name: "reason", Usage: "`TEXT`: the reason that the program is given"}}},
		},
	}
}

const listQuestions = "list the questions with wexec approvals list"

// questionID is the argument of a command about one question.
func questionID(ctx *cli.Context) (string, error) {
	if ctx.Args().First() == "" {
		return "", fault.New(fault.UsageFlag, "name the question").WithHint(listQuestions)
	}
	return ctx.Args().First(), nil
}

func (a *app) socketDir() (string, error) {
	if dir := a.Env.RuntimeDir(); dir != "" {
		return dir, nil
	}
	return "", fault.New(fault.UsageConfig, "there is no folder for sockets").WithHint("set XDG_RUNTIME_DIR")
}

// questions returns the open questions of programs that run, and those of durable runs
// of this machine that left memory.
func (a *app) questions(ctx *cli.Context) (live, parked []hostfns.Question, err error) {
	dir, err := a.socketDir()
	if err != nil {
		return nil, nil, err
	}
	if live, err = approvals.Pending(ctx.Context, dir); err != nil {
		return nil, nil, err
	}
	folder, err := sessioncmd.Folder(a.Env)
	if err != nil {
		return live, nil, nil //nolint:nilerr // without a data folder there are no such runs
	}
	parked, err = folder.Runs().Questions(ctx.Context)
	parked = slices.DeleteFunc(parked, func(q hostfns.Question) bool {
		return slices.ContainsFunc(live, func(l hostfns.Question) bool { return l.ID == q.ID })
	})
	return live, parked, err
}

func (a *app) approvalsList(ctx *cli.Context) error {
	live, parked, err := a.questions(ctx)
	if err != nil {
		return err
	}
	list := slices.Concat(live, parked)
	if ctx.Bool("json") {
		return a.printJSON(map[string]any{"approvals": append([]hostfns.Question{}, list...)})
	}
	if len(list) == 0 {
		a.term.Note("no open questions (to answer questions here, set  approvals: {via: [socket]}  in the policy)")
	}
	for _, q := range list {
		a.printf("%s  %s  %s  for %s\n", q.ID, terminal.Visible(q.Tool), terminal.Clip(terminal.Visible(q.Message), 80), time.Since(q.Since).Round(time.Second))
	}
	return nil
}

func (a *app) approvalsShow(ctx *cli.Context) error {
	id, err := questionID(ctx)
	if err != nil {
		return err
	}
	live, parked, err := a.questions(ctx)
	if err != nil {
		return err
	}
	list := slices.Concat(live, parked)
	at := slices.IndexFunc(list, func(q hostfns.Question) bool { return q.ID == id })
	if at < 0 {
		return fault.New(fault.UsageFlag, "there is no open question %q", id).WithHint(listQuestions)
	}
	q := list[at]
	if ctx.Bool("json") {
		return a.printJSON(q)
	}
	a.printf("%s\n", terminal.Visible(q.Tool))
	for _, line := range terminal.QuestionLines(q) {
		a.printf("  %s\n", line)
	}
	a.printf("  run %s, expires %s\n", q.Run, q.Expires.Local().Format(time.TimeOnly))
	return nil
}

func (a *app) decide(approved bool) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		id, err := questionID(ctx)
		if err != nil {
			return err
		}
		dir, err := a.socketDir()
		if err != nil {
			return err
		}
		reply := hostfns.Reply{Approved: approved, Always: ctx.Bool("always"), Reason: ctx.String("reason"), By: approvals.Socket}
		live, parked, err := a.questions(ctx)
		if err != nil {
			return err
		}
		named := func(q hostfns.Question) bool { return strings.HasPrefix(q.ID, id) }
		at := slices.IndexFunc(parked, named)
		switch {
		case at < 0:
			return approvals.Decide(ctx.Context, dir, id, reply)
		case slices.ContainsFunc(live, named) || slices.ContainsFunc(parked[at+1:], named):
			return fault.New(fault.UsageFlag, "%q begins the ids of several questions", id).WithHint("use a longer prefix of the id")
		}
		return a.decideParked(ctx, parked[at], reply)
	}
}

// decideParked answers a question of a durable run that left memory.
func (a *app) decideParked(ctx *cli.Context, q hostfns.Question, reply hostfns.Reply) error {
	if !slices.Contains(q.Via, approvals.Socket) {
		return fault.New(fault.UsageFlag, "the policy does not allow question %s to be answered with wexec approvals", q.ID).
			WithHint("answer it at the terminal: wexec runs resume %s", q.Run)
	}
	folder, err := sessioncmd.Folder(a.Env)
	if err != nil {
		return err
	}
	if err := folder.Runs().Answer(ctx.Context, q, reply); err != nil {
		return err
	}
	a.term.Note("the run goes on with wexec runs resume %s", q.Run)
	return nil
}
