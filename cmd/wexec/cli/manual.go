package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/config"
)

// manCommand prints the manual page, made from the commands themselves.
func (d *door) manCommand() *cli.Command {
	return &cli.Command{
		Name: "man", Usage: "print the manual page (wexec man | man -l -)",
		Action: func(ctx *cli.Context) error {
			_, err := io.WriteString(d.inv.Stdout, manual(ctx.App))
			return err
		},
	}
}

// page is one command with its flags, as documents show it.
type page struct {
	name, usage, args, description string
	flags                          []option
	deep                           bool // it has commands of its own
}

type option struct{ names, value, usage, category string }

// pages lists the commands of the app in the order of its help, those below
// right behind.
func pages(commands []*cli.Command, before string) []page {
	var out []page
	for _, c := range commands {
		if c.Hidden {
			continue
		}
		p := page{name: before + c.Name, usage: c.Usage, args: c.ArgsUsage, description: c.Description, deep: len(c.Subcommands) > 0}
		for _, f := range c.Flags {
			if doc, ok := f.(cli.DocGenerationFlag); ok && f.Names()[0] != "help" {
				p.flags = append(p.flags, optionOf(f, doc))
			}
		}
		out = append(out, p)
		out = append(out, pages(c.Subcommands, p.name+" ")...)
	}
	return out
}

func optionOf(f cli.Flag, doc cli.DocGenerationFlag) option {
	var names []string
	for _, n := range f.Names() {
		names = append(names, dashed(n))
	}
	o := option{names: strings.Join(names, ", "), usage: doc.GetUsage()}
	if doc.TakesValue() {
		o.value = "VALUE"
		if _, rest, ok := strings.Cut(o.usage, "`"); ok {
			if word, _, ok := strings.Cut(rest, "`"); ok {
				o.value = word
			}
		}
	}
	o.usage = strings.ReplaceAll(strings.TrimPrefix(o.usage, "`"+o.value+"`: "), "`", "")
	if c, ok := f.(cli.CategorizableFlag); ok {
		o.category = c.GetCategory()
	}
	switch f := f.(type) {
	case *cli.StringFlag:
		o.usage += byDefault(f.Value)
	case *cli.IntFlag:
		o.usage += byDefault(fmt.Sprint(f.Value))
	}
	return o
}

// byDefault says what a flag is without being given.
func byDefault(value string) string {
	if value == "" || value == "0" {
		return ""
	}
	return " (default " + value + ")"
}

// helpOf is what a command says of itself.
func helpOf(c *cli.Command, before string) string {
	p := pages([]*cli.Command{c}, before)[0]
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", p.name, p.usage)
	if !p.deep || p.args != "" || len(p.flags) > 0 {
		fmt.Fprintf(&b, "\n  %s\n", synopsis(p))
	}
	if p.description != "" {
		fmt.Fprintf(&b, "\n%s\n", p.description)
	}
	if p.deep {
		b.WriteString("\nCommands:\n")
		for _, sub := range c.Subcommands {
			if !sub.Hidden {
				fmt.Fprintf(&b, "  %-8s %s\n", sub.Name, sub.Usage)
			}
		}
	}
	widest := 0
	for _, f := range p.flags {
		widest = max(widest, len(strings.TrimSpace(f.names+" "+f.value)))
	}
	heading := ""
	for i, f := range p.flags {
		if i == 0 || f.category != heading {
			heading = f.category
			fmt.Fprintf(&b, "\n%s:\n", cmp.Or(heading, "Flags"))
		}
		fmt.Fprintf(&b, "  %-*s  %s\n", widest, strings.TrimSpace(f.names+" "+f.value), f.usage)
	}
	if p.deep {
		fmt.Fprintf(&b, "\n%s COMMAND --help says more.\n", p.name)
	}
	return b.String()
}

// Markdown is the documentation of every command, made from the commands
// themselves.
func Markdown() string {
	d := &door{inv: &Invocation{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard, Env: &config.Environment{}}}
	d.voice = newVoice(d.inv)
	app := d.app()
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Commands\n\nwexec: %s. Made from the program itself: `go test ./tests/doors -run Commands -update` writes it anew. "+
		"What `--json` prints is in [JSON](json.md).\n", app.Usage)
	b.WriteString("\nExit statuses: 0 it went well, 1 the program failed (or its own status), 2 it was called the wrong way, 3 denied, 4 a limit was reached,\n" +
		"5 a server or the network failed, 70 wexec itself failed, 130 interrupted.\n")
	for _, p := range pages(app.Commands, "wexec ") {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", p.name, sentence(p.usage))
		if !p.deep || p.args != "" || len(p.flags) > 0 {
			fmt.Fprintf(&b, "\n```\n%s\n```\n", synopsis(p))
		}
		if p.description != "" {
			fmt.Fprintf(&b, "\n%s\n", p.description)
		}
		if len(p.flags) > 0 {
			b.WriteString("\n| flag | |\n|---|---|\n")
			for _, f := range p.flags {
				fmt.Fprintf(&b, "| `%s` | %s |\n", strings.TrimSpace(f.names+" "+f.value), strings.ReplaceAll(f.usage, "|", "\\|"))
			}
		}
	}
	return b.String()
}

func synopsis(p page) string {
	out := p.name
	if len(p.flags) > 0 {
		out += " [flags]"
	}
	return strings.TrimSpace(out + " " + p.args)
}

// sentence is a usage text with a capital.
func sentence(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// manual is the manual page in roff.
func manual(app *cli.App) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH WEXEC 1 \"\" \"wexec %s\" \"User Commands\"\n.SH NAME\nwexec \\- %s\n", roff(app.Version), roff(app.Usage))
	b.WriteString(".SH SYNOPSIS\n.B wexec\n.I COMMAND\n[flags] [arguments]\n.SH COMMANDS\n")
	for _, p := range pages(app.Commands, "wexec ") {
		fmt.Fprintf(&b, ".SS %s\n%s.\n", roff(synopsis(p)), roff(sentence(p.usage)))
		if p.description != "" {
			fmt.Fprintf(&b, ".PP\n%s\n", roff(p.description))
		}
		for _, f := range p.flags {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(strings.TrimSpace(f.names+" "+f.value)), roff(f.usage))
		}
	}
	b.WriteString(".SH EXIT STATUS\n0 it went well, 1 the program failed or its own status, 2 it was called the wrong way, 3 denied, 4 a limit was reached, " +
		"5 a server or the network failed, 70 wexec itself failed, 130 interrupted.\n")
	return b.String()
}

// roff is a text in which nothing is taken for a command.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, ".") || strings.HasPrefix(l, "'") {
			lines[i] = `\&` + l
		}
	}
	return strings.Join(lines, "\n")
}
