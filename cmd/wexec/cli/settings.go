package cli

import (
	"errors"
	"fmt"
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

// limitFlags are the flags of the limits of a run.
func limitFlags() []cli.Flag {
	var out []cli.Flag
	for _, f := range policy.LimitFields() {
		placeholder := map[policy.LimitKind]string{policy.LimitCount: "N", policy.LimitSize: "SIZE", policy.LimitDuration: "DURATION"}[f.Kind]
		standard := "the interpreter's own"
		if f.Default > 0 {
			standard = f.Format(f.Default)
		}
		out = append(out, &cli.StringFlag{Name: f.Flag, Category: limits, Usage: fmt.Sprintf("`%s`: %s (default %s)", placeholder, f.Doc, standard)})
	}
	return out
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
