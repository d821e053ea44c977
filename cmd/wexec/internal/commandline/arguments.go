// Package commandline is what the command needs on top of urfave/cli: flags
// after arguments, usage errors with suggestions, help, the documentation of all
// commands, and completion in shells. The commands themselves are in package
// cli.
package commandline

import (
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
)

// Arrange returns args, the program's name first, in the order that the library
// parses: flags before arguments. The commands in verbatim get theirs as they
// are. --version becomes the command version.
func Arrange(app *cli.App, args []string, verbatim ...string) []string {
	if len(args) == 2 && slices.Contains([]string{"--version", "-version", "-v", "-V"}, args[1]) {
		return []string{args[0], "version"}
	}
	if len(args) < 2 || slices.Contains(verbatim, args[1]) && (len(args) < 3 || !AsksHelp(args[2:3])) {
		return args
	}
	// The longest chain of commands.
	commands, flags := app.Commands, []cli.Flag(nil)
	at := 1
	for ; at < len(args); at++ {
		c := lookup(commands, args[at])
		if c == nil {
			break
		}
		commands, flags = c.Subcommands, c.Flags
	}
	head, rest := args[:at:at], args[at:]
	if len(rest) > 0 && len(commands) > 0 && !strings.HasPrefix(rest[0], "-") && rest[0] != "help" {
		return append(head, rest[0]) // an unknown command, even with --help
	}
	var options, arguments []string
	for i := 0; i < len(rest); i++ {
		switch arg := rest[i]; {
		case arg == "--":
			return slices.Concat(head, options, arguments, rest[i:])
		case len(arg) < 2 || arg[0] != '-':
			arguments = append(arguments, arg)
		case arg == "--help" || arg == "-h":
			return append(head, arg)
		default:
			options = append(options, arg)
			if takesValue(flags, arg) && i+1 < len(rest) {
				i++
				options = append(options, rest[i])
			}
		}
	}
	return slices.Concat(head, options, arguments)
}

func lookup(commands []*cli.Command, name string) *cli.Command {
	at := slices.IndexFunc(commands, func(c *cli.Command) bool { return c.HasName(name) })
	if at < 0 {
		return nil
	}
	return commands[at]
}

// takesValue reports whether the argument after a flag is its value.
func takesValue(flags []cli.Flag, arg string) bool {
	name := strings.TrimLeft(arg, "-")
	for _, f := range flags {
		if slices.Contains(f.Names(), name) {
			_, boolean := f.(*cli.BoolFlag)
			return !boolean
		}
	}
	return false
}

// AsksHelp reports whether one of the arguments asks for help.
func AsksHelp(args []string) bool {
	return slices.ContainsFunc(args, func(a string) bool { return a == "-h" || strings.TrimLeft(a, "-") == "help" })
}

// Unknown is the error of an unknown command among some. The prefix is the
// command above them with a space, or empty.
func Unknown(name, prefix string, commands []*cli.Command) error {
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	err := fault.New(fault.UsageFlag, "unknown command %q", prefix+name)
	near := catalogue.NearestOf(name, names)
	switch {
	case near != "":
		return err.WithHint("did you mean wexec %s%s?", prefix, near)
	case prefix != "":
		return err.WithHint("use one of %s", strings.Join(names, ", "))
	case strings.Contains(name, "."):
		return err.WithHint("to run a file: wexec run %s", name)
	}
	return err.WithHint("list the commands with wexec --help")
}

// UsageError turns an error of the library's flag parser into one with a code
// and a hint.
func UsageError(ctx *cli.Context, err error) error {
	message := err.Error()
	if name, ok := strings.CutPrefix(message, "flag provided but not defined: -"); ok {
		name = strings.TrimLeft(name, "-")
		wrong := fault.New(fault.UsageFlag, "unknown flag %s", Dashed(name))
		if near := catalogue.NearestOf(name, FlagNames(ctx.Command)); near != "" {
			return wrong.WithHint("did you mean %s?", Dashed(near))
		}
		return wrong.WithHint("see %s --help", fullName(ctx))
	}
	if name, ok := strings.CutPrefix(message, "flag needs an argument: "); ok {
		return fault.New(fault.UsageFlag, "%s needs a value", Dashed(strings.TrimLeft(name, "-")))
	}
	if rest, ok := strings.CutPrefix(message, "invalid value "); ok {
		value, rest, _ := strings.Cut(rest, " for flag -")
		name, _, _ := strings.Cut(rest, ": ")
		return fault.New(fault.UsageFlag, "%s: %s is not a number", Dashed(strings.TrimLeft(name, "-")), value)
	}
	return fault.New(fault.UsageFlag, "%s", message)
}

// fullName is the command that runs with those above it.
func fullName(ctx *cli.Context) string {
	name := ""
	for _, c := range ctx.Lineage() {
		if c.Command != nil && c.Command.Name != "" && c.Command.Name != "wexec" {
			name = " " + c.Command.Name + name
		}
	}
	return "wexec" + name
}

// FlagNames lists the names of a command's flags, which may be nil.
func FlagNames(c *cli.Command) []string {
	var out []string
	if c != nil {
		for _, f := range c.Flags {
			out = append(out, f.Names()...)
		}
	}
	return out
}

// Dashed is a flag's name as it is written on the command line.
func Dashed(name string) string {
	if len(name) == 1 {
		return "-" + name
	}
	return "--" + name
}

// namedFlag is a flag with its names computed; namedSlice is one that can be
// repeated, of which the library needs more methods.
type (
	namedFlag struct {
		cli.Flag
		names []string
	}
	namedSlice struct {
		*cli.StringSliceFlag
		names []string
	}
)

// Names implements cli.Flag.
func (f namedFlag) Names() []string { return f.names }

// Names implements cli.Flag.
func (f namedSlice) Names() []string { return f.names }

// GetCategory implements cli.CategorizableFlag.
func (f namedSlice) GetCategory() string { return "" }

// Named returns flags that parse the same and have no help. The library computes
// the names of a flag with a regular expression, for every pair of flags of a
// command: that takes longer than the rest of the start.
func Named(flags []cli.Flag) []cli.Flag {
	out := make([]cli.Flag, len(flags))
	for i, f := range flags {
		switch f := f.(type) {
		case *cli.StringFlag:
			out[i] = namedFlag{f, append([]string{f.Name}, f.Aliases...)}
		case *cli.BoolFlag:
			out[i] = namedFlag{f, append([]string{f.Name}, f.Aliases...)}
		case *cli.StringSliceFlag:
			out[i] = namedSlice{f, append([]string{f.Name}, f.Aliases...)}
		default:
			out[i] = namedFlag{f, f.Names()}
		}
	}
	return out
}
