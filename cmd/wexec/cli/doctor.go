package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

func (d *door) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "look for what is wrong on this machine, and say how to mend it",
		Flags:  append([]cli.Flag{&cli.BoolFlag{Name: "json", Usage: "print JSON"}}, settingFlags()...),
		Action: d.doctor,
	}
}

// checked is one thing that was looked at.
type checked struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

func (d *door) doctor(ctx *cli.Context) error {
	var all []checked
	add := func(name string, err error, detail string) {
		c := checked{Name: name, OK: err == nil, Detail: detail}
		if err != nil {
			c.Detail, c.Hint = err.Error(), fault.HintOf(err)
		}
		all = append(all, c)
		if !ctx.Bool("json") {
			mark := d.voice.paint("32", "ok  ")
			if err != nil {
				mark = d.voice.paint("31", "FAIL")
			}
			fmt.Fprintf(d.inv.Stdout, "%s %-10s %s\n", mark, c.Name, c.Detail)
			if c.Hint != "" {
				fmt.Fprintf(d.inv.Stdout, "     %-10s %s\n", "", c.Hint)
			}
		}
	}
	for _, name := range wasmmodules.Names() {
		m, err := wasmmodules.Open(name)
		if err == nil {
			err = m.Verify()
		}
		detail := ""
		if err == nil {
			detail = "version " + m.Version + ", every digest as committed"
		}
		add(name, err, detail)
	}
	settings, err := d.settings(ctx)
	add("settings", err, "every file reads")
	if err == nil {
		add("cache", writable(settings.Cache), settings.Cache)
		d.doctorAudit(settings, add)
		if p := settings.Policy(); p == nil {
			add("policy", nil, "none: tools are denied (wexec init writes one)")
		} else {
			add("policy", nil, p.Name())
		}
		d.doctorServers(ctx, settings, add)
	}
	for _, f := range config.FindServers(d.inv.Env) {
		add("client", nil, fmt.Sprintf("%s has %d servers in %s", f.Client, f.Servers, f.Path))
	}
	if ctx.Bool("json") {
		if err := d.printJSON(map[string]any{"checks": all}); err != nil {
			return err
		}
	}
	for _, c := range all {
		if !c.OK {
			return said(1)
		}
	}
	return nil
}

func (d *door) doctorAudit(s *config.Settings, add func(string, error, string)) {
	if err := writable(s.Audit.Dir); err != nil {
		add("audit", err, "")
		return
	}
	rep, err := audit.Verify(s.Audit.Dir)
	if err == nil && !rep.OK() {
		err = fault.New(fault.UsageAudit, "%s (%d problems)", rep.Problems[0], len(rep.Problems)).WithHint("wexec audit verify lists them")
	}
	add("audit", err, fmt.Sprintf("%d records in %s, unbroken", rep.Records, s.Audit.Dir))
}

// doctorServers starts each server, counts its tools and times it.
func (d *door) doctorServers(ctx *cli.Context, s *config.Settings, add func(string, error, string)) {
	host, err := s.Open(ctx.Context, config.Options{Env: d.inv.Env, Version: d.inv.Version, Logger: d.logger("error"), NoAudit: true})
	if err != nil {
		add("engine", err, "")
		return
	}
	defer host.Close()
	for _, server := range host.Upstream.Servers() {
		begun := time.Now()
		tools, err := host.Upstream.Tools(ctx.Context, server)
		detail := fmt.Sprintf("%d tools in %d ms", len(tools), time.Since(begun).Milliseconds())
		if left := host.Upstream.Refused(server); len(left) > 0 {
			detail += fmt.Sprintf(", %d left out: %s", len(left), left[0])
		}
		add(server, err, detail)
	}
	d.doctorPins(ctx, s, host, add)
}

// doctorPins looks for tools that are not what was pinned.
func (d *door) doctorPins(ctx *cli.Context, s *config.Settings, host *config.Host, add func(string, error, string)) {
	pins, err := s.Pins(d.inv.Env)
	if err != nil || len(pins) == 0 {
		return
	}
	cat, _ := host.Table.Catalogue(ctx.Context)
	var changed []string
	for _, p := range pins {
		if pinState(cat, p).State == "changed" {
			changed = append(changed, p.Tool)
		}
	}
	if len(changed) > 0 {
		err = fault.New(fault.DeniedPinned, "%s changed since being pinned: %s", counted(len(changed), "tool"), changed[0]).
			WithHint("wexec tools pin --list shows what changed")
	}
	add("pins", err, counted(len(pins), "tool")+" as pinned")
}

// writable reports whether a folder can be made and written to.
func writable(dir string) error {
	if dir == "" {
		return fault.New(fault.UsageConfig, "there is no such folder").WithHint("set HOME, or the XDG variables")
	}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, ".doctor-*"); err == nil {
			name := f.Name()
			_ = f.Close()
			err = os.Remove(name)
		}
	}
	if err != nil {
		return fault.New(fault.UsageConfig, "%s cannot be written: %w", filepath.Clean(dir), err).WithHint("mend its permissions, or name another folder")
	}
	return nil
}
