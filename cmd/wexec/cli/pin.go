package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
)

func (d *door) pinCommand(flags func(...cli.Flag) []cli.Flag) *cli.Command {
	return &cli.Command{
		Name: "pin", Usage: "hold tools to their definitions as they are now, or list what is held", ArgsUsage: "[TOOL|SERVER|GLOB…]",
		Description: "A pinned tool whose name, description, schemas or annotations change is refused (denied.pinned) and left out of search,\n" +
			"until a person has looked at the difference and pins it again. Without names, what is pinned is listed.",
		Flags: flags(
			&cli.BoolFlag{Name: "all", Usage: "every tool of every server"},
			&cli.BoolFlag{Name: "list", Usage: "list what is pinned"},
			&cli.BoolFlag{Name: "remove", Usage: "let the tools go"},
			&cli.BoolFlag{Name: "lock", Usage: "pin in the project's wexec.lock, for everybody who has it, and not only for yourself"},
			&cli.BoolFlag{Name: "yes", Usage: "pin what has changed without being asked"}),
		Action: d.toolsPin,
	}
}

// pinRow is one pinned tool, as it is listed.
type pinRow struct {
	Tool   string `json:"tool"`
	State  string `json:"state"` // pinned (just now), same, changed, gone, unknown (its server does not answer), removed
	SHA256 string `json:"sha256"`
	Origin string `json:"origin,omitempty"`
	Diff   string `json:"diff,omitempty"` // from the pinned definition to the one there is now
}

func (d *door) toolsPin(ctx *cli.Context) error {
	switch names := ctx.Args().Slice(); {
	case ctx.Bool("remove"):
		return d.unpin(ctx, names)
	case ctx.Bool("list") || (len(names) == 0 && !ctx.Bool("all")):
		return d.listPins(ctx, names)
	}
	settings, host, cat, err := d.lookWith(ctx)
	if err != nil {
		return err
	}
	defer host.Close()
	tools, err := chosen(cat, ctx.Args().Slice(), ctx.Bool("all"))
	if err != nil {
		return err
	}
	known, err := settings.Pins(d.inv.Env)
	if err != nil {
		return err
	}
	files := settings.PinFiles(d.inv.Env)
	origin := files.Own
	if ctx.Bool("lock") {
		origin = files.Lock
	}
	var rows []pinRow
	var pins []hostfns.Pin
	changed := 0
	for _, t := range tools {
		pin := hostfns.NewPin(t)
		row := pinRow{Tool: t.ID(), State: "pinned", SHA256: pin.SHA256, Origin: origin}
		at := slices.IndexFunc(known, func(p hostfns.Pin) bool { return p.Tool == pin.Tool && p.Origin == origin })
		switch {
		case at < 0:
			pins = append(pins, pin)
		case known[at].SHA256 == pin.SHA256:
			row.State = "same"
		default:
			row.State, row.Diff = "changed", definitionDiff(known[at].Definition, pin.Definition)
			changed++
			if d.accepts(ctx, row) {
				row.State = "pinned"
				pins = append(pins, pin)
				changed--
			}
		}
		rows = append(rows, row)
	}
	if len(pins) > 0 {
		if err := settings.Pin(d.inv.Env, ctx.Bool("lock"), pins...); err != nil {
			return err
		}
	}
	if ctx.Bool("json") {
		if err := d.printJSON(map[string]any{"pins": rows}); err != nil {
			return err
		}
	} else {
		same := len(tools) - len(pins) - changed
		d.voice.note("%s pinned in %s%s", counted(len(pins), "tool"), origin, map[bool]string{true: fmt.Sprintf(", %d as they were pinned before", same)}[same > 0])
	}
	if changed > 0 {
		return fault.New(fault.DeniedPinned, "%s not as pinned, and refused as before", counted(changed, "tool")).
			WithHint("read the difference; to accept it: wexec tools pin --yes NAME")
	}
	return nil
}

// accepts shows what has changed, and asks whether that may be.
func (d *door) accepts(ctx *cli.Context, row pinRow) bool {
	if !ctx.Bool("json") {
		d.showDiff(row)
	}
	switch {
	case ctx.Bool("yes"):
		return true
	case ctx.Bool("json") || !d.canAsk():
		return false
	}
	fmt.Fprintf(d.voice, "pin the new definition of %s [y/N]? ", row.Tool)
	line, err := readAnswer(d.inv.Stdin)
	return err == nil && (strings.EqualFold(line, "y") || strings.EqualFold(line, "yes"))
}

func (d *door) showDiff(row pinRow) {
	d.voice.warn("%s has changed since it was pinned", row.Tool)
	for line := range strings.Lines(row.Diff) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(line, "-"):
			line = d.voice.paint("31", line)
		case strings.HasPrefix(line, "+"):
			line = d.voice.paint("32", line)
		}
		d.voice.say("  %s", line)
	}
}

// listPins lists what is pinned, and what became of it.
func (d *door) listPins(ctx *cli.Context, names []string) error {
	settings, host, cat, err := d.lookWith(ctx)
	if err != nil {
		return err
	}
	defer host.Close()
	pins, err := settings.Pins(d.inv.Env)
	if err != nil {
		return err
	}
	rows := []pinRow{}
	for _, p := range pins {
		if len(names) > 0 && !slices.ContainsFunc(names, func(n string) bool { return means(n, p.Tool) }) {
			continue
		}
		rows = append(rows, pinState(cat, p))
	}
	if ctx.Bool("json") {
		return d.printJSON(map[string]any{"pins": rows})
	}
	if len(rows) == 0 {
		d.voice.note("no tool is pinned: wexec tools pin SERVER holds its tools to what they are now, --all every tool")
		return nil
	}
	for _, row := range rows {
		fmt.Fprintf(d.inv.Stdout, "%-8s %-48s %s  %s\n", row.State, row.Tool, row.SHA256[:min(12, len(row.SHA256))], row.Origin)
	}
	for _, row := range rows {
		if row.State == "changed" {
			d.showDiff(row)
			d.voice.hint("to accept it: wexec tools pin " + row.Tool)
		}
	}
	return nil
}

// pinState compares a pin with what there is now.
func pinState(cat *catalogue.Catalogue, p hostfns.Pin) pinRow {
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

func (d *door) unpin(ctx *cli.Context, names []string) error {
	settings, err := d.settings(ctx)
	if err != nil {
		return err
	}
	pins, err := settings.Pins(d.inv.Env)
	if err != nil {
		return err
	}
	if len(names) == 0 && !ctx.Bool("all") {
		return fault.New(fault.UsageFlag, "name the tools to let go, or say --all").WithHint("wexec tools pin --list shows what is pinned")
	}
	files := settings.PinFiles(d.inv.Env)
	origin := files.Own
	if ctx.Bool("lock") {
		origin = files.Lock
	}
	var tools []string
	rows := []pinRow{}
	for _, p := range pins {
		if p.Origin == origin && (ctx.Bool("all") || slices.ContainsFunc(names, func(n string) bool { return means(n, p.Tool) })) {
			tools = append(tools, p.Tool)
			rows = append(rows, pinRow{Tool: p.Tool, State: "removed", SHA256: p.SHA256, Origin: origin})
		}
	}
	if len(tools) == 0 {
		return fault.New(fault.UsageFlag, "nothing of that is pinned in %s", origin).WithHint("wexec tools pin --list shows what is pinned, and where")
	}
	if err := settings.Unpin(d.inv.Env, ctx.Bool("lock"), tools...); err != nil {
		return err
	}
	if ctx.Bool("json") {
		return d.printJSON(map[string]any{"pins": rows})
	}
	d.voice.note("%s no longer pinned", counted(len(tools), "tool"))
	return nil
}

// chosen lists the tools that names, servers and globs mean.
func chosen(cat *catalogue.Catalogue, names []string, all bool) ([]catalogue.Tool, error) {
	if all {
		if len(cat.Tools()) == 0 {
			return nil, fault.New(fault.ToolUnknown, "there is no tool to pin").WithHint("name the servers with --mcp")
		}
		return cat.Tools(), nil
	}
	var out []catalogue.Tool
	for _, name := range names {
		found := slices.DeleteFunc(slices.Clone(cat.Tools()), func(t catalogue.Tool) bool { return !means(name, t.ID()) })
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

// means reports whether a name, a server or a glob means a tool.
func means(name, tool string) bool {
	if name == tool || strings.HasPrefix(tool, name+".") {
		return true
	}
	g, err := policy.ParseGlob(name)
	return err == nil && g.Match(tool)
}

// definitionDiff shows how one definition became another, line by line.
func definitionDiff(was, is json.RawMessage) string {
	if len(was) == 0 {
		return "the pinned definition itself was not kept, only its digest\n"
	}
	return strings.Join(difference(definitionText(was), definitionText(is)), "\n") + "\n"
}

// definitionText is a document in lines, with everything in it to be seen.
func definitionText(doc json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, doc, "", "  ") != nil {
		return text.VisibleLines(string(doc))
	}
	return text.VisibleLines(b.String())
}

// changedLines gives the lines of both with "-" before those that went, "+"
// before those that came, and none of those that stayed left out. Very long
// texts are not searched for what stayed.
func changedLines(was, is []string) []string {
	if len(was)*len(is) > 4_000_000 {
		return append(marked("- ", was), marked("+ ", is)...)
	}
	// stays[i][j] is how many lines of was[i:] and is[j:] stay.
	stays := make([][]int, len(was)+1)
	for i := range stays {
		stays[i] = make([]int, len(is)+1)
	}
	for i := len(was) - 1; i >= 0; i-- {
		for j := len(is) - 1; j >= 0; j-- {
			if was[i] == is[j] {
				stays[i][j] = stays[i+1][j+1] + 1
			} else {
				stays[i][j] = max(stays[i+1][j], stays[i][j+1])
			}
		}
	}
	var out []string
	i, j := 0, 0
	for i < len(was) && j < len(is) {
		switch {
		case was[i] == is[j]:
			out = append(out, "  "+was[i])
			i, j = i+1, j+1
		case stays[i+1][j] >= stays[i][j+1]:
			out = append(out, "- "+was[i])
			i++
		default:
			out = append(out, "+ "+is[j])
			j++
		}
	}
	return append(append(out, marked("- ", was[i:])...), marked("+ ", is[j:])...)
}

func marked(with string, lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = with + l
	}
	return out
}

// pinNote is what is to be told of the pins of one tool.
func pinNote(host *config.Host, t catalogue.Tool) (row pinRow, changed bool) {
	pin, changed := host.Table.Changed(t)
	if !changed {
		return pinRow{}, false
	}
	return pinRow{Tool: t.ID(), State: "changed", SHA256: pin.SHA256, Origin: pin.Origin, Diff: definitionDiff(pin.Definition, t.Definition())}, true
}
