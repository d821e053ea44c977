// Package sessioncmd has the command wexec session: the sessions of the data folder, and
// those of a server.
package sessioncmd

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/apiclient"
	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/datafolder"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/seal"
)

// Commands makes the command of an invocation.
type Commands struct {
	Env       *config.Environment
	Term      *terminal.Printer
	Stdout    io.Writer
	Version   string
	PrintJSON func(v any) error
	Settings  func(ctx *cli.Context) (*config.Settings, error)
}

// Session returns wexec session.
func (c Commands) Session() *cli.Command {
	flags := func() []cli.Flag {
		return append([]cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON"}}, apiclient.Flags("default: the sessions in the data folder")...)
	}
	return &cli.Command{
		Name:  "session",
		Usage: "list, fork and end sessions, and put them to sleep",
		Description: "Runs with --session NAME share globals, imports and definitions. On this machine a session sleeps in the data\n" +
			"folder between them; on a server it sleeps when it is idle.",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the sessions", Flags: flags(), Action: c.in(c.list)},
			{Name: "sleep", Usage: "put a session of a server to sleep", ArgsUsage: "NAME", Flags: flags(), Action: c.in(c.sleep)},
			{Name: "wake", Usage: "wake a session of a server, before a run needs it", ArgsUsage: "NAME", Flags: flags(), Action: c.in(c.wake)},
			{Name: "fork", Usage: "make a new session that goes on with what a session has", ArgsUsage: "NAME NEW", Flags: flags(), Action: c.in(c.fork)},
			{Name: "end", Usage: "end a session and delete what is kept of it", ArgsUsage: "NAME", Flags: flags(), Action: c.in(c.end)},
		},
	}
}

// sessions are those of the data folder or of a server.
type sessions interface {
	Sessions(ctx context.Context) ([]engine.SessionInfo, error)
	Sleep(ctx context.Context, name string) (engine.SessionInfo, error)
	Wake(ctx context.Context, name string) (engine.SessionInfo, error)
	Fork(ctx context.Context, name, child string) (engine.SessionInfo, error)
	End(ctx context.Context, name string) error
}

// in makes an action over the sessions that the flags name.
func (c Commands) in(action func(ctx *cli.Context, s sessions) error) cli.ActionFunc {
	return func(ctx *cli.Context) error {
		if ctx.String("server") != "" {
			client, err := apiclient.Open(ctx, c.Env, c.Term, "")
			if err != nil {
				return err
			}
			defer func() { _ = client.Close() }()
			return action(ctx, client)
		}
		folder, err := Folder(c.Env)
		if err != nil {
			return err
		}
		return action(ctx, local{c, ctx, folder.Sessions()})
	}
}

// Folder returns the data folder of the user.
func Folder(env *config.Environment) (*datafolder.Folder, error) {
	dir, err := env.DataDir("")
	if err != nil {
		return nil, err
	}
	key, _ := env.Lookup(seal.Variable)
	return datafolder.New(dir, key), nil
}

// Names lists the sessions in the data folder, for completion: a failure means that
// there is nothing to list.
func Names(env *config.Environment) (names []string) {
	folder, err := Folder(env)
	if err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	all, _ := folder.Sessions().List(ctx, datafolder.User, "")
	for _, i := range all {
		names = append(names, i.Name)
	}
	return names
}

// local are the sessions in the data folder. They are awake during a run only.
type local struct {
	Commands
	cli    *cli.Context
	images *datafolder.Sessions
}

// Sessions implements sessions.
func (l local) Sessions(ctx context.Context) ([]engine.SessionInfo, error) {
	return l.images.List(ctx, datafolder.User, "")
}

// info describes a session.
func (l local) info(ctx context.Context, name string) (engine.SessionInfo, error) {
	all, err := l.Sessions(ctx)
	at := slices.IndexFunc(all, func(i engine.SessionInfo) bool { return i.Name == name })
	if err == nil && at < 0 {
		err = engine.UnknownSession(name)
	}
	if err != nil {
		return engine.SessionInfo{}, err
	}
	return all[at], nil
}

// Sleep implements sessions.
func (l local) Sleep(ctx context.Context, name string) (engine.SessionInfo, error) {
	return l.kept(ctx, name)
}

// Wake implements sessions.
func (l local) Wake(ctx context.Context, name string) (engine.SessionInfo, error) {
	return l.kept(ctx, name)
}

// kept describes a session that sleeps, after its image was read.
func (l local) kept(ctx context.Context, name string) (engine.SessionInfo, error) {
	id, err := datafolder.SessionID(name)
	if err != nil {
		return engine.SessionInfo{}, err
	}
	image, err := l.images.Get(ctx, id)
	if err == nil && image == nil {
		err = engine.UnknownSession(name)
	}
	if err != nil {
		return engine.SessionInfo{}, err
	}
	l.Term.Note("the session %s sleeps in the data folder between commands: wexec run --session wakes it, and puts it to sleep at the end", terminal.Visible(name))
	return l.info(ctx, name)
}

// Fork implements sessions.
func (l local) Fork(ctx context.Context, name, child string) (engine.SessionInfo, error) {
	from, err := datafolder.SessionID(name)
	if err != nil {
		return engine.SessionInfo{}, err
	}
	if _, err := datafolder.SessionID(child); err != nil {
		return engine.SessionInfo{}, err
	}
	settings, err := l.Settings(l.cli)
	if err != nil {
		return engine.SessionInfo{}, err
	}
	e, err := engine.New(ctx, engine.Config{Cache: settings.Cache, Version: l.Version, Images: l.images, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return engine.SessionInfo{}, err
	}
	defer func() { _ = e.Close() }() // both sleep already
	if err := e.Fork(ctx, from, child); err != nil {
		return engine.SessionInfo{}, err
	}
	for _, n := range []string{child, name} {
		id := from
		id.Name = n
		if err := e.Sleep(context.WithoutCancel(ctx), id); err != nil {
			return engine.SessionInfo{}, err
		}
	}
	return l.info(ctx, child)
}

// End implements sessions.
func (l local) End(ctx context.Context, name string) error {
	id, err := datafolder.SessionID(name)
	if err != nil {
		return err
	}
	if _, err := l.info(ctx, name); err != nil {
		return err
	}
	return l.images.Delete(ctx, id)
}

func (c Commands) list(ctx *cli.Context, s sessions) error {
	if _, err := commandline.Arguments(ctx); err != nil {
		return err
	}
	all, err := s.Sessions(ctx.Context)
	switch {
	case err != nil:
		return err
	case ctx.Bool("json"):
		return c.PrintJSON(map[string]any{"sessions": append([]engine.SessionInfo{}, all...)})
	case len(all) == 0:
		c.Term.Note("there are no sessions: run a program with --session NAME")
		return nil
	}
	table := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NAME\tSTATE\tLANGUAGE\tSIZE\tUSED")
	for _, i := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", terminal.Visible(i.Name), i.State, i.Language, terminal.Bytes(i.Bytes), i.Used.Local().Format(time.DateTime))
	}
	return table.Flush()
}

// show prints a session after something was done with it.
func (c Commands) show(ctx *cli.Context, i engine.SessionInfo, err error) error {
	if err != nil {
		return err
	}
	if ctx.Bool("json") {
		return c.PrintJSON(i)
	}
	fmt.Fprintf(c.Stdout, "%s  %s\n", terminal.Visible(i.Name), i.State)
	return nil
}

func (c Commands) sleep(ctx *cli.Context, s sessions) error {
	args, err := commandline.Arguments(ctx, "the session")
	if err != nil {
		return err
	}
	info, err := s.Sleep(ctx.Context, args[0])
	return c.show(ctx, info, err)
}

func (c Commands) wake(ctx *cli.Context, s sessions) error {
	args, err := commandline.Arguments(ctx, "the session")
	if err != nil {
		return err
	}
	info, err := s.Wake(ctx.Context, args[0])
	return c.show(ctx, info, err)
}

func (c Commands) fork(ctx *cli.Context, s sessions) error {
	args, err := commandline.Arguments(ctx, "the session", "the new session")
	if err != nil {
		return err
	}
	info, err := s.Fork(ctx.Context, args[0], args[1])
	return c.show(ctx, info, err)
}

func (c Commands) end(ctx *cli.Context, s sessions) error {
	args, err := commandline.Arguments(ctx, "the session")
	if err != nil {
		return err
	}
	if err := s.End(ctx.Context, args[0]); err != nil {
		return err
	}
	if ctx.Bool("json") {
		return c.PrintJSON(map[string]string{"name": args[0]})
	}
	fmt.Fprintf(c.Stdout, "ended %s\n", terminal.Visible(args[0]))
	return nil
}
