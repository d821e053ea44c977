package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/apiclient"
	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/durablecmd"
	"github.com/wexec/wexec/cmd/wexec/internal/otlp"
	"github.com/wexec/wexec/cmd/wexec/internal/repl"
	"github.com/wexec/wexec/cmd/wexec/internal/sessioncmd"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/cmd/wexec/internal/timeline"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/workspaces"
	"github.com/wexec/wexec/internal/seal"
	"github.com/wexec/wexec/internal/telemetry"
	"github.com/wexec/wexec/internal/units"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/workspace"
)

func (a *app) runCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "e", Usage: "`CODE`: run this code and no file"},
		&cli.StringFlag{Name: "l", Aliases: []string{"language"}, Usage: "`LANGUAGE`: js, ts or py"},
		&cli.StringSliceFlag{Name: "arg", Usage: "`NAME=VALUE`: one argument; the value is JSON if it parses, else text; repeatable"},
		&cli.StringFlag{Name: "args", Usage: "`JSON`: all arguments; @FILE reads them from a file, @- from standard input"},
		&cli.StringFlag{Name: "intent", Usage: "`TEXT`: what the program is for"},
		&cli.StringFlag{Name: "packages", Usage: "`DIR`: pure packages that the program may import, as /packages", TakesFile: true},
		&cli.StringFlag{Name: "workspace", Usage: "`DIR`: a folder that the program sees as /workspace; what it changes waits for wexec workspace accept", TakesFile: true},
		&cli.StringFlag{Name: "session", Usage: "`NAME`: a session, whose runs share globals, imports and definitions; it sleeps in the data folder between them"},
		&cli.BoolFlag{Name: "json", Usage: "print the Result as JSON and nothing else"},
		&cli.BoolFlag{Name: "jsonl", Usage: "print every event as a line of JSON, the Result last"},
		&cli.BoolFlag{Name: "stats", Usage: "print what the run used"},
		&cli.StringFlag{Name: "timeline", Usage: "`FILE.svg`: draw the run as a picture", TakesFile: true},
		&cli.BoolFlag{Name: "deterministic", Usage: "use a virtual clock and seeded randomness, so that every run is the same"},
		&cli.BoolFlag{Name: "no-cache", Usage: "do not answer from the result cache"},
		&cli.BoolFlag{Name: "check", Usage: "compile the program, check its tools and their literal arguments; run nothing"},
		&cli.BoolFlag{Name: "dry-run", Usage: "answer tool calls with samples of what the tools answer, and list the calls"},
		&cli.BoolFlag{Name: "keep", Usage: "keep the run in the user's store, for wexec ps, logs, kill and runs (default keep in wexec.yaml)"},
		&cli.BoolFlag{Name: "durable", Usage: "keep what the run needs to go on in another process: while it waits for a person, a signal or a timer it leaves memory, see wexec runs resume"},
		&cli.StringFlag{Name: "park-after", Usage: "`DURATION`: how long a durable run waits until it leaves memory (default park_after in wexec.yaml, or 30s)"},
		&cli.BoolFlag{Name: "watch", Usage: "run again when the file changes"},
	}
	return &cli.Command{
		Name:      "run",
		Usage:     "run a program",
		ArgsUsage: "FILE|- [-- ARGS…]",
		Description: "The language is that of the file's name, of its first line, or of -l. Arguments after FILE are the\n" +
			"program's. Standard input is data if FILE or -e is given, and code if FILE is -.",
		Flags:  slices.Concat(flags, apiclient.Flags("default: run on this machine"), settingFlags(), limitFlags(), allowFlags()),
		Action: a.run,
	}
}

func (a *app) run(ctx *cli.Context) error {
	req, err := a.request(ctx)
	if err != nil {
		return a.failed(ctx, err)
	}
	a.noteMisplacedFlag(ctx, req)
	if ctx.IsSet("server") {
		req.Session = ctx.String("session")
		return a.runOnServer(ctx, req)
	}
	var images engine.Images
	if ctx.IsSet("session") {
		if images, err = sessioncmd.Use(a.Env, ctx.String("session"), &req); err != nil {
			return a.failed(ctx, err)
		}
	}
	settings, err := a.settings(ctx)
	if err != nil {
		return a.failed(ctx, err)
	}
	req.Limits = settings.Limits // those of the flags are in them
	host, end, err := a.openHost(ctx, settings, req.Language, images)
	if err != nil {
		return a.failed(ctx, err)
	}
	defer end()
	if ctx.Bool("check") {
		return a.checkProgram(ctx, host, settings.Cache, req)
	}
	if ctx.IsSet("workspace") {
		layers, err := settings.Workspaces(a.Env)
		if err != nil {
			return a.failed(ctx, err)
		}
		layer, err := layers.Create(workspace.Info{Base: a.path(ctx.String("workspace"))})
		if err != nil {
			return a.failed(ctx, err)
		}
		defer func() { _ = layer.Close() }()
		req.Workspace = workspaces.New(layer)
	}
	run := host.Engine.Run
	durable := ctx.Bool("durable") && !ctx.Bool("dry-run") && !ctx.Bool("watch")
	if !durable && (ctx.Bool("keep") || settings.Keep && !ctx.IsSet("keep")) {
		keeper, err := service.OpenKeeper(ctx.Context, a.Env, settings, host, terminal.Logger(a.term, settings.Log))
		if err != nil {
			return a.failed(ctx, err)
		}
		defer func() { _ = keeper.Close() }()
		run = keeper.Run
	}
	if req.Session != "" {
		run = sessioncmd.Sleeping(run, host, a.term)
	}
	if durable {
		kept, err := a.beginDurable(ctx, settings, host, req)
		if err != nil {
			return a.failed(ctx, err)
		}
		req, run = kept.Request, kept.On(host)
	}
	if ctx.Bool("watch") {
		return a.watch(ctx, run, host, req)
	}
	return a.runOnce(ctx, run, host, req)
}

// openHost makes what runs programs from the settings. The caller calls end.
func (a *app) openHost(ctx *cli.Context, settings *config.Settings, language string, images engine.Images) (host *config.Host, end func(), err error) {
	var asker hostfns.Asker
	if a.canAsk() {
		person := terminal.NewAsker(a.term, a.Stdin)
		person.Rule = func(g hostfns.Grant) (string, func() error) { return a.ruleFor(settings, g) }
		asker = person
	}
	logger := terminal.Logger(a.term, settings.Log)
	tracing, stop := otlp.Start(a.Env, a.Version, logger)
	parent, _ := a.Env.Lookup("TRACEPARENT")
	ctx.Context = telemetry.WithParent(ctx.Context, parent)
	host, err = settings.Open(ctx.Context, config.Options{Env: a.programEnv(), Version: a.Version, Logger: logger, Tracing: tracing, Terminal: asker,
		Language: language, Prefetched: a.loaded, Images: images})
	if err != nil {
		stop()
		return nil, nil, err
	}
	return host, func() { _ = host.Close(); stop() }, nil
}

// beginDurable keeps a run that goes on in another process.
func (a *app) beginDurable(ctx *cli.Context, settings *config.Settings, host *config.Host, req engine.Request) (*durablecmd.Run, error) {
	parkAfter := settings.ParkAfter
	if text := ctx.String("park-after"); text != "" {
		d, err := units.ParseDuration(text)
		if err != nil || d <= 0 {
			return nil, fault.New(fault.UsageFlag, "--park-after: %q is not a duration above 0", text).WithHint("use 30s or 5m")
		}
		parkAfter = d
	}
	flags, err := a.configFlags(ctx)
	if err != nil {
		return nil, err
	}
	if req.Input, err = a.wholeInput(&req, "it is kept with the run"); err != nil {
		return nil, err
	}
	program, err := durablecmd.Of(req, host, settings, flags, parkAfter)
	if err != nil {
		return nil, err
	}
	folder, err := sessioncmd.Folder(a.Env)
	if err != nil {
		return nil, err
	}
	return durablecmd.Begin(ctx.Context, folder.Runs(), program, req.Workspace, a.term)
}

// resumeRun goes on with a durable run of this machine.
func (a *app) resumeRun(ctx *cli.Context) error {
	args, err := commandline.Arguments(ctx, "the run")
	if err != nil {
		return err
	}
	folder, err := sessioncmd.Folder(a.Env)
	if err != nil {
		return a.failed(ctx, err)
	}
	run, program, err := durablecmd.Resume(ctx.Context, folder.Runs(), args[0], a.term)
	if err != nil {
		return a.failed(ctx, err)
	}
	env := *a.Env
	env.Dir = program.Dir
	a.Env = &env
	settings, err := program.Settings(a.Env)
	if err != nil {
		return a.failed(ctx, errors.Join(err, run.Close()))
	}
	for _, w := range settings.Warnings {
		a.term.Warn("%s", w)
	}
	if err := run.OpenWorkspace(settings, a.Env); err != nil {
		return a.failed(ctx, errors.Join(err, run.Close()))
	}
	host, end, err := a.openHost(ctx, settings, run.Request.Language, nil)
	if err != nil {
		return a.failed(ctx, errors.Join(err, run.Close()))
	}
	defer end()
	run.Request.Limits = run.Request.Limits.Tighten(settings.Limits)
	return a.runOnce(ctx, run.On(host), host, run.Request)
}

// wholeInput reads the standard input of a program to its end. It is nil where a person
// answers questions there.
func (a *app) wholeInput(req *engine.Request, why string) ([]byte, error) {
	in := req.Stdin
	if req.Stdin = nil; in == nil || terminal.IsTerminal(a.Stdin) {
		return nil, nil
	}
	reading := time.AfterFunc(time.Second, func() { a.term.Note("reading standard input to its end, since %s", why) })
	defer reading.Stop()
	return a.readStdin("the program's input")
}

// programEnv is the environment for programs and servers, which do not get the seal key.
func (a *app) programEnv() *config.Environment {
	env := *a.Env
	env.Vars = slices.DeleteFunc(slices.Clone(env.Vars), func(v string) bool { return strings.HasPrefix(strings.ToUpper(v), seal.Variable+"=") })
	return &env
}

// runOnServer runs a program on the server that --server names.
func (a *app) runOnServer(ctx *cli.Context, req engine.Request) error {
	for _, f := range slices.Concat(settingFlags(), allowFlags(), []cli.Flag{&cli.StringFlag{Name: "packages"}, &cli.StringFlag{Name: "workspace"}, &cli.BoolFlag{Name: "check"}, &cli.BoolFlag{Name: "watch"}}) {
		if name := f.Names()[0]; ctx.IsSet(name) && name != "quiet" && name != "verbose" {
			return a.failed(ctx, fault.New(fault.UsageFlag, "%s has no effect on a server, where the files of its tenant apply", commandline.Dashed(name)).
				WithHint("remove it, or remove --server to run the program here"))
		}
	}
	for _, name := range []string{"keep", "durable", "park-after"} {
		if ctx.IsSet(name) {
			return a.failed(ctx, fault.New(fault.UsageFlag, "--%s has no effect with --server: the server keeps its runs", name).WithHint("remove --%s", name))
		}
	}
	client, err := apiclient.Open(ctx, a.Env, a.term, "")
	if err != nil {
		return a.failed(ctx, err)
	}
	defer func() { _ = client.Close() }()
	runner := apiclient.Runner{Client: client}
	if a.canAsk() {
		runner.Asker = terminal.NewAsker(a.term, a.Stdin)
	}
	input, err := a.wholeInput(&req, "the server gets it as a whole")
	if err != nil {
		return a.failed(ctx, err)
	}
	if input != nil {
		req.Stdin = bytes.NewReader(input)
	}
	return a.runOnce(ctx, runner.Run, nil, req)
}

// noteMisplacedFlag tells a person about a flag of wexec after a program that
// hardly reads flags. Programs in Python often do: advise notes theirs.
func (a *app) noteMisplacedFlag(ctx *cli.Context, req engine.Request) {
	if len(req.Argv) == 0 || req.Language == engine.Python || ctx.Bool("json") || ctx.Bool("jsonl") {
		return
	}
	if name := misplacedFlag(ctx, req.Argv[:1]); name != "" {
		a.noteMisplaced(name)
	}
}

// misplacedFlag returns the first argument of a program that is a flag of wexec.
func misplacedFlag(ctx *cli.Context, argv []string) string {
	for _, arg := range argv {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && slices.Contains(commandline.FlagNames(ctx.Command), name) {
			return commandline.Dashed(name)
		}
	}
	return ""
}

func (a *app) noteMisplaced(flag string) {
	a.term.Note("%s is after the program and was passed to it: put flags of wexec before the program", flag)
}

// watch runs a file, and runs it again when it changes, until interrupted.
func (a *app) watch(ctx *cli.Context, run runner, host *config.Host, req engine.Request) error {
	if req.Root == "" {
		return fault.New(fault.UsageFlag, "--watch needs a file")
	}
	path := a.path(filepath.FromSlash(req.File))
	var seen time.Time
	for {
		info, err := os.Stat(path)
		if err == nil && !info.ModTime().Equal(seen) {
			seen = info.ModTime()
			data, err := readFile(path)
			if err != nil {
				return err
			}
			req.Code, req.Stdin = string(data), nil
			if err := a.runOnce(ctx, run, host, req); err != nil {
				a.term.Note("%s: waiting for a change", req.File)
			}
		}
		select {
		case <-ctx.Context.Done():
			return exitStatus(fault.ClassCancelled.Exit())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// runner runs a request: here, here with a record in the store, or on a server.
type runner = func(context.Context, engine.Request) (*engine.Result, error)

// runOnce runs a request and prints its result. host is nil if a server runs it.
func (a *app) runOnce(ctx *cli.Context, run runner, host *config.Host, req engine.Request) error {
	plain := !ctx.Bool("json") && !ctx.Bool("jsonl")
	var status *terminal.Progress
	var picture *timeline.Recorder
	if plain {
		status = terminal.StartProgress(a.term)
		req.Output = engine.Output{Stdout: a.programs.Out, Stderr: a.programs.Err}
	}
	if ctx.IsSet("timeline") {
		if err := a.checkTimeline(ctx.String("timeline")); err != nil {
			return a.failed(ctx, err)
		}
		picture = timeline.Start()
	}
	req.Progress = func(e engine.Event) {
		status.Event(e)
		picture.Event(e)
		if ctx.Bool("jsonl") {
			_ = a.printLine(e)
		}
	}
	res, err := run(ctx.Context, req)
	status.End()
	switch {
	case ctx.Bool("jsonl"): // even with --json: each line is a document
		if werr := a.printLine(res); werr != nil {
			return werr
		}
	case ctx.Bool("json"):
		if werr := a.printJSON(res); werr != nil {
			return werr
		}
	default:
		if werr := a.printValue(res.Value); werr != nil {
			return werr
		}
		if err != nil && !exitedItself(err) && !ctx.Bool("dry-run") {
			a.term.Error(err)
			if host != nil {
				a.advise(ctx, host, req, err)
			}
		}
		if fault.CodeOf(err) == fault.Cancelled {
			a.printDone(res)
		}
	}
	if ctx.Bool("stats") {
		a.printStats(res)
	}
	if picture != nil {
		if werr := os.WriteFile(a.path(ctx.String("timeline")), picture.SVG(res), 0o644); werr != nil {
			return fault.New(fault.UsageFile, "draw the timeline: %w", werr)
		}
	}
	if w := res.Workspace; w != nil && w.Changed > 0 && plain {
		a.term.Note("the program changed %s: see wexec workspace diff %s, then accept or reject it", terminal.Count(w.Changed, "path"), w.ID)
	}
	if ctx.Bool("dry-run") && plain {
		a.printDryRun(res, err)
	}
	if res.Status == engine.StatusWaiting {
		if host == nil {
			a.term.Note("run %[1]s waits for a person to answer (wexec approvals list --server %[2]s); see it end with wexec logs %[1]s --follow --server %[2]s", res.RunID, ctx.String("server"))
		}
		return exitStatus(exitWaiting)
	}
	return statusOf(res, err)
}

// exitWaiting is the exit status of a run that waits and goes on without the command:
// EX_TEMPFAIL of sysexits.h.
const exitWaiting = 75

// checkTimeline checks before the run that its picture can be written, since the
// run cannot be undone.
func (a *app) checkTimeline(name string) error {
	path := a.path(name)
	info, err := os.Stat(filepath.Dir(path))
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return fault.New(fault.UsageFile, "draw the timeline: %w", err).WithHint("create the folder first: mkdir -p %s", filepath.Dir(name))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fault.New(fault.UsageFile, "draw the timeline: %s is a folder", path).WithHint("name a file in it: --timeline %s", filepath.Join(name, "run.svg"))
	}
	return nil
}

// advise prints likely causes of a program's error that are outside the program:
// misplaced flags and servers that are not configured.
func (a *app) advise(ctx *cli.Context, host *config.Host, req engine.Request, err error) {
	if req.Language == engine.Python { // noteMisplacedFlag has checked the others
		if name := misplacedFlag(ctx, req.Argv); strings.HasPrefix(name, "--") {
			a.noteMisplaced(name)
			return
		}
	}
	var e *engine.Error
	if len(host.Upstream.Servers()) > 0 || !errors.As(err, &e) || e.Hint != "" {
		return
	}
	m := regexp.MustCompile(`^(?:name ')?(\w+)'? is not defined`).FindStringSubmatch(e.Message)
	if m != nil && regexp.MustCompile(`\b`+m[1]+`\s*\.\s*\w+\s*\(`).MatchString(req.Code) {
		a.term.Hint("if " + m[1] + " is an MCP server, configure it: set --mcp FILE or run wexec init")
	}
}

// printDone lists what an interrupted program did.
func (a *app) printDone(res *engine.Result) {
	a.term.Note("interrupted after %d ms and %s", res.Usage.WallMS, terminal.Count(len(res.Calls), "call"))
	for i, c := range res.Calls {
		state := "done"
		if !c.OK {
			state = "not done"
		}
		a.term.Print("%3d  %-8s %s", i+1, state, c.Tool)
	}
}

// printDryRun lists the calls of a dry run and the error that ended it.
func (a *app) printDryRun(res *engine.Result, err error) {
	for i, c := range res.Calls {
		a.term.Print("%3d  %-5s %s  %s", i+1, c.Decision, c.Tool, a.term.Paint(terminal.Dim, c.Rule))
	}
	if err != nil && len(res.Calls) > 0 {
		a.term.Note("the list ends here: the program failed with samples as answers (null where the answer of a tool is not known)")
	}
	switch {
	case err != nil:
		a.term.Error(err)
	case len(res.Calls) == 0:
		a.term.Note("the program calls no tools")
	}
}

// exitedItself reports whether a program ended with an exit status, which needs
// no message.
func exitedItself(err error) bool {
	var e *engine.Error
	return errors.As(err, &e) && e.Code == fault.GuestExit && strings.HasPrefix(e.Message, "the program ended with exit(")
}

func (a *app) replCommand() *cli.Command {
	own := []cli.Flag{&cli.StringFlag{Name: "l", Aliases: []string{"language"}, Usage: "`LANGUAGE`: js, ts or py", Value: "js"}}
	return &cli.Command{
		Name:  "repl",
		Usage: "run programs line by line in one session",
		Description: "Definitions are kept from one program to the next, values are printed, and an error does not end the session.\n" +
			"Ctrl-C stops the program, Ctrl-D ends the session. Standard input may also be a pipe.",
		Flags:  slices.Concat(own, settingFlags(), limitFlags(), allowFlags()),
		Action: a.repl,
	}
}

func (a *app) repl(ctx *cli.Context) error {
	if ctx.Args().Present() {
		return fault.New(fault.UsageFlag, "repl takes no arguments").WithHint("to run a file: wexec run %s", ctx.Args().First())
	}
	language, err := engine.Language(ctx.String("l"))
	if err != nil {
		return err
	}
	settings, err := a.settings(ctx)
	if err != nil {
		return err
	}
	person, typed := terminal.NewAsker(a.term, a.Stdin), a.canAsk()
	logger := terminal.Logger(a.term, settings.Log)
	tracing, stop := otlp.Start(a.Env, a.Version, logger)
	defer stop()
	options := config.Options{Env: a.Env, Version: a.Version, Logger: logger, Tracing: tracing, Language: language}
	if typed {
		options.Terminal = person
	}
	host, err := settings.Open(ctx.Context, options)
	if err != nil {
		return err
	}
	defer func() { _ = host.Close() }()
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	programs := repl.Reader{Language: language, Typed: typed, Line: func(continues bool) (string, error) {
		prompt := ""
		if typed {
			prompt = map[bool]string{false: ctx.String("l") + "> ", true: "... "}[continues]
		}
		waiting, done := untilInterrupt(ctx.Context, interrupts)
		defer done()
		return person.ReadLine(waiting, prompt)
	}}
	req := engine.Request{Language: language, Trigger: "cli", Actor: engine.Actor{Type: "person"}, Env: a.Env.Map(), Dir: a.Env.Dir,
		Limits: settings.Limits, Output: engine.Output{Stdout: a.programs.Out, Stderr: a.programs.Err}}
	for sessions := 1; ; {
		req.Session = fmt.Sprintf("repl %d", sessions)
		code, err := programs.Next()
		switch {
		case errors.Is(err, io.EOF):
			if typed {
				a.term.Print("")
			}
			return nil
		case ctx.Context.Err() != nil:
			return context.Cause(ctx.Context)
		case err != nil: // interrupted: what was entered is dropped
			person.DiscardLines()
			a.term.Print("")
			continue
		}
		req.Code = code
		res, err := a.runInteractive(ctx.Context, host, req, interrupts)
		switch {
		case exitedItself(err):
			return statusOf(res, err)
		case err != nil:
			a.term.Error(err)
		default:
			if err := a.printJSONValue(res.Value); err != nil {
				return err
			}
		}
		if fault.CodeOf(err) == fault.Cancelled {
			person.DiscardLines()
		}
		if err != nil && !slices.Contains(host.Engine.Sessions(nil, ""), req.Session) {
			a.term.Note("the session ended with this program: its definitions are lost")
			sessions++
		}
	}
}

// runInteractive runs one program until it ends or is interrupted.
func (a *app) runInteractive(ctx context.Context, host *config.Host, req engine.Request, interrupts <-chan os.Signal) (*engine.Result, error) {
	ctx, done := untilInterrupt(ctx, interrupts)
	defer done()
	status := terminal.StartProgress(a.term)
	req.Progress = status.Event
	defer status.End()
	return host.Engine.Run(ctx, req)
}

// untilInterrupt returns a context that also ends with the next interrupt.
func untilInterrupt(ctx context.Context, interrupts <-chan os.Signal) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-interrupts:
			cancel(fault.New(fault.Cancelled, "interrupted"))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// printJSONValue prints a value as JSON, so that text and numbers differ, and
// nothing for null.
func (a *app) printJSONValue(value json.RawMessage) error {
	if len(value) == 0 || bytes.Equal(value, []byte("null")) {
		return nil
	}
	return a.printJSON(value)
}
