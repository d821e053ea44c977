package cli

import (
	"log/slog"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// Headings under which help shows flags that many commands have.
const (
	configuration = "Configuration"
	limits        = "Limits"
	grants        = "Grants, which widen the defaults and never a policy file"
)

// settingFlags are the flags of every command that reads the configuration.
func settingFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "policy", Category: configuration, Usage: "a policy `FILE`; may be given several times", TakesFile: true},
		&cli.StringSliceFlag{Name: "mcp", Category: configuration, Usage: "a `FILE` with mcpServers, as Claude, Cursor or VS Code have them", TakesFile: true},
		&cli.StringFlag{Name: "audit", Category: configuration, Usage: "the `DIR` that runs are recorded in", TakesFile: true},
	}
}

// limitFlags are the limits of a run, by the names of the Request.
func limitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "fuel", Category: limits, Usage: "stop after `N` units of about one instruction (100e9 where it is absent)"},
		&cli.StringFlag{Name: "memory", Category: limits, Usage: "`SIZE` of the program's memory, like 64MiB (512MiB where it is absent)"},
		&cli.StringFlag{Name: "time", Category: limits, Usage: "`DURATION` of the run, like 5s or 2m (30s where it is absent)"},
		&cli.StringFlag{Name: "output", Category: limits, Usage: "`SIZE` of stdout, stderr and value together (1MiB where it is absent)"},
		&cli.StringFlag{Name: "max-tool-calls", Category: limits, Usage: "at most `N` tool calls (200 where it is absent)"},
		&cli.StringFlag{Name: "parallel", Category: limits, Usage: "at most `N` tool calls at once (16 where it is absent)"},
		&cli.StringFlag{Name: "host-bytes", Category: limits, Usage: "`SIZE` of what passes through the host (256MiB where it is absent)"},
		&cli.StringFlag{Name: "recursion", Category: limits, Usage: "recursion at most `N` deep (as the interpreter has it where it is absent)"},
	}
}

// allowFlags widen the defaults, never a policy file.
func allowFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "allow-tool", Category: grants, Usage: "let the program call tools that match `GLOB` (github.get_*)"},
		&cli.StringSliceFlag{Name: "deny-tool", Category: grants, Usage: "forbid tools that match `GLOB`"},
		&cli.StringSliceFlag{Name: "allow-net", Category: grants, Usage: "let the program reach `HOST` (api.github.com)"},
		&cli.StringSliceFlag{Name: "allow-read", Category: grants, Usage: "let the program read below `PATH`"},
		&cli.StringSliceFlag{Name: "allow-write", Category: grants, Usage: "let the program write below `PATH`"},
		&cli.BoolFlag{Name: "no-pii", Category: grants, Usage: "do not replace personal data"},
	}
}

// settings loads the configuration with the flags of a command over it, and
// passes its warnings on.
func (d *door) settings(ctx *cli.Context) (*config.Settings, error) {
	limits, err := limitsOf(ctx)
	if err != nil {
		return nil, err
	}
	s, err := config.Load(d.inv.Env, config.Flags{
		Policy: ctx.StringSlice("policy"), MCP: ctx.StringSlice("mcp"), Audit: ctx.String("audit"), Limits: limits,
		Allow: policy.Flags{
			AllowTool: ctx.StringSlice("allow-tool"), DenyTool: ctx.StringSlice("deny-tool"), AllowNet: ctx.StringSlice("allow-net"),
			AllowRead: d.paths(ctx.StringSlice("allow-read")), AllowWrite: d.paths(ctx.StringSlice("allow-write")), NoPII: ctx.Bool("no-pii"),
		},
	})
	if err != nil {
		return nil, err
	}
	for _, w := range s.Warnings {
		d.voice.warn("%s", w)
	}
	switch ctx.Command.Name {
	case "doctor", "check", "list": // where people look at what holds
		for _, w := range s.Unhonoured {
			d.voice.warn("%s", w)
		}
	}
	return s, nil
}

// limitsOf reads the limit flags; all that are wrong are told at once.
func limitsOf(ctx *cli.Context) (policy.Limits, error) {
	var l policy.Limits
	var wrong []error
	read := func(name string, set func(string) error) {
		text := ctx.String(name)
		if text == "" {
			return
		}
		if err := set(text); err != nil {
			wrong = append(wrong, fault.New(fault.UsageFlag, "--%s: %w", name, err).WithHint("%s", fault.HintOf(err)))
		}
	}
	count := func(to *int64) func(string) error {
		return func(s string) (err error) { *to, err = policy.ParseCount(s); return err }
	}
	size := func(to *int64) func(string) error {
		return func(s string) (err error) { *to, err = policy.ParseSize(s); return err }
	}
	var calls, parallel, recursion int64
	read("fuel", count(&l.Fuel))
	read("memory", size(&l.Memory))
	read("time", func(s string) (err error) { l.Time, err = policy.ParseDuration(s); return err })
	read("output", size(&l.Output))
	read("max-tool-calls", count(&calls))
	read("parallel", count(&parallel))
	read("host-bytes", size(&l.HostBytes))
	read("recursion", count(&recursion))
	l.ToolCalls, l.Parallel, l.Recursion = whole(calls), whole(parallel), whole(recursion)
	return l, joined(wrong)
}

// whole is a count as an int; more than a program can ever reach is that many.
func whole(n int64) int { return int(min(n, 1<<30)) }

// logger writes to stderr at the configured level.
func (d *door) logger(level string) *slog.Logger {
	var l slog.Level
	if l.UnmarshalText([]byte(level)) != nil {
		l = slog.LevelWarn
	}
	return slog.New(slog.NewTextHandler(d.voice, &slog.HandlerOptions{Level: l}))
}
