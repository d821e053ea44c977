package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
)

// maxProgram is the most that is read of a program or its arguments.
const maxProgram = 64 << 20

func (d *door) runCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "e", Usage: "run `CODE` in place of a file"},
		&cli.StringFlag{Name: "l", Aliases: []string{"language"}, Usage: "the language: js, ts or py"},
		&cli.StringSliceFlag{Name: "arg", Usage: "one argument, as `NAME=VALUE`; the value is JSON where it parses, else text"},
		&cli.StringFlag{Name: "args", Usage: "all arguments, as `JSON`, @FILE or @- for standard input"},
		&cli.StringFlag{Name: "intent", Usage: "what the program is for, in words"},
		&cli.StringFlag{Name: "packages", Usage: "a `DIR` of pure packages that the program may import, as /packages", TakesFile: true},
		&cli.BoolFlag{Name: "json", Usage: "print the whole Result as JSON, and nothing else"},
		&cli.BoolFlag{Name: "jsonl", Usage: "print every event as a line of JSON, the Result last"},
		&cli.BoolFlag{Name: "stats", Usage: "say afterwards what the run used"},
		&cli.StringFlag{Name: "timeline", Usage: "draw the run into `FILE.svg`", TakesFile: true},
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
	settings, err := d.settings(ctx)
	if err != nil {
		return d.failed(ctx, err)
	}
	host, err := settings.Open(ctx.Context, config.Options{Env: d.inv.Env, Version: d.inv.Version, Logger: d.logger(settings.Log), Terminal: d.asker()})
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
	case ctx.Bool("json"):
		if werr := d.printJSON(res); werr != nil {
			return werr
		}
	case ctx.Bool("jsonl"):
		if werr := d.printLine(res); werr != nil {
			return werr
		}
	default:
		if werr := d.printValue(res.Value); werr != nil {
			return werr
		}
		if err != nil && !quietExit(err) {
			d.voice.fault(err)
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
		d.dryRun(res)
	}
	return exitOf(res, err)
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
func (d *door) dryRun(res *engine.Result) {
	for i, c := range res.Calls {
		d.voice.say("%3d  %-5s %s  %s", i+1, c.Decision, c.Tool, d.voice.paint("2", c.Rule))
	}
	switch {
	case res.Error != nil:
		d.voice.note("the list ends here: with null for an answer the program cannot go on")
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
	if werr := d.printJSON(res); werr != nil {
		return werr
	}
	return said(code.Class().Exit())
}

// request reads the program, its arguments and its input.
func (d *door) request(ctx *cli.Context) (engine.Request, error) {
	req := engine.Request{
		Intent: ctx.String("intent"), Deterministic: ctx.Bool("deterministic"), Trigger: "cli",
		Actor: engine.Actor{Type: "person"}, Packages: ctx.String("packages"),
		Env: d.inv.Env.Map(), Dir: d.inv.Env.Dir, DryRun: ctx.Bool("dry-run"),
	}
	if ctx.Bool("no-cache") {
		off := false
		req.Cache = &off
	}
	limits, err := limitsOf(ctx)
	if err != nil {
		return req, err
	}
	req.Limits = limits
	if req.Packages != "" {
		req.Packages = d.path(req.Packages)
		if info, err := os.Stat(req.Packages); err != nil || !info.IsDir() {
			return req, fault.New(fault.UsageFile, "open the folder of packages: %s is no folder", req.Packages)
		}
	}
	inputTaken, err := d.readProgram(ctx, &req)
	if err != nil {
		return req, err
	}
	if req.Args, err = d.readArgs(ctx, &inputTaken); err != nil {
		return req, err
	}
	if !inputTaken {
		req.Stdin = d.inv.Stdin
	}
	return req, nil
}

// readProgram fills in code, file, language and argv. It reports whether
// standard input was the program.
func (d *door) readProgram(ctx *cli.Context, req *engine.Request) (bool, error) {
	rest := ctx.Args().Slice()
	inline := ctx.IsSet("e")
	switch {
	case inline:
		req.Code, req.Argv = ctx.String("e"), rest
	case len(rest) == 0:
		return false, fault.New(fault.UsageFlag, "there is nothing to run").WithHint("wexec run FILE, or wexec run -l js -e 'CODE'")
	case rest[0] == "-":
		data, err := d.readInput("the program")
		if err != nil {
			return true, err
		}
		req.Code, req.Argv = string(data), rest[1:]
	default:
		path := d.path(rest[0])
		data, err := readBounded(path)
		if err != nil {
			return false, err
		}
		req.Code, req.Argv = string(data), rest[1:]
		req.File = filepath.ToSlash(rest[0])
		req.Root = filepath.Dir(path)
	}
	if len(req.Argv) > 0 && req.Argv[0] == "--" {
		req.Argv = req.Argv[1:]
	}
	err := d.language(ctx, req)
	return !inline && len(rest) > 0 && rest[0] == "-", err
}

// language is told by -l, the file's name, its first line, or a sure guess.
func (d *door) language(ctx *cli.Context, req *engine.Request) error {
	if l := ctx.String("l"); l != "" {
		name, err := languageNamed(l)
		req.Language = name
		return err
	}
	if name, ok := guests.LanguageOfFile(req.File); ok {
		req.Language = name
		return nil
	}
	if l := hashbangLanguage(req.Code); l != "" {
		name, err := languageNamed(l)
		req.Language = name
		return err
	}
	name, why, ok := guests.GuessLanguage(req.Code)
	if !ok {
		return fault.New(fault.UsageLanguage, "the language of the program cannot be told").WithHint("say it with -l js, -l ts or -l py")
	}
	if why != "" {
		d.voice.note("read as %s: %s (-l says it for sure)", name, why)
	}
	req.Language = name
	return nil
}

// languageNamed is a language as somebody wrote it.
func languageNamed(word string) (string, error) {
	name, err := engine.Language(word)
	if err == nil {
		return name, nil
	}
	var names []string
	for _, g := range guests.All() {
		names = append(append(names, g.Language), g.Aliases...)
	}
	var wrong *fault.Error
	if near := catalogue.NearestOf(word, names); near != "" && errors.As(err, &wrong) {
		return "", wrong.WithHint("did you mean %s?", near)
	}
	return "", err
}

// hashbangLanguage is what a first line like #!/usr/bin/env -S wexec run -l py
// says of the language.
func hashbangLanguage(code string) string {
	line, _, _ := strings.Cut(code, "\n")
	if !strings.HasPrefix(line, "#!") || !strings.Contains(line, "wexec") {
		return ""
	}
	words := strings.Fields(line)
	for i, w := range words[:len(words)-1] {
		if w == "-l" || w == "--language" {
			return words[i+1]
		}
	}
	return ""
}

// readArgs puts --args and --arg together.
func (d *door) readArgs(ctx *cli.Context, inputTaken *bool) (json.RawMessage, error) {
	var doc []byte
	switch text := ctx.String("args"); {
	case text == "@-":
		if *inputTaken {
			return nil, fault.New(fault.UsageFlag, "standard input is the program already, it cannot be --args too")
		}
		*inputTaken = true
		data, err := d.readInput("--args")
		if err != nil {
			return nil, err
		}
		doc = data
	case strings.HasPrefix(text, "@"):
		data, err := readBounded(d.path(text[1:]))
		if err != nil {
			return nil, err
		}
		doc = data
	case text != "":
		doc = []byte(text)
	}
	if len(doc) > maxProgram {
		return nil, fault.New(fault.UsageFlag, "--args is larger than %d MiB", maxProgram>>20)
	}
	doc = bytes.TrimSpace(doc)
	if len(doc) > 0 && !json.Valid(doc) {
		return nil, fault.New(fault.UsageFlag, "--args is no JSON: %v", jsonError(doc)).WithHint(`quote it for the shell: --args '{"limit": 10}'`)
	}
	pairs := ctx.StringSlice("arg")
	if len(pairs) == 0 {
		return doc, nil
	}
	all := map[string]json.RawMessage{}
	if len(doc) > 0 {
		if err := json.Unmarshal(doc, &all); err != nil || all == nil {
			return nil, fault.New(fault.UsageFlag, "--arg needs --args to be an object")
		}
	}
	for _, p := range pairs {
		name, value, ok := strings.Cut(p, "=")
		if !ok || name == "" {
			return nil, fault.New(fault.UsageFlag, "--arg %s is not NAME=VALUE", p)
		}
		raw := []byte(value)
		if !json.Valid(raw) {
			quoted, err := json.Marshal(value)
			if err != nil {
				return nil, fault.New(fault.UsageFlag, "--arg %s: %w", name, err)
			}
			raw = quoted
		}
		all[name] = raw
	}
	return json.Marshal(all)
}

func jsonError(doc []byte) error {
	var v any
	return json.Unmarshal(doc, &v)
}

// path is a path as seen from the working folder of the invocation.
func (d *door) path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(d.inv.Env.Dir, p)
}

func (d *door) paths(list []string) []string {
	var out []string
	for _, p := range list {
		out = append(out, d.path(p))
	}
	return out
}

// readInput reads standard input as what it is named for.
func (d *door) readInput(what string) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(d.inv.Stdin, maxProgram+1))
	if err != nil {
		return nil, fault.New(fault.UsageFile, "read %s from standard input: %w", what, err)
	}
	if len(data) > maxProgram {
		return nil, fault.New(fault.UsageFile, "%s on standard input is larger than %d MiB", what, maxProgram>>20)
	}
	return data, nil
}

// readBounded reads a file that a person named.
func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && info.IsDir() {
		return nil, fault.New(fault.UsageFile, "%s is a folder", path).WithHint("name the file to run")
	}
	if err == nil && info.Size() > maxProgram {
		return nil, fault.New(fault.UsageFile, "%s is larger than %d MiB", path, maxProgram>>20)
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(path)
	}
	if err != nil {
		var p *os.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		wrong := fault.New(fault.UsageFile, "read %s: %w", path, err)
		if near := besideIt(path); near != "" {
			return nil, wrong.WithHint("did you mean %s?", near)
		}
		return nil, wrong
	}
	return data, nil
}

// besideIt is the file of the same folder whose name is nearest to that of one
// that is not there.
func besideIt(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) > 10_000 {
		return ""
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && e.Name() != filepath.Base(path) {
			names = append(names, e.Name())
		}
	}
	return catalogue.NearestOf(filepath.Base(path), names)
}

func joined(list []error) error { return errors.Join(list...) }

// printValue shows a program's value: text as it is, anything else as indented
// JSON, nothing for none.
func (d *door) printValue(value json.RawMessage) error {
	if len(value) == 0 || bytes.Equal(value, []byte("null")) {
		return nil
	}
	var text string
	if value[0] == '"' && json.Unmarshal(value, &text) == nil {
		_, err := fmt.Fprintln(d.inv.Stdout, text)
		return err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, value, "", "  "); err != nil {
		b.Reset()
		b.Write(value)
	}
	b.WriteByte('\n')
	_, err := d.inv.Stdout.Write(b.Bytes())
	return err
}

func (d *door) printJSON(v any) error {
	enc := json.NewEncoder(d.inv.Stdout)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

func (d *door) printLine(v any) error {
	enc := json.NewEncoder(d.inv.Stdout)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}
