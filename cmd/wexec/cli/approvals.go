package cli

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/approvals"
)

func (d *door) approvalsCommand() *cli.Command {
	return &cli.Command{
		Name:  "approvals",
		Usage: "answer the questions of running programs from here",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list what is waiting", Action: d.approvalsList, Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON"}}},
			{Name: "show", Usage: "show one question with its arguments", ArgsUsage: "ID", Action: d.approvalsShow, Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON"}}},
			{Name: "approve", Usage: "let the call pass", ArgsUsage: "ID", Action: d.decide(true), Flags: []cli.Flag{
				&cli.BoolFlag{Name: "always", Usage: "for as long as the policy remembers"}}},
			{Name: "deny", Usage: "refuse the call", ArgsUsage: "ID", Action: d.decide(false), Flags: []cli.Flag{
				&cli.StringFlag{Name: "reason", Usage: "`WORDS` for the program"}}},
		},
	}
}

func (d *door) socketDir() (string, error) {
	dir := d.inv.Env.RuntimeDir()
	if dir == "" {
		return "", fault.New(fault.UsageConfig, "there is no folder for sockets").WithHint("set XDG_RUNTIME_DIR")
	}
	return dir, nil
}

func (d *door) pending(ctx *cli.Context) ([]hostfns.Question, error) {
	dir, err := d.socketDir()
	if err != nil {
		return nil, err
	}
	return approvals.Pending(ctx.Context, dir)
}

func (d *door) approvalsList(ctx *cli.Context) error {
	list, err := d.pending(ctx)
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		if list == nil {
			list = []hostfns.Question{}
		}
		return d.printJSON(map[string]any{"approvals": list})
	}
	if len(list) == 0 {
		d.voice.note("nothing is waiting (questions come here where the policy says  approvals: {via: [socket]})")
		return nil
	}
	for _, q := range list {
		fmt.Fprintf(d.inv.Stdout, "%s  %s  %s  for %s\n", q.ID, visibleText(q.Tool), cut(visibleText(q.Message), 80), time.Since(q.Since).Round(time.Second))
	}
	return nil
}

func (d *door) approvalsShow(ctx *cli.Context) error {
	if ctx.Args().Len() == 0 {
		return fault.New(fault.UsageFlag, "name the question").WithHint("wexec approvals list")
	}
	list, err := d.pending(ctx)
	if err != nil {
		return err
	}
	for _, q := range list {
		if q.ID != ctx.Args().First() {
			continue
		}
		if ctx.Bool("json") {
			return d.printJSON(q)
		}
		fmt.Fprintf(d.inv.Stdout, "%s\n", visibleText(q.Tool))
		if q.Message != "" {
			fmt.Fprintf(d.inv.Stdout, "  %s\n", visibleText(q.Message))
		}
		for _, line := range argumentLines(q.Args) {
			fmt.Fprintf(d.inv.Stdout, "  %s\n", line)
		}
		fmt.Fprintf(d.inv.Stdout, "  rule %s, run %s, expires %s\n", visibleText(q.Rule), q.Run, q.Expires.Local().Format(time.TimeOnly))
		return nil
	}
	return fault.New(fault.UsageFlag, "no question %q is waiting", ctx.Args().First()).WithHint("wexec approvals list")
}

func (d *door) decide(approved bool) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		id := ctx.Args().First()
		if id == "" {
			return fault.New(fault.UsageFlag, "name the question").WithHint("wexec approvals list")
		}
		dir, err := d.socketDir()
		if err != nil {
			return err
		}
		return approvals.Decide(ctx.Context, dir, id, hostfns.Reply{Approved: approved, Always: ctx.Bool("always"), Reason: ctx.String("reason"), By: "socket"})
	}
}
