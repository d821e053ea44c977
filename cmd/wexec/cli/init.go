package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/policyfile"
	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/policy"
)

func (a *app) initCommand() *cli.Command {
	return &cli.Command{
		Name:  "init",
		Usage: "write wexec.yaml and policy.yaml for this project",
		Description: "Finds the servers of the MCP clients on this machine and writes a policy for their tools: tools that are declared as\n" +
			"read-only are allowed, the others need approval. The project is trusted with these files. Where the files exist, it adds\n" +
			"rules for tools that have none and changes nothing else.",
		Flags: []cli.Flag{
			&cli.StringSliceFlag{Name: "mcp", Usage: "`FILE`: the servers to use; repeatable", TakesFile: true},
			&cli.StringFlag{Name: "profile", Value: "open", Usage: "`NAME`: how strict the policy is: " + strings.Join(policyfile.Profiles(), ", ")},
			&cli.BoolFlag{Name: "force", Usage: "overwrite existing files"},
			&cli.BoolFlag{Name: "no-start", Usage: "do not start the servers to list their tools"},
		},
		Action: a.initialize,
	}
}

func (a *app) initialize(ctx *cli.Context) error {
	dir := a.Env.Dir
	profile, err := policyfile.ProfileOf(ctx.String("profile"))
	if err != nil {
		return err
	}
	if !ctx.Bool("force") {
		if fileExists(filepath.Join(dir, "wexec.yaml")) {
			if ctx.IsSet("profile") {
				return fault.New(fault.UsageFile, "write a policy of the profile %s: wexec.yaml exists", ctx.String("profile")).WithHint("overwrite the files with --force")
			}
			return a.extend(ctx)
		}
		if fileExists(filepath.Join(dir, "policy.yaml")) {
			return fault.New(fault.UsageFile, "write policy.yaml: the file exists").WithHint("overwrite it with --force")
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
		if tools, err = a.toolsToRule(ctx, settings); err != nil {
			return err
		}
	}
	for _, file := range []struct{ name, text string }{{"wexec.yaml", a.starterSettings(sources)}, {"policy.yaml", profile.Starter(policyfile.ForTools(tools))}} {
		if err := a.write(filepath.Join(dir, file.name), []byte(file.text)); err != nil {
			return err
		}
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

// toolsToRule lists the tools of the configured servers.
func (a *app) toolsToRule(ctx *cli.Context, settings *config.Settings) ([]catalogue.Tool, error) {
	for _, w := range settings.IgnoredGrants {
		a.term.Warn("%s", w)
	}
	host, cat, _, err := a.inspect(ctx.Context, settings, "error")
	if err != nil {
		return nil, err
	}
	return cat.Tools(), host.Close()
}

// write writes a file of the project.
func (a *app) write(path string, data []byte) error {
	if err := os.WriteFile(path, data, 0o644); err != nil {
		return fault.New(fault.UsageFile, "write %s: %w", a.shown(path), reason(err))
	}
	a.term.Note("wrote %s", a.shown(path))
	return nil
}

// shown is a path as it is shown: without the working folder.
func (a *app) shown(path string) string {
	if rel, err := filepath.Rel(a.Env.Dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// extend adds to a project's files the servers that are named and rules for
// tools that have none. Only a person who trusts the files may, since they are
// trusted afterward.
func (a *app) extend(ctx *cli.Context) error {
	sources := ctx.StringSlice("mcp")
	settings, err := a.trustedSettings(config.Flags{MCP: sources})
	if err != nil {
		return err
	}
	var more []yamldoc.Item
	for _, source := range sources {
		known := false
		for name := range settings.Project.Files {
			known = known || a.path(name) == a.path(source)
		}
		if !known {
			more = append(more, yamldoc.Item{Text: policyfile.Quote(a.shown(a.path(source)))})
		}
	}
	if len(more) > 0 {
		path := filepath.Join(a.Env.Dir, "wexec.yaml")
		data, err := readFile(path)
		if err == nil {
			data, err = yamldoc.Append(data, []string{"mcp"}, more...)
		}
		if err != nil {
			return fault.New(fault.UsageConfig, "add servers to wexec.yaml: %w", err).WithHint("add them with an editor")
		}
		if err := a.write(path, data); err != nil {
			return err
		}
	}
	var tools []catalogue.Tool
	if len(settings.Servers) > 0 && !ctx.Bool("no-start") {
		if tools, err = a.toolsToRule(ctx, settings); err != nil {
			return err
		}
	}
	added, err := a.addRules(settings, tools)
	if err != nil {
		return err
	}
	if added+len(more) == 0 {
		a.term.Note("nothing is new: to write the files again, set --force")
		return nil
	}
	_, err = config.Trust(a.Env)
	return err
}

// trustedSettings are the settings of a project that a person trusts.
func (a *app) trustedSettings(flags config.Flags) (*config.Settings, error) {
	settings, err := config.Load(a.Env, flags)
	if err == nil && settings.Project.Dir != "" && !settings.Project.Trusted {
		return nil, fault.New(fault.UsageConfig, "%s is not trusted, so no rules are added to its policy", settings.Project.Dir).
			WithHint("read its files, then run: wexec config trust")
	}
	return settings, err
}

// addRules adds rules for tools that have none to the policy file, which it
// writes if there is none. It prints each rule and returns their number.
func (a *app) addRules(settings *config.Settings, tools []catalogue.Tool) (int, error) {
	rules := policyfile.ForTools(tools)
	path := settings.PolicyFile()
	if path == "" {
		path = filepath.Join(cmp.Or(settings.Project.Dir, a.Env.Dir), "policy.yaml")
		return len(rules), a.write(path, []byte(policyfile.Starter(rules)))
	}
	data, err := readFile(path)
	if err != nil {
		return 0, err
	}
	p, err := policy.Parse(a.shown(path), data)
	if err != nil {
		return 0, err
	}
	if rules = policyfile.New(p, rules); len(rules) == 0 {
		return 0, nil
	}
	if data, err = policyfile.Add(a.shown(path), data, rules); err != nil {
		return 0, err
	}
	for _, r := range rules {
		a.term.Print("  %s", terminal.Visible(r.String()))
	}
	return len(rules), a.write(path, data)
}

// ruleFor returns the rule that allows what a program lacks, as a person sees it
// before it is written, and what writes it. It is "" if it goes into no file.
func (a *app) ruleFor(settings *config.Settings, g hostfns.Grant) (shown string, write func() error) {
	path := settings.FileFor(g)
	r, ok := policyfile.ForGrant(g, filepath.Dir(path))
	if path == "" || !ok {
		return "", nil
	}
	return a.shown(path) + ": " + r.String(), func() error {
		now, err := config.Load(a.Env, config.Flags{})
		if err != nil {
			return err
		}
		ours := settings.Project.Dir != "" && settings.Project.Trusted && now.Project.Dir == settings.Project.Dir
		if ours && now.Untrusted != "" {
			return fault.New(fault.UsageConfig, "%s", now.Untrusted)
		}
		data, err := readFile(path)
		if err != nil {
			return err
		}
		if data, err = policyfile.Add(a.shown(path), data, []policyfile.Rule{r}); err != nil {
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return fault.New(fault.UsageFile, "write %s: %w", a.shown(path), reason(err))
		}
		if ours {
			_, err = config.Trust(a.Env)
		}
		return err
	}
}

// policyAdd adds rules for the tools of one server to the policy.
func (a *app) policyAdd(ctx *cli.Context) error {
	name := ctx.Args().First()
	if name == "" {
		return fault.New(fault.UsageFlag, "name a server").WithHint("wexec policy add github")
	}
	settings, err := a.trustedSettings(config.Flags{Policy: ctx.StringSlice("policy"), MCP: ctx.StringSlice("mcp")})
	if err != nil {
		return err
	}
	var names []string
	for _, s := range settings.Servers {
		names = append(names, s.Name)
	}
	at := slices.Index(names, name)
	if at < 0 {
		return commandline.Suggest(fault.New(fault.ToolUnknown, "unknown server %q", name), name, names)
	}
	settings.Servers = settings.Servers[at : at+1]
	host, err := settings.Open(ctx.Context, config.Options{Env: a.Env, Version: a.Version, Logger: terminal.Logger(a.term, "error"), NoAudit: true})
	if err != nil {
		return err
	}
	tools, err := host.Upstream.Tools(ctx.Context, name)
	if err = errors.Join(err, host.Close()); err != nil {
		return err
	}
	added, err := a.addRules(settings, tools)
	switch {
	case err != nil:
		return err
	case added == 0:
		a.term.Note("every tool of %s has a rule", name)
		return nil
	case settings.Project.Dir == "":
		return nil
	}
	_, err = config.Trust(a.Env)
	return err
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
		names = append(names, policyfile.Quote(a.shown(a.path(s))))
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
