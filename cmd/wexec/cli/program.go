package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/internal/jsonc"
)

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
	case rest[0] == "":
		return false, fault.New(fault.UsageFlag, "the name of the file to run is empty").WithHint("wexec run FILE, or wexec run -l js -e 'CODE'")
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
	what, hint := "--args", `quote it for the shell: --args '{"limit": 10}'`
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
		doc, what, hint = data, "standard input", ""
	case strings.HasPrefix(text, "@"):
		data, err := readBounded(d.path(text[1:]))
		if err != nil {
			return nil, err
		}
		doc, what, hint = data, text[1:], ""
	case text != "":
		doc = []byte(text)
	}
	if len(doc) > maxProgram {
		return nil, fault.New(fault.UsageFlag, "--args is larger than %d MiB", maxProgram>>20)
	}
	doc = bytes.TrimPrefix(doc, []byte("\ufeff"))
	if len(bytes.TrimSpace(doc)) > 0 && !json.Valid(doc) {
		if hint == "" {
			what += ":" + jsonc.Position(doc, jsonError(doc))
		}
		return nil, fault.New(fault.UsageFlag, "%s is no JSON: %v", what, jsonError(doc)).WithHint("%s", hint)
	}
	doc = bytes.TrimSpace(doc)
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
