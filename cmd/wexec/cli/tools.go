package cli

import (
	"context"
	"maps"
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
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/policy/lint"
)

// inspect opens a host that records nothing and returns its catalogue, as far as
// servers answer. Their errors are printed.
func (a *app) inspect(ctx context.Context, s *config.Settings, logLevel string) (*config.Host, *catalogue.Catalogue, []error, error) {
	host, err := s.Open(ctx, config.Options{Env: a.Env, Version: a.Version, Logger: terminal.Logger(a.term, logLevel), NoAudit: true})
	if err != nil {
		return nil, nil, nil, err
	}
	cat, errs := host.Table.Catalogue(ctx)
	if ctx.Err() != nil {
		host.Close()
		return nil, nil, nil, context.Cause(ctx)
	}
	for _, err := range errs {
		a.term.Warn("%s", err)
		a.term.Hint(fault.HintOf(err))
	}
	config.SaveToolNames(a.Env, cat)
	return host, cat, errs, nil
}

// tools are the settings, a host that records nothing, and the catalogue.
type tools struct {
	settings *config.Settings
	host     *config.Host
	cat      *catalogue.Catalogue
}

// openTools loads the configuration and connects to the servers. The caller
// closes the host.
func (a *app) openTools(ctx *cli.Context) (tools, error) {
	settings, err := a.settings(ctx)
	if err != nil {
		return tools{}, err
	}
	if err := settings.BrokenServers(); err != nil {
		return tools{}, err
	}
	level := settings.Log
	if level == "warn" {
		level = "error" // inspect prints what servers fail with
	}
	if len(settings.Servers) == 0 {
		a.term.Note("no server is configured: %s", howToAddServers(settings.Project))
	}
	host, cat, errs, err := a.inspect(ctx.Context, settings, level)
	if err != nil {
		return tools{}, err
	}
	if len(errs) == 0 && len(cat.Tools()) > 0 {
		for _, f := range ruleErrors(host.Table.Policy(), cat) {
			a.term.Warn("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
			a.term.Hint(f.Hint)
		}
	}
	return tools{settings, host, cat}, nil
}

// howToAddServers says how a person configures servers. To init again does not
// help where it found none.
func howToAddServers(p config.Project) string {
	switch {
	case p.Dir == "":
		return "set --mcp FILE or run wexec init"
	case !p.Trusted:
		return "set --mcp FILE, or read the project's files and run wexec config trust"
	}
	return "set --mcp FILE, or add  mcp: FILE  to " + filepath.Join(p.Dir, "wexec.yaml") + " and run wexec config trust"
}

// ruleErrors returns the errors of a policy's rules, such as unknown tools.
func ruleErrors(p *policy.Policy, cat *catalogue.Catalogue) []lint.Finding {
	return slices.DeleteFunc(lint.Check(p, cat), func(f lint.Finding) bool { return f.Severity != lint.SeverityError })
}

// decision is what the policy decides about a tool whatever its arguments:
// allow, ask, "changed" for a tool that differs from its pin, or "" for one that
// is denied and not listed.
func (t tools) decision(tool catalogue.Tool) string {
	if _, changed := t.host.Table.Changed(tool); changed {
		return "changed"
	}
	switch t.host.Table.Policy().BestEffect(tool.ID()) {
	case policy.Allow:
		return "allow"
	case policy.Ask:
		return "ask"
	}
	return ""
}

// listed returns the catalogue of tools that are not denied.
func (t tools) listed() *catalogue.Catalogue {
	return t.cat.Keep(func(tool catalogue.Tool) bool { return t.decision(tool) != "" })
}

// noteEmpty explains why the tools of a server, or of all servers, are not
// listed.
func (a *app) noteEmpty(t tools, server string) {
	all := t.cat.Tools()
	if s, ok := t.cat.Server(server); ok && server != "" {
		all = t.cat.ServerTools(s)
	}
	switch count := terminal.Count(len(all), "tool"); {
	case len(t.host.Upstream.Servers()) == 0: // openTools has printed a note
	case len(all) == 0:
		a.term.Note("no server offers tools: wexec doctor shows the state of each")
	case t.host.Table.Policy() == nil:
		a.term.Note("there is no policy, so all %s are denied: run wexec init to write one, or set --allow-tool '%s.*'", count, all[0].Server)
	default:
		a.term.Note("the policy denies all of %s: wexec policy explain %s shows why", count, all[0].ID())
	}
}

func unknownTool(cat *catalogue.Catalogue, name string) error {
	err := fault.New(fault.ToolUnknown, "unknown tool %q", terminal.Clip(name, 128))
	if near := cat.Nearest(name, 3); len(near) > 0 {
		return err.WithHint("did you mean %s?", strings.Join(near, " or "))
	}
	return err.WithHint("find tools with wexec tools search WORDS")
}

func (a *app) toolsCommand() *cli.Command {
	lang := &cli.StringFlag{Name: "lang", Usage: "`LANGUAGE`: ts or py, for names and types", Value: "ts"}
	return &cli.Command{
		Name:  "tools",
		Usage: "list, search and pin tools",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list servers and their tools", ArgsUsage: "[SERVER]", Action: a.toolsList,
				Flags: catalogueFlags(lang, &cli.BoolFlag{Name: "categories", Usage: "list the categories of the tools and the number of tools in each"})},
			{Name: "search", Usage: "find tools by words", ArgsUsage: "WORDS…", Action: a.toolsSearch,
				Flags: catalogueFlags(lang, &cli.IntFlag{Name: "limit", Usage: "`N`: print at most N tools", Value: 10},
					&cli.StringFlag{Name: "detail", Usage: "`LEVEL`: name, summary or full", Value: "summary"})},
			{Name: "show", Usage: "show one tool with its types", ArgsUsage: "TOOL", Flags: catalogueFlags(lang), Action: a.toolsShow},
			{Name: "types", Usage: "write type declarations for editors", Action: a.toolsTypes, Flags: catalogueFlags(lang,
				&cli.StringFlag{Name: "out", Usage: "`DIR`: the folder to write to", TakesFile: true})},
			a.pinCommand(),
		},
	}
}

// declarationLanguage is the language of the --lang flag.
func declarationLanguage(ctx *cli.Context) (string, error) {
	switch ctx.String("lang") {
	case "ts", "js", "typescript", "javascript":
		return "javascript", nil
	case "py", "python":
		return "python", nil
	}
	return "", fault.New(fault.UsageFlag, "--lang: unknown language %q", ctx.String("lang")).WithHint("use --lang ts or --lang py")
}

func (a *app) toolsList(ctx *cli.Context) error {
	lang, err := declarationLanguage(ctx)
	if err != nil {
		return err
	}
	t, err := a.openTools(ctx)
	if err != nil {
		return err
	}
	defer t.host.Close()
	name := ctx.Args().First()
	server, ok := t.cat.Server(name)
	if name != "" && !ok {
		var names []string
		for _, s := range t.cat.Servers() {
			names = append(names, s.Name)
		}
		return commandline.Suggest(fault.New(fault.ToolUnknown, "unknown server %q", name), name, names)
	}
	if ctx.Bool("categories") {
		return a.printCategories(ctx, t, server, name)
	}
	q := catalogue.Query{Limit: len(t.cat.Tools()) + 1, Lang: lang, Server: name, Keep: t.decision}
	found, err := t.cat.Search(ctx.Context, q)
	if err != nil {
		return err
	}
	if len(found.Tools) == 0 && !ctx.Bool("json") {
		a.noteEmpty(t, name)
		return nil
	}
	return a.printFound(ctx, found)
}

func (a *app) printCategories(ctx *cli.Context, t tools, server, name string) error {
	list := t.listed().Categories(server)
	if ctx.Bool("json") {
		return a.printJSON(map[string]any{"categories": list, "total": len(list)})
	}
	if len(list) == 0 {
		a.noteEmpty(t, name)
	}
	for _, c := range list {
		a.printf("%-16s %-20s %3d  %s\n", c.Server, c.Name, len(c.Tools), strings.Join(c.Tools, ", "))
	}
	return nil
}

func (a *app) toolsSearch(ctx *cli.Context) error {
	query := strings.Join(ctx.Args().Slice(), " ")
	if query == "" {
		return fault.New(fault.UsageFlag, "no words to search for").WithHint(`wexec tools search "open issues"`)
	}
	lang, err := declarationLanguage(ctx)
	if err != nil {
		return err
	}
	if err := commandline.OneOf("detail", ctx.String("detail"), "name", "summary", "full"); err != nil {
		return err
	}
	if n := ctx.Int("limit"); n < 1 {
		return fault.New(fault.UsageFlag, "--limit %d: must be at least 1", n)
	}
	t, err := a.openTools(ctx)
	if err != nil {
		return err
	}
	defer t.host.Close()
	found, err := t.host.Table.Search(ctx.Context, t.cat, catalogue.Query{Text: query, Limit: ctx.Int("limit"), Detail: ctx.String("detail"), Lang: lang, Keep: t.decision}, nil)
	if err != nil {
		return err
	}
	switch {
	case len(found.Tools) > 0 || ctx.Bool("json"):
		return a.printFound(ctx, found)
	case len(t.listed().Tools()) == 0:
		a.noteEmpty(t, "")
	default:
		a.term.Note("no tools found: try other words, or list all with wexec tools list")
	}
	return nil
}

func (a *app) printFound(ctx *cli.Context, found catalogue.Found) error {
	if ctx.Bool("json") {
		return a.printJSON(found)
	}
	width := 0
	for _, e := range found.Tools {
		width = max(width, min(len(e.Name), 48))
	}
	asks := false
	for _, e := range found.Tools {
		mark := " "
		switch e.Decision {
		case "ask":
			mark, asks = "?", true
		case "changed":
			mark = "!"
			a.term.Warn("%s has changed since it was pinned and is denied", e.Name)
			a.term.Hint("show the change with wexec tools show " + e.Name)
		}
		a.printf("%s %-*s  %s\n", mark, width, e.Name, e.Summary)
		if e.Declaration != "" {
			a.printf("    %s\n", strings.ReplaceAll(strings.TrimRight(e.Declaration, "\n"), "\n", "\n    "))
		}
	}
	if asks && a.term.Interactive {
		a.term.Note("? requires a person's approval")
	}
	if more := found.Total - len(found.Tools); more > 0 {
		a.term.Note("%d more: show them with --limit %d", more, found.Total)
	}
	return nil
}

func (a *app) toolsShow(ctx *cli.Context) error {
	name := ctx.Args().First()
	if name == "" {
		return fault.New(fault.UsageFlag, "name a tool").WithHint("wexec tools show github.list_commits")
	}
	lang, err := declarationLanguage(ctx)
	if err != nil {
		return err
	}
	t, err := a.openTools(ctx)
	if err != nil {
		return err
	}
	defer t.host.Close()
	tool, ok := t.cat.Lookup(name)
	if !ok {
		return unknownTool(t.cat, name)
	}
	entry, _ := t.cat.Describe(tool.ID(), "full", lang)
	if entry.Decision = t.decision(tool); entry.Decision == "" {
		entry.Decision = "deny"
	}
	warning := t.host.Table.Warning(tool)
	var changed *pinRow
	if pin, ok := t.host.Table.Changed(tool); ok {
		changed = &pinRow{Tool: tool.ID(), State: "changed", SHA256: pin.SHA256, Origin: pin.Origin, Diff: definitionDiff(pin.Definition, tool.Definition())}
	}
	if ctx.Bool("json") {
		return a.printJSON(struct {
			catalogue.Match
			Warning string  `json:"warning,omitempty"`
			Pin     *pinRow `json:"pin,omitempty"` // if the tool differs from its pin
		}{entry, warning, changed})
	}
	a.printf("%s\n", strings.TrimRight(entry.Declaration, "\n"))
	a.term.Print("%s %s", a.term.Paint(terminal.Dim, "call"), entry.Call)
	a.term.Print("%s %s", a.term.Paint(terminal.Dim, "policy"), entry.Decision)
	if warning != "" {
		a.term.Warn("%s", warning)
	}
	if changed != nil {
		a.printPinDiff(*changed)
		a.term.Hint("the tool is denied; to accept the new definition: wexec tools pin " + tool.ID())
	}
	return nil
}

func (a *app) toolsTypes(ctx *cli.Context) error {
	if ctx.String("out") == "" {
		return fault.New(fault.UsageFlag, "name the folder to write to").WithHint("wexec tools types --out types")
	}
	lang, err := declarationLanguage(ctx)
	if err != nil {
		return err
	}
	t, err := a.openTools(ctx)
	if err != nil {
		return err
	}
	defer t.host.Close()
	listed := t.listed()
	if len(listed.Tools()) == 0 {
		a.noteEmpty(t, "")
		return nil
	}
	files := listed.Declarations(lang)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(a.path(ctx.String("out")), filepath.FromSlash(name))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil {
			err = os.WriteFile(path, []byte(files[name]), 0o644)
		}
		if err != nil {
			return fault.New(fault.UsageFile, "write types: %w", err)
		}
	}
	a.term.Note("wrote the types of %s to %s", terminal.Count(len(listed.Tools()), "tool"), ctx.String("out"))
	if lang != "python" {
		a.term.Print("next: add  /// <reference path=\"%s\" />  to a program", filepath.ToSlash(filepath.Join(ctx.String("out"), "tools.d.ts")))
	}
	return nil
}
