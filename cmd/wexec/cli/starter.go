package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
)

func (d *door) initCommand() *cli.Command {
	return &cli.Command{
		Name:  "init",
		Usage: "write wexec.yaml and policy.yaml for this project",
		Description: "Looks for the MCP files this machine has, takes the servers of one, and writes a policy in which\n" +
			"reading tools are allowed and writing tools asked for. Both files are trusted at once.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "mcp", Usage: "`FILE`: whose servers to take; may be given several times", TakesFile: true},
			&cli.BoolFlag{Name: "force", Usage: "write over files that are there"},
			&cli.BoolFlag{Name: "no-start", Usage: "do not start the servers to see their tools"},
		},
		Action: d.initialise,
	}
}

func (d *door) initialise(ctx *cli.Context) error {
	dir := d.inv.Env.Dir
	for _, name := range []string{"wexec.yaml", "policy.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil && !ctx.Bool("force") {
			return fault.New(fault.UsageFile, "%s is there already", name).WithHint("--force writes over it")
		}
	}
	sources := ctx.StringSlice("mcp")
	if len(sources) == 0 {
		sources = d.chooseServers(config.FindServers(d.inv.Env))
	}
	settings := "# Settings of this project for wexec. Nearer to the run, flags and WEXEC_* win.\n"
	var tools []catalogue.Tool
	if len(sources) > 0 {
		settings += "\n# The servers whose tools programs may be given.\nmcp:"
		for _, s := range sources {
			if name := quotedYAML(relative(dir, d.path(s))); len(sources) == 1 {
				settings += " " + name
			} else {
				settings += "\n  - " + name
			}
		}
		settings += "\n"
		if !ctx.Bool("no-start") {
			var err error
			if tools, err = d.toolsOf(ctx, sources); err != nil {
				return err
			}
		}
	} else {
		settings += "\n# Name a file with mcpServers here to give programs tools:\n# mcp: .mcp.json\n"
	}
	settings += "\n# policy: policy.yaml   # read without being named, as it lies beside this file\n"
	for name, text := range map[string]string{"wexec.yaml": settings, "policy.yaml": starterPolicy(tools)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fault.New(fault.UsageFile, "write %s: %w", name, err)
		}
		d.voice.note("wrote %s", name)
	}
	if _, err := config.Trust(d.inv.Env); err != nil {
		return err
	}
	if len(tools) > 0 {
		d.voice.say("next: wexec tools list")
		return nil
	}
	d.voice.say("next: wexec run -l js -e '1 + 1'")
	return nil
}

// chooseServers takes the one file there is, or asks which of several. Without
// a terminal the first is taken and named.
func (d *door) chooseServers(found []config.Found) []string {
	switch len(found) {
	case 0:
		d.voice.note("no MCP file was found on this machine")
		return nil
	case 1:
		d.voice.note("found %s of %s in %s", counted(found[0].Servers, "server"), found[0].Client, found[0].Path)
		return []string{found[0].Path}
	}
	if !d.canAsk() {
		for _, f := range found[1:] {
			d.voice.note("found %s of %s in %s too, which is not taken (--mcp FILE, once for each, takes others)", counted(f.Servers, "server"), f.Client, f.Path)
		}
		d.voice.note("found %s of %s in %s", counted(found[0].Servers, "server"), found[0].Client, found[0].Path)
		return []string{found[0].Path}
	}
	for i, f := range found {
		d.voice.say("  %d  %s: %s (%s)", i+1, f.Client, counted(f.Servers, "server"), f.Path)
	}
	var out []string
	for _, n := range d.choose("take the servers of which", len(found)) {
		out = append(out, found[n-1].Path)
	}
	return out
}

func (d *door) toolsOf(ctx *cli.Context, sources []string) ([]catalogue.Tool, error) {
	settings, err := config.Load(d.inv.Env, config.Flags{MCP: sources})
	if err != nil {
		return nil, err
	}
	for _, w := range settings.Unhonoured {
		d.voice.warn("%s", w)
	}
	host, err := settings.Open(ctx.Context, config.Options{Env: d.inv.Env, Version: d.inv.Version, Logger: d.logger("error"), NoAudit: true})
	if err != nil {
		return nil, err
	}
	defer host.Close()
	cat, errs := host.Table.Catalogue(ctx.Context)
	for _, err := range errs {
		d.voice.warn("%s", err)
	}
	return cat.Tools(), nil
}

// starterPolicy allows what reads and asks for what writes, tool by tool, each
// with the reason.
func starterPolicy(tools []catalogue.Tool) string {
	var b strings.Builder
	b.WriteString("# What programs may do here. deny beats ask beats allow; what no rule names is denied.\n" +
		"# Check it with: wexec policy check\nversion: 1\n\ntools:\n")
	var allow, ask []string
	for _, t := range tools {
		line := fmt.Sprintf("    - %s # ", quotedYAML(t.ID()))
		if reads, why := reading(t); reads {
			allow = append(allow, line+why)
		} else {
			ask = append(ask, line+why)
		}
	}
	if len(tools) == 0 {
		b.WriteString("  allow: []\n")
	}
	for _, part := range []struct {
		name  string
		lines []string
	}{{"ask", ask}, {"allow", allow}} {
		if len(part.lines) > 0 {
			b.WriteString("  " + part.name + ":\n" + strings.Join(part.lines, "\n") + "\n")
		}
	}
	b.WriteString("\npii:\n  mode: tokenize # personal data in answers becomes [EMAIL_1] and the like\n" +
		"  detect: [email, phone, card, ssn, iban, secret] # names and addresses too: wexec privacy kinds lists all\n" +
		"\napprovals:\n  via: [terminal, mcp]\n  timeout: 10m # an unanswered question is a denial\n")
	return b.String()
}

// reading reports whether a tool only reads, and how that is known. A server's
// own word counts only where the tool's name does not speak against it.
func reading(t catalogue.Tool) (bool, string) {
	words := catalogue.Words(t.Name)
	first := ""
	if len(words) > 0 {
		first = words[0]
	}
	named := map[string]bool{"get": true, "list": true, "search": true, "read": true, "find": true, "show": true, "describe": true,
		"query": true, "count": true, "fetch": true, "history": true, "view": true, "lookup": true, "check": true}[first]
	a := t.Annotations
	switch {
	case a.Destructive != nil && *a.Destructive && (a.ReadOnly == nil || !*a.ReadOnly):
		return false, "the server says it destroys"
	case a.ReadOnly != nil && *a.ReadOnly && catalogue.NameWrites(t.Name):
		return false, "the server says it reads, its name says it writes"
	case a.ReadOnly != nil && *a.ReadOnly:
		return true, "the server says it only reads"
	case named && !catalogue.NameWrites(t.Name):
		return true, "its name says it reads"
	}
	return false, "it may write"
}

func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// quotedYAML is a text as YAML reads it back, quoted where it has to be.
func quotedYAML(s string) string {
	plain := s != ""
	for i, r := range s {
		ok := r == '_' || r == '.' || r == '/' || r == '-' && i > 0 || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' && i > 0
		plain = plain && ok
	}
	if plain {
		return s
	}
	return "'" + strings.ReplaceAll(strings.ReplaceAll(s, "'", "''"), "\n", " ") + "'"
}
