package cli

import (
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

func (a *app) pluginCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "input", Usage: "`TEXT`: the input of the function; @FILE reads it from a file, @- from standard input"},
		&cli.StringFlag{Name: "sha256", Usage: "`DIGEST`: the digest that the file must have"},
		&cli.BoolFlag{Name: "json", Usage: "print the Result as JSON and nothing else"},
		&cli.BoolFlag{Name: "stats", Usage: "print what the call used"},
	}
	return &cli.Command{
		Name:  "plugin",
		Usage: "call Extism plugins under the same limits",
		Subcommands: []*cli.Command{{
			Name: "call", Usage: "call one function of a plugin", ArgsUsage: "FILE FUNCTION",
			Flags: slices.Concat(flags, settingFlags(), limitFlags()), Action: a.pluginCall,
			Description: "The plugin has the limits of a program. It receives its input and has no access to this machine.",
		}},
	}
}

func (a *app) pluginCall(ctx *cli.Context) error {
	if ctx.Args().Len() != 2 {
		return a.failed(ctx, fault.New(fault.UsageFlag, "name the plugin's file and one of its functions").
			WithHint("wexec plugin call count_vowels.wasm count_vowels --input hello"))
	}
	input, err := a.pluginInput(ctx.String("input"))
	if err != nil {
		return a.failed(ctx, err)
	}
	settings, err := a.settings(ctx)
	if err != nil {
		return a.failed(ctx, err)
	}
	host, err := settings.Open(ctx.Context, config.Options{Env: a.Env, Version: a.Version, Logger: terminal.Logger(a.term, settings.Log)})
	if err != nil {
		return a.failed(ctx, err)
	}
	defer func() { _ = host.Close() }()
	var output engine.Output
	if !ctx.Bool("json") {
		output.Stderr = a.term
	}
	res, err := host.Engine.Run(ctx.Context, engine.Request{
		Output: output,
		Plugin: a.path(ctx.Args().Get(0)), PluginDigest: ctx.String("sha256"), Function: ctx.Args().Get(1), Input: input,
		Limits: settings.Limits, Trigger: "cli", Actor: engine.Actor{Type: "person"}, Dir: a.Env.Dir,
	})
	if ctx.Bool("json") {
		if werr := a.printJSON(res); werr != nil {
			return werr
		}
	} else {
		if _, werr := a.Stdout.Write(res.Output()); werr != nil {
			return werr
		}
		if err != nil {
			a.term.Error(err)
		}
	}
	if ctx.Bool("stats") {
		a.printStats(res)
	}
	return statusOf(res, err)
}

func (a *app) pluginInput(flag string) ([]byte, error) {
	switch {
	case flag == "@-":
		return a.readStdin("--input")
	case len(flag) > 1 && flag[0] == '@':
		return readFile(a.path(flag[1:]))
	}
	return []byte(flag), nil
}
