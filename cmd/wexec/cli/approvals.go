package cli

import (
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/approvals"
)

func (a *app) approvalsCommand() *cli.Command {
	return &cli.Command{
		Name:  "approvals",
		Usage: "approve or deny calls of running programs",
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

func (a *app) questions(ctx *cli.Context) ([]hostfns.Question, error) {
	dir, err := a.socketDir()
	if err != nil {
		return nil, err
	}
	return approvals.Pending(ctx.Context, dir)
}

func (a *app) approvalsList(ctx *cli.Context) error {
	list, err := a.questions(ctx)
	if err != nil {
		return err
	}
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
	list, err := a.questions(ctx)
	if err != nil {
		return err
	}
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
		return approvals.Decide(ctx.Context, dir, id, hostfns.Reply{Approved: approved, Always: ctx.Bool("always"), Reason: ctx.String("reason"), By: "socket"})
	}
}
