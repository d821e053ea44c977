package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

func (d *door) toolsCommand() *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag {
		out := append(more, &cli.BoolFlag{Name: "json", Usage: "print JSON"})
		out = append(out, settingFlags()...)
		return append(out, allowFlags()...)
	}
	lang := &cli.StringFlag{Name: "lang", Usage: "`LANGUAGE`: whose spelling and types: ts or py", Value: "ts"}
	return &cli.Command{
		Name:  "tools",
		Usage: "see the tools as the code will see them",
		Subcommands: []*cli.Command{
			{Name: "list", Usage: "list servers and their tools", ArgsUsage: "[SERVER]", Action: d.toolsList,
				Flags: flags(lang, &cli.BoolFlag{Name: "categories", Usage: "list what the tools are about, and how many of each there are"})},
			{Name: "search", Usage: "find tools in words", ArgsUsage: "WORDS…",
				Flags: flags(lang, &cli.IntFlag{Name: "limit", Usage: "`N`: how many at most", Value: 10},
					&cli.StringFlag{Name: "detail", Usage: "`HOW`: name, summary or full", Value: "summary"}), Action: d.toolsSearch},
			{Name: "show", Usage: "show one tool with its types", ArgsUsage: "TOOL", Flags: flags(lang), Action: d.toolsShow},
			{Name: "types", Usage: "write declarations that an editor completes from", Flags: flags(lang,
				&cli.StringFlag{Name: "out", Usage: "`DIR`: where to write them", TakesFile: true}), Action: d.toolsTypes},
			d.pinCommand(flags),
		},
	}
}

// look opens the host without recording anything and gives its catalogue, as
// far as the servers that answer make it up.
func (d *door) look(ctx *cli.Context) (*config.Host, *catalogue.Catalogue, error) {
	_, host, cat, err := d.lookWith(ctx)
	return host, cat, err
}

// lookWith is look with the settings beside it.
func (d *door) lookWith(ctx *cli.Context) (*config.Settings, *config.Host, *catalogue.Catalogue, error) {
	settings, err := d.settings(ctx)
	if err != nil {
		return nil, nil, nil, err
	}
	level := settings.Log
	if level == "warn" {
		level = "error" // what is to be warned about is told below
	}
	host, err := settings.Open(ctx.Context, config.Options{Env: d.inv.Env, Version: d.inv.Version, Logger: d.logger(level), NoAudit: true})
	if err != nil {
		return nil, nil, nil, err
	}
	if len(settings.Servers) == 0 {
		d.voice.note("no server is configured: name a file with --mcp, or run wexec init")
	}
	cat, errs := host.Table.Catalogue(ctx.Context)
	if ctx.Context.Err() != nil {
		host.Close()
		return nil, nil, nil, context.Cause(ctx.Context)
	}
	for _, err := range errs {
		d.voice.warn("%s", err)
		d.voice.hint(fault.HintOf(err))
	}
	if len(errs) == 0 && len(cat.Tools()) > 0 {
		for _, f := range slipsOf(host.Table.Policy(), cat) {
			d.voice.warn("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
			d.voice.hint(f.Hint)
		}
	}
	config.RememberTools(d.inv.Env, cat)
	return settings, host, cat, nil
}

// language is the language of the --lang flag.
func language(ctx *cli.Context) (string, error) {
	switch ctx.String("lang") {
	case "ts", "js", "typescript", "javascript":
		return "javascript", nil
	case "py", "python":
		return "python", nil
	}
	return "", fault.New(fault.UsageFlag, "there are no declarations in %q", ctx.String("lang")).WithHint("--lang ts or --lang py")
}

func (d *door) toolsList(ctx *cli.Context) error {
	lang, err := language(ctx)
	if err != nil {
		return err
	}
	host, cat, err := d.look(ctx)
	if err != nil {
		return err
	}
	defer host.Close()
	q := catalogue.Query{Limit: len(cat.Tools()) + 1, Lang: lang, Server: ctx.Args().First(), Keep: visible(host)}
	if q.Server != "" {
		if _, ok := cat.Server(q.Server); !ok {
			return unknownServer(cat, q.Server)
		}
	}
	if ctx.Bool("categories") {
		return d.showCategories(ctx, host, cat, q)
	}
	return d.showFound(ctx, cat.Search(q), noTools(host, cat, q.Server))
}

// showCategories lists what the tools that may be called are about.
func (d *door) showCategories(ctx *cli.Context, host *config.Host, cat *catalogue.Catalogue, q catalogue.Query) error {
	server, _ := cat.Server(q.Server)
	list := cat.Keep(func(t catalogue.Tool) bool { return q.Keep(t) != "" }).Categories(server)
	if ctx.Bool("json") {
		return d.printJSON(map[string]any{"categories": list, "total": len(list)})
	}
	if len(list) == 0 {
		d.noteOf(noTools(host, cat, q.Server))
		return nil
	}
	for _, one := range list {
		fmt.Fprintf(d.inv.Stdout, "%-16s %-20s %3d  %s\n", one.Server, one.Name, len(one.Tools), strings.Join(one.Tools, ", "))
	}
	return nil
}

func (d *door) noteOf(text string) {
	if text != "" {
		d.voice.note("%s", text)
	}
}

// noTools is said where nothing can be listed: why, and what to do about it.
func noTools(host *config.Host, cat *catalogue.Catalogue, server string) string {
	tools := cat.Tools()
	if own, ok := cat.Server(server); ok && server != "" {
		tools = cat.ServerTools(own)
	}
	switch {
	case len(host.Upstream.Servers()) == 0:
		return "" // which has been told
	case len(tools) == 0:
		return "there is no tool: no server that is configured offers one (wexec doctor says how each does)"
	case host.Table.Policy() == nil:
		return fmt.Sprintf("there is no policy, so none of %s may be called: wexec init writes one, --allow-tool '%s.*' allows some for once", counted(len(tools), "tool"), tools[0].Server)
	}
	return fmt.Sprintf("the policy denies all of %s: wexec policy explain %s says why", counted(len(tools), "tool"), tools[0].ID())
}

func unknownServer(cat *catalogue.Catalogue, name string) error {
	var names []string
	for _, s := range cat.Servers() {
		names = append(names, s.Name)
	}
	err := fault.New(fault.ToolUnknown, "there is no server %q", name)
	if near := catalogue.NearestOf(name, names); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("the servers are: %s", strings.Join(names, ", "))
}

func (d *door) toolsSearch(ctx *cli.Context) error {
	words := strings.Join(ctx.Args().Slice(), " ")
	if words == "" {
		return fault.New(fault.UsageFlag, "there is nothing to search for").WithHint(`wexec tools search "open issues"`)
	}
	lang, err := language(ctx)
	if err != nil {
		return err
	}
	if err := oneOf("detail", ctx.String("detail"), "name", "summary", "full"); err != nil {
		return err
	}
	if n := ctx.Int("limit"); n < 1 {
		return fault.New(fault.UsageFlag, "--limit %d finds nothing", n).WithHint("leave it out for 10, or write a number from 1 on")
	}
	host, cat, err := d.look(ctx)
	if err != nil {
		return err
	}
	defer host.Close()
	found := host.Table.Search(ctx.Context, cat, catalogue.Query{Text: words, Limit: ctx.Int("limit"), Detail: ctx.String("detail"), Lang: lang, Keep: visible(host)})
	empty := "nothing was found: try other words, or wexec tools list"
	if !slices.ContainsFunc(cat.Tools(), func(t catalogue.Tool) bool { return visible(host)(t) != "" }) {
		empty = noTools(host, cat, "")
	}
	return d.showFound(ctx, found, empty)
}

func (d *door) showFound(ctx *cli.Context, found catalogue.Found, empty string) error {
	if ctx.Bool("json") {
		return d.printJSON(found)
	}
	if len(found.Tools) == 0 {
		d.noteOf(empty)
		return nil
	}
	width := 0
	for _, e := range found.Tools {
		width = max(width, len(e.Name))
	}
	asks := false
	for _, e := range found.Tools {
		mark := " "
		switch e.Decision {
		case "ask":
			mark, asks = "?", true
		case "changed":
			mark = "!"
			d.voice.warn("%s has changed since it was pinned, and is refused", e.Name)
			d.voice.hint("see what changed: wexec tools show " + e.Name)
		}
		fmt.Fprintf(d.inv.Stdout, "%s %-*s  %s\n", mark, min(width, 48), e.Name, e.Summary)
		if e.Declaration != "" {
			fmt.Fprintf(d.inv.Stdout, "%s\n", indented(e.Declaration))
		}
	}
	if asks && d.voice.terminal {
		d.voice.note("? asks a person first")
	}
	if found.Total > len(found.Tools) {
		d.voice.note("%d more: --limit %d shows them", found.Total-len(found.Tools), found.Total)
	}
	return nil
}

func indented(s string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(s, "\n"), "\n", "\n    ")
}

func (d *door) toolsShow(ctx *cli.Context) error {
	name := ctx.Args().First()
	if name == "" {
		return fault.New(fault.UsageFlag, "name a tool").WithHint("wexec tools show github.list_commits")
	}
	lang, err := language(ctx)
	if err != nil {
		return err
	}
	host, cat, err := d.look(ctx)
	if err != nil {
		return err
	}
	defer host.Close()
	tool, ok := cat.Lookup(name)
	if !ok {
		return unknownTool(cat, name)
	}
	entry, _ := cat.Describe(tool.ID(), "full", lang)
	if entry.Decision = visible(host)(tool); entry.Decision == "" {
		entry.Decision = "deny"
	}
	row, changed := pinNote(host, tool)
	if ctx.Bool("json") {
		out := shownTool{Entry: entry, Warning: tool.Warning}
		if changed {
			out.Pin = &row
		}
		return d.printJSON(out)
	}
	fmt.Fprintf(d.inv.Stdout, "%s\n", strings.TrimRight(entry.Declaration, "\n"))
	d.voice.say("%s %s", d.voice.paint("2", "call"), entry.Call)
	d.voice.say("%s %s", d.voice.paint("2", "policy"), entry.Decision)
	if tool.Warning != "" {
		d.voice.warn("%s", tool.Warning)
	}
	if changed {
		d.showDiff(row)
		d.voice.hint("it is refused; to accept it as it is now: wexec tools pin " + tool.ID())
	}
	return nil
}

// shownTool is what tools show says of one.
type shownTool struct {
	catalogue.Entry
	Warning string  `json:"warning,omitempty"`
	Pin     *pinRow `json:"pin,omitempty"` // where the tool is not what was pinned
}

func unknownTool(cat *catalogue.Catalogue, name string) error {
	err := fault.New(fault.ToolUnknown, "there is no tool %q", cut(name, 128))
	if near := cat.Nearest(name, 3); len(near) > 0 {
		return err.WithHint("did you mean %s?", strings.Join(near, " or "))
	}
	return err.WithHint("wexec tools search WORDS finds tools")
}

func (d *door) toolsTypes(ctx *cli.Context) error {
	if ctx.String("out") == "" {
		return fault.New(fault.UsageFlag, "name the folder to write to").WithHint("wexec tools types --out types")
	}
	lang, err := language(ctx)
	if err != nil {
		return err
	}
	host, cat, err := d.look(ctx)
	if err != nil {
		return err
	}
	defer host.Close()
	out := d.path(ctx.String("out"))
	offered := cat.Keep(func(t catalogue.Tool) bool { return visible(host)(t) != "" })
	if len(offered.Tools()) == 0 {
		d.noteOf(noTools(host, cat, ""))
		return nil
	}
	files := offered.Declarations(lang)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fault.New(fault.UsageFile, "write types: %w", err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			return fault.New(fault.UsageFile, "write types: %w", err)
		}
	}
	d.voice.note("wrote the types of %s to %s", counted(len(offered.Tools()), "tool"), ctx.String("out"))
	if lang != "python" {
		d.voice.say("next: put  /// <reference path=\"%s\" />  into a program", filepath.ToSlash(filepath.Join(ctx.String("out"), "tools.d.ts")))
	}
	return nil
}

// visible tells what the policy says of a tool whatever its arguments; denied
// tools are left out of listings.
func visible(host *config.Host) func(catalogue.Tool) string {
	return func(t catalogue.Tool) string {
		if _, changed := host.Table.Changed(t); changed {
			return "changed"
		}
		switch host.Table.Policy().BestEffect(t.ID()) {
		case policy.Allow:
			return "allow"
		case policy.Ask:
			return "ask"
		}
		return ""
	}
}
