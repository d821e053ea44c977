package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/policy/lint"
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

// examination is what the doctor has looked at so far.
type examination struct {
	d    *door
	json bool
	all  []checked
}

// add notes what came of a look. An error that says not how it is mended gets
// the advice that fits the check.
func (x *examination) add(name string, err error, detail, advice string) {
	c := checked{Name: name, OK: err == nil, Detail: detail}
	if err != nil {
		c.Detail, c.Hint = err.Error(), cmp.Or(fault.HintOf(err), advice)
	}
	x.all = append(x.all, c)
	if x.json {
		return
	}
	mark := x.d.voice.paint("32", "ok  ")
	if err != nil {
		mark = x.d.voice.paint("31", "FAIL")
	}
	fmt.Fprintf(x.d.inv.Stdout, "%s %-10s %s\n", mark, c.Name, c.Detail)
	if c.Hint != "" {
		fmt.Fprintf(x.d.inv.Stdout, "     %-10s %s\n", "", c.Hint)
	}
}

func (d *door) doctor(ctx *cli.Context) error {
	x := &examination{d: d, json: ctx.Bool("json")}
	for _, name := range wasmmodules.Names() {
		m, err := wasmmodules.Open(name)
		if err == nil {
			err = m.Verify()
		}
		detail := ""
		if err == nil {
			detail = "version " + m.Version + ", every digest as committed"
		}
		x.add(name, err, detail, "this program is damaged: install it anew")
	}
	x.memory()
	x.mappings()
	settings, err := d.settings(ctx)
	x.add("settings", err, "every file reads", "mend the file that is named; wexec config show says where each value comes from")
	if err == nil {
		x.add("cache", writable(settings.Cache), settings.Cache, "")
		x.record(settings)
		x.servers(ctx, settings)
	}
	x.clients()
	if x.json {
		if err := d.printJSON(map[string]any{"checks": x.all}); err != nil {
			return err
		}
	}
	for _, c := range x.all {
		if !c.OK {
			return said(1)
		}
	}
	return nil
}

// clients looks for the servers of MCP clients, and for wexec among them.
func (x *examination) clients() {
	env, seen := x.d.inv.Env, false
	found := config.FindServers(env)
	for _, c := range config.Clients(env) {
		at := slices.IndexFunc(found, func(f config.Found) bool { return f.Path == c.Path })
		has := hasWexec(c)
		detail := fmt.Sprintf("%s has wexec in %s", c.Name, c.Path)
		switch {
		case at < 0 && !has:
			continue
		case has && at >= 0:
			detail = fmt.Sprintf("%s has wexec and %s in %s", c.Name, counted(found[at].Servers, "other server"), c.Path)
		case !has:
			detail = fmt.Sprintf("%s has %s in %s; wexec is not among them (wexec mcp install --client %s)", c.Name, counted(found[at].Servers, "server"), c.Path, c.Name)
		}
		seen = true
		x.add("client", nil, detail, "")
	}
	if !seen {
		x.add("client", nil, "none has servers here (wexec mcp install --client NAME puts wexec into one)", "")
	}
}

// hasWexec reports whether a client's file has wexec among its servers.
func hasWexec(c config.Client) bool {
	data, err := c.Text()
	return err == nil && (strings.Contains(string(data), strconv.Quote(ownName)) || strings.Contains(string(data), "[mcp_servers."+ownName+"]"))
}

// record looks at the audit.
func (x *examination) record(s *config.Settings) {
	if err := writable(s.Audit.Dir); err != nil {
		x.add("audit", err, "", "")
		return
	}
	rep, err := audit.Verify(s.Audit.Dir)
	if err == nil && !rep.OK() {
		err = fault.New(fault.UsageAudit, "%s (%d problems)", rep.Problems[0], len(rep.Problems)).
			WithHint("wexec audit verify lists them; move %s aside to begin a new record", s.Audit.Dir)
	}
	x.add("audit", err, fmt.Sprintf("%s in %s, unbroken", counted(rep.Records, "record"), s.Audit.Dir), "name another folder with --audit DIR")
}

// servers starts each server, counts its tools and times it, and says what the
// policy lets through of them.
func (x *examination) servers(ctx *cli.Context, s *config.Settings) {
	var layers []string
	for _, l := range s.Policies {
		layers = append(layers, strings.TrimSpace(string(l.Origin)+" "+l.Policy.Name()))
	}
	said := "none, so every tool is denied (wexec init writes one)"
	if len(layers) > 0 {
		said = strings.Join(layers, ", ")
	}
	host, err := s.Open(ctx.Context, config.Options{Env: x.d.inv.Env, Version: x.d.inv.Version, Logger: x.d.logger("error"), NoAudit: true})
	if err != nil {
		x.add("policy", nil, said, "")
		x.add("engine", err, "", "look at the cache folder: wexec guests warm prepares it anew")
		return
	}
	defer host.Close()
	for _, server := range host.Upstream.Servers() {
		begun := time.Now()
		tools, err := host.Upstream.Tools(ctx.Context, server)
		detail := fmt.Sprintf("%s in %d ms", counted(len(tools), "tool"), time.Since(begun).Milliseconds())
		if left := host.Upstream.Refused(server); len(left) > 0 {
			detail += fmt.Sprintf(", %d left out: %s", len(left), left[0])
		}
		x.add(server, err, detail, "start it by hand as the file with mcpServers says, or take it out there")
	}
	cat, errs := host.Table.Catalogue(ctx.Context)
	if p := s.Policy(); p != nil && len(cat.Tools()) > 0 {
		said += fmt.Sprintf("; %s: %s", counted(len(cat.Tools()), "tool"), outlooks(p, cat))
		if wrong := slipsOf(p, cat); len(errs) == 0 && len(wrong) > 0 {
			err = fault.New(fault.UsagePolicy, "%s (%d in all)", wrong[0], len(wrong)).WithHint("wexec policy check lists them")
		}
	}
	x.add("policy", err, said, "")
	x.pins(s, cat)
}

// slipsOf are the rules that name tools or arguments that are not there, and
// the like.
func slipsOf(p *policy.Policy, cat *catalogue.Catalogue) []lint.Finding {
	return slices.DeleteFunc(lint.Check(p, cat), func(f lint.Finding) bool { return f.Severity != lint.SeverityError })
}

// pins looks for tools that are not what was pinned.
func (x *examination) pins(s *config.Settings, cat *catalogue.Catalogue) {
	pins, err := s.Pins(x.d.inv.Env)
	if err != nil || len(pins) == 0 {
		return
	}
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
	x.add("pins", err, counted(len(pins), "tool")+" as pinned", "")
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
