package cli

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
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
// it refers to exist and are allowed.
func (a *app) checkProgram(ctx *cli.Context, host *config.Host, cache string, req engine.Request) error {
	problems, refs, err := compile(ctx.Context, cache, req)
	if err != nil {
		return a.failed(ctx, err)
	}
	if len(problems) == 0 {
		cat, errs := host.Table.Catalogue(ctx.Context)
		for _, err := range errs {
			a.term.Warn("%s", err)
		}
		problems = checkReferences(refs, cat, host.Table.Policy())
	}
	failed := slices.ContainsFunc(problems, func(p problem) bool { return p.Severity == "error" })
	if ctx.Bool("json") || ctx.Bool("jsonl") {
		if problems == nil {
			problems = []problem{}
		}
		if err := a.printJSON(map[string]any{"language": req.Language, "ok": !failed, "findings": problems}); err != nil {
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
		if len(problems) == 0 {
			a.term.Note("%s: %s, no problems found (arguments and types are not checked)", file, req.Language)
		}
	}
	if failed {
		return exitStatus(fault.ClassGuest.Exit())
	}
	return nil
}

// compile returns the syntax error of a program, or the tools it refers to.
func compile(ctx context.Context, cache string, req engine.Request) ([]problem, []reference, error) {
	eng, err := engine.New(ctx, engine.Config{Cache: cache, Ready: -1})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = eng.Close() }()
	off := false
	res, err := eng.Run(ctx, engine.Request{Language: req.Language, Code: req.Code, File: req.File, Check: true, Cache: &off, Deterministic: true,
		Input: []byte{}, Limits: engine.Limits{Fuel: 2e9, Time: 5 * time.Second, Memory: req.Limits.Memory}})
	var e *engine.Error
	if fault.CodeOf(err) == fault.GuestSyntax && errors.As(err, &e) {
		return []problem{{"error", e.Line, e.Column, e.Error(), e.Hint}}, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	return nil, parseReferences(res.Value), nil
}

// reference is a use of a tool in a program. It is explicit if it is written
// under tools; otherwise the name may be the program's.
type reference struct {
	server, tool string
	line, column int
	explicit     bool
}

// parseReferences reads what the guest reports, which is not trusted.
func parseReferences(value json.RawMessage) []reference {
	var rows [][5]any
	if json.Unmarshal(value, &rows) != nil {
		return nil
	}
	var out []reference
	for _, row := range rows {
		server, _ := row[0].(string)
		tool, _ := row[1].(string)
		line, _ := row[2].(float64)
		column, _ := row[3].(float64)
		explicit, _ := row[4].(bool)
		if server != "" && tool != "" {
			out = append(out, reference{server, tool, int(line), int(column), explicit})
		}
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

func serverHint(name string, servers []string) string {
	if near := catalogue.NearestOf(name, servers); near != "" {
		return "did you mean tools." + near + "?"
	}
	if len(servers) == 0 {
		return "no server is configured: set --mcp FILE"
	}
	return "the servers are " + strings.Join(servers, ", ")
}
