package cli

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/apiclient"
	"github.com/wexec/wexec/cmd/wexec/internal/sessioncmd"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/approvals"
)

func (a *app) approvalsCommand() *cli.Command {
	flags := func(own ...cli.Flag) []cli.Flag {
		return append(own, apiclient.Flags("default: the programs of this machine")...)
	}
	return &cli.Command{
		Name:  "approvals",
		Usage: "approve or deny calls of running programs, and of durable runs that left memory",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list open questions", Action: a.asked(a.approvalsList), Flags: flags(jsonFlag())},
			{Name: "show", Usage: "show one question with its arguments", ArgsUsage: "ID", Action: a.asked(a.approvalsShow), Flags: flags(jsonFlag())},
			{Name: "approve", Usage: "approve the call", ArgsUsage: "ID", Action: a.asked(a.decide), Flags: flags(
				&cli.BoolFlag{Name: "always", Usage: "approve such calls for as long as the policy remembers answers; on a server, write a rule"})},
			{Name: "deny", Usage: "deny the call", ArgsUsage: "ID", Action: a.asked(a.decide), Flags: flags(
				&cli.StringFlag{Name: "reason", Usage: "`TEXT`: the reason that the program is given"})},
		},
	}
}

// approver has open questions, of this user's programs or of a server.
type approver interface {
	Questions(ctx context.Context) ([]hostfns.Question, error)
	Decide(ctx context.Context, id string, reply hostfns.Reply) error
}

// asked makes an action over the questions that the flags name.
func (a *app) asked(action func(ctx *cli.Context, from approver) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		if ctx.String("server") == "" {
			dir := a.Env.RuntimeDir()
			if dir == "" {
				return fault.New(fault.UsageConfig, "there is no folder for sockets").WithHint("set XDG_RUNTIME_DIR")
			}
			return action(ctx, programs{a, dir})
		}
		client, err := apiclient.Open(ctx, a.Env, a.term, "")
		if err != nil {
			return err
		}
		defer func() { _ = client.Close() }()
		return action(ctx, client)
	}
}

// questionOf returns the question that the argument of a command names by a prefix of
// its id.
func questionOf(ctx *cli.Context, from approver) (hostfns.Question, error) {
	const hint = "list the questions with wexec approvals list"
	id := ctx.Args().First()
	if id == "" {
		return hostfns.Question{}, fault.New(fault.UsageFlag, "name the question").WithHint(hint)
	}
	all, err := from.Questions(ctx.Context)
	if err != nil {
		return hostfns.Question{}, err
	}
	all = slices.DeleteFunc(all, func(q hostfns.Question) bool { return !strings.HasPrefix(q.ID, id) })
	switch {
	case len(all) == 0:
		return hostfns.Question{}, fault.New(fault.UsageFlag, "there is no open question %q", id).WithHint(hint)
	case len(all) > 1:
		return hostfns.Question{}, fault.New(fault.UsageFlag, "%q begins the ids of several questions", id).WithHint("use a longer prefix of the id")
	}
	return all[0], nil
}

func (a *app) approvalsList(ctx *cli.Context, from approver) error {
	list, err := from.Questions(ctx.Context)
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		return a.printJSON(map[string]any{"approvals": append([]hostfns.Question{}, list...)})
	}
	if _, local := from.(programs); len(list) == 0 && local {
		a.term.Note("no open questions (to answer questions here, set  approvals: {via: [socket]}  in the policy)")
	} else if len(list) == 0 {
		a.term.Note("no open questions")
	}
	for _, q := range list {
		a.printf("%s  %s  %s  for %s\n", q.ID, terminal.Visible(q.Tool), terminal.Clip(terminal.Visible(q.Message), 80), time.Since(q.Since).Round(time.Second))
	}
	return nil
}

func (a *app) approvalsShow(ctx *cli.Context, from approver) error {
	q, err := questionOf(ctx, from)
	if err != nil {
		return err
	}
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

func (a *app) decide(ctx *cli.Context, from approver) error {
	q, err := questionOf(ctx, from)
	if err != nil {
		return err
	}
	return from.Decide(ctx.Context, q.ID, hostfns.Reply{Approved: ctx.Command.Name == "approve", Always: ctx.Bool("always"), Reason: ctx.String("reason"), By: approvals.Socket})
}

// programs are the programs of this user on this machine that run, and durable runs that
// left memory.
type programs struct {
	*app
	sockets string // folder
}

// Questions implements approver.
func (p programs) Questions(ctx context.Context) ([]hostfns.Question, error) {
	live, parked, err := p.questions(ctx)
	return slices.Concat(live, parked), err
}

func (p programs) questions(ctx context.Context) (live, parked []hostfns.Question, err error) {
	if live, err = approvals.Pending(ctx, p.sockets); err != nil {
		return nil, nil, err
	}
	folder, err := sessioncmd.Folder(p.Env)
	if err != nil {
		return live, nil, nil //nolint:nilerr // without a data folder there are no such runs
	}
	parked, err = folder.Runs().Questions(ctx)
	parked = slices.DeleteFunc(parked, func(q hostfns.Question) bool {
		return slices.ContainsFunc(live, func(l hostfns.Question) bool { return l.ID == q.ID })
	})
	return live, parked, err
}

// Decide implements approver.
func (p programs) Decide(ctx context.Context, id string, reply hostfns.Reply) error {
	_, parked, err := p.questions(ctx)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(parked, func(q hostfns.Question) bool { return q.ID == id })
	if at < 0 {
		return approvals.Decide(ctx, p.sockets, id, reply)
	}
	q := parked[at]
	if !slices.Contains(q.Via, approvals.Socket) {
		return fault.New(fault.UsageFlag, "the policy does not allow question %s to be answered with wexec approvals", q.ID).
			WithHint("answer it at the terminal: wexec runs resume %s", q.Run)
	}
	folder, err := sessioncmd.Folder(p.Env)
	if err != nil {
		return err
	}
	if err := folder.Runs().Answer(ctx, q, reply); err != nil {
		return err
	}
	p.term.Note("the run goes on with wexec runs resume %s", q.Run)
	return nil
}
