package cli

import (
	"context"
	"errors"
	"fmt"
	"regexp"
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
// that it names are there and allowed. To be parsed by the interpreter it is
// handed to a sandbox that reaches nothing: no tool, no file, no network, no
// input; whatever it gives is dropped, and it ends after a moment.
func (d *door) checkProgram(ctx *cli.Context, host *config.Host, cache string, req engine.Request) error {
	remarks, err := parsed(ctx.Context, cache, req)
	if err != nil {
		return d.failed(ctx, err)
	}
	if len(remarks) == 0 {
		cat, errs := host.Table.Catalogue(ctx.Context)
		for _, err := range errs {
			d.voice.warn("%s", err)
		}
		remarks = toolRemarks(req.Code, cat, host.Table.Policy())
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
			d.voice.note("%s reads as %s, and nothing is to be said against it", file, req.Language)
		}
	}
	if bad {
		return said(fault.ClassGuest.Exit())
	}
	return nil
}

// parsed has the interpreter read a program.
func parsed(ctx context.Context, cache string, req engine.Request) ([]remark, error) {
	eng, err := engine.New(ctx, engine.Config{Cache: cache, Ready: -1})
	if err != nil {
		return nil, err
	}
	defer func() { _ = eng.Close() }()
	off := false
	_, err = eng.Run(ctx, engine.Request{Language: req.Language, Code: req.Code, File: req.File, Cache: &off, Deterministic: true,
		Input: []byte{}, Limits: engine.Limits{Fuel: 2e9, Time: 5 * time.Second, Memory: req.Limits.Memory}})
	var e *engine.Error
	switch code := fault.CodeOf(err); {
	case err == nil:
		return nil, nil
	case code == fault.GuestSyntax && errors.As(err, &e):
		return []remark{{"error", e.Line, e.Column, e.Error(), e.Hint}}, nil
	case code.Class() == fault.ClassUsage || code.Class() == fault.ClassInternal || code.Class() == fault.ClassCancelled:
		return nil, err
	}
	return nil, nil // it was read, and failed later for want of a world
}

// named finds what looks like the call of a tool.
func named() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:tools\s*\.\s*)?([A-Za-z_]\w*)\s*\.\s*([A-Za-z_]\w*)\s*\(`)
}

// toolRemarks looks at the calls of tools in a program's text. It knows those
// that are written out; a name that the program makes up it cannot see.
func toolRemarks(code string, cat *catalogue.Catalogue, p *policy.Policy) []remark {
	servers := map[string]bool{}
	for _, s := range cat.Servers() {
		servers[s.Call], servers[s.Name] = true, true
	}
	var out []remark
	seen := map[string]bool{}
	for _, m := range named().FindAllStringSubmatchIndex(code, -1) {
		server, name := code[m[2]:m[3]], code[m[4]:m[5]]
		whole := code[m[0]:m[1]]
		explicit := strings.HasPrefix(whole, "tools")
		if !servers[server] && !explicit || server == "aio" || server == "tools" || seen[server+"."+name] {
			continue
		}
		seen[server+"."+name] = true
		r := remark{Line: 1 + strings.Count(code[:m[0]], "\n"), Column: 1 + m[0] - lineStart(code, m[0])}
		tool, ok := cat.Lookup(server + "." + name)
		if !ok {
			r.Severity, r.Message = "error", fmt.Sprintf("there is no tool %s.%s", server, name)
			if near := cat.Nearest(server+"."+name, 1); len(near) > 0 {
				r.Hint = "did you mean " + near[0] + "?"
			}
			out = append(out, r)
			continue
		}
		switch p.Outlook(tool.ID()) {
		case policy.Allow:
		case policy.Ask:
			r.Severity, r.Message = "warning", tool.ID()+" needs a person's approval"
			out = append(out, r)
		default:
			r.Severity, r.Message, r.Hint = "error", "the policy denies "+tool.ID(), "wexec policy explain "+tool.ID()
			out = append(out, r)
		}
	}
	return out
}
