package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/schema"
	"github.com/wexec/wexec/policy"
)

// problem is one finding of wexec run --check.
type problem struct {
	Severity string `json:"severity"` // error or warning
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

// checkProgram compiles a program without running it, and checks that the tools
// it refers to exist, are allowed, and take the arguments that it writes as literals.
func (a *app) checkProgram(ctx *cli.Context, host *config.Host, cache string, req engine.Request) error {
	eng, err := engine.New(ctx.Context, engine.Config{Cache: cache, Ready: -1})
	if err != nil {
		return err
	}
	defer func() { _ = eng.Close() }()
	res, problems, refs, err := compile(ctx.Context, eng, req)
	if err != nil {
		return a.failed(ctx, err)
	}
	cat, errs := host.Table.Catalogue(ctx.Context)
	for _, err := range errs {
		a.term.Warn("%s", err)
	}
	res.Review, err = eng.Review(ctx.Context, engine.Reviewing{Language: req.Language, Code: req.Code, Intent: req.Intent,
		Profile: host.Table.Policy().ReviewProfile(), Tools: cat, Seen: host.Table.Seen(cat)})
	if err != nil {
		return a.failed(ctx, err)
	}
	if len(problems) == 0 {
		problems = checkReferences(refs, cat, host.Table.Policy())
		found, err := checkArguments(ctx.Context, refs, cat, host.Table)
		if err != nil {
			a.term.Warn("arguments were not checked: %s", err)
		}
		problems = append(problems, found...)
		slices.SortStableFunc(problems, func(a, b problem) int {
			return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
		})
	}
	failed := slices.ContainsFunc(problems, func(p problem) bool { return p.Severity == "error" })
	if ctx.Bool("json") || ctx.Bool("jsonl") {
		if problems == nil {
			problems = []problem{}
		}
		if err := a.printJSON(checked{res, req.Language, !failed, problems}); err != nil {
			return err
		}
	} else {
		file := req.File
		if file == "" {
			file = "program"
		}
		for _, p := range problems {
			a.term.Print("%s:%d:%d: %s: %s", file, p.Line, p.Column, p.Severity, p.Message)
			a.term.Hint(p.Hint)
		}
		for _, f := range res.Review.Findings {
			a.term.Print("%s:%d:%d: %s: %s (%s)", file, f.Line, f.Column, f.Level, terminal.Visible(f.Message), f.Rule)
			a.term.Hint(f.Mitigation)
		}
		if len(problems) == 0 {
			unchecked := "computed arguments"
			if req.Language == engine.TypeScript {
				unchecked += " and types"
			}
			a.term.Note("%s: %s, no problems found (%s are not checked)", file, req.Language, unchecked)
		}
	}
	if failed {
		return exitStatus(fault.ClassGuest.Exit())
	}
	return nil
}

// checked is what wexec run --check prints as JSON: a result without a value.
type checked struct {
	*engine.Result
	Language string    `json:"language"`
	OK       bool      `json:"ok"`
	Findings []problem `json:"findings"`
}

// compile returns the syntax error of a program, or the tools it refers to.
func compile(ctx context.Context, eng *engine.Engine, req engine.Request) (*engine.Result, []problem, []reference, error) {
	off := false
	res, err := eng.Run(ctx, engine.Request{Language: req.Language, Code: req.Code, File: req.File, Check: true, Cache: &off, Deterministic: true,
		Input: []byte{}, Limits: engine.Limits{Fuel: 2e9, Time: 5 * time.Second, Memory: req.Limits.Memory}})
	var e *engine.Error
	if fault.CodeOf(err) == fault.GuestSyntax && errors.As(err, &e) {
		return res, []problem{{"error", e.Line, e.Column, e.Error(), e.Hint}}, nil, nil
	}
	if err != nil {
		return res, nil, nil, err
	}
	refs := parseReferences(res.Value)
	res.Value = nil
	return res, nil, refs, nil
}

// reference is a use of a tool in a program. It is explicit if it is written
// under tools; otherwise the name may be the program's.
type reference struct {
	server, tool string
	line, column int
	explicit     bool
	arguments    []byte // in the form of schema.ReadPartial; nil: the tool is not called here
}

// maxReferences is the number of rows that a guest may report.
const maxReferences = 1000

// parseReferences reads what the guest reports, which is not trusted.
func parseReferences(value json.RawMessage) []reference {
	var rows [][6]json.RawMessage
	if json.Unmarshal(value, &rows) != nil {
		return nil
	}
	var out []reference
	for _, row := range rows[:min(len(rows), maxReferences)] {
		var ref reference
		ok := true
		for i, field := range []any{&ref.server, &ref.tool, &ref.line, &ref.column, &ref.explicit} {
			ok = ok && json.Unmarshal(row[i], field) == nil
		}
		if !ok || ref.server == "" || ref.tool == "" || ref.line < 1 || ref.column < 0 {
			continue
		}
		if len(row[5]) > 0 && string(row[5]) != "null" {
			ref.arguments = row[5]
		}
		out = append(out, ref)
	}
	return out
}

// checkReferences returns the problems of the first use of each tool. Names that
// a program computes are not known before it runs.
func checkReferences(refs []reference, cat *catalogue.Catalogue, p *policy.Policy) []problem {
	servers := map[string]bool{}
	var names []string
	for _, s := range cat.Servers() {
		servers[s.Call], servers[s.Name] = true, true
		names = append(names, s.Call)
	}
	var out []problem
	seen := map[string]bool{}
	for _, ref := range refs {
		known, name := servers[ref.server], ref.server+"."+ref.tool
		if !known && !ref.explicit || seen[name] {
			continue
		}
		seen[name] = true
		found := problem{Severity: "error", Line: ref.line, Column: ref.column}
		tool, ok := cat.Lookup(name)
		switch {
		case !known && !ok:
			found.Message, found.Hint = "unknown server "+ref.server, serverHint(ref.server, names)
		case !ok:
			found.Message, found.Hint = "unknown tool "+name, "list the tools with wexec tools list "+ref.server
			if near := cat.Nearest(name, 1); len(near) > 0 {
				found.Hint = "did you mean " + near[0] + "?"
			}
		default:
			switch p.BestEffect(tool.ID()) {
			case policy.Allow:
				continue
			case policy.Ask:
				found.Severity, found.Message = "warning", tool.ID()+" requires a person's approval"
			default:
				found.Message, found.Hint = "the policy denies "+tool.ID(), "wexec policy explain "+tool.ID()
			}
		}
		out = append(out, found)
	}
	return out
}

// checkArguments returns the problems of the arguments of each call, as far as they
// are literals.
func checkArguments(ctx context.Context, refs []reference, cat *catalogue.Catalogue, table *hostfns.Table) ([]problem, error) {
	var out []problem
	work := checkWork{ctx, maxCheckWork}
	for _, ref := range refs {
		tool, ok := cat.Lookup(ref.server + "." + ref.tool)
		if !ok || ref.arguments == nil {
			continue
		}
		f, err := table.CheckArguments(ctx, tool.ID(), ref.arguments, &work)
		if err != nil {
			return out, err
		}
		if f != nil {
			out = append(out, problem{"error", ref.line, ref.column, tool.ID() + ": " + f.Message, f.Hint})
		}
	}
	return out, nil
}

// maxCheckWork is the work of checking the arguments of a program, in the units of
// package schema. It is a second or two.
const maxCheckWork = 1 << 28

// checkWork bounds the work of all checks of a program.
type checkWork struct {
	ctx  context.Context
	left int
}

// Spend implements schema.Spender.
func (w *checkWork) Spend(units int) error {
	if w.left -= units; w.left < 0 {
		return schema.ErrTooMuch
	}
	return w.ctx.Err()
}

func serverHint(name string, servers []string) string {
	if near := catalogue.NearestOf(name, servers); near != "" {
		return "did you mean tools." + near + "?"
	}
	if len(servers) == 0 {
		return "no server is configured: set --mcp FILE"
	}
	return "the servers are " + strings.Join(servers, ", ")
}
