package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
)

func (a *app) pinCommand() *cli.Command {
	return &cli.Command{
		Name: "pin", Usage: "pin the definitions of tools as they are now, or list pins", ArgsUsage: "[TOOL|SERVER|GLOB…]",
		Description: "If the name, description, schemas or annotations of a pinned tool change, the tool is denied (denied.pinned) and left\n" +
			"out of search until a person pins the new definition. Without arguments, the pins are listed.",
		Flags: catalogueFlags(
			&cli.BoolFlag{Name: "all", Usage: "pin every tool of every server"},
			&cli.BoolFlag{Name: "list", Usage: "list the pins"},
			&cli.BoolFlag{Name: "remove", Usage: "remove pins"},
			&cli.BoolFlag{Name: "lock", Usage: "use the project's wexec.lock, which everybody in the project shares"},
			&cli.BoolFlag{Name: "yes", Usage: "accept changed definitions without a question"}),
		Action: a.toolsPin,
	}
}

// pinRow is one pinned tool in a list.
type pinRow struct {
	Tool   string `json:"tool"`
	State  string `json:"state"` // pinned (just now), same, changed, gone, unknown (the server does not answer), removed
	SHA256 string `json:"sha256"`
	Origin string `json:"origin,omitempty"`
	Diff   string `json:"diff,omitempty"` // from the pinned definition to the current one
}

// pinFile is the file that a command reads and writes: the person's or, with
// --lock, the project's.
func (a *app) pinFile(ctx *cli.Context, s *config.Settings) string {
	if ctx.Bool("lock") {
		return s.PinFiles(a.Env).Lock
	}
	return s.PinFiles(a.Env).User
}

func (a *app) toolsPin(ctx *cli.Context) error {
	names := ctx.Args().Slice()
	switch {
	case ctx.Bool("remove"):
		return a.unpin(ctx, names)
	case ctx.Bool("list") || (len(names) == 0 && !ctx.Bool("all")):
		return a.listPins(ctx, names)
	}
	t, err := a.openTools(ctx)
	if err != nil {
		return err
	}
	defer t.host.Close()
	selected, err := selectTools(t.cat, names, ctx.Bool("all"))
	if err != nil {
		return err
	}
	known, err := t.settings.Pins(a.Env)
	if err != nil {
		return err
	}
	origin := a.pinFile(ctx, t.settings)
	var rows []pinRow
	var pins []hostfns.Pin
	same, changed := 0, 0
	for _, tool := range selected {
		pin := hostfns.NewPin(tool)
		row := pinRow{Tool: tool.ID(), State: "pinned", SHA256: pin.SHA256, Origin: origin}
		at := slices.IndexFunc(known, func(p hostfns.Pin) bool { return p.Tool == pin.Tool && p.Origin == origin })
		switch {
		case at >= 0 && known[at].SHA256 == pin.SHA256:
			row.State = "same"
			same++
		case at >= 0:
			row.Diff = definitionDiff(known[at].Definition, pin.Definition)
			if !a.acceptsChange(ctx, row) {
				row.State = "changed"
				changed++
				break
			}
			fallthrough
		default:
			pins = append(pins, pin)
		}
		rows = append(rows, row)
	}
	if len(pins) > 0 {
		if err := t.settings.Pin(a.Env, ctx.Bool("lock"), pins...); err != nil {
			return err
		}
	}
	if ctx.Bool("json") {
		if err := a.printJSON(map[string]any{"pins": rows}); err != nil {
			return err
		}
	} else {
		unchanged := ""
		if same > 0 {
			unchanged = fmt.Sprintf(", %d already pinned", same)
		}
		a.term.Note("%s pinned in %s%s", terminal.Count(len(pins), "tool"), origin, unchanged)
	}
	if changed > 0 {
		return fault.New(fault.DeniedPinned, "%s changed since being pinned, and still denied", terminal.Count(changed, "tool")).
			WithHint("read the difference; to accept it: wexec tools pin --yes NAME")
	}
	return nil
}

// acceptsChange shows how a tool changed and asks whether to pin it.
func (a *app) acceptsChange(ctx *cli.Context, row pinRow) bool {
	if !ctx.Bool("json") {
		a.printPinDiff(row)
	}
	switch {
	case ctx.Bool("yes"):
		return true
	case ctx.Bool("json") || !a.canAsk():
		return false
	}
	return a.term.Confirm(a.Stdin, "pin the new definition of "+row.Tool)
}

func (a *app) printPinDiff(row pinRow) {
	a.term.Warn("%s has changed since it was pinned", row.Tool)
	for line := range strings.Lines(row.Diff) {
		a.term.Print("  %s", a.term.PaintDiff(strings.TrimRight(line, "\n")))
	}
}

// listPins lists the pins of some tools, or all, and compares them with the
// tools.
func (a *app) listPins(ctx *cli.Context, names []string) error {
	t, err := a.openTools(ctx)
	if err != nil {
		return err
	}
	defer t.host.Close()
	pins, err := t.settings.Pins(a.Env)
	if err != nil {
		return err
	}
	rows := []pinRow{}
	for _, p := range pins {
		if len(names) == 0 || matchesAny(names, p.Tool) {
			rows = append(rows, comparePin(t.cat, p))
		}
	}
	if ctx.Bool("json") {
		return a.printJSON(map[string]any{"pins": rows})
	}
	if len(rows) == 0 {
		a.term.Note("no tools are pinned: pin those of one server with wexec tools pin SERVER, all with --all")
		return nil
	}
	for _, row := range rows {
		a.printf("%-8s %-48s %s  %s\n", row.State, row.Tool, text.Prefix(row.SHA256, 12), row.Origin)
	}
	for _, row := range rows {
		if row.State == "changed" {
			a.printPinDiff(row)
			a.term.Hint("to accept the new definition: wexec tools pin " + row.Tool)
		}
	}
	return nil
}

// comparePin compares a pin with the tool as it is now.
func comparePin(cat *catalogue.Catalogue, p hostfns.Pin) pinRow {
	row := pinRow{Tool: p.Tool, State: "same", SHA256: p.SHA256, Origin: p.Origin}
	at := slices.IndexFunc(cat.Tools(), func(t catalogue.Tool) bool { return t.ID() == p.Tool })
	switch {
	case at < 0 && slices.ContainsFunc(cat.Servers(), func(s catalogue.Server) bool { return strings.HasPrefix(p.Tool, s.Name+".") }):
		row.State = "gone"
	case at < 0:
		row.State = "unknown"
	case cat.Tools()[at].DefinitionSHA256() != p.SHA256:
		row.State, row.Diff = "changed", definitionDiff(p.Definition, cat.Tools()[at].Definition())
	}
	return row
}

func (a *app) unpin(ctx *cli.Context, names []string) error {
	settings, err := a.settings(ctx)
	if err != nil {
		return err
	}
	pins, err := settings.Pins(a.Env)
	if err != nil {
		return err
	}
	if len(names) == 0 && !ctx.Bool("all") {
		return fault.New(fault.UsageFlag, "name the tools to unpin, or set --all").WithHint("list the pins with wexec tools pin --list")
	}
	origin := a.pinFile(ctx, settings)
	var removed []string
	rows := []pinRow{}
	for _, p := range pins {
		if p.Origin == origin && (ctx.Bool("all") || matchesAny(names, p.Tool)) {
			removed = append(removed, p.Tool)
			rows = append(rows, pinRow{Tool: p.Tool, State: "removed", SHA256: p.SHA256, Origin: origin})
		}
	}
	if len(removed) == 0 {
		return fault.New(fault.UsageFlag, "no such pin in %s", origin).WithHint("list the pins and their files with wexec tools pin --list")
	}
	if err := settings.Unpin(a.Env, ctx.Bool("lock"), removed...); err != nil {
		return err
	}
	if ctx.Bool("json") {
		return a.printJSON(map[string]any{"pins": rows})
	}
	a.term.Note("%s unpinned", terminal.Count(len(removed), "tool"))
	return nil
}

// selectTools returns the tools that names, servers and globs match.
func selectTools(cat *catalogue.Catalogue, names []string, all bool) ([]catalogue.Tool, error) {
	if all {
		if len(cat.Tools()) == 0 {
			return nil, fault.New(fault.ToolUnknown, "no tools to pin").WithHint("set the servers with --mcp")
		}
		return cat.Tools(), nil
	}
	var out []catalogue.Tool
	for _, name := range names {
		found := slices.DeleteFunc(slices.Clone(cat.Tools()), func(t catalogue.Tool) bool { return !matches(name, t.ID()) })
		if t, ok := cat.Lookup(name); ok && len(found) == 0 {
			found = append(found, t)
		}
		if len(found) == 0 {
			return nil, unknownTool(cat, name)
		}
		for _, t := range found {
			if !slices.ContainsFunc(out, func(o catalogue.Tool) bool { return o.ID() == t.ID() }) {
				out = append(out, t)
			}
		}
	}
	return out, nil
}

func matchesAny(names []string, tool string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return matches(name, tool) })
}

// matches reports whether a tool's name, its server or a glob matches a tool.
func matches(name, tool string) bool {
	if name == tool || strings.HasPrefix(tool, name+".") {
		return true
	}
	g, err := policy.ParseGlob(name)
	return err == nil && g.Match(tool)
}

// definitionDiff returns the lines that differ between two definitions.
func definitionDiff(before, after json.RawMessage) string {
	if len(before) == 0 {
		return "the pin has only the digest of the definition, so the change cannot be shown\n"
	}
	return strings.Join(terminal.Diff(definitionText(before), definitionText(after)), "\n") + "\n"
}

// definitionText is a definition in lines, with invisible characters shown.
func definitionText(doc json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, doc, "", "  ") != nil {
		return text.VisibleLines(string(doc))
	}
	return text.VisibleLines(b.String())
}
