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
	"github.com/wexec/wexec/hostfns/schema"
)

// listing is the tools of one server, asked for once and kept until the server
// says that they changed.
type listing struct {
	done    chan struct{}
	at      time.Time // when it failed
	err     error
	entries []*entry
	cat     *catalogue.Catalogue

	summed sync.Once
	sum    string // of cat
}

// entry is one tool and where it is called.
type entry struct {
	tool     catalogue.Tool
	provider Provider
	id       string
	listing  *listing

	defined sync.Once
	sum     string    // of the tool's definition
	warned  sync.Once // that it is not the pinned one

	once   sync.Once
	input  *schema.Schema
	output *schema.Schema
	warn   []string
}

// maxTools bounds what one server may list.
const maxTools = 20_000

// changed forgets what is known of a server.
func (t *Table) changed(server string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stale[server] = true
	delete(t.listings, server)
	clear(t.resolved)
	t.whole = nil
	t.changes.Add(1)
}

func (l *listing) ready() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// list asks a server for its tools, once for all who want to know. One caller
// that gives up does not take the listing from the others.
func (t *Table) list(ctx context.Context, server string) (*listing, error) {
	t.mu.Lock()
	l := t.listings[server]
	if l == nil || (l.ready() && l.err != nil && time.Since(l.at) > 2*time.Second) {
		l = &listing{done: make(chan struct{})}
		t.listings[server] = l
		limit := cmp.Or(t.options.Listing, time.Minute)
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
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

// fill asks the providers of a server, bounded in time whatever they do.
func (t *Table) fill(ctx context.Context, l *listing, server string) {
	type result struct {
		tools []catalogue.Tool
		err   error
	}
	for _, p := range t.servers[server] {
		got := make(chan result, 1)
		go func() {
			var r result
			defer func() {
				if p := recover(); p != nil {
					t.log().Error("panic while tools were listed", "server", server, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
					r = result{err: fault.New(fault.UpstreamUnavailable, "the provider of %s failed while it listed its tools", server)}
				}
				got <- r
			}()
			r.tools, r.err = p.Tools(ctx, server)
		}()
		select {
		case r := <-got:
			if r.err != nil {
				l.err = unavailable(server, r.err)
			}
			if refused := l.take(server, p, r.tools); len(refused) > 0 {
				t.log().Warn("tools are left out", "server", server, "count", len(refused), "first", refused[0])
			}
		case <-ctx.Done():
			l.err = fault.New(fault.UpstreamUnavailable, "server %s did not list its tools in time", server)
		}
	}
	if len(l.entries) > 0 {
		l.err = nil
	}
	tools := make([]catalogue.Tool, len(l.entries))
	for i, e := range l.entries {
		tools[i] = e.tool
	}
	l.cat = catalogue.New(tools)
	l.at = time.Now()
	close(l.done)
}

// unavailable keeps the code of a listing's error where it says more.
func unavailable(server string, err error) error {
	var e *fault.Error
	if errors.As(err, &e) {
		return err
	}
	return fault.New(fault.UpstreamUnavailable, "server %s cannot list its tools: %w", server, err)
}

// take adds the tools of one provider, cleaned. A tool that stands under another
// server's name, or stands twice, is left out, and so is one that is refused.
func (l *listing) take(server string, p Provider, tools []catalogue.Tool) (refused []error) {
	have := map[string]bool{}
	for _, e := range l.entries {
		have[e.tool.Name] = true
	}
	for _, tool := range tools {
		if len(l.entries) >= maxTools {
			return refused
		}
		if (tool.Server != "" && tool.Server != server) || have[tool.Name] {
			continue
		}
		tool, err := CleanTool(tool)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		tool.Server = server
		have[tool.Name] = true
		l.entries = append(l.entries, &entry{tool: tool, provider: p, id: tool.ID(), listing: l})
	}
	return refused
}

// find is the entry of a tool of a listing.
func (l *listing) find(name string) *entry {
	for _, e := range l.entries {
		if e.tool.Name == name {
			return e
		}
	}
	return nil
}

// compile reads the tool's schemas, once.
func (e *entry) compile() {
	e.once.Do(func() {
		var err error
		if e.input, err = schema.Compile(e.tool.InputSchema); err != nil {
			e.warn = append(e.warn, "arguments are not checked: "+clean(err.Error(), 300))
		}
		for _, w := range e.input.Warnings() {
			e.warn = append(e.warn, clean(w, 300))
		}
		if e.output, err = schema.Compile(e.tool.OutputSchema); err != nil {
			e.warn = append(e.warn, "answers are not checked: "+clean(err.Error(), 300))
		}
	})
}

func (e *entry) schema() *schema.Schema {
	e.compile()
	return e.input
}

func (e *entry) warnings() []string {
	e.compile()
	return e.warn
}

// resolve finds a tool by any spelling. It starts no server but the one that
// is named; where that is unclear, all.
func (t *Table) resolve(ctx context.Context, name string) (*entry, error) {
	t.mu.Lock()
	e := t.resolved[name]
	t.mu.Unlock()
	if e != nil {
		return e, nil
	}
	e, err := t.lookup(ctx, name)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.resolved) < 10_000 && t.listings[e.tool.Server] == e.listing {
		t.resolved[strings.Clone(name)] = e
	}
	return e, nil
}

func (t *Table) lookup(ctx context.Context, name string) (*entry, error) {
	var failed error
	for _, split := range splits(name) {
		server, ok := t.spelled.Server(split.server)
		if !ok {
			continue
		}
		l, err := t.list(ctx, server)
		if err != nil {
			failed = err
			continue
		}
		if e := l.find(split.tool); e != nil {
			return e, nil
		}
		if tool, ok := l.cat.Lookup(catalogue.Identifier(server) + "." + split.tool); ok {
			if e := l.find(tool.Name); e != nil {
				return e, nil
			}
		}
	}
	if failed != nil {
		return nil, failed
	}
	return nil, t.unknown(name)
}

// unknown says that there is no such tool, and what may have been meant, by
// what is known already.
func (t *Table) unknown(name string) *Failure {
	f := &Failure{Code: fault.ToolUnknown, Tool: clean(name, 200), Message: fmt.Sprintf("there is no tool %s", clean(name, 200))}
	known, _ := t.Known()
	near := known.Nearest(name, 3)
	if len(near) > 0 {
		f.Hint = "did you mean " + strings.Join(near, ", ") + "?"
		return f
	}
	server, _, _ := strings.Cut(name, ".")
	if s := catalogue.NearestOf(server, t.Identifiers()); s != "" && s != server {
		f.Hint = "did you mean the server " + s + "?"
	} else if len(t.names) == 0 {
		f.Hint = "no servers are configured: a file with mcpServers names some"
	} else {
		f.Hint = "search_tools finds tools by words; the servers are " + strings.Join(firstOf(t.Identifiers(), 20), ", ")
	}
	return f
}

type split struct{ server, tool string }

// splits lists the ways to take a name for a server and a tool: the servers of
// some names have dots.
func splits(name string) []split {
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
	if len(out) > 16 {
		out = out[:16]
	}
	return out
}
