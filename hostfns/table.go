package hostfns

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/schema"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// Table is what one tenant may reach: its policy, its audit sink and its
// providers. It is safe for concurrent use.
type Table struct {
	policy  *policy.Policy
	sink    audit.Sink
	options Options
	names   []string              // of servers, sorted
	servers map[string][]Provider // by name
	own     map[string]Provider   // the prelude's calls that providers answer: "wexec:fetch"
	all     []Provider
	stops   []func()
	rates   rates

	recording *audit.Recording // what a replay answers from; nil: the providers

	detecting  sync.Once // the detector is made by the first run that needs it
	detector   *privacy.Detector
	noDetector error

	mu       sync.Mutex
	listings map[string]*listing
	resolved map[string]*entry // spelling to tool, while no listing changes
	whole    *catalogue.Catalogue
	spelled  *catalogue.Catalogue // one nameless tool for each server: the spellings of servers
	closed   bool
}

// Options of a table. The zero value asks nobody, has no secrets and logs
// nothing.
type Options struct {
	// Secrets gives the value that a policy's secret comes from, such as
	// "env:TOKEN" or "file:~/.config/key". Nil: there are none.
	Secrets func(ctx context.Context, from string) (string, error)
	// Asker is asked where a run brings no asker of its own.
	Asker Asker
	// Logger is told what goes wrong without failing a call.
	Logger *slog.Logger
	// Listing bounds how long a server may take to list its tools; zero is a
	// minute.
	Listing time.Duration
}

// listing is the tools of one server, asked for once and kept until the server
// says that they changed.
type listing struct {
	done    chan struct{}
	at      time.Time // when it failed
	err     error
	entries []*entry
	cat     *catalogue.Catalogue
}

// entry is one tool and where it is called.
type entry struct {
	tool     catalogue.Tool
	provider Provider
	id       string
	listing  *listing

	once   sync.Once
	input  *schema.Schema
	output *schema.Schema
	warn   []string
}

// maxTools bounds what one server may list.
const maxTools = 20_000

// NewTable makes a table. A nil policy denies everything; a nil sink is a
// fault, since nothing may be done without a record: a host that wants none
// passes audit.None. Of two providers with a tool of the same server and name
// the first is called.
func NewTable(p *policy.Policy, sink audit.Sink, providers ...Provider) (*Table, error) {
	if sink == nil {
		return nil, fault.New(fault.UsageConfig, "a table needs an audit sink").WithHint("audit.None() keeps no records")
	}
	t := &Table{
		policy: p, sink: sink, all: providers,
		servers: map[string][]Provider{}, own: map[string]Provider{},
		listings: map[string]*listing{}, resolved: map[string]*entry{},
	}
	var faults []error
	for i, pr := range providers {
		if pr == nil {
			faults = append(faults, fmt.Errorf("provider %d is nil", i))
			continue
		}
		for _, name := range pr.Servers() {
			switch {
			case name == "":
				faults = append(faults, fmt.Errorf("provider %d has a server without a name", i))
			case strings.HasPrefix(name, ownPrefix) && t.own[name] != nil:
				faults = append(faults, fmt.Errorf("two providers answer %s", name))
			case strings.HasPrefix(name, ownPrefix):
				t.own[name] = pr
			default:
				if t.servers[name] == nil {
					t.names = append(t.names, name)
				}
				t.servers[name] = append(t.servers[name], pr)
			}
		}
	}
	if len(faults) > 0 {
		return nil, fault.New(fault.UsageConfig, "%w", errors.Join(faults...)).WithOp("make a table")
	}
	slices.Sort(t.names)
	probe := make([]catalogue.Tool, len(t.names))
	for i, n := range t.names {
		probe[i] = catalogue.Tool{Server: n, Name: "_"}
	}
	t.spelled = catalogue.New(probe)
	for _, pr := range providers {
		t.stops = append(t.stops, pr.Watch(t.changed))
	}
	return t, nil
}

// With sets the options of a table, before its first run, and returns it.
func (t *Table) With(o Options) *Table {
	t.options = o
	return t
}

// Policy is the table's policy; nil denies everything.
func (t *Table) Policy() *policy.Policy { return t.policy }

// Sink is where the table's records go.
func (t *Table) Sink() audit.Sink { return t.sink }

// Servers names the servers, sorted, without starting any.
func (t *Table) Servers() []string { return slices.Clone(t.names) }

// Identifiers gives the names under which code reaches the servers, sorted,
// without starting any.
func (t *Table) Identifiers() []string {
	out := make([]string, 0, len(t.names))
	for _, s := range t.spelled.Servers() {
		out = append(out, s.Call)
	}
	slices.Sort(out)
	return out
}

// Catalogue lists the tools of every server, starting those that are not
// running. A server that fails is missing from it and among the errors.
func (t *Table) Catalogue(ctx context.Context) (*catalogue.Catalogue, []error) {
	lists := make([]*listing, len(t.names))
	errs := make([]error, len(t.names))
	var wg sync.WaitGroup
	for i, name := range t.names {
		wg.Add(1)
		go func() {
			defer wg.Done()
			lists[i], errs[i] = t.list(ctx, name)
		}()
	}
	wg.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })

	t.mu.Lock()
	defer t.mu.Unlock()
	if t.whole != nil && len(errs) == 0 {
		return t.whole, nil
	}
	var tools []catalogue.Tool
	for _, l := range lists {
		if l == nil {
			continue
		}
		for _, e := range l.entries {
			tool := e.tool
			if warn := e.warnings(); tool.Warning == "" && len(warn) > 0 {
				tool.Warning = strings.Join(warn, "; ")
			}
			tools = append(tools, tool)
		}
	}
	c := catalogue.New(tools)
	if len(errs) == 0 {
		t.whole = c
	}
	return c, errs
}

// Known is the catalogue as far as it was listed before, and whether that is
// all of it. It starts nothing.
func (t *Table) Known() (*catalogue.Catalogue, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.whole != nil {
		return t.whole, true
	}
	var tools []catalogue.Tool
	complete := true
	for _, name := range t.names {
		l := t.listings[name]
		if l == nil || !l.ready() || l.err != nil {
			complete = false
			continue
		}
		for _, e := range l.entries {
			tools = append(tools, e.tool)
		}
	}
	return catalogue.New(tools), complete
}

// Digest is the digest of the whole catalogue where every server has listed
// its tools, else "".
func (t *Table) Digest() string {
	t.mu.Lock()
	whole := t.whole
	t.mu.Unlock()
	if whole == nil {
		if len(t.names) > 0 {
			return ""
		}
		whole = catalogue.New(nil)
	}
	return whole.Digest()
}

// Close ends every provider.
func (t *Table) Close() error {
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil
	}
	t.closed = true
	t.mu.Unlock()
	for _, stop := range t.stops {
		if stop != nil {
			stop()
		}
	}
	var errs []error
	for _, p := range t.all {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// changed forgets what is known of a server.
func (t *Table) changed(server string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.listings, server)
	clear(t.resolved)
	t.whole = nil
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
			l.take(server, p, r.tools)
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

// take adds the tools of one provider. A tool that stands under another
// server's name, has none, or stands twice is left out.
func (l *listing) take(server string, p Provider, tools []catalogue.Tool) {
	have := map[string]bool{}
	for _, e := range l.entries {
		have[e.tool.Name] = true
	}
	for _, tool := range tools {
		if len(l.entries) >= maxTools {
			return
		}
		if (tool.Server != "" && tool.Server != server) || tool.Name == "" || len(tool.Name) > 256 || have[tool.Name] {
			continue
		}
		tool.Server = server
		have[tool.Name] = true
		l.entries = append(l.entries, &entry{tool: tool, provider: p, id: tool.ID(), listing: l})
	}
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
		f.Hint = "no servers are configured"
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

func firstOf(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(slices.Clone(list[:n]), "…")
}

func (t *Table) log() *slog.Logger {
	if t.options.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return t.options.Logger
}
