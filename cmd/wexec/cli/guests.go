package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

func (d *door) guestsCommand() *cli.Command {
	return &cli.Command{
		Name:  "guests",
		Usage: "list, verify and prepare the languages",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list what is inside this program", Action: d.guestsList, Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON"}}},
			{Name: "verify", Usage: "check every part against its digest", Action: d.guestsVerify, Flags: []cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON"}}},
			{Name: "warm", Usage: "prepare languages now, so that no first run waits", ArgsUsage: "[LANGUAGE…]", Action: d.guestsWarm},
		},
	}
}

func (d *door) guestsList(ctx *cli.Context) error {
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
		return d.printJSON(map[string]any{"guests": rows})
	}
	for _, r := range rows {
		fmt.Fprintf(d.inv.Stdout, "%-10s %-12s %8s  %s\n", r.Name, r.Version, bytesText(int64(r.Image)), r.SHA256[:16])
	}
	return nil
}

func (d *door) guestsVerify(ctx *cli.Context) error {
	type row struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		SHA256  string `json:"sha256"`
		Whole   bool   `json:"whole"`
		Why     string `json:"why,omitempty"`
	}
	rows := []row{}
	var broken error
	for _, name := range wasmmodules.Names() {
		m, err := wasmmodules.Open(name)
		if err == nil {
			err = m.Verify()
		}
		switch {
		case err != nil && !ctx.Bool("json"):
			return err
		case m == nil:
			rows, broken = append(rows, row{Name: name, Why: err.Error()}), err
		case err != nil:
			rows, broken = append(rows, row{m.Name, m.Version, m.Digest, false, err.Error()}), err
		case ctx.Bool("json"):
			rows = append(rows, row{m.Name, m.Version, m.Digest, true, ""})
		default:
			fmt.Fprintf(d.inv.Stdout, "%s %s: whole\n", m.Name, m.Version)
		}
	}
	if !ctx.Bool("json") {
		return nil
	}
	if err := d.printJSON(map[string]any{"guests": rows}); err != nil || broken == nil {
		return err
	}
	return said(fault.CodeOf(broken).Class().Exit())
}

// guestsWarm prepares languages for this machine, with a bar on a terminal.
func (d *door) guestsWarm(ctx *cli.Context) error {
	settings, err := config.Load(d.inv.Env, config.Flags{})
	if err != nil {
		return err
	}
	if settings.Cache == "" {
		return fault.New(fault.UsageConfig, "there is no folder to prepare languages in").WithHint("set XDG_CACHE_HOME or WEXEC_CACHE")
	}
	var languages []string
	for _, name := range ctx.Args().Slice() {
		l, err := languageNamed(name)
		if err != nil {
			return err
		}
		languages = append(languages, l)
	}
	eng, err := engine.New(ctx.Context, engine.Config{Cache: settings.Cache, Logger: d.logger(settings.Log), Ready: -1})
	if err != nil {
		return err
	}
	defer func() { _ = eng.Close() }()
	ready := 0
	err = eng.Warm(ctx.Context, func(e engine.Event) {
		what := e.Text
		if e.Type == engine.EventCompiling {
			what = "compiling " + what
		} else {
			ready = int(e.Done)
		}
		if d.voice.terminal {
			d.voice.show(barText(e.Done, e.Total) + " " + what)
		}
	}, languages...)
	d.voice.wipe()
	if err != nil {
		return err
	}
	d.voice.note("ready: %s in %s", counted(ready, "guest"), settings.Cache)
	return nil
}

// barText is a bar that is done of total full.
func barText(done, total float64) string {
	const width = 24
	full := int(width * min(max(done/max(total, 1), 0), 1))
	return "[" + strings.Repeat("=", full) + strings.Repeat(" ", width-full) + "]"
}
