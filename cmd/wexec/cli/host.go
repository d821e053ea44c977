package cli

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/cmd/wexec/internal/terminal"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/policy/lint"
)

// inspect opens a host that records nothing and returns its catalogue, as far as
// servers answer. Their errors are printed.
func (a *app) inspect(ctx context.Context, s *config.Settings, logLevel string) (*config.Host, *catalogue.Catalogue, []error, error) {
	host, err := s.Open(ctx, config.Options{Env: a.Env, Version: a.Version, Logger: terminal.Logger(a.term, logLevel), NoAudit: true})
	if err != nil {
		return nil, nil, nil, err
	}
	cat, errs := host.Table.Catalogue(ctx)
	if ctx.Err() != nil {
		host.Close()
		return nil, nil, nil, context.Cause(ctx)
	}
	for _, err := range errs {
		a.term.Warn("%s", err)
		a.term.Hint(fault.HintOf(err))
	}
	config.SaveToolNames(a.Env, cat)
	return host, cat, errs, nil
}

// tools are the settings, a host that records nothing, and the catalogue.
type tools struct {
	settings *config.Settings
	host     *config.Host
	cat      *catalogue.Catalogue
}

// openTools loads the configuration and connects to the servers. The caller
// closes the host.
func (a *app) openTools(ctx *cli.Context) (tools, error) {
	settings, err := a.settings(ctx)
	if err != nil {
		return tools{}, err
	}
	if err := settings.BrokenServers(); err != nil {
		return tools{}, err
	}
	level := settings.Log
	if level == "warn" {
		level = "error" // inspect prints what servers fail with
	}
	if len(settings.Servers) == 0 {
		a.term.Note("no server is configured: %s", howToAddServers(settings.Project))
	}
	host, cat, errs, err := a.inspect(ctx.Context, settings, level)
	if err != nil {
		return tools{}, err
	}
	if len(errs) == 0 && len(cat.Tools()) > 0 {
		for _, f := range ruleErrors(host.Table.Policy(), cat) {
			a.term.Warn("%s:%d:%d: %s", f.File, f.Line, f.Column, f.Message)
			a.term.Hint(f.Hint)
		}
	}
	return tools{settings, host, cat}, nil
}

// howToAddServers says how a person configures servers. To init again does not
// help where it found none.
func howToAddServers(p config.Project) string {
	switch {
	case p.Dir == "":
		return "set --mcp FILE or run wexec init"
	case !p.Trusted:
		return "set --mcp FILE, or read the project's files and run wexec config trust"
	}
	return "set --mcp FILE, or add  mcp: FILE  to " + filepath.Join(p.Dir, "wexec.yaml") + " and run wexec config trust"
}

// ruleErrors returns the errors of a policy's rules, such as unknown tools.
func ruleErrors(p *policy.Policy, cat *catalogue.Catalogue) []lint.Finding {
	return slices.DeleteFunc(lint.Check(p, cat), func(f lint.Finding) bool { return f.Severity != lint.SeverityError })
}

// decision is what the policy decides about a tool whatever its arguments:
// allow, ask, "changed" for a tool that differs from its pin, or "" for one that
// is denied and not listed.
func (t tools) decision(tool catalogue.Tool) string {
	if _, changed := t.host.Table.Changed(tool); changed {
		return "changed"
	}
	switch t.host.Table.Policy().BestEffect(tool.ID()) {
	case policy.Allow:
		return "allow"
	case policy.Ask:
		return "ask"
	}
	return ""
}

// listed returns the catalogue of tools that are not denied.
func (t tools) listed() *catalogue.Catalogue {
	return t.cat.Keep(func(tool catalogue.Tool) bool { return t.decision(tool) != "" })
}

// noteEmpty explains why the tools of a server, or of all servers, are not
// listed.
func (a *app) noteEmpty(t tools, server string) {
	all := t.cat.Tools()
	if s, ok := t.cat.Server(server); ok && server != "" {
		all = t.cat.ServerTools(s)
	}
	switch count := terminal.Count(len(all), "tool"); {
	case len(t.host.Upstream.Servers()) == 0: // openTools has printed a note
	case len(all) == 0:
		a.term.Note("no server offers tools: wexec doctor shows the state of each")
	case t.host.Table.Policy() == nil:
		a.term.Note("there is no policy, so all %s are denied: run wexec init to write one, or set --allow-tool '%s.*'", count, all[0].Server)
	default:
		a.term.Note("the policy denies all of %s: wexec policy explain %s shows why", count, all[0].ID())
	}
}

func unknownTool(cat *catalogue.Catalogue, name string) error {
	err := fault.New(fault.ToolUnknown, "unknown tool %q", terminal.Clip(name, 128))
	if near := cat.Nearest(name, 3); len(near) > 0 {
		return err.WithHint("did you mean %s?", strings.Join(near, " or "))
	}
	return err.WithHint("find tools with wexec tools search WORDS")
}
