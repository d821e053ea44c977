package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/internal/jsonc"
)

// request reads the program, its arguments and its input.
func (a *app) request(ctx *cli.Context) (engine.Request, error) {
	req := engine.Request{
		Intent: ctx.String("intent"), Deterministic: ctx.Bool("deterministic"), Trigger: "cli",
		Actor: engine.Actor{Type: "person"}, Packages: ctx.String("packages"),
		Env: a.programEnv().Map(), Dir: a.Env.Dir, DryRun: ctx.Bool("dry-run"),
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
		req.Packages = a.path(req.Packages)
		if info, err := os.Stat(req.Packages); err != nil || !info.IsDir() {
			return req, fault.New(fault.UsageFile, "open the folder of packages: %s is not a folder", req.Packages)
		}
	}
	stdinRead, err := a.readProgram(ctx, &req)
	if err != nil {
		return req, err
	}
	if req.Args, err = a.readArgs(ctx, &stdinRead); err != nil {
		return req, err
	}
	if !stdinRead {
		req.Stdin = a.Stdin
	}
	return req, nil
}

// readProgram sets code, file, language and argv. It reports whether standard
// input was the program.
func (a *app) readProgram(ctx *cli.Context, req *engine.Request) (stdinRead bool, err error) {
	const hint = "wexec run FILE, or wexec run -l js -e 'CODE'"
	args := ctx.Args().Slice()
	switch {
	case ctx.IsSet("e"):
		req.Code, req.Argv = ctx.String("e"), args
	case len(args) == 0:
		return false, fault.New(fault.UsageFlag, "no program to run").WithHint(hint)
	case args[0] == "":
		return false, fault.New(fault.UsageFlag, "the name of the program's file is empty").WithHint(hint)
	case args[0] == "-":
		data, err := a.readStdin("the program")
		if err != nil {
			return true, err
		}
		req.Code, req.Argv, stdinRead = string(data), args[1:], true
	default:
		path := a.path(args[0])
		data, err := readFile(path)
		if err != nil {
			return false, err
		}
		req.Code, req.Argv = string(data), args[1:]
		req.File, req.Root = filepath.ToSlash(args[0]), filepath.Dir(path)
	}
	if len(req.Argv) > 0 && req.Argv[0] == "--" {
		req.Argv = req.Argv[1:]
	}
	req.Language, err = a.languageOf(ctx.String("l"), req)
	return stdinRead, err
}

// languageOf returns the language that -l names, or else that of the file's
// name, of its first line, or of what the code looks like.
func (a *app) languageOf(flag string, req *engine.Request) (string, error) {
	if flag != "" {
		return engine.Language(flag)
	}
	if name, ok := guests.LanguageOfFile(req.File); ok {
		return name, nil
	}
	if name := shebangLanguage(req.Code); name != "" {
		return engine.Language(name)
	}
	name, why, ok := guests.GuessLanguage(req.Code)
	if !ok {
		return "", fault.New(fault.UsageLanguage, "the language of the program is unknown").WithHint("set it with -l js, -l ts or -l py")
	}
	if why != "" {
		a.term.Note("running this as %s: %s (set the language with -l)", name, why)
	}
	return name, nil
}

// shebangLanguage returns the language in a first line such as
// "#!/usr/bin/env -S wexec run -l py".
func shebangLanguage(code string) string {
	line, _, _ := strings.Cut(code, "\n")
	if !strings.HasPrefix(line, "#!") || !strings.Contains(line, "wexec") {
		return ""
	}
	fields := strings.Fields(line)
	for i, f := range fields[:len(fields)-1] {
		if f == "-l" || f == "--language" {
			return fields[i+1]
		}
	}
	return ""
}

// likelyLanguage guesses the language of a run from unparsed arguments: the
// value of -l, or else the first name of a file that has a language. It returns
// "" if it finds no language, or if a server runs the program.
func likelyLanguage(args []string) string {
	byFile := ""
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		switch name {
		case "--":
			return byFile
		case "--server", "-server": // which has the guest
			return ""
		case "-l", "--l", "-language", "--language":
			if !joined && i+1 < len(args) {
				value = args[i+1]
			}
			language, _ := engine.Language(value)
			return language
		}
		if language, ok := guests.LanguageOfFile(arg); ok && byFile == "" {
			byFile = language
		}
	}
	return byFile
}

// readArgs merges --args and --arg.
func (a *app) readArgs(ctx *cli.Context, stdinRead *bool) (json.RawMessage, error) {
	var doc []byte
	name, hint := "--args", `quote it for the shell: --args '{"limit": 10}'`
	switch text := ctx.String("args"); {
	case text == "@-":
		if *stdinRead {
			return nil, fault.New(fault.UsageFlag, "read --args from standard input: the program is read from it")
		}
		*stdinRead = true
		data, err := a.readStdin("--args")
		if err != nil {
			return nil, err
		}
		doc, name, hint = data, "standard input", ""
	case strings.HasPrefix(text, "@"):
		data, err := readFile(a.path(text[1:]))
		if err != nil {
			return nil, err
		}
		doc, name, hint = data, text[1:], ""
	default:
		doc = []byte(text)
	}
	if len(doc) > maxInput {
		return nil, fault.New(fault.UsageFlag, "--args is larger than %d MiB", maxInput>>20)
	}
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if len(bytes.TrimSpace(doc)) > 0 && !json.Valid(doc) {
		var v any
		err := json.Unmarshal(doc, &v)
		if hint == "" {
			name += ":" + jsonc.Position(doc, err)
		}
		return nil, fault.New(fault.UsageFlag, "%s: invalid JSON: %v", name, err).WithHint("%s", hint)
	}
	doc = bytes.TrimSpace(doc)
	pairs := ctx.StringSlice("arg")
	if len(pairs) == 0 {
		return doc, nil
	}
	all := map[string]json.RawMessage{}
	if len(doc) > 0 {
		if err := json.Unmarshal(doc, &all); err != nil || all == nil {
			return nil, fault.New(fault.UsageFlag, "--arg: --args is not an object")
		}
	}
	for _, pair := range pairs {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, fault.New(fault.UsageFlag, "--arg %s: must be NAME=VALUE", pair)
		}
		raw := json.RawMessage(value)
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
