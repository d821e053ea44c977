package cli

import (
	"context"
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

// remark is one thing that a check has to say.
type remark struct {
	Severity string `json:"severity"` // error or warning
	Line     int    `json:"line,omitempty"`
	Column   int    `json:"column,omitempty"`
	Message  string `json:"message"`
	Hint     string `json:"hint,omitempty"`
}

// checkProgram finds out whether a program can be read, and whether the tools
// that it names are there and allowed. Nothing of it is run: an interpreter in
// a sandbox that reaches nothing compiles it, no more.
func (d *door) checkProgram(ctx *cli.Context, host *config.Host, cache string, req engine.Request) error {
	remarks, names, err := readOnly(ctx.Context, cache, req)
	if err != nil {
		return d.failed(ctx, err)
	}
	if len(remarks) == 0 {
		cat, errs := host.Table.Catalogue(ctx.Context)
		for _, err := range errs {
			d.voice.warn("%s", err)
		}
		remarks = toolRemarks(names, cat, host.Table.Policy())
	}
	bad := slices.ContainsFunc(remarks, func(r remark) bool { return r.Severity == "error" })
	if ctx.Bool("json") || ctx.Bool("jsonl") {
		if remarks == nil {
			remarks = []remark{}
		}
		if err := d.printJSON(map[string]any{"language": req.Language, "ok": !bad, "findings": remarks}); err != nil {
			return err
		}
	} else {
		file := req.File
		if file == "" {
			file = "program"
		}
		for _, r := range remarks {
			d.voice.say("%s:%d:%d: %s: %s", file, r.Line, r.Column, r.Severity, r.Message)
			d.voice.hint(r.Hint)
		}
		if len(remarks) == 0 {
			d.voice.note("%s: %s, no fault found", file, req.Language)
		}
	}
	if bad {
		return said(fault.ClassGuest.Exit())
	}
	return nil
}

// readOnly has the interpreter read a program, and gives what is wrong with it,
// or the tools that it names.
func readOnly(ctx context.Context, cache string, req engine.Request) ([]remark, []mention, error) {
	eng, err := engine.New(ctx, engine.Config{Cache: cache, Ready: -1})
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = eng.Close() }()
	off := false
	res, err := eng.Run(ctx, engine.Request{Language: req.Language, Code: req.Code, File: req.File, Check: true, Cache: &off, Deterministic: true,
		Input: []byte{}, Limits: engine.Limits{Fuel: 2e9, Time: 5 * time.Second, Memory: req.Limits.Memory}})
	var e *engine.Error
	switch code := fault.CodeOf(err); {
	case code == fault.GuestSyntax && errors.As(err, &e):
		return []remark{{"error", e.Line, e.Column, e.Error(), e.Hint}}, nil, nil
	case err != nil && (code.Class() != fault.ClassGuest || req.Language == engine.Python):
		return nil, nil, err
	}
	if req.Language == engine.Python {
		return nil, mentionsOf(res.Value), nil
	}
	return nil, mentions(req.Code), nil
}

// toolRemarks looks at the tools that a program names. Those whose names it
// makes up while it runs nobody can see before.
func toolRemarks(names []mention, cat *catalogue.Catalogue, p *policy.Policy) []remark {
	servers := map[string]bool{}
	var calls []string
	for _, s := range cat.Servers() {
		servers[s.Call], servers[s.Name] = true, true
		calls = append(calls, s.Call)
	}
	var out []remark
	seen := map[string]bool{}
	for _, m := range names {
		known, name := servers[m.server], m.server+"."+m.tool
		if !known && !m.sure || seen[name] {
			continue
		}
		seen[name] = true
		if r, ok := toolRemark(m, known, calls, cat, p); ok {
			out = append(out, r)
		}
	}
	return out
}

// toolRemark is what there is to say of one name.
func toolRemark(m mention, known bool, servers []string, cat *catalogue.Catalogue, p *policy.Policy) (remark, bool) {
	name := m.server + "." + m.tool
	r := remark{Severity: "error", Line: m.line, Column: m.column}
	tool, ok := cat.Lookup(name)
	switch {
	case !known && !ok:
		r.Message = "there is no server " + m.server
		switch near := catalogue.NearestOf(m.server, servers); {
		case near != "":
			r.Hint = "did you mean tools." + near + "?"
		case len(servers) == 0:
			r.Hint = "no servers are configured: name a file with them, --mcp FILE"
		default:
			r.Hint = "the servers are " + strings.Join(servers, ", ")
		}
		return r, true
	case !ok:
		r.Message, r.Hint = "there is no tool "+name, "wexec tools list "+m.server
		if near := cat.Nearest(name, 1); len(near) > 0 {
			r.Hint = "did you mean " + near[0] + "?"
		}
		return r, true
	}
	switch p.BestEffect(tool.ID()) {
	case policy.Allow:
		return r, false
	case policy.Ask:
		r.Severity, r.Message = "warning", tool.ID()+" needs a person's approval"
	default:
		r.Message, r.Hint = "the policy denies "+tool.ID(), "wexec policy explain "+tool.ID()
	}
	return r, true
}
