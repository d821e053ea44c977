package cli

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

func (a *app) guestsCommand() *cli.Command {
	return &cli.Command{
		Name:  "guests",
		Usage: "list, verify and compile the language runtimes",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list the guests in this program", Action: a.guestsList, Flags: []cli.Flag{jsonFlag()}},
			{Name: "verify", Usage: "verify the guests against their digests", Action: a.guestsVerify, Flags: []cli.Flag{jsonFlag()}},
			{Name: "warm", Usage: "compile languages now, so that the first run does not wait", ArgsUsage: "[LANGUAGE…]", Action: a.guestsWarm},
		},
	}
}

func (a *app) guestsList(ctx *cli.Context) error {
	type row struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		SHA256  string `json:"sha256"`
		Image   uint64 `json:"image_bytes"`
	}
	rows := []row{}
	for _, name := range wasmmodules.Names() {
		m, err := wasmmodules.Open(name)
		if err != nil {
			return err
		}
		rows = append(rows, row{m.Name, m.Version, m.Digest, m.ImageSize})
	}
	if ctx.Bool("json") {
		return a.printJSON(map[string]any{"guests": rows})
	}
	for _, r := range rows {
		a.printf("%-10s %-12s %8s  %s\n", r.Name, r.Version, terminal.Bytes(int64(r.Image)), r.SHA256[:16])
	}
	return nil
}

func (a *app) guestsVerify(ctx *cli.Context) error {
	type row struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		SHA256  string `json:"sha256"`
		Whole   bool   `json:"whole"`
		Why     string `json:"why,omitempty"`
	}
	rows := []row{}
	var failed error
	for _, name := range wasmmodules.Names() {
		r := row{Name: name}
		m, err := wasmmodules.Open(name)
		if err == nil {
			r.Name, r.Version, r.SHA256 = m.Name, m.Version, m.Digest
			err = m.Verify()
		}
		if r.Whole = err == nil; err != nil {
			r.Why, failed = err.Error(), err
		}
		rows = append(rows, r)
		if ctx.Bool("json") {
			continue
		}
		if err != nil {
			return err
		}
		a.printf("%s %s: ok\n", r.Name, r.Version)
	}
	if !ctx.Bool("json") {
		return nil
	}
	if err := a.printJSON(map[string]any{"guests": rows}); err != nil || failed == nil {
		return err
	}
	return exitStatus(fault.CodeOf(failed).Class().Exit())
}

func (a *app) guestsWarm(ctx *cli.Context) error {
	settings, err := config.Load(a.Env, config.Flags{})
	if err != nil {
		return err
	}
	if settings.Cache == "" {
		return fault.New(fault.UsageConfig, "there is no cache folder").WithHint("set XDG_CACHE_HOME or WEXEC_CACHE")
	}
	var languages []string
	for _, name := range ctx.Args().Slice() {
		l, err := engine.Language(name)
		if err != nil {
			return err
		}
		languages = append(languages, l)
	}
	eng, err := engine.New(ctx.Context, engine.Config{Cache: settings.Cache, Logger: terminal.Logger(a.term, settings.Log), Ready: -1})
	if err != nil {
		return err
	}
	defer func() { _ = eng.Close() }()
	ready := 0
	err = eng.Warm(ctx.Context, func(e engine.Event) {
		step := e.Text
		if e.Type == engine.EventCompiling {
			step = "compiling " + step
		} else {
			ready = int(e.Done)
		}
		if a.term.Interactive {
			a.term.SetStatus(terminal.Bar(e.Done, e.Total) + " " + step)
		}
	}, languages...)
	a.term.ClearStatus()
	if err != nil {
		return err
	}
	a.term.Note("ready: %s in %s", terminal.Count(ready, "guest"), settings.Cache)
	return nil
}

func (a *app) pluginCommand() *cli.Command {
	flags := []cli.Flag{
		&cli.StringFlag{Name: "input", Usage: "`TEXT`: the input of the function; @FILE reads it from a file, @- from standard input"},
		&cli.StringSliceFlag{Name: "config", Usage: "`NAME=VALUE`: configuration that the plugin reads; repeatable"},
		&cli.StringFlag{Name: "sha256", Usage: "`DIGEST`: the digest that the file must have"},
		&cli.BoolFlag{Name: "json", Usage: "print the Result as JSON and nothing else"},
		&cli.BoolFlag{Name: "stats", Usage: "print what the call used"},
	}
	return &cli.Command{
		Name:  "plugin",
		Usage: "call Extism plugins under the same limits",
		Subcommands: []*cli.Command{{
			Name: "call", Usage: "call one function of a plugin", ArgsUsage: "FILE FUNCTION",
			Flags: slices.Concat(flags, settingFlags(), withoutTools(allowFlags()), limitFlags()), Action: a.pluginCall,
			Description: "The plugin has the limits of a program. It receives its input and its configuration, calls no tools, and reaches the\nhosts and files that the policy allows.",
		}},
	}
}

// withoutTools returns the flags that do not grant or deny tools.
func withoutTools(flags []cli.Flag) []cli.Flag {
	return slices.DeleteFunc(flags, func(f cli.Flag) bool { return strings.HasSuffix(f.Names()[0], "-tool") })
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
	configuration := map[string]string{}
	for _, pair := range ctx.StringSlice("config") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return a.failed(ctx, fault.New(fault.UsageFlag, "--config %s: must be NAME=VALUE", pair))
		}
		configuration[name] = value
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
		Plugin: a.path(ctx.Args().Get(0)), PluginDigest: ctx.String("sha256"), PluginConfig: configuration, Function: ctx.Args().Get(1), Input: input,
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

func (a *app) versionCommand() *cli.Command {
	return &cli.Command{
		Name: "version", Usage: "print the version; with --json, also those of the guests",
		Flags: []cli.Flag{jsonFlag()},
		Action: func(ctx *cli.Context) error {
			if !ctx.Bool("json") {
				a.printf("wexec %s %s/%s %s\n", a.Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
				return nil
			}
			type guest struct {
				Name    string `json:"name"`
				Version string `json:"version"`
				SHA256  string `json:"sha256"`
			}
			guests := []guest{}
			for _, name := range wasmmodules.Names() {
				m, err := wasmmodules.Open(name)
				if err != nil {
					return err
				}
				guests = append(guests, guest{m.Name, m.Version, m.Digest})
			}
			return a.printJSON(struct {
				Version string  `json:"version"`
				Commit  string  `json:"commit,omitempty"`
				Go      string  `json:"go"`
				OS      string  `json:"os"`
				Arch    string  `json:"arch"`
				Guests  []guest `json:"guests"`
			}{a.Version, commit(), runtime.Version(), runtime.GOOS, runtime.GOARCH, guests})
		},
	}
}

// unversioned is the version of a program that is not a release.
const unversioned = "devel"

// versionOf returns the version that a release set, or else the version that the
// go command installed.
func versionOf(release string) string {
	if release != "" && release != unversioned {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return unversioned
}

// commit is the commit that the program was built from, if the go command knew
// it.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	var revision, modified string
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			modified = "+dirty"
		}
	}
	return revision + modified
}
