package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/cmd/wexec/internal/clients"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/snapshot"
	"github.com/wexec/wexec/policy"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

func (a *app) doctorCommand() *cli.Command {
	return &cli.Command{
		Name: "doctor", Usage: "check this machine and the configuration for problems",
		Flags:  append([]cli.Flag{jsonFlag()}, settingFlags()...),
		Action: a.doctor,
	}
}

// check is the outcome of one check of the doctor.
type check struct {
	Name   string `json:"name"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// diagnosis is all checks of the doctor, which are printed one by one.
type diagnosis struct {
	*app
	json   bool
	checks []check
}

func (a *app) doctor(ctx *cli.Context) error {
	d := &diagnosis{app: a, json: ctx.Bool("json")}
	d.guests()
	d.memory()
	d.mappings()
	settings, err := a.settings(ctx)
	d.add("settings", err, "all files are valid", "fix the file; wexec config show --origin shows where each value is set")
	if err == nil {
		d.add("cache", checkWritable(settings.Cache), settings.Cache, "")
		d.audit(ctx.Context, settings)
		d.servers(ctx, settings)
	}
	d.clients()
	if d.json {
		if err := a.printJSON(map[string]any{"checks": d.checks}); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(d.checks, func(c check) bool { return !c.OK }) {
		return exitStatus(1)
	}
	return nil
}

// add adds a check that passed with a detail or failed with an error. The hint is
// for errors without one.
func (d *diagnosis) add(name string, err error, detail, hint string) {
	c := check{Name: name, OK: err == nil, Detail: detail}
	mark := d.term.Paint(terminal.Green, "ok  ")
	if err != nil {
		c.Detail, c.Hint = err.Error(), cmp.Or(fault.HintOf(err), hint)
		mark = d.term.Paint(terminal.Red, "FAIL")
	}
	d.checks = append(d.checks, c)
	if d.json {
		return
	}
	d.printf("%s %-10s %s\n", mark, c.Name, c.Detail)
	if c.Hint != "" {
		d.printf("     %-10s %s\n", "", c.Hint)
	}
}

func (d *diagnosis) guests() {
	for _, name := range wasmmodules.Names() {
		detail := ""
		m, err := wasmmodules.Open(name)
		if err == nil {
			detail, err = "version "+m.Version+", all digests match", m.Verify()
		}
		d.add(name, err, detail, "this program is damaged: install it again")
	}
}

// memory checks that one program with the default limit fits in memory.
func (d *diagnosis) memory() {
	data, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return // Linux only
	}
	free, limit := freeMemory(data), policy.Limits{}.OrDefaults().Memory
	if free < limit {
		err = fault.New(fault.LimitMemory, "%s are free, and a program may use %s", terminal.Bytes(free), terminal.Bytes(limit)).
			WithHint("free memory, or lower the limit of programs: limits: {memory: 128MiB} in policy.yaml")
	}
	d.add("memory", err, terminal.Bytes(free)+" free; a program may use "+terminal.Bytes(limit), "")
}

// freeMemory is the available memory in the format of /proc/meminfo.
func freeMemory(meminfo []byte) int64 {
	for lines := bufio.NewScanner(bytes.NewReader(meminfo)); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), "MemAvailable:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return n << 10
		}
	}
	return 0
}

// mappings checks that several programs at once fit in the limits of the
// process.
func (d *diagnosis) mappings() {
	const fewest = 16
	room, bound := snapshot.MaxInstances(uint64(policy.Limits{}.OrDefaults().Memory))
	var err error
	if room < fewest {
		err = fault.New(fault.LimitBusy, "only %d programs fit at once: %s", room, bound).
			WithHint("raise the limits: sysctl -w vm.max_map_count=262144, ulimit -v unlimited")
	}
	d.add("mappings", err, terminal.Count(room, "program")+" fit at once: "+bound, "")
}

func (d *diagnosis) audit(ctx context.Context, s *config.Settings) {
	if err := checkWritable(s.Audit.Dir); err != nil {
		d.add("audit", err, "", "")
		return
	}
	rep, err := d.verifySettings(ctx, s, nil)
	if err == nil && !rep.OK() {
		err = fault.New(fault.UsageAudit, "%s (%d problems)", rep.Problems[0], len(rep.Problems)).
			WithHint("list them with wexec audit verify; to start a new record, move %s away", s.Audit.Dir)
	}
	d.add("audit", err, fmt.Sprintf("%s in %s, verified", terminal.Count(rep.Records, "record"), s.Audit.Dir), "set another folder with --audit DIR")
}

// checkWritable checks that files can be created in a folder, which is created
// if it does not exist.
func checkWritable(dir string) error {
	if dir == "" {
		return fault.New(fault.UsageConfig, "no folder is configured").WithHint("set HOME or the XDG variables")
	}
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		var f *os.File
		if f, err = os.CreateTemp(dir, ".doctor-*"); err == nil {
			_ = f.Close()
			err = os.Remove(f.Name())
		}
	}
	if err != nil {
		return fault.New(fault.UsageConfig, "write to %s: %w", filepath.Clean(dir), reason(err)).WithHint("fix its permissions, or set another folder")
	}
	return nil
}

// servers starts each server, counts its tools and times it, and checks the
// policy and the pins against the tools.
func (d *diagnosis) servers(ctx *cli.Context, s *config.Settings) {
	var layers []string
	for _, l := range s.Policies {
		layers = append(layers, strings.TrimSpace(string(l.Origin)+" "+l.Policy.Name()))
	}
	summary := cmp.Or(strings.Join(layers, ", "), "no policy, so every tool is denied (wexec init writes one)")
	host, err := s.Open(ctx.Context, config.Options{Env: d.Env, Version: d.Version, Logger: terminal.Logger(d.term, "error"), NoAudit: true})
	if err != nil {
		d.add("policy", nil, summary, "")
		d.add("engine", err, "", "check the cache folder; wexec guests warm creates it again")
		return
	}
	defer host.Close()
	for _, server := range host.Upstream.Servers() {
		begun := time.Now()
		tools, err := host.Upstream.Tools(ctx.Context, server)
		detail := fmt.Sprintf("%s in %d ms", terminal.Count(len(tools), "tool"), time.Since(begun).Milliseconds())
		if refused := host.Upstream.Refused(server); len(refused) > 0 {
			detail += fmt.Sprintf(", %d left out: %s", len(refused), refused[0])
		}
		d.add(server, err, detail, "start it by hand with the command in its mcpServers file, or remove it from the file")
	}
	cat, errs := host.Table.Catalogue(ctx.Context)
	if p := s.Policy(); p != nil && len(cat.Tools()) > 0 {
		summary += fmt.Sprintf("; %s: %s", terminal.Count(len(cat.Tools()), "tool"), countDecisions(p, cat))
		if wrong := ruleErrors(p, cat); len(errs) == 0 && len(wrong) > 0 {
			err = fault.New(fault.UsagePolicy, "%s (%d in all)", wrong[0], len(wrong)).WithHint("list them with wexec policy check")
		}
	}
	d.add("policy", err, summary, "")
	d.pins(s, cat)
}

func (d *diagnosis) pins(s *config.Settings, cat *catalogue.Catalogue) {
	pins, err := s.Pins(d.Env)
	if err != nil || len(pins) == 0 {
		return
	}
	var changed []string
	for _, p := range pins {
		if comparePin(cat, p).State == "changed" {
			changed = append(changed, p.Tool)
		}
	}
	if len(changed) > 0 {
		err = fault.New(fault.DeniedPinned, "%s changed since being pinned: %s", terminal.Count(len(changed), "tool"), changed[0]).
			WithHint("show the changes with wexec tools pin --list")
	}
	d.add("pins", err, terminal.Count(len(pins), "tool")+" as pinned", "")
}

// clients lists the clients that have servers or wexec.
func (d *diagnosis) clients() {
	found := config.FindServers(d.Env)
	seen := len(d.checks)
	for _, c := range config.Clients(d.Env) {
		others := 0
		if at := slices.IndexFunc(found, func(f config.Found) bool { return f.Path == c.Path }); at >= 0 {
			others = found[at].Servers
		}
		text, err := c.Text()
		installed := err == nil && clients.Has(c, string(text))
		switch {
		case installed && others > 0:
			d.add("client", nil, fmt.Sprintf("%s has wexec and %s in %s", c.Name, terminal.Count(others, "other server"), c.Path), "")
		case installed:
			d.add("client", nil, fmt.Sprintf("%s has wexec in %s", c.Name, c.Path), "")
		case others > 0:
			d.add("client", nil, fmt.Sprintf("%s has %s in %s, but not wexec (add it with wexec mcp install --client %s)", c.Name, terminal.Count(others, "server"), c.Path, c.Name), "")
		}
	}
	if len(d.checks) == seen {
		d.add("client", nil, "no MCP client has servers here (add wexec to one with wexec mcp install --client NAME)", "")
	}
}
