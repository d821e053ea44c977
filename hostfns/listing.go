package hostfns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/toolmeta"
	"github.com/wexec/wexec/hostfns/schema"
)

// listing is the tools of one server, asked for once and kept until the server
// reports a change.
type listing struct {
	done  chan struct{}
	at    time.Time // of the end
	err   error
	tools []*resolvedTool
	cat   *catalogue.Catalogue

	digestOnce sync.Once
	digestSum  string
}

// resolvedTool is a tool with its provider and compiled schemas.
type resolvedTool struct {
	catalogue.Tool
	provider Provider
	id       string
	listing  *listing

	definitionOnce sync.Once
	definitionSum  string
	warnOnce       sync.Once // that a pin no longer matches

	compileOnce   sync.Once
	input, output *schema.Schema
	warnings      []string
}

// compile compiles the schemas of the tool.
func (t *resolvedTool) compile() {
	t.compileOnce.Do(func() {
		var err error
		if t.input, err = schema.Compile(t.InputSchema); err != nil {
			t.warnings = append(t.warnings, "arguments are not checked: "+clean(err.Error(), 300))
		}
		for _, w := range t.input.Warnings() {
			t.warnings = append(t.warnings, clean(w, 300))
		}
		if t.output, err = schema.Compile(t.OutputSchema); err != nil {
			t.warnings = append(t.warnings, "answers are not checked: "+clean(err.Error(), 300))
		}
	})
}

func (t *resolvedTool) schema() *schema.Schema {
	t.compile()
	return t.input
}

// definition returns the digest of the definition of the tool.
func (t *resolvedTool) definition() string {
	t.definitionOnce.Do(func() { t.definitionSum = t.DefinitionSHA256() })
	return t.definitionSum
}

// writes reports whether the tool may change something: its server does not say
// otherwise.
func (t *resolvedTool) writes() bool {
	readOnly := t.Annotations.ReadOnly
	return readOnly == nil || !*readOnly
}

func (l *listing) ready() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// digest returns the digest of a listing that is ready.
func (l *listing) digest() string {
	l.digestOnce.Do(func() { l.digestSum = l.cat.Digest() })
	return l.digestSum
}

// find returns a tool by its original name, or nil.
func (l *listing) find(name string) *resolvedTool {
	for _, t := range l.tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// changed forgets the tools of a server.
func (t *Table) changed(server string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stale[server] = true
	delete(t.listings, server)
	clear(t.resolved)
	t.catalogue = nil
	t.changes.Add(1)
}

// retryListing is how long the error of a listing is kept.
const retryListing = 2 * time.Second

// list returns the tools of a server, asking for them once for all callers. A
// caller that gives up does not end the listing.
func (t *Table) list(ctx context.Context, server string) (*listing, error) {
	t.mu.Lock()
	l := t.listings[server]
	if l == nil || (l.ready() && l.err != nil && time.Since(l.at) > retryListing) {
		l = &listing{done: make(chan struct{})}
		t.listings[server] = l
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(t.options.Listing, time.Minute))
		go func() {
			defer cancel()
			t.fill(asking, l, server)
		}()
	}
	t.mu.Unlock()
	select {
	case <-l.done:
		if l.err != nil {
			return nil, l.err
		}
		return l, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// fill asks the providers of a server for its tools.
func (t *Table) fill(ctx context.Context, l *listing, server string) {
	for _, p := range t.servers[server] {
		tools, err := t.ask(ctx, p, server)
		if err != nil {
			l.err = err
		}
		if refused := l.add(server, p, tools); len(refused) > 0 {
			t.log().Warn("tools are left out", "server", server, "count", len(refused), "first", refused[0])
		}
	}
	if len(l.tools) > 0 {
		l.err = nil
	}
	tools := make([]catalogue.Tool, len(l.tools))
	for i, one := range l.tools {
		tools[i] = one.Tool
	}
	l.cat = catalogue.New(tools)
	l.at = time.Now()
	close(l.done)
}

// ask asks a provider for tools, and returns when the context ends whatever the
// provider does.
func (t *Table) ask(ctx context.Context, p Provider, server string) ([]catalogue.Tool, error) {
	type result struct {
		tools []catalogue.Tool
		err   error
	}
	got := make(chan result, 1)
	go func() {
		var r result
		defer func() {
			if p := recover(); p != nil {
				t.log().Error("panic while tools were listed", "server", server, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
				r = result{err: fault.New(fault.UpstreamUnavailable, "list the tools of %s: the provider panicked", server)}
			}
			got <- r
		}()
		r.tools, r.err = p.Tools(ctx, server)
	}()
	select {
	case r := <-got:
		var known *fault.Error
		if r.err != nil && !errors.As(r.err, &known) {
			r.err = fault.New(fault.UpstreamUnavailable, "list the tools of %s: %w", server, r.err)
		}
		return r.tools, r.err
	case <-ctx.Done():
		return nil, fault.New(fault.UpstreamUnavailable, "list the tools of %s: the server did not answer in time", server)
	}
}

// maxTools is the number of tools that one server may list.
const maxTools = 20_000

// add adds the tools of a provider, cleaned. It returns why tools are refused. A
// tool of another server, or with a name that is taken, is left out.
func (l *listing) add(server string, p Provider, tools []catalogue.Tool) (refused []error) {
	names := map[string]bool{}
	for _, t := range l.tools {
		names[t.Name] = true
	}
	for _, tool := range tools {
		if len(l.tools) >= maxTools {
			break
		}
		if (tool.Server != "" && tool.Server != server) || names[tool.Name] {
			continue
		}
		tool, err := toolmeta.Clean(tool)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		tool.Server = server
		names[tool.Name] = true
		l.tools = append(l.tools, &resolvedTool{Tool: tool, provider: p, id: tool.ID(), listing: l})
	}
	return refused
}

// resolve finds a tool by any spelling of its name. It starts only the servers
// that the name may mean.
func (t *Table) resolve(ctx context.Context, name string) (*resolvedTool, error) {
	const maxResolved = 10_000
	t.mu.Lock()
	tool := t.resolved[name]
	t.mu.Unlock()
	if tool != nil {
		return tool, nil
	}
	tool, err := t.lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.resolved) < maxResolved && t.listings[tool.Server] == tool.listing {
		t.resolved[strings.Clone(name)] = tool
	}
	return tool, nil
}

func (t *Table) lookup(ctx context.Context, name string) (*resolvedTool, error) {
	var failed error
	for _, split := range splits(name) {
		server, ok := t.spellings.Server(split.server)
		if !ok {
			continue
		}
		l, err := t.list(ctx, server)
		if err != nil {
			failed = err
			continue
		}
		if tool := l.find(split.tool); tool != nil {
			return tool, nil
		}
		if meant, ok := l.cat.Lookup(catalogue.Identifier(server) + "." + split.tool); ok {
			if tool := l.find(meant.Name); tool != nil {
				return tool, nil
			}
		}
	}
	if failed != nil {
		return nil, failed
	}
	return nil, t.unknown(name)
}

type split struct{ server, tool string }

// splits returns the ways to split a name into server and tool: names of servers
// may have dots.
func splits(name string) []split {
	const most = 16
	name = strings.TrimPrefix(name, "tools.")
	var out []split
	for i := range len(name) {
		if name[i] == '.' && i > 0 && i+1 < len(name) {
			out = append(out, split{name[:i], name[i+1:]})
		}
	}
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		for i := 1; i+2 < len(rest); i++ {
			if rest[i:i+2] == "__" {
				out = append(out, split{rest[:i], rest[i+2:]})
			}
		}
	}
	return out[:min(most, len(out))]
}

// unknown returns the error for a name that no tool has, with a suggestion from
// what is listed already.
func (t *Table) unknown(name string) *Failure {
	f := &Failure{Code: fault.ToolUnknown, Tool: clean(name, 200), Message: "there is no tool " + clean(name, 200)}
	known, _ := t.Known()
	if near := known.Nearest(name, 3); len(near) > 0 {
		f.Hint = "did you mean " + strings.Join(near, ", ") + "?"
		return f
	}
	server, _, _ := strings.Cut(name, ".")
	switch near := catalogue.NearestOf(server, t.identifiers); {
	case near != "" && near != server:
		f.Hint = "did you mean the server " + near + "?"
	case len(t.names) == 0:
		f.Hint = "no servers are configured: a file with mcpServers names some"
	default:
		f.Hint = "search_tools finds tools by words; the servers are " + strings.Join(firstOf(t.identifiers, 20), ", ")
	}
	return f
}

// firstOf returns at most n strings, and an ellipsis if there are more.
func firstOf(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(list[:n:n], "…")
}
