package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/cmd/wexec/internal/commandline"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/jsonnum"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/policy/lint"
)

// triggers are the ways in which a run can start.
var triggers = []string{"cli", "mcp", "api", "schedule"}

func (a *app) policyCommand() *cli.Command {
	return &cli.Command{
		Name:  "policy",
		Usage: "check, test and explain a policy",
		Subcommands: []*cli.Command{
			{Name: "check", Usage: "find rules that have no effect or a wrong one", ArgsUsage: "[FILE]", Action: a.policyCheck, Flags: catalogueFlags()},
			{Name: "test", Usage: "run the test cases of a policy", ArgsUsage: "[FILE]", Action: a.policyTest, Flags: catalogueFlags(
				&cli.StringSliceFlag{Name: "cases", Usage: "`FILE`: more test cases; repeatable", TakesFile: true},
				&cli.BoolFlag{Name: "coverage", Usage: "print which rules the cases match"})},
			{Name: "explain", Usage: "explain the decision about a call", ArgsUsage: "TOOL", Action: a.policyExplain, Flags: catalogueFlags(
				&cli.StringFlag{Name: "args", Usage: "`JSON`: the arguments of the call"},
				&cli.StringFlag{Name: "trigger", Usage: "`TRIGGER`: cli, mcp, api or schedule", Value: "cli"})},
			{Name: "add", Usage: "add rules for the tools of a server that have none", ArgsUsage: "SERVER", Action: a.policyAdd, Flags: settingFlags()},
			{Name: "import", Usage: "propose a policy from the permissions of another client", ArgsUsage: "FILE", Action: a.policyImport,
				Flags: []cli.Flag{&cli.StringFlag{Name: "out", Usage: "`FILE`: the file to write (default standard output)", TakesFile: true}}},
			{Name: "schema", Usage: "print the JSON Schema of a policy file, for editors", Action: func(*cli.Context) error {
				_, err := a.Stdout.Write(append(policy.Schema(), '\n'))
				return err
			}},
		},
	}
}

// namedPolicy is the policy in a file, or the effective policy if no file is
// named.
func (a *app) namedPolicy(ctx *cli.Context, file string) (*policy.Policy, error) {
	if file == "" {
		s, err := a.settings(ctx)
		if err != nil {
			return nil, err
		}
		if p := s.Policy(); p != nil {
			return p, nil
		}
		missing := fault.New(fault.UsagePolicy, "there is no policy here: every tool is denied")
		if fileExists(a.path("policy.yaml")) {
			return nil, missing.WithHint("policy.yaml is loaded if a wexec.yaml is in the same folder; or name it: wexec policy %s policy.yaml", ctx.Command.Name)
		}
		return nil, missing.WithHint("name a file, or run wexec init")
	}
	path := a.path(file)
	data, err := readFile(path)
	if err != nil {
		return nil, err
	}
	p, err := policy.Parse(file, data)
	if err != nil {
		return nil, err
	}
	return p.Resolve(filepath.Dir(path), a.Env.Home)
}

// policyCatalogue is the catalogue of the configured servers, or nil if there
// are none.
func (a *app) policyCatalogue(ctx *cli.Context) (*catalogue.Catalogue, error) {
	s, err := config.Load(a.Env, config.Flags{MCP: ctx.StringSlice("mcp")})
	if err != nil || len(s.Servers) == 0 {
		return nil, err
	}
	host, cat, _, err := a.inspect(ctx.Context, s, s.Log)
	if err != nil {
		return nil, err
	}
	return cat, host.Close()
}

func (a *app) policyCheck(ctx *cli.Context) error {
	p, err := a.namedPolicy(ctx, ctx.Args().First())
	if err != nil {
		return err
	}
	cat, err := a.policyCatalogue(ctx)
	if err != nil {
		return err
	}
	findings := append([]lint.Finding{}, lint.Check(p, cat)...)
	failed := slices.ContainsFunc(findings, func(f lint.Finding) bool { return f.Severity == lint.SeverityError })
	if ctx.Bool("json") {
		if err := a.printJSON(map[string]any{"findings": findings, "tools": countDecisions(p, cat)}); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			a.printf("%s\n", f)
		}
		checked := terminal.Count(len(p.Rules()), "rule")
		if cat != nil {
			checked += fmt.Sprintf(" and %s (%s)", terminal.Count(len(cat.Tools()), "tool"), countDecisions(p, cat))
		} else {
			a.term.Note("no server is configured, so tools and arguments were not checked (set --mcp FILE)")
		}
		if len(findings) == 0 {
			checked += ": no problems found"
		}
		a.term.Note("checked %s", checked)
	}
	if failed {
		return exitStatus(fault.UsagePolicy.Class().Exit())
	}
	return nil
}

// decisionCounts is how many tools a policy allows, asks about and denies,
// whatever their arguments.
type decisionCounts struct {
	Allow int `json:"allow"`
	Ask   int `json:"ask"`
	Deny  int `json:"deny"`
}

// String implements fmt.Stringer.
func (c *decisionCounts) String() string {
	return fmt.Sprintf("%d allowed, %d need approval, %d denied", c.Allow, c.Ask, c.Deny)
}

func countDecisions(p *policy.Policy, cat *catalogue.Catalogue) *decisionCounts {
	if cat == nil {
		return nil
	}
	c := &decisionCounts{}
	for _, t := range cat.Tools() {
		switch p.BestEffect(t.ID()) {
		case policy.Allow:
			c.Allow++
		case policy.Ask:
			c.Ask++
		default:
			c.Deny++
		}
	}
	return c
}

func (a *app) policyTest(ctx *cli.Context) error {
	file := ctx.Args().First()
	p, err := a.namedPolicy(ctx, file)
	if err != nil {
		return err
	}
	cases := p.Tests()
	caseFiles := ctx.StringSlice("cases")
	if len(caseFiles) == 0 && file != "" {
		ext := filepath.Ext(file)
		if name := strings.TrimSuffix(file, ext) + ".test" + ext; fileExists(a.path(name)) {
			caseFiles = []string{name}
		}
	}
	for _, name := range caseFiles {
		data, err := readFile(a.path(name))
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
	cat, err := a.policyCatalogue(ctx)
	if err != nil {
		return err
	}
	rep := lint.RunTests(p, lint.TestOptions{Catalogue: cat}, cases...)
	if ctx.Bool("json") {
		if err := a.printJSON(rep); err != nil {
			return err
		}
	} else {
		for _, r := range rep.Results {
			if !r.Passed {
				a.printf("%s: %s: expected %s, got %s (%s)\n", r.Case, r.Tool, r.Expect, r.Got, r.Rule)
			}
		}
		a.printf("%d passed, %d failed\n", len(rep.Results)-rep.Failed, rep.Failed)
		if ctx.Bool("coverage") {
			for _, c := range rep.Coverage {
				a.printf("%6d matched %6d decided  %s %s %s\n", c.Matched, c.Decided, c.Rule, c.Effect, c.Tool)
			}
			a.printf("%.0f %% of the rules are covered\n", 100*rep.Covered())
		}
	}
	if rep.Failed > 0 {
		return exitStatus(fault.ClassGuest.Exit())
	}
	return nil
}

func (a *app) policyExplain(ctx *cli.Context) error {
	name := ctx.Args().First()
	if name == "" {
		return fault.New(fault.UsageFlag, "name a tool").WithHint(`wexec policy explain github.list_commits --args '{"limit": 10}'`)
	}
	server, tool, ok := strings.Cut(strings.TrimPrefix(name, "tools."), ".")
	if rest, other := strings.CutPrefix(name, "mcp__"); other {
		server, tool, ok = strings.Cut(rest, "__")
	}
	if !ok || server == "" || tool == "" {
		return fault.New(fault.UsageFlag, "invalid tool name %q", name).WithHint("use SERVER.TOOL, such as github.list_commits")
	}
	if err := commandline.OneOf("trigger", ctx.String("trigger"), triggers...); err != nil {
		return err
	}
	args := map[string]any{}
	if text := ctx.String("args"); text != "" {
		v, err := jsonnum.Decode([]byte(text))
		object, ok := v.(map[string]any)
		if err == nil && !ok {
			err = fmt.Errorf("%s is of another kind", terminal.Clip(terminal.Visible(text), 40))
		}
		if err != nil {
			return fault.New(fault.UsageFlag, "--args: must be a JSON object: %w", err).WithHint(`quote it for the shell: --args '{"limit": 10}'`)
		}
		args = object
	}
	s, err := a.settings(ctx)
	if err != nil {
		return err
	}
	cat, err := a.policyCatalogue(ctx)
	if err != nil {
		return err
	}
	req := policy.Request{Tool: catalogue.Tool{Server: server, Name: tool}, Args: args, Now: time.Now(), Run: policy.RunFacts{Trigger: ctx.String("trigger")}}
	if cat != nil {
		if t, ok := cat.Lookup(name); ok {
			req.Tool = t
		} else {
			a.term.Warn("no connected server has a tool %s", name)
			if near := cat.Nearest(name, 1); len(near) > 0 {
				a.term.Hint("did you mean " + near[0] + "?")
			}
		}
	}
	ex := s.Policy().Explain(req)
	if ctx.Bool("json") {
		return a.printJSON(ex)
	}
	a.printf("%s: %s\n", ex.Tool, ex.Decision)
	if ex.Rule != "" {
		a.printf("  by %s\n", ex.Rule)
	}
	if ex.Message != "" {
		a.printf("  %s\n", ex.Message)
	}
	for _, c := range ex.Considered {
		mark := " "
		if c.Matched {
			mark = "*"
		}
		a.printf("%s %-5s %s: %s\n", mark, c.Effect, c.Rule, c.Why)
	}
	if s.Policy() == nil {
		a.term.Hint("run wexec init to write a policy, set --policy FILE, or allow the tool once with --allow-tool " + ex.Tool)
	}
	return nil
}

func (a *app) policyImport(ctx *cli.Context) error {
	name := ctx.Args().First()
	if name == "" {
		return fault.New(fault.UsageFlag, "name the file with the permissions").WithHint("wexec policy import ~/.claude/settings.json")
	}
	data, err := readFile(a.path(name))
	if err != nil {
		return err
	}
	proposal, err := policy.Import(name, data)
	if err != nil {
		return err
	}
	for _, n := range proposal.Notes {
		a.term.Note("%s", n)
	}
	out := ctx.String("out")
	if out == "" {
		_, err = a.Stdout.Write(proposal.Policy)
		return err
	}
	if fileExists(a.path(out)) {
		return fault.New(fault.UsageFile, "write %s: the file exists", out).WithHint("write to another file, and read the proposal before you replace a policy")
	}
	if err := os.WriteFile(a.path(out), proposal.Policy, 0o644); err != nil {
		return fault.New(fault.UsageFile, "write %s: %w", out, reason(err))
	}
	a.term.Note("read %s before you use it, and run: wexec policy check %s", out, out)
	return nil
}
