package cli

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// The headings of shared flags in help.
const (
	configurationFlags = "Configuration"
	limitFlagsHeading  = "Limits"
	grantFlags         = "Grants: they widen the defaults, never a policy file"
)

func jsonFlag() cli.Flag { return &cli.BoolFlag{Name: "json", Usage: "print JSON"} }

// settingFlags are the flags of every command that loads the configuration.
func settingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "policy", Category: configurationFlags, Usage: "`FILE`: a policy; repeatable", TakesFile: true},
		&cli.StringSliceFlag{Name: "mcp", Category: configurationFlags, Usage: "`FILE`: MCP servers, in the format of Claude, Cursor or VS Code; repeatable", TakesFile: true},
		&cli.StringFlag{Name: "audit", Category: configurationFlags, Usage: "`DIR`: the folder of the audit records", TakesFile: true},
		&cli.BoolFlag{Name: "quiet", Category: configurationFlags, Usage: "print results and errors, but no notes, warnings and progress"},
		&cli.BoolFlag{Name: "verbose", Category: configurationFlags, Usage: "print every setting with its origin, and all log messages"},
	}
}

// voidFlags lists the flags of a command that have no effect in one of its
// forms.
func voidFlags(command string) []commandline.Void {
	none := []commandline.Void{{Flags: []string{"quiet"}, With: "verbose", Why: "everything is printed"}}
	switch command {
	case "run":
		return append(none,
			commandline.Void{Flags: []string{"token-file", "allow-http"}, Without: "server", Why: "the program runs here"},
			commandline.Void{Flags: []string{"json"}, With: "jsonl", Why: "every line is JSON, and the last one is the Result"},
			commandline.Void{Flags: []string{"watch", "dry-run", "stats", "timeline", "no-cache", "deterministic", "keep", "workspace", "session", "durable"}, With: "check", Why: "nothing runs"},
			commandline.Void{Flags: []string{"durable"}, With: "dry-run", Why: "no tool is called"},
			commandline.Void{Flags: []string{"durable"}, With: "watch", Why: "the program starts again"},
			commandline.Void{Flags: []string{"keep"}, With: "durable", Why: "the data folder keeps the run until it has ended"},
			commandline.Void{Flags: []string{"park-after"}, Without: "durable", Why: "the run is never parked"})
	case "mcp":
		return append(none, commandline.Void{Flags: []string{"token-file", "allow-host", "allow-origin", "oauth-issuer", "oauth-resource", "oauth-scope",
			"max-clients", "max-pending"}, Without: "http", Why: "the only client is the one at standard input"})
	case "show":
		return append(none, commandline.Void{Flags: []string{"origin"}, With: "json", Why: "the JSON always has the origin"})
	case "pin":
		return append(none, commandline.Void{Flags: []string{"all", "yes"}, With: "list", Why: "nothing is changed"})
	}
	return none
}

// verbosity applies --quiet and --verbose, and notes flags that have no effect.
func (a *app) verbosity(ctx *cli.Context) error {
	a.term.Quiet = a.term.Quiet || ctx.Bool("quiet") && !ctx.Bool("verbose")
	for _, note := range commandline.VoidFlags(ctx, voidFlags(ctx.Command.Name)) {
		a.term.Note("%s", note)
	}
	return nil
}

// logLevel returns the log level of --quiet or --verbose, or "".
func logLevel(ctx *cli.Context) string {
	switch {
	case ctx.Bool("verbose"):
		return "debug"
	case ctx.Bool("quiet"):
		return "error"
	}
	return ""
}

// limitFlags are the flags of the limits of a run.
func limitFlags() []cli.Flag {
	var out []cli.Flag
	for _, f := range policy.LimitFields() {
		placeholder := map[policy.LimitKind]string{policy.LimitCount: "N", policy.LimitSize: "SIZE", policy.LimitDuration: "DURATION", policy.LimitShare: "PERCENT"}[f.Kind]
		standard := "the interpreter's limit"
		switch {
		case f.Default > 0:
			standard = f.Format(f.Default)
		case f.Kind == policy.LimitShare:
			standard = "all of it"
		}
		out = append(out, &cli.StringFlag{Name: f.Flag, Category: limitFlagsHeading, Usage: fmt.Sprintf("`%s`: %s (default %s)", placeholder, f.Doc, standard)})
	}
	return out
}

// allowFlags are the flags that grant or deny access.
func allowFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "allow-tool", Category: grantFlags, Usage: "`GLOB`: tools that the program may call, such as github.get_*"},
		&cli.StringSliceFlag{Name: "deny-tool", Category: grantFlags, Usage: "`GLOB`: tools that the program may not call"},
		&cli.StringSliceFlag{Name: "allow-net", Category: grantFlags, Usage: "`HOST`: a host that the program may reach, such as api.github.com"},
		&cli.StringSliceFlag{Name: "allow-read", Category: grantFlags, Usage: "`PATH`: a file or folder that the program may read"},
		&cli.StringSliceFlag{Name: "allow-write", Category: grantFlags, Usage: "`PATH`: a file or folder that the program may write"},
		&cli.BoolFlag{Name: "no-pii", Category: grantFlags, Usage: "do not replace personal data"},
	}
}

// catalogueFlags are the flags of a command that loads the configuration and
// lists tools or rules, after the flags of that command.
func catalogueFlags(own ...cli.Flag) []cli.Flag {
	return slices.Concat(own, []cli.Flag{jsonFlag()}, settingFlags(), allowFlags())
}

// settings loads the configuration with the flags of a command over it, and
// prints its warnings.
func (a *app) settings(ctx *cli.Context) (*config.Settings, error) {
	flags, err := a.configFlags(ctx)
	if err != nil {
		return nil, err
	}
	s, err := config.Load(a.Env, flags)
	if err != nil {
		return nil, err
	}
	for _, w := range s.Warnings {
		a.term.Warn("%s", w)
	}
	if ctx.Bool("verbose") {
		logger := terminal.Logger(a.term, s.Log)
		for _, v := range s.Values() {
			logger.Debug("set "+v.Key, "value", v.Value, "from", v.Origin)
		}
	}
	switch ctx.Command.Name {
	case "doctor", "check", "list": // commands that inspect the configuration
		for _, w := range s.IgnoredGrants {
			a.term.Warn("%s", w)
		}
	}
	return s, nil
}

// configFlags returns the flags of a command that configure it.
func (a *app) configFlags(ctx *cli.Context) (config.Flags, error) {
	limits, err := limitsOf(ctx)
	return config.Flags{
		Policy: ctx.StringSlice("policy"), MCP: ctx.StringSlice("mcp"), Audit: ctx.String("audit"), Log: logLevel(ctx), Limits: limits,
		Allow: policy.Flags{
			AllowTool: ctx.StringSlice("allow-tool"), DenyTool: ctx.StringSlice("deny-tool"), AllowNet: ctx.StringSlice("allow-net"),
			AllowRead: a.paths(ctx.StringSlice("allow-read")), AllowWrite: a.paths(ctx.StringSlice("allow-write")), NoPII: ctx.Bool("no-pii"),
		},
	}, err
}

// limitsOf reads the limit flags and reports all that are invalid.
func limitsOf(ctx *cli.Context) (policy.Limits, error) {
	var l policy.Limits
	var wrong []error
	for _, f := range policy.LimitFields() {
		text := ctx.String(f.Flag)
		if text == "" {
			continue
		}
		v, err := f.Parse(text)
		if err != nil {
			wrong = append(wrong, fault.New(fault.UsageFlag, "--%s: %w", f.Flag, err).WithHint("%s", fault.HintOf(err)))
		}
		f.Set(&l, v)
	}
	return l, errors.Join(wrong...)
}

func (a *app) configCommand() *cli.Command {
	return &cli.Command{
		Name:  "config",
		Usage: "show and describe the configuration, and trust a project's files",
		Subcommands: []*cli.Command{
			{Name: "show", Usage: "show every value that is set", Action: a.configShow, Flags: append([]cli.Flag{
				&cli.BoolFlag{Name: "origin", Usage: "show where each value is set"}, jsonFlag()}, settingFlags()...)},
			{Name: "schema", Usage: "print the JSON Schema of wexec.yaml, for editors", Action: func(*cli.Context) error {
				_, err := a.Stdout.Write(config.Schema())
				return err
			}},
			{Name: "trust", Usage: "let this project's files, as they are now, start servers and allow tools", Action: a.configTrust},
		},
	}
}

func (a *app) configShow(ctx *cli.Context) error {
	s, err := a.settings(ctx)
	if err != nil {
		return err
	}
	values := s.Values()
	if ctx.Bool("json") {
		return a.printJSON(map[string]any{"values": values, "project": map[string]any{"dir": s.Project.Dir, "trusted": s.Project.Trusted}})
	}
	for _, v := range values {
		if ctx.Bool("origin") {
			a.printf("%-24s %-40s %s\n", v.Key, v.Value, v.Origin)
			continue
		}
		a.printf("%-24s %s\n", v.Key, v.Value)
	}
	return nil
}

func (a *app) configTrust(ctx *cli.Context) error {
	if ctx.Args().Len() > 0 {
		return fault.New(fault.UsageFlag, "config trust takes no arguments").WithHint("run it in the project's folder")
	}
	p, err := config.Trust(a.Env)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		a.term.Note("trusted: %s", name)
	}
	a.term.Note("a changed file has to be trusted again")
	return nil
}
