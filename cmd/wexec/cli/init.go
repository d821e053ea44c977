package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
)

func (a *app) initCommand() *cli.Command {
	return &cli.Command{
		Name:  "init",
		Usage: "write wexec.yaml and policy.yaml for this project",
		Description: "Finds the servers of the MCP clients on this machine and writes a policy for their tools: tools that read are allowed,\n" +
			"tools that write need approval. The project is trusted with these files.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "mcp", Usage: "`FILE`: the servers to use; repeatable", TakesFile: true},
			&cli.BoolFlag{Name: "force", Usage: "overwrite existing files"},
			&cli.BoolFlag{Name: "no-start", Usage: "do not start the servers to list their tools"},
		},
		Action: a.initialize,
	}
}

func (a *app) initialize(ctx *cli.Context) error {
	dir := a.Env.Dir
	for _, name := range []string{"wexec.yaml", "policy.yaml"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil && !ctx.Bool("force") {
			return fault.New(fault.UsageFile, "write %s: the file exists", name).WithHint("overwrite it with --force")
		}
	}
	sources := ctx.StringSlice("mcp")
	if len(sources) == 0 {
		sources = a.chooseServers(config.FindServers(a.Env))
	}
	var tools []catalogue.Tool
	if len(sources) > 0 && !ctx.Bool("no-start") {
		settings, err := config.Load(a.Env, config.Flags{MCP: sources})
		if err != nil {
			return err
		}
		for _, w := range settings.IgnoredGrants {
			a.term.Warn("%s", w)
		}
		host, cat, _, err := a.inspect(ctx.Context, settings, "error")
		if err != nil {
			return err
		}
		defer host.Close()
		tools = cat.Tools()
	}
	for _, file := range []struct{ name, text string }{{"wexec.yaml", a.starterSettings(sources)}, {"policy.yaml", starterPolicy(tools)}} {
		if err := os.WriteFile(filepath.Join(dir, file.name), []byte(file.text), 0o644); err != nil {
			return fault.New(fault.UsageFile, "write %s: %w", file.name, reason(err))
		}
		a.term.Note("wrote %s", file.name)
	}
	if _, err := config.Trust(a.Env); err != nil {
		return err
	}
	if len(tools) > 0 {
		a.term.Print("next: wexec tools list")
		return nil
	}
	a.term.Print("next: wexec run -l js -e '1 + 1'")
	return nil
}

// chooseServers returns the only file with servers, or asks which of several.
// Without a terminal it returns the first.
func (a *app) chooseServers(found []config.Found) []string {
	if len(found) == 0 {
		a.term.Note("found no MCP servers on this machine")
		return nil
	}
	describe := func(f config.Found) string {
		return fmt.Sprintf("%s: %s (%s)", f.Client, terminal.Count(f.Servers, "server"), f.Path)
	}
	if len(found) > 1 && a.canAsk() {
		for i, f := range found {
			a.term.Print("  %d  %s", i+1, describe(f))
		}
		var out []string
		for _, n := range a.term.Choose(a.Stdin, "use the servers of which", len(found)) {
			out = append(out, found[n-1].Path)
		}
		return out
	}
	for _, f := range found[1:] {
		a.term.Note("not used: %s; to use it, set --mcp FILE", describe(f))
	}
	a.term.Note("using the servers of %s", describe(found[0]))
	return []string{found[0].Path}
}

// starterSettings is a wexec.yaml with the servers of some files.
func (a *app) starterSettings(sources []string) string {
	var b strings.Builder
	b.WriteString("# Settings of this project for wexec. Flags and WEXEC_* variables override them.\n\n")
	var names []string
	for _, s := range sources {
		path := a.path(s)
		if rel, err := filepath.Rel(a.Env.Dir, path); err == nil && filepath.IsLocal(rel) {
			path = filepath.ToSlash(rel)
		}
		names = append(names, quoteYAML(path))
	}
	switch len(names) {
	case 0:
		b.WriteString("# To give programs tools, name a file with mcpServers:\n# mcp: .mcp.json\n")
	case 1:
		b.WriteString("# The MCP servers whose tools programs can use.\nmcp: " + names[0] + "\n")
	default:
		b.WriteString("# The MCP servers whose tools programs can use.\nmcp:\n  - " + strings.Join(names, "\n  - ") + "\n")
	}
	b.WriteString("\n# policy: policy.yaml   # the default: a policy.yaml in this folder\n")
	return b.String()
}

// starterPolicy is a policy that allows tools that read and asks about the
// others, each with the reason.
func starterPolicy(tools []catalogue.Tool) string {
	var b strings.Builder
	b.WriteString("# What programs may do here. deny overrides ask, and ask overrides allow. Without a rule, a tool is denied.\n" +
		"# Check this file with: wexec policy check\nversion: 1\n\ntools:\n")
	var allow, ask strings.Builder
	for _, t := range tools {
		reads, why := reading(t)
		list := &ask
		if reads {
			list = &allow
		}
		fmt.Fprintf(list, "    - %s # %s\n", quoteYAML(t.ID()), why)
	}
	if len(tools) == 0 {
		b.WriteString("  allow: []\n")
	}
	if ask.Len() > 0 {
		b.WriteString("  ask:\n" + ask.String())
	}
	if allow.Len() > 0 {
		b.WriteString("  allow:\n" + allow.String())
	}
	b.WriteString("\npii:\n  mode: tokenize # personal data in answers becomes tokens such as [EMAIL_1]\n" +
		"  detect: [email, phone, card, ssn, iban, secret] # all kinds, names and addresses too: wexec privacy kinds\n" +
		"\napprovals:\n  via: [terminal, mcp]\n  timeout: 10m # a question without an answer is denied\n")
	return b.String()
}

// reading reports whether a tool only reads, and how that is known. The server's
// annotations count only if the tool's name does not contradict them.
func reading(t catalogue.Tool) (bool, string) {
	readOnly := t.Annotations.ReadOnly != nil && *t.Annotations.ReadOnly
	switch destructive := t.Annotations.Destructive; {
	case destructive != nil && *destructive && !readOnly:
		return false, "the server says it is destructive"
	case readOnly && catalogue.NameWrites(t.Name):
		return false, "the server says it only reads, but its name says it writes"
	case readOnly:
		return true, "the server says it only reads"
	case !catalogue.NameWrites(t.Name) && nameReads(t.Name):
		return true, "its name says it reads"
	}
	return false, "it may write"
}

// nameReads reports whether a tool's name begins with a verb that reads.
func nameReads(name string) bool {
	words := catalogue.Words(name)
	if len(words) == 0 {
		return false
	}
	switch words[0] {
	case "get", "list", "search", "read", "find", "show", "describe", "query", "count", "fetch", "history", "view", "lookup", "check":
		return true
	}
	return false
}

// quoteYAML returns a scalar of YAML, quoted if necessary.
func quoteYAML(s string) string {
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
