package cli

import (
	"errors"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
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
		&cli.StringSliceFlag{Name: "policy", Category: configuration, Usage: "`FILE`: a policy; may be given several times", TakesFile: true},
		&cli.StringSliceFlag{Name: "mcp", Category: configuration, Usage: "`FILE`: the servers, as Claude, Cursor and VS Code write them", TakesFile: true},
		&cli.StringFlag{Name: "audit", Category: configuration, Usage: "`DIR`: where runs are recorded", TakesFile: true},
	}
}

// limitFlags are the limits of a run, by the names of the Request.
func limitFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "fuel", Category: limits, Usage: "`N`: how many units it may burn, each about one instruction (default 100e9)"},
		&cli.StringFlag{Name: "memory", Category: limits, Usage: "`SIZE`: how much memory it may take, such as 64MiB (default 512MiB)"},
		&cli.StringFlag{Name: "time", Category: limits, Usage: "`DURATION`: how long it may run, such as 5s or 2m (default 30s)"},
		&cli.StringFlag{Name: "output", Category: limits, Usage: "`SIZE`: how large stdout, stderr and value may be together (default 1MiB)"},
		&cli.StringFlag{Name: "max-tool-calls", Category: limits, Usage: "`N`: how many tool calls it may make (default 200)"},
		&cli.StringFlag{Name: "parallel", Category: limits, Usage: "`N`: how many of them at the same time (default 16)"},
		&cli.StringFlag{Name: "host-bytes", Category: limits, Usage: "`SIZE`: how much may pass through the host (default 256MiB)"},
		&cli.StringFlag{Name: "recursion", Category: limits, Usage: "`N`: how deep it may recurse (default the interpreter's own)"},
	}
}

// allowFlags widen the defaults, never a policy file.
func allowFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringSliceFlag{Name: "allow-tool", Category: grants, Usage: "`GLOB`: tools it may call (github.get_*)"},
		&cli.StringSliceFlag{Name: "deny-tool", Category: grants, Usage: "`GLOB`: tools it may not call"},
		&cli.StringSliceFlag{Name: "allow-net", Category: grants, Usage: "`HOST`: a host it may reach (api.github.com)"},
		&cli.StringSliceFlag{Name: "allow-read", Category: grants, Usage: "`PATH`: what it may read, and all below"},
		&cli.StringSliceFlag{Name: "allow-write", Category: grants, Usage: "`PATH`: what it may write, and all below"},
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

// oneOf is the error of a flag that has to be one of several words, where it is
// another.
func oneOf(flag, word string, words ...string) error {
	if word == "" || slices.Contains(words, word) {
		return nil
	}
	err := fault.New(fault.UsageFlag, "--%s cannot be %q", flag, word)
	if near := catalogue.NearestOf(word, words); near != "" {
		return err.WithHint("did you mean %s?", near)
	}
	return err.WithHint("one of %s", strings.Join(words, ", "))
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
	return l, errors.Join(wrong...)
}

// whole is a count as an int; more than a program can ever reach is that many.
func whole(n int64) int { return int(min(n, 1<<30)) }
