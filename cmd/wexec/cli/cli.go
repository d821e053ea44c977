// Package cli is the door for terminals: the command wexec. It reads flags,
// calls the engine, and says what happened.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

// Invocation is one call of the command, shaped like exec.Cmd: what a process
// would have, as values. Tests make their own.
type Invocation struct {
	Args    []string // with the program's name first
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Env     *config.Environment
	Version string
}

// Main is the command as a process: standard streams, signals, an exit status.
// The first interrupt stops what is running, the second ends the process.
func Main(ctx context.Context, args []string, version string) int {
	holdCollector()
	env, err := config.Process()
	inv := &Invocation{Args: args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Env: env, Version: versionOf(version)}
	if err != nil {
		newVoice(inv).fault(err)
		return fault.ClassInternal.Exit()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go interrupt(cancel)
	return inv.Run(ctx)
}

// interrupt listens for signals as long as the process lives. That is made
// ready beside the command: the first listener takes a thread and some turns
// of it, and until then a signal ends the process, as before main.
func interrupt(cancel context.CancelCauseFunc) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	<-signals
	cancel(fault.New(fault.Cancelled, "interrupted"))
	<-signals
	os.Exit(fault.ClassCancelled.Exit())
}

// Run runs the command and gives its exit status.
func (inv *Invocation) Run(ctx context.Context) int {
	out := &outlet{w: inv.Stdout}
	inside := *inv
	inside.Stdout = out
	d := &door{inv: &inside, voice: newVoice(inv)}
	defer d.ahead()()
	app := d.app()
	err := app.RunContext(ctx, permuted(app, straightened(app, inv.Args)))
	if err == nil && out.failed != nil {
		err = fault.New(fault.Internal, "%w", out.failed)
	}
	var said said
	told := err == nil || errors.As(err, &said)
	if interrupted(ctx, inv.Args) {
		if !told {
			d.voice.fault(context.Cause(ctx))
		}
		return fault.ClassCancelled.Exit()
	}
	if err == nil {
		return 0
	}
	if told {
		return int(said)
	}
	d.voice.fault(err)
	return fault.CodeOf(err).Class().Exit()
}

// interrupted reports whether a command was ended from outside. A run says so
// itself, and a server is ended no other way.
func interrupted(ctx context.Context, args []string) bool {
	return fault.CodeOf(context.Cause(ctx)) == fault.Cancelled && len(args) > 1 && args[1] != "run" && args[1] != "mcp"
}

// outlet is standard output. It keeps what first went wrong with it, for the
// commands that write line after line and look at none.
type outlet struct {
	w      io.Writer
	failed error
}

func (o *outlet) Write(p []byte) (int, error) {
	n, err := o.w.Write(p)
	if err != nil && o.failed == nil {
		o.failed = err
	}
	return n, err
}

// said is an exit status of a command that has told already why.
type said int

// Error is never shown.
func (said) Error() string { return "" }

// door is what the commands share.
type door struct {
	inv   *Invocation
	voice *voice
	early *engine.Cache // in which the guest of a run is being loaded; nil: none is
}

func (d *door) app() *cli.App {
	app := &cli.App{
		Name:                      "wexec",
		Usage:                     "run code that agents wrote, in a sandbox, next to the tools it may use",
		Version:                   d.inv.Version,
		Reader:                    d.inv.Stdin,
		Writer:                    d.inv.Stdout,
		ErrWriter:                 d.inv.Stderr,
		HideVersion:               true,
		HideHelpCommand:           true,
		DisableSliceFlagSeparator: true,
		UseShortOptionHandling:    false,
		ExitErrHandler:            func(*cli.Context, error) {},
		CustomAppHelpTemplate:     appHelp,
		Action:                    d.noCommand,
		OnUsageError:              d.usageError,
		Commands:                  d.commands(),
		Compiled:                  time.Unix(0, 0), // which is shown nowhere: the library looks at the file else
	}
	for _, c := range app.Commands {
		d.prepare(c, app.Name+" ")
	}
	return app
}

// appHelp is what wexec says of itself.
const appHelp = `wexec: {{.Usage}}

  wexec run program.js                        run a program
  wexec run -l py -e 'return 6 * 7'           run a few words
  wexec init                                  write a policy for the tools you have
  wexec run --mcp mcp.json --policy policy.yaml program.ts

Commands:{{range .VisibleCommands}}
  {{printf "%-11s" .Name}} {{.Usage}}{{end}}

wexec COMMAND --help says more.
`

// prepare gives a command and those below it the same manners.
func (d *door) prepare(c *cli.Command, before string) {
	c.OnUsageError = d.usageError
	c.HideHelpCommand = true
	for _, sub := range c.Subcommands {
		d.prepare(sub, before+c.Name+" ")
	}
	if !c.Hidden && asksHelp(d.inv.Args) {
		c.CustomHelpTemplate = strings.ReplaceAll(helpOf(c, before), "{{", `{{"{{"}}`)
	}
	help := func() error {
		_, err := io.WriteString(d.inv.Stdout, helpOf(c, before))
		return err
	}
	if len(c.Subcommands) > 0 && c.Action == nil {
		c.Action = func(ctx *cli.Context) error {
			if ctx.Args().Len() == 0 {
				return help()
			}
			return unknownCommand(ctx, c.Subcommands, c.Name+" ")
		}
	}
}

// asksHelp reports whether somebody may want help, so that it is only made then.
func asksHelp(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return strings.TrimLeft(a, "-") == "help" || a == "-h" })
}

// straightened is a call as it was meant: --version is the command, and what
// asks for help on a command that does not exist is dropped, so that it is told
// as such.
func straightened(app *cli.App, args []string) []string {
	if len(args) == 2 && slices.Contains([]string{"--version", "-version", "-v", "-V"}, args[1]) {
		return []string{args[0], "version"}
	}
	commands := app.Commands
	for i, a := range args[min(1, len(args)):] {
		if len(commands) == 0 || strings.HasPrefix(a, "-") || a == "help" {
			return args
		}
		at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(a) })
		if at < 0 {
			return args[:i+2]
		}
		commands = commands[at].Subcommands
	}
	return args
}

// noCommand answers a call without a command, or with one that is unknown.
func (d *door) noCommand(ctx *cli.Context) error {
	if ctx.Args().Len() == 0 || ctx.Args().Len() == 1 && ctx.Args().First() == "help" {
		return cli.ShowAppHelp(ctx)
	}
	if ctx.Args().First() == "help" {
		return ctx.App.RunContext(ctx.Context, append(append([]string{ctx.App.Name}, ctx.Args().Tail()...), "--help"))
	}
	return unknownCommand(ctx, ctx.App.Commands, "")
}

func unknownCommand(ctx *cli.Context, commands []*cli.Command, before string) error {
	name := ctx.Args().First()
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	err := fault.New(fault.UsageFlag, "there is no command %q", before+name)
	if near := catalogue.NearestOf(name, names); near != "" {
		return err.WithHint("did you mean wexec %s%s?", before, near)
	}
	if before == "" && strings.Contains(name, ".") {
		return err.WithHint("to run a file: wexec run %s", name)
	}
	if before == "" {
		return err.WithHint("wexec --help lists the commands")
	}
	return err.WithHint("the commands are %s", strings.Join(names, ", "))
}

// usageError turns what the flag parser says into words, with the flag that
// may have been meant. A run that was asked for JSON answers in JSON.
func (d *door) usageError(ctx *cli.Context, err error, _ bool) error {
	wrong := flagError(ctx, err)
	if ctx.Command != nil && ctx.Command.Name == "run" && asksFor(d.inv.Args, "json", "jsonl") {
		return d.failedJSON(wrong)
	}
	return wrong
}

// asksFor reports whether one of these is among the flags of run. Those behind
// the program are the program's own.
func asksFor(args []string, flags ...string) bool {
	for _, a := range args[min(len(args), 2):] {
		if a == "--" {
			return false
		}
		if strings.HasPrefix(a, "-") && slices.Contains(flags, strings.TrimLeft(a, "-")) {
			return true
		}
	}
	return false
}

func flagError(ctx *cli.Context, err error) error {
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		name = strings.TrimLeft(name, "-")
		wrong := fault.New(fault.UsageFlag, "there is no flag %s", dashed(name))
		if near := catalogue.NearestOf(name, flagNames(ctx)); near != "" {
			return wrong.WithHint("did you mean %s?", dashed(near))
		}
		return wrong.WithHint("see %s --help", fullName(ctx))
	}
	if name, ok := strings.CutPrefix(text, "flag needs an argument: "); ok {
		return fault.New(fault.UsageFlag, "a value is missing after %s", dashed(strings.TrimLeft(name, "-")))
	}
	if rest, ok := strings.CutPrefix(text, "invalid value "); ok {
		value, rest, _ := strings.Cut(rest, " for flag -")
		name, _, _ := strings.Cut(rest, ": ")
		return fault.New(fault.UsageFlag, "%s: %s is no number", dashed(strings.TrimLeft(name, "-")), value)
	}
	return fault.New(fault.UsageFlag, "%s", text)
}

// fullName is the command that runs, as it is called.
func fullName(ctx *cli.Context) string {
	var words []string
	for _, c := range ctx.Lineage() {
		if c.Command != nil && c.Command.Name != "" && c.Command.Name != "wexec" {
			words = append([]string{c.Command.Name}, words...)
		}
	}
	return strings.Join(append([]string{"wexec"}, words...), " ")
}

func flagNames(ctx *cli.Context) []string {
	var out []string
	if ctx.Command != nil {
		for _, f := range ctx.Command.Flags {
			out = append(out, f.Names()...)
		}
	}
	return out
}

// permuted moves flags before positionals for every command but run, whose
// positionals belong to the program.
func permuted(app *cli.App, args []string) []string {
	if len(args) > 2 && asksHelp(args[2:3]) {
		return args[:3] // whatever stands behind
	}
	if len(args) < 2 || args[1] == "run" || args[1] == "complete" {
		return args
	}
	commands, flags := app.Commands, []cli.Flag(nil)
	i := 1
	for i < len(args) {
		at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(args[i]) })
		if at < 0 {
			break
		}
		flags, commands = commands[at].Flags, commands[at].Subcommands
		i++
	}
	head, rest := args[:i:i], args[i:]
	var first, last []string
	for j := 0; j < len(rest); j++ {
		a := rest[j]
		if a == "--" {
			last = append(last, rest[j:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' {
			last = append(last, a)
			continue
		}
		if a == "--help" || a == "-h" {
			return append(head, a)
		}
		first = append(first, a)
		if takesValue(flags, a) && j+1 < len(rest) {
			j++
			first = append(first, rest[j])
		}
	}
	return slices.Concat(head, first, last)
}

// takesValue reports whether a flag, as written, is followed by its value.
func takesValue(flags []cli.Flag, written string) bool {
	name := strings.TrimLeft(written, "-")
	if strings.Contains(name, "=") {
		return false
	}
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			_, boolean := f.(*cli.BoolFlag)
			return !boolean
		}
	}
	return false
}
