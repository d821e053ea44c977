package cli

import "github.com/urfave/cli/v2"

// commands are all that there are. A run, which people wait for, is given none
// but its own.
func (d *door) commands() []*cli.Command {
	if args := d.inv.Args; len(args) > 1 && args[1] == "run" && !asksHelp(args) {
		run := d.runCommand()
		run.Flags = named(run.Flags)
		return []*cli.Command{run}
	}
	return []*cli.Command{
		d.runCommand(),
		d.toolsCommand(),
		d.policyCommand(),
		d.privacyCommand(),
		d.auditCommand(),
		d.approvalsCommand(),
		d.mcpCommand(),
		d.pluginCommand(),
		d.guestsCommand(),
		d.initCommand(),
		d.doctorCommand(),
		d.configCommand(),
		d.promptCommand(),
		d.completionCommand(),
		d.completeCommand(),
		d.manCommand(),
		d.versionCommand(),
	}
}

// namedFlag is a flag that knows its names, and namedSlice one that may be given
// several times, of which the library asks more.
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

// Names are the names under which the flag can be given.
func (f namedFlag) Names() []string { return f.names }

// Names are the names under which the flag can be given.
func (f namedSlice) Names() []string { return f.names }

// GetCategory is none: a run that is asked for no help has no use for it.
func (f namedSlice) GetCategory() string { return "" }

// named has flags keep their names. The library works them out anew, with a
// regular expression, for every pair of flags of a command.
func named(flags []cli.Flag) []cli.Flag {
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
