package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
)

func (d *door) pluginCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "input", Usage: "`TEXT`: the input of the function; @FILE reads it from a file, @- from standard input"},
		&cli.StringFlag{Name: "sha256", Usage: "`DIGEST`: refuse a file with any other"},
		&cli.BoolFlag{Name: "json", Usage: "print the whole Result as JSON, and nothing else"},
		&cli.BoolFlag{Name: "stats", Usage: "say afterwards what the call used"},
	}
	flags = append(flags, settingFlags()...)
	flags = append(flags, limitFlags()...)
	return &cli.Command{
		Name:  "plugin",
		Usage: "call foreign Extism plugins under the same limits",
		Subcommands: []*cli.Command{{
			Name: "call", Usage: "call one function of a plugin", ArgsUsage: "FILE FUNCTION", Flags: flags, Action: d.pluginCall,
			Description: "The plugin is metered and capped as any program is. It gets its input, and nothing else of this machine.",
		}},
	}
}

func (d *door) pluginCall(ctx *cli.Context) error {
	if ctx.Args().Len() != 2 {
		return d.failed(ctx, fault.New(fault.UsageFlag, "name the plugin's file and one of its functions").WithHint("wexec plugin call count_vowels.wasm count_vowels --input hello"))
	}
	input, err := d.input(ctx.String("input"))
	if err != nil {
		return d.failed(ctx, err)
	}
	settings, err := d.settings(ctx)
	if err != nil {
		return d.failed(ctx, err)
	}
	host, err := settings.Open(ctx.Context, config.Options{Env: d.inv.Env, Version: d.inv.Version, Logger: d.logger(settings.Log)})
	if err != nil {
		return d.failed(ctx, err)
	}
	defer func() { _ = host.Close() }()
	var output engine.Output
	if !ctx.Bool("json") {
		output.Stderr = d.voice
	}
	res, err := host.Engine.Run(ctx.Context, engine.Request{
		Output: output,
		Plugin: d.path(ctx.Args().Get(0)), PluginDigest: ctx.String("sha256"), Function: ctx.Args().Get(1), Input: input,
		Limits: settings.Limits, Trigger: "cli", Actor: engine.Actor{Type: "person"}, Dir: d.inv.Env.Dir,
	})
	if ctx.Bool("json") {
		if werr := d.printJSON(res); werr != nil {
			return werr
		}
	} else {
		if _, werr := d.inv.Stdout.Write(res.Output()); werr != nil {
			return werr
		}
		if err != nil {
			d.voice.fault(err)
		}
	}
	if ctx.Bool("stats") {
		d.stats(res)
	}
	return exitOf(res, err)
}

// input is what --input says: text, a file, or standard input.
func (d *door) input(text string) ([]byte, error) {
	switch {
	case text == "@-":
		return d.readInput("--input")
	case len(text) > 1 && text[0] == '@':
		return readBounded(d.path(text[1:]))
	}
	return []byte(text), nil
}
