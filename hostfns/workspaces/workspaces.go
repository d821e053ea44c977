// Package workspaces gives a run a workspace: the folder /workspace, and the functions
// search_files, search_content and submit_result of programs.
package workspaces

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/workspace"
)

// Provider is a workspace for one run. It implements [hostfns.Workspace].
type Provider struct{ w *workspace.Workspace }

// New returns the provider of an open workspace, which the caller closes.
func New(w *workspace.Workspace) *Provider { return &Provider{w} }

// ID returns the id of the workspace.
func (p *Provider) ID() string { return p.w.Info().ID }

// Servers returns nothing: the provider has no tools.
func (*Provider) Servers() []string { return nil }

// Tools returns nothing.
func (*Provider) Tools(context.Context, string) ([]catalogue.Tool, error) { return nil, nil }

// Watch does nothing: there are no changes.
func (*Provider) Watch(func(string)) func() { return func() {} }

// Close does nothing.
func (*Provider) Close() error { return nil }

// PreludeCalls returns the calls that the provider answers.
func (*Provider) PreludeCalls() []string { return hostfns.WorkspaceCalls }

// Writes reports whether a call submits the result; the others search.
func (*Provider) Writes(call string, _ map[string]any) bool { return call == "wexec:submit_result" }

// Files implements [hostfns.Workspace].
func (p *Provider) Files(gate hostfns.Gate) sys.FS { return files.NewLayer(p.w, gate) }

// Used implements [hostfns.Workspace].
func (p *Provider) Used(run string) (id string, changed int, err error) {
	changed, err = p.w.Used(run)
	return p.w.Info().ID, changed, err
}

// Call answers a call of the prelude.
func (p *Provider) Call(ctx context.Context, call hostfns.Call) (hostfns.Answer, error) {
	s := &search{ctx: ctx, call: call, w: p.w, layer: files.NewLayer(p.w, call.Gate)}
	switch call.Server {
	case "wexec:search_files":
		return answer(call, s.files)
	case "wexec:search_content":
		return answer(call, s.content)
	case "wexec:submit_result":
		if err := call.Gate.Count(p.w.Size()); err != nil { // which is compared with the folder
			return hostfns.Answer{}, err
		}
		return answer(call, func(in submission) (submitted, error) { return p.submit(ctx, in) })
	}
	return hostfns.Answer{}, fault.New(fault.ToolUnknown, "there is no call %s", call.Server)
}

// answer decodes the arguments of a call and encodes its answer.
func answer[In, Out any](call hostfns.Call, do func(In) (Out, error)) (hostfns.Answer, error) {
	var in In
	name := strings.TrimPrefix(call.Server, "wexec:")
	if err := json.Unmarshal(call.Args, &in); err != nil {
		return hostfns.Answer{}, fault.New(fault.ToolInvalidArgs, "%s: decode the arguments: %w", name, err)
	}
	out, err := do(in)
	if err != nil {
		if fault.CodeOf(err) != "" {
			return hostfns.Answer{}, err
		}
		return hostfns.Answer{}, fmt.Errorf("%s: %w", name, err)
	}
	data, err := json.Marshal(out)
	if err != nil {
		return hostfns.Answer{}, fmt.Errorf("%s: encode the answer: %w", name, err)
	}
	return hostfns.Answer{Kind: hostfns.JSON, Data: data, Checked: true}, nil
}

// maxClaimed bounds the paths that a program says it changed.
const maxClaimed = 10_000

type submission struct {
	Summary string   `json:"summary"`
	Changed []string `json:"changed"`
}

// submitted has the paths that really changed.
type submitted struct {
	Workspace string   `json:"workspace"`
	Changed   int      `json:"changed"`
	Missing   []string `json:"missing,omitempty"` // that the program said, and that did not change
}

// submit notes what a program says it did, for the person who accepts it. It tells the
// program which of the paths that it names did not change.
func (p *Provider) submit(ctx context.Context, in submission) (submitted, error) {
	if len(in.Changed) > maxClaimed {
		return submitted{}, fault.New(fault.ToolInvalidArgs, "submit_result: changed has more than %d paths", maxClaimed)
	}
	changes, err := p.w.Changes(ctx)
	if err != nil {
		return submitted{}, err
	}
	changed := map[string]bool{}
	for _, c := range changes {
		changed[c.Path], changed[c.From] = true, true
	}
	out := submitted{Workspace: p.w.Info().ID, Changed: len(changes)}
	for _, name := range in.Changed {
		if !changed[relative(name)] {
			out.Missing = append(out.Missing, name)
		}
	}
	if err := p.w.Submit(in.Summary); err != nil {
		return submitted{}, fault.New(fault.ToolInvalidArgs, "submit_result: %w", err)
	}
	return out, nil
}

const root = "/workspace"

// relative returns the path in the workspace of one as a program writes it.
func relative(name string) string {
	return strings.TrimPrefix(strings.TrimPrefix(strings.TrimPrefix(name, root+"/"), "./"), "/")
}
