package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/policy/lint"
)

func (d *door) policyCommand() *cli.Command {
	flags := func(more ...cli.Flag) []cli.Flag {
		out := append(more, &cli.BoolFlag{Name: "json", Usage: "print JSON"})
		out = append(out, settingFlags()...)
		return append(out, allowFlags()...)
	}
	return &cli.Command{
		Name:  "policy",
		Usage: "check, test and explain what programs may do",
		Subcommands: []*cli.Command{
			{Name: "check", Usage: "find rules that do not do what they seem to", ArgsUsage: "[FILE]", Action: d.policyCheck, Flags: flags()},
			{Name: "test", Usage: "run the cases of a policy", ArgsUsage: "[FILE]", Action: d.policyTest, Flags: flags(
				&cli.StringSliceFlag{Name: "cases", Usage: "`FILE`: more cases", TakesFile: true},
				&cli.BoolFlag{Name: "coverage", Usage: "say which rules the cases reach"})},
			{Name: "explain", Usage: "say what is decided about a call, and why", ArgsUsage: "TOOL", Action: d.policyExplain, Flags: flags(
				&cli.StringFlag{Name: "args", Usage: "`JSON`: the arguments of the call"},
				&cli.StringFlag{Name: "trigger", Usage: "`DOOR`: cli, mcp, api or schedule", Value: "cli"})},
			{Name: "import", Usage: "propose a policy from another client's permission lists", ArgsUsage: "FILE", Action: d.policyImport,
				Flags: []cli.Flag{&cli.StringFlag{Name: "out", Usage: "`FILE`: where to write the proposal (default standard output)", TakesFile: true}}},
			{Name: "schema", Usage: "print the JSON Schema of a policy file, for editors", Action: func(*cli.Context) error {
				_, err := d.inv.Stdout.Write(append(policy.Schema(), '\n'))
				return err
			}},
		},
	}
}

// namedPolicy is the policy of a file, or the effective one.
func (d *door) namedPolicy(ctx *cli.Context, file string) (*policy.Policy, error) {
	if file == "" {
		s, err := d.settings(ctx)
		if err != nil {
			return nil, err
		}
		p := s.Policy()
		if p == nil {
			none := fault.New(fault.UsagePolicy, "there is no policy here: every tool is denied")
			if fileExists(d.path("policy.yaml")) {
				return nil, none.WithHint("policy.yaml is read where a wexec.yaml lies beside it; else name it: wexec policy %s policy.yaml", ctx.Command.Name)
			}
			return nil, none.WithHint("name a file, or run wexec init")
		}
		return p, nil
	}
	path := d.path(file)
	data, err := readBounded(path)
	if err != nil {
		return nil, err
	}
	p, err := policy.Parse(file, data)
	if err != nil {
		return nil, err
	}
	return p.Resolve(filepath.Dir(path), d.inv.Env.Home)
}

// knownTools is the catalogue of the configured servers; nil where there are
// none.
func (d *door) knownTools(ctx *cli.Context) (*catalogue.Catalogue, error) {
	s, err := config.Load(d.inv.Env, config.Flags{MCP: ctx.StringSlice("mcp")})
	if err != nil {
		return nil, err
	}
	if len(s.Servers) == 0 {
		return nil, nil
	}
	host, err := s.Open(ctx.Context, config.Options{Env: d.inv.Env, Version: d.inv.Version, Logger: d.logger(s.Log), NoAudit: true})
	if err != nil {
		return nil, err
	}
	defer host.Close()
	cat, errs := host.Table.Catalogue(ctx.Context)
	for _, err := range errs {
		d.voice.warn("%s", err)
	}
	config.RememberTools(d.inv.Env, cat)
	return cat, nil
}

func (d *door) policyCheck(ctx *cli.Context) error {
	p, err := d.namedPolicy(ctx, ctx.Args().First())
	if err != nil {
		return err
	}
	cat, err := d.knownTools(ctx)
	if err != nil {
		return err
	}
	found := lint.Check(p, cat)
	failed := false
	for _, f := range found {
		failed = failed || f.Severity == lint.SeverityError
	}
	if ctx.Bool("json") {
		if found == nil {
			found = []lint.Finding{}
		}
		if err := d.printJSON(map[string]any{"findings": found, "tools": outlooks(p, cat)}); err != nil {
			return err
		}
	} else {
		for _, f := range found {
			fmt.Fprintln(d.inv.Stdout, f.String())
		}
		if cat == nil {
			d.voice.note("no server is configured: tools and arguments were not looked at (--mcp FILE)")
		}
		what := fmt.Sprintf("looked at %s", counted(len(p.Rules()), "rule"))
		if cat != nil {
			o := outlooks(p, cat)
			what += fmt.Sprintf(" and %s (%s)", counted(len(cat.Tools()), "tool"), o)
		}
		if len(found) == 0 {
			what += ": no fault found"
		}
		d.voice.note("%s", what)
	}
	if failed {
		return said(fault.UsagePolicy.Class().Exit())
	}
	return nil
}

// outlook is how many tools a policy allows, asks for and denies, as far as
// that can be told without arguments.
type outlook struct {
	Allow int `json:"allow"`
	Ask   int `json:"ask"`
	Deny  int `json:"deny"`
}

func outlooks(p *policy.Policy, cat *catalogue.Catalogue) *outlook {
	if cat == nil {
		return nil
	}
	o := &outlook{}
	for _, t := range cat.Tools() {
		switch p.BestEffect(t.ID()) {
		case policy.Allow:
			o.Allow++
		case policy.Ask:
			o.Ask++
		default:
			o.Deny++
		}
	}
	return o
}

// String says it in words.
func (o *outlook) String() string {
	return fmt.Sprintf("%d allowed, %d asked for, %d denied", o.Allow, o.Ask, o.Deny)
}

func (d *door) policyTest(ctx *cli.Context) error {
	file := ctx.Args().First()
	p, err := d.namedPolicy(ctx, file)
	if err != nil {
		return err
	}
	cases := p.Tests()
	beside := ctx.StringSlice("cases")
	if len(beside) == 0 && file != "" {
		ext := filepath.Ext(file)
		if name := strings.TrimSuffix(file, ext) + ".test" + ext; fileExists(d.path(name)) {
			beside = []string{name}
		}
	}
	for _, name := range beside {
		data, err := readBounded(d.path(name))
		if err != nil {
			return err
		}
		more, err := policy.ParseTests(name, data)
		if err != nil {
			return err
		}
		cases = append(cases, more...)
	}
	if len(cases) == 0 {
		return fault.New(fault.UsagePolicy, "the policy has no test cases").
			WithHint("add  tests: [{tool: github.list_commits, args: {}, expect: allow}]  to it, or name a file with --cases")
	}
	cat, err := d.knownTools(ctx)
	if err != nil {
		return err
	}
	rep := lint.RunTests(p, lint.TestOptions{Catalogue: cat}, cases...)
	if ctx.Bool("json") {
		if err := d.printJSON(rep); err != nil {
			return err
		}
	} else {
		for _, r := range rep.Results {
			if !r.Passed {
				fmt.Fprintf(d.inv.Stdout, "%s: %s: expected %s, got %s (%s)\n", r.Case, r.Tool, r.Expect, r.Got, r.Rule)
			}
		}
		fmt.Fprintf(d.inv.Stdout, "%d passed, %d failed\n", len(rep.Results)-rep.Failed, rep.Failed)
		if ctx.Bool("coverage") {
			for _, c := range rep.Coverage {
				fmt.Fprintf(d.inv.Stdout, "%6d matched %6d decided  %s %s %s\n", c.Matched, c.Decided, c.Rule, c.Effect, c.Tool)
			}
			fmt.Fprintf(d.inv.Stdout, "%.0f %% of the rules are reached\n", 100*rep.Covered())
		}
	}
	if rep.Failed > 0 {
		return said(fault.ClassGuest.Exit())
	}
	return nil
}

func (d *door) policyExplain(ctx *cli.Context) error {
	name := ctx.Args().First()
	if name == "" {
		return fault.New(fault.UsageFlag, "name a tool").WithHint(`wexec policy explain github.list_commits --args '{"limit": 10}'`)
	}
	server, tool, ok := strings.Cut(strings.TrimPrefix(name, "tools."), ".")
	if rest, other := strings.CutPrefix(name, "mcp__"); other {
		server, tool, ok = strings.Cut(rest, "__")
	}
	if !ok || server == "" || tool == "" {
		return fault.New(fault.UsageFlag, "%q names no tool", name).WithHint("write SERVER.TOOL, such as github.list_commits")
	}
	if err := oneOf("trigger", ctx.String("trigger"), "cli", "mcp", "api", "schedule"); err != nil {
		return err
	}
	args := map[string]any{}
	if text := ctx.String("args"); text != "" {
		if err := json.Unmarshal([]byte(text), &args); err != nil {
			return fault.New(fault.UsageFlag, "--args is no JSON object: %w", err).WithHint(`quote it for the shell: --args '{"limit": 10}'`)
		}
	}
	s, err := d.settings(ctx)
	if err != nil {
		return err
	}
	cat, err := d.knownTools(ctx)
	if err != nil {
		return err
	}
	req := policy.Request{Tool: catalogue.Tool{Server: server, Name: tool}, Args: args, Now: time.Now(), Run: policy.RunFacts{Trigger: ctx.String("trigger")}}
	if cat != nil {
		if t, ok := cat.Lookup(name); ok {
			req.Tool = t
		} else {
			d.voice.warn("no connected server has a tool %s", name)
			if near := cat.Nearest(name, 1); len(near) > 0 {
				d.voice.hint("did you mean " + near[0] + "?")
			}
		}
	}
	ex := s.Policy().Explain(req)
	if ctx.Bool("json") {
		return d.printJSON(ex)
	}
	fmt.Fprintf(d.inv.Stdout, "%s: %s\n", ex.Tool, ex.Decision)
	if ex.Rule != "" {
		fmt.Fprintf(d.inv.Stdout, "  by %s\n", ex.Rule)
	}
	if ex.Message != "" {
		fmt.Fprintf(d.inv.Stdout, "  %s\n", ex.Message)
	}
	for _, c := range ex.Considered {
		mark := " "
		if c.Matched {
			mark = "*"
		}
		fmt.Fprintf(d.inv.Stdout, "%s %-5s %s: %s\n", mark, c.Effect, c.Rule, c.Why)
	}
	if s.Policy() == nil {
		d.voice.hint("wexec init writes a policy, --policy FILE names one, --allow-tool " + ex.Tool + " allows it once")
	}
	return nil
}

func (d *door) policyImport(ctx *cli.Context) error {
	name := ctx.Args().First()
	if name == "" {
		return fault.New(fault.UsageFlag, "name the file with the permissions").WithHint("wexec policy import ~/.claude/settings.json")
	}
	data, err := readBounded(d.path(name))
	if err != nil {
		return err
	}
	prop, err := policy.Import(name, data)
	if err != nil {
		return err
	}
	for _, n := range prop.Notes {
		d.voice.note("%s", n)
	}
	if out := ctx.String("out"); out != "" {
		if fileExists(d.path(out)) {
			return fault.New(fault.UsageFile, "%s is there already", out).WithHint("a proposal is to be read before it replaces a policy")
		}
		if err := os.WriteFile(d.path(out), prop.Policy, 0o644); err != nil {
			return fault.New(fault.UsageFile, "write %s: %w", out, err)
		}
		d.voice.note("read %s before you use it: wexec policy check %s", out, out)
		return nil
	}
	_, err = d.inv.Stdout.Write(prop.Policy)
	return err
}

func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
