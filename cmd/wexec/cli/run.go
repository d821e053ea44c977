package cli

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

func (d *door) runCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "e", Usage: "`CODE`: run this in place of a file"},
		&cli.StringFlag{Name: "l", Aliases: []string{"language"}, Usage: "`LANGUAGE`: js, ts or py"},
		&cli.StringSliceFlag{Name: "arg", Usage: "`NAME=VALUE`: one argument; the value is JSON where it parses, else text"},
		&cli.StringFlag{Name: "args", Usage: "`JSON`: all arguments; @FILE reads them from a file, @- from standard input"},
		&cli.StringFlag{Name: "intent", Usage: "`WORDS`: what the program is for"},
		&cli.StringFlag{Name: "packages", Usage: "`DIR`: pure packages that the program may import, as /packages", TakesFile: true},
		&cli.BoolFlag{Name: "json", Usage: "print the whole Result as JSON, and nothing else"},
		&cli.BoolFlag{Name: "jsonl", Usage: "print every event as a line of JSON, the Result last"},
		&cli.BoolFlag{Name: "stats", Usage: "say afterwards what the run used"},
		&cli.StringFlag{Name: "timeline", Usage: "`FILE.svg`: draw the run as a picture", TakesFile: true},
		&cli.BoolFlag{Name: "deterministic", Usage: "virtual clock and seeded randomness: every run is the same"},
		&cli.BoolFlag{Name: "no-cache", Usage: "do not answer from the result cache"},
		&cli.BoolFlag{Name: "check", Usage: "parse and check, run nothing"},
		&cli.BoolFlag{Name: "dry-run", Usage: "answer every tool call with null and list the calls"},
		&cli.BoolFlag{Name: "watch", Usage: "run again whenever the file changes"},
	}
	flags = append(flags, settingFlags()...)
	flags = append(flags, limitFlags()...)
	flags = append(flags, allowFlags()...)
	return &cli.Command{
		Name:      "run",
		Usage:     "run a program",
		ArgsUsage: "FILE|- [-- ARGS…]",
		Description: "The language follows from the file's name, its first line, or -l. Everything after FILE belongs to the\n" +
			"program. Standard input is data when FILE or -e is given, code when FILE is -.",
		Flags:  flags,
		Action: d.run,
	}
}

func (d *door) run(ctx *cli.Context) error {
	req, err := d.request(ctx)
	if err != nil {
		return d.failed(ctx, err)
	}
	d.unseen(ctx, req)
	settings, err := d.settings(ctx)
	if err != nil {
		return d.failed(ctx, err)
	}
	req.Limits = settings.Limits // the flags over everything that is farther away
	host, err := settings.Open(ctx.Context, config.Options{Env: d.inv.Env, Version: d.inv.Version, Logger: d.logger(settings.Log), Terminal: d.asker(), Language: req.Language, Ahead: d.early})
	if err != nil {
		return d.failed(ctx, err)
	}
	defer func() { _ = host.Close() }()
	if ctx.Bool("check") {
		return d.checkProgram(ctx, host, settings.Cache, req)
	}
	if ctx.Bool("watch") {
		return d.watch(ctx, host, req)
	}
	return d.once(ctx, host, req)
}

// unseen tells of words behind a program whose language has no place for them.
func (d *door) unseen(ctx *cli.Context, req engine.Request) {
	if len(req.Argv) == 0 || req.Language == "python" || ctx.Bool("json") || ctx.Bool("jsonl") {
		return
	}
	word := strings.TrimLeft(req.Argv[0], "-")
	if name, _, _ := strings.Cut(word, "="); word != req.Argv[0] && slices.Contains(flagNames(ctx), name) {
		d.voice.note("%s stands behind the program and was given to it: flags of wexec go before", dashed(name))
		return
	}
	d.voice.note("a %s program does not see what stands behind it: give it as --arg NAME=VALUE before", req.Language)
}

// watch runs a file, and runs it again whenever it changes, until interrupted.
func (d *door) watch(ctx *cli.Context, host *config.Host, req engine.Request) error {
	if req.Root == "" {
		return fault.New(fault.UsageFlag, "--watch needs a file")
	}
	path := d.path(filepath.FromSlash(req.File))
	var seen time.Time
	for {
		info, err := os.Stat(path)
		if err == nil && !info.ModTime().Equal(seen) {
			seen = info.ModTime()
			data, err := readBounded(path)
			if err != nil {
				return err
			}
			req.Code, req.Stdin = string(data), nil
			if err := d.once(ctx, host, req); err != nil {
				d.voice.note("%s: waiting for a change", req.File)
			}
		}
		select {
		case <-ctx.Context.Done():
			return said(fault.ClassCancelled.Exit())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// once runs a request and shows its result.
func (d *door) once(ctx *cli.Context, host *config.Host, req engine.Request) error {
	plain := !ctx.Bool("json") && !ctx.Bool("jsonl")
	var line *progress
	var picture *timeline
	if plain {
		line = newProgress(d.voice)
		req.Output = engine.Output{Stdout: d.voice.beside(d.inv.Stdout), Stderr: d.voice}
	}
	if ctx.IsSet("timeline") {
		if err := d.canDraw(ctx.String("timeline")); err != nil {
			return d.failed(ctx, err)
		}
		picture = newTimeline()
	}
	req.Progress = func(e engine.Event) {
		line.event(e)
		picture.event(e)
		if ctx.Bool("jsonl") {
			_ = d.printLine(e)
		}
	}
	res, err := host.Engine.Run(ctx.Context, req)
	line.end()
	switch {
	case ctx.Bool("jsonl"): // whatever else is asked for, each line is a document
		if werr := d.printLine(res); werr != nil {
			return werr
		}
	case ctx.Bool("json"):
		if werr := d.printJSON(res); werr != nil {
			return werr
		}
	default:
		if werr := d.printValue(res.Value); werr != nil {
			return werr
		}
		if err != nil && !quietExit(err) && !ctx.Bool("dry-run") {
			d.voice.fault(err)
			d.advise(ctx, host, req, err)
		}
		if fault.CodeOf(err) == fault.Cancelled {
			d.done(res)
		}
	}
	if ctx.Bool("stats") {
		d.stats(res)
	}
	if picture != nil {
		if werr := os.WriteFile(d.path(ctx.String("timeline")), picture.svg(res), 0o644); werr != nil {
			return fault.New(fault.UsageFile, "draw the timeline: %w", werr)
		}
	}
	if ctx.Bool("dry-run") && plain {
		d.dryRun(res, err)
	}
	return exitOf(res, err)
}

// canDraw looks before the run whether a picture of it can be kept, since what
// the program does cannot be undone then.
func (d *door) canDraw(name string) error {
	path := d.path(name)
	info, err := os.Stat(filepath.Dir(path))
	if err == nil && !info.IsDir() {
		err = errors.New("not a directory")
	}
	if err != nil {
		return fault.New(fault.UsageFile, "draw the timeline: %w", err).WithHint("make the folder first: mkdir -p %s", filepath.Dir(name))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fault.New(fault.UsageFile, "draw the timeline: %s is a folder", path).WithHint("name a file in it: --timeline %s", filepath.Join(name, "run.svg"))
	}
	return nil
}

// advise says what an error of the program may come of that the program cannot
// know: flags in the wrong place, and servers that nobody configured.
func (d *door) advise(ctx *cli.Context, host *config.Host, req engine.Request, err error) {
	for _, word := range req.Argv {
		if req.Language != "python" {
			break // which was told before
		}
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if strings.HasPrefix(word, "--") && slices.Contains(flagNames(ctx), name) {
			d.voice.note("--%s stands behind the program and was given to it: flags of wexec go before", name)
			return
		}
	}
	var e *engine.Error
	if len(host.Upstream.Servers()) > 0 || !errors.As(err, &e) || e.Hint != "" {
		return
	}
	m := regexp.MustCompile(`^(?:name ')?(\w+)'? is not defined`).FindStringSubmatch(e.Message)
	if m != nil && regexp.MustCompile(`\b`+m[1]+`\s*\.\s*\w+\s*\(`).MatchString(req.Code) {
		d.voice.hint("no server is configured that " + m[1] + " could be: name a file with --mcp FILE, or run wexec init")
	}
}

// done says what an interrupted program had done until then.
func (d *door) done(res *engine.Result) {
	d.voice.note("until then: %d ms, %s", res.Usage.WallMS, counted(len(res.Calls), "call"))
	for i, c := range res.Calls {
		how := "done"
		if !c.OK {
			how = "not done"
		}
		d.voice.say("%3d  %-8s %s", i+1, how, c.Tool)
	}
}

// dryRun lists the calls a program would make, as far as it could go on.
func (d *door) dryRun(res *engine.Result, err error) {
	for i, c := range res.Calls {
		d.voice.say("%3d  %-5s %s  %s", i+1, c.Decision, c.Tool, d.voice.paint("2", c.Rule))
	}
	switch {
	case err != nil && len(res.Calls) > 0:
		d.voice.note("the list ends here: with null for an answer the program cannot go on")
		d.voice.fault(err)
	case err != nil:
		d.voice.fault(err)
	case len(res.Calls) == 0:
		d.voice.note("the program calls no tool")
	}
}

// quietExit reports whether a program ended itself with a number: it has said
// what it had to say.
func quietExit(err error) bool {
	var e *engine.Error
	return errors.As(err, &e) && e.Code == fault.GuestExit && strings.HasPrefix(e.Message, "the program ended with exit(")
}

// exitOf is the exit status of a run. It does not depend on how the result is
// shown.
func exitOf(res *engine.Result, err error) error {
	if err == nil {
		return nil
	}
	if res != nil && res.Error != nil && res.Error.Code == fault.GuestExit {
		if res.Error.Exit == 0 {
			return nil
		}
		return said(res.Error.Exit & 0xff)
	}
	return said(fault.CodeOf(err).Class().Exit())
}

// failed ends a run that never began. With --json it is a Result all the same.
func (d *door) failed(ctx *cli.Context, err error) error {
	if !ctx.Bool("json") && !ctx.Bool("jsonl") {
		return err
	}
	return d.failedJSON(err)
}

func (d *door) failedJSON(err error) error {
	code := fault.CodeOf(err)
	res := &engine.Result{Status: engine.StatusError, Started: time.Now().UTC(), Cache: "off", Error: &engine.Error{
		Code: code, Class: code.Class(), Message: err.Error(), Hint: fault.HintOf(err)}}
	show := d.printJSON
	if asksFor(d.inv.Args, "jsonl") {
		show = d.printLine
	}
	if werr := show(res); werr != nil {
		return werr
	}
	return said(code.Class().Exit())
}
