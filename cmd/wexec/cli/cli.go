// Package cli is the command wexec for terminals. It parses the command line,
// calls the engine and prints what happened. Use [Main] as a process and
// [Invocation] in tests. Flags, exit statuses and what --json prints are stable;
// messages for people are not.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/servecmd"
	"github.com/wexec/wexec/cmd/wexec/internal/sessioncmd"
	"github.com/wexec/wexec/cmd/wexec/internal/storecmd"
	"github.com/wexec/wexec/cmd/wexec/internal/taskcmd"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/cmd/wexec/internal/workspacecmd"
	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
)

// Main runs the command as a process, with its standard streams, and returns the
// exit status. The first interrupt stops what is running, the second ends the
// process.
func Main(ctx context.Context, args []string, version string) int {
	delayCollector()
	env, err := config.Process()
	inv := &Invocation{Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: env, Version: versionOf(version)}
	if err != nil {
		newPrinter(inv).Error(err)
		return fault.ClassInternal.Exit()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	// In a goroutine, since the first call of Notify takes a thread. Until it
	// returns, a signal ends the process.
	if len(args) < 2 || args[1] != "repl" { // which handles interrupts itself
		go interrupt(cancel)
	}
	return inv.Run(ctx)
}

func interrupt(cancel context.CancelCauseFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	<-signals
	cancel(fault.New(fault.Cancelled, "interrupted"))
	<-signals
	os.Exit(fault.ClassCancelled.Exit())
}

// heapBeforeCollection is how much memory the command uses before Go's collector
// starts.
const heapBeforeCollection = 64 << 20

// delayCollector keeps Go's collector from running until the process uses
// heapBeforeCollection. Most commands never do, and need to their end what they
// allocate at the start. The first collection restores the settings.
func delayCollector() {
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(-1)
	if percent < 0 || limit < heapBeforeCollection { // the environment configures it
		debug.SetGCPercent(percent)
		return
	}
	debug.SetMemoryLimit(heapBeforeCollection)
	type sentinel struct{ _ [16]byte }
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
}

// Run runs the command and returns its exit status.
func (inv *Invocation) Run(ctx context.Context) int {
	out := &output{Writer: inv.Stdout}
	a := newApp(inv)
	defer a.term.Close()
	atTerminal := terminal.IsTerminal(inv.Stdout)
	if atTerminal {
		a.stdoutWidth = terminal.Width(inv.Stdout)
	}
	a.Stdout, a.stdoutTerminal = a.term.Output(out, atTerminal), atTerminal
	a.programs.Out, a.programs.Err = a.term.Program(out, atTerminal), a.term.Program(inv.Stderr, a.term.Interactive)
	if args := inv.Args; isRun(args) {
		// The guest is loaded while arguments and configuration are read. A wrong
		// guess costs only the time to load it.
		if a.loaded = inv.Env.Prefetch(likelyLanguage(args[2:])); a.loaded != nil {
			defer func() { _ = a.loaded.Close() }()
		}
	}
	app := a.commandLine()
	err := app.RunContext(ctx, commandline.Arrange(app, inv.Args, "run", "complete"))
	if err == nil && out.err != nil {
		err = fault.New(fault.Internal, "%w", out.err)
	}
	var status exitStatus
	printed := err == nil || errors.As(err, &status)
	if interrupted(ctx, inv.Args) {
		if !printed {
			a.term.Error(context.Cause(ctx))
		}
		return fault.ClassCancelled.Exit()
	}
	if printed {
		return int(status)
	}
	a.term.Error(err)
	return fault.CodeOf(err).Class().Exit()
}

// isRun reports whether the command is a run that prints no help.
func isRun(args []string) bool {
	return len(args) > 2 && args[1] == "run" && !commandline.AsksHelp(args)
}

// interrupted reports whether a command was interrupted before it was done. A
// run reports that in its result, and a server ends in no other way.
func interrupted(ctx context.Context, args []string) bool {
	return fault.CodeOf(context.Cause(ctx)) == fault.Cancelled && len(args) > 1 && args[1] != "run" && args[1] != "mcp" && args[1] != "serve"
}

// lasting makes the commands over what a store or a server keeps.
func (a *app) lasting() storecmd.Commands {
	return storecmd.Commands{Env: a.Env, Term: a.term, Stdout: a.Stdout, Programs: a.programs, PrintJSON: a.printJSON, Faulty: exitStatus(fault.ClassGuest.Exit()), Resume: a.resumeRun}
}

// commandLine is the definition of the command line. A run has no commands but
// its own, since every command costs time at the start.
func (a *app) commandLine() *cli.App {
	server := servecmd.Commands{Env: a.Env, Term: a.term, Version: a.Version}
	lasting := a.lasting()
	layers := workspacecmd.Commands{Env: a.Env, Term: a.term, Stdin: a.Stdin, Stdout: a.Stdout, Terminal: a.stdoutTerminal, Path: a.path, PrintJSON: a.printJSON, Settings: a.settings}
	sessions := sessioncmd.Commands{Env: a.Env, Term: a.term, Stdout: a.Stdout, Version: a.Version, PrintJSON: a.printJSON, Settings: a.settings}
	tasks := taskcmd.Commands{Env: a.Env, Term: a.term, Stdout: a.Stdout, PrintJSON: a.printJSON, Logs: lasting.LogsOf}
	commands := []func() *cli.Command{
		a.runCommand, a.replCommand, a.toolsCommand, a.policyCommand, a.privacyCommand, a.auditCommand, a.approvalsCommand, a.mcpCommand,
		server.Serve, lasting.PS, lasting.Logs, lasting.Kill, lasting.Runs, tasks.Task, sessions.Session, lasting.Usage, lasting.Token, lasting.Store, layers.Workspace, a.pluginCommand, a.packagesCommand, a.guestsCommand, a.initCommand,
		a.doctorCommand, a.configCommand, a.promptCommand, a.completionCommand,
		a.completeCommand, a.manCommand, a.versionCommand,
	}
	if isRun(a.Args) {
		commands = commands[:1]
	}
	app := &cli.App{
		Name:                      "wexec",
		Usage:                     "run code from agents in a sandbox, with the tools that a policy allows",
		Version:                   a.Version,
		Reader:                    a.Stdin,
		Writer:                    a.Stdout,
		ErrWriter:                 a.Stderr,
		HideVersion:               true,
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true,
		ExitErrHandler:            func(*cli.Context, error) {},
		Action:                    a.withoutCommand,
		OnUsageError:              a.usageError,
		Compiled:                  time.Unix(0, 0), // otherwise the library reads the program's file
	}
	for _, command := range commands {
		c := command()
		if isRun(a.Args) {
			c.Flags = commandline.Named(c.Flags)
		}
		a.configure(c, app.Name+" ")
		app.Commands = append(app.Commands, c)
	}
	if !isRun(a.Args) {
		app.CustomAppHelpTemplate = a.helpTemplate(overview(app))
	}
	return app
}

// overview is the help of the command itself.
func overview(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, `wexec: %s

  wexec run program.js                        run a program
  wexec run -l py -e 'return 6 * 7'           run code from the command line
  wexec init                                  write a policy for your tools
  wexec run --mcp mcp.json --policy policy.yaml program.ts

Commands:
`, app.Usage)
	for _, c := range app.Commands {
		if !c.Hidden {
			fmt.Fprintf(&b, "  %-11s %s\n", c.Name, c.Usage)
		}
	}
	b.WriteString("\nRun wexec COMMAND --help for details.\n")
	return b.String()
}

// present lays out help for standard output.
func (a *app) present(help string) string {
	if !a.stdoutTerminal {
		return help
	}
	return commandline.Present(help, a.stdoutWidth, func(s string) string { return a.term.Paint(terminal.Bold, s) })
}

// helpTemplate is help as a template of the library.
func (a *app) helpTemplate(help string) string {
	return strings.ReplaceAll(a.present(help), "{{", `{{"{{"}}`)
}

// configure sets how a command and those below it print help and errors.
func (a *app) configure(c *cli.Command, prefix string) {
	c.OnUsageError = a.usageError
	c.Before = a.verbosity
	c.HideHelpCommand = true
	for _, sub := range c.Subcommands {
		a.configure(sub, prefix+c.Name+" ")
	}
	if !c.Hidden && commandline.AsksHelp(a.Args) {
		c.CustomHelpTemplate = a.helpTemplate(commandline.Help(c, prefix))
	}
	if len(c.Subcommands) > 0 && c.Action == nil {
		c.Action = func(ctx *cli.Context) error {
			if name := ctx.Args().First(); ctx.Args().Len() > 0 {
				return commandline.Unknown(name, c.Name+" ", c.Subcommands)
			}
			_, err := io.WriteString(a.Stdout, a.present(commandline.Help(c, prefix)))
			return err
		}
	}
}

// withoutCommand handles "wexec", "wexec help COMMAND" and unknown commands.
func (a *app) withoutCommand(ctx *cli.Context) error {
	args := ctx.Args()
	switch {
	case args.Len() == 0 || args.Len() == 1 && args.First() == "help":
		return cli.ShowAppHelp(ctx)
	case args.First() == "help":
		return ctx.App.RunContext(ctx.Context, append(append([]string{ctx.App.Name}, args.Tail()...), "--help"))
	}
	return commandline.Unknown(args.First(), "", ctx.App.Commands)
}

// usageError prints the errors of flags as JSON for a run that has to print
// JSON.
func (a *app) usageError(ctx *cli.Context, err error, _ bool) error {
	wrong := commandline.UsageError(ctx, err)
	if ctx.Command != nil && ctx.Command.Name == "run" {
		if line := hasFlag(a.Args, "jsonl"); line || hasFlag(a.Args, "json") {
			return a.failedJSON(wrong, line)
		}
	}
	return wrong
}

// hasFlag reports whether unparsed arguments of a run have a flag. Arguments
// after "--" are the program's.
func hasFlag(args []string, flag string) bool {
	for _, arg := range args[min(len(args), 2):] {
		if arg == "--" {
			return false
		}
		if strings.HasPrefix(arg, "-") && strings.TrimLeft(arg, "-") == flag {
			return true
		}
	}
	return false
}

func (a *app) manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page (wexec man | man -l -)",
		Action: func(ctx *cli.Context) error {
			_, err := io.WriteString(a.Stdout, commandline.Manual(ctx.App))
			return err
		},
	}
}

// Markdown is the documentation of all commands.
func Markdown() string {
	a := newApp(&Invocation{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Env: &config.Environment{}})
	return commandline.Markdown(a.commandLine())
}

func (a *app) completionCommand() *cli.Command {
	return &cli.Command{
		Name: "completion", Usage: "print the completion script of a shell", ArgsUsage: "bash|zsh|fish|powershell",
		Action: func(ctx *cli.Context) error {
			name := ctx.Args().First()
			script, ok := commandline.CompletionScripts()[name]
			switch {
			case ok:
				a.printf("%s", script)
				return nil
			case name == "":
				return fault.New(fault.UsageFlag, "name the shell: bash, zsh, fish or powershell").WithHint("for bash: source <(wexec completion bash)")
			}
			return fault.New(fault.UsageFlag, "unknown shell %q", name).WithHint("use one of bash, zsh, fish, powershell; for bash: source <(wexec completion bash)")
		},
	}
}

// completeCommand is called by the completion scripts with the words of a
// command line, and prints what can follow, after --described with descriptions.
func (a *app) completeCommand() *cli.Command {
	return &cli.Command{
		Name: "complete", Hidden: true, SkipFlagParsing: true,
		Action: func(ctx *cli.Context) error {
			words := ctx.Args().Slice()
			described := len(words) > 0 && words[0] == "--described"
			if described {
				words = words[1:]
			}
			for _, c := range commandline.Complete(ctx.App.Commands, words, a.flagValues, a.argumentValues) {
				if described && c.Doc != "" {
					c.Word += "\t" + c.Doc
				}
				a.printf("%s\n", c.Word)
			}
			return nil
		},
	}
}

// argumentValues lists known arguments of a command with some flags. Tools are those
// that were connected last; no server is started.
func (a *app) argumentValues(command string, flags []string) []commandline.Candidate {
	switch command {
	case "tools list", "tools show", "tools pin", "policy explain":
		return commandline.Candidates(config.SavedToolNames(a.Env))
	case "session sleep", "session wake", "session fork", "session end":
		return commandline.Candidates(sessioncmd.Names(a.Env))
	case "completion":
		return commandline.Candidates(slices.Sorted(maps.Keys(commandline.CompletionScripts())))
	}
	return a.lasting().Arguments(command, flags)
}

// flagValues lists the values of a flag. It returns nil for files, which shells
// complete.
func (a *app) flagValues(command, flag string) []string {
	if values := storecmd.FlagValues(command, flag); values != nil {
		return values
	}
	if command+" "+flag == "task list state" {
		return taskcmd.States()
	}
	switch flag {
	case "allow-tool", "deny-tool", "tool":
		return config.SavedToolNames(a.Env)
	case "l", "language":
		return []string{"js", "ts", "py"}
	case "session":
		return sessioncmd.Names(a.Env)
	case "lang":
		return []string{"ts", "py"}
	case "client":
		return clientNames
	case "detail":
		return []string{"name", "summary", "full"}
	case "level":
		return []string{"strict", "balanced", "relaxed"}
	case "trigger":
		return triggers
	case "type":
		return recordTypes
	case "effect":
		return effects
	case "model":
		return mcpd.Families()
	case "kind", "fail-on":
		return kindNames()
	}
	return nil
}
