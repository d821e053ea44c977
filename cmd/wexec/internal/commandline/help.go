package commandline

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"
)

// page is the documentation of one command.
type page struct {
	name, usage, args, description string
	flags                          []flagText
	commands                       []*cli.Command // visible ones below it
}

type flagText struct{ spelling, usage, category string }

func pageOf(c *cli.Command, prefix string) page {
	p := page{name: prefix + c.Name, usage: c.Usage, args: c.ArgsUsage, description: c.Description}
	for _, f := range c.Flags {
		if doc, ok := f.(cli.DocGenerationFlag); ok && f.Names()[0] != "help" {
			p.flags = append(p.flags, describe(f, doc))
		}
	}
	for _, sub := range c.Subcommands {
		if !sub.Hidden {
			p.commands = append(p.commands, sub)
		}
	}
	return p
}

// pages returns the commands in the order of help, each before those below it.
func pages(commands []*cli.Command, prefix string) []page {
	var out []page
	for _, c := range commands {
		if !c.Hidden {
			out = append(append(out, pageOf(c, prefix)), pages(c.Subcommands, prefix+c.Name+" ")...)
		}
	}
	return out
}

// describe returns a flag's names and usage. A usage that starts with `NAME`:
// says what its value is called.
func describe(f cli.Flag, doc cli.DocGenerationFlag) flagText {
	var names []string
	for _, n := range f.Names() {
		names = append(names, Dashed(n))
	}
	t := flagText{spelling: strings.Join(names, ", "), usage: doc.GetUsage()}
	if doc.TakesValue() {
		value, usage, ok := strings.Cut(strings.TrimPrefix(t.usage, "`"), "`")
		if !ok {
			value, usage = "VALUE", t.usage
		}
		t.spelling, t.usage = t.spelling+" "+value, strings.TrimLeft(usage, ": ")
	}
	if c, ok := f.(cli.CategorizableFlag); ok {
		t.category = c.GetCategory()
	}
	if set := doc.GetValue(); doc.TakesValue() && set != "" && set != "0" {
		if _, list := f.(*cli.StringSliceFlag); !list {
			t.usage += " (default " + set + ")"
		}
	}
	return t
}

// synopsis is how a command is called; empty for one that only has commands.
func (p page) synopsis() string {
	switch {
	case len(p.flags) > 0:
		return strings.TrimSpace(p.name + " [flags] " + p.args)
	case p.args != "" || len(p.commands) == 0:
		return strings.TrimSpace(p.name + " " + p.args)
	}
	return ""
}

// Help is the help text of a command. The prefix is the command above it with a
// space.
func Help(c *cli.Command, prefix string) string {
	p := pageOf(c, prefix)
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", p.name, p.usage)
	if s := p.synopsis(); s != "" {
		fmt.Fprintf(&b, "\n  %s\n", s)
	}
	if p.description != "" {
		fmt.Fprintf(&b, "\n%s\n", p.description)
	}
	if len(p.commands) > 0 {
		b.WriteString("\nCommands:\n")
		for _, sub := range p.commands {
			fmt.Fprintf(&b, "  %-8s %s\n", sub.Name, sub.Usage)
		}
	}
	widest := 0
	for _, f := range p.flags {
		widest = max(widest, len(f.spelling))
	}
	heading := ""
	for i, f := range p.flags {
		if i == 0 || f.category != heading {
			heading = f.category
			fmt.Fprintf(&b, "\n%s:\n", cmp.Or(heading, "Flags"))
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", widest, f.spelling, f.usage)
	}
	if len(p.commands) > 0 {
		fmt.Fprintf(&b, "\nRun %s COMMAND --help for details.\n", p.name)
	}
	return b.String()
}

// exitStatuses is the contract of every command.
const exitStatuses = "0 success, 1 the program failed (or its own status), 2 usage error, 3 denied, 4 limit reached,\n" +
	"5 a server or the network failed, 70 internal error, 130 interrupted."

// Markdown is the documentation of all commands.
func Markdown(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Commands\n\nwexec: %s. Generated from the program by `go test ./tests/doors -run Commands -update`. "+
		"The output of `--json` is described in [JSON](json.md).\n\nExit statuses: %s\n", app.Usage, exitStatuses)
	for _, p := range pages(app.Commands, "wexec ") {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", p.name, capitalized(p.usage))
		if s := p.synopsis(); s != "" {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", s)
		}
		if p.description != "" {
			fmt.Fprintf(&b, "\n%s\n", p.description)
		}
		if len(p.flags) > 0 {
			b.WriteString("\n| flag | |\n|---|---|\n")
			for _, f := range p.flags {
				fmt.Fprintf(&b, "| `%s` | %s |\n", f.spelling, strings.ReplaceAll(f.usage, "|", "\\|"))
			}
		}
	}
	return b.String()
}

// Manual is the manual page of all commands in roff.
func Manual(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH WEXEC 1 \"\" \"wexec %s\" \"User Commands\"\n.SH NAME\nwexec \\- %s\n", roff(app.Version), roff(app.Usage))
	b.WriteString(".SH SYNOPSIS\n.B wexec\n.I COMMAND\n[flags] [arguments]\n.SH COMMANDS\n")
	for _, p := range pages(app.Commands, "wexec ") {
		fmt.Fprintf(&b, ".SS %s\n%s.\n", roff(cmp.Or(p.synopsis(), p.name)), roff(capitalized(p.usage)))
		if p.description != "" {
			fmt.Fprintf(&b, ".PP\n%s\n", roff(p.description))
		}
		for _, f := range p.flags {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(f.spelling), roff(f.usage))
		}
	}
	fmt.Fprintf(&b, ".SH EXIT STATUS\n%s\n", roff(exitStatuses))
	return b.String()
}

func capitalized(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// roff escapes text for roff.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
