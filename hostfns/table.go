package hostfns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
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

	viewing  sync.Mutex
	view     *catalogue.Catalogue // viewOf without what the policy denies outright
	viewOf   *catalogue.Catalogue
	viewPins *Pins
	digest   string // of digestOf
	digestOf *catalogue.Catalogue
	digestBy *Pins
	reviewed string // the digest of the catalogue that the policy was held against

	reviewing sync.WaitGroup
	recording *recording // what a replay answers from; nil: the providers

	detecting  sync.Once // the detector is made by the first run that needs it
	detector   *privacy.Detector
	noDetector error

	mu       sync.Mutex
	listings map[string]*listing
	stale    map[string]bool   // servers whose tools have changed at least once
	changes  atomic.Uint64     // how often a server has said that its tools changed
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
	// Pins gives the definitions that tools are held to. It is asked at each
	// call and must be quick; a set that it gives must not change. Nil: nothing
	// is pinned.
	Pins func() *Pins
	// Learned is told of answers of tools that declare no type of their own, and
	// gives their declarations a type. Nil: nothing is learned.
	Learned *Learned
	// Meaning helps to find tools; nil: words alone do.
	Meaning Meaning
	// Logger is told what goes wrong without failing a call.
	Logger *slog.Logger
	// Listing bounds how long a server may take to list its tools; zero is a
	// minute.
	Listing time.Duration
	// Straggler bounds how long a search from inside a program waits for
	// servers that are starting, before it goes without them; zero is 10
	// seconds.
	Straggler time.Duration
}

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
		listings: map[string]*listing{}, stale: map[string]bool{}, resolved: map[string]*entry{},
	}
	var faults []error
	for i, pr := range providers {
		if pr == nil {
			faults = append(faults, fmt.Errorf("provider %d is nil", i))
			continue
		}
		if native, ok := pr.(Native); ok {
			for _, name := range native.OwnCalls() {
				if t.own[name] != nil || !strings.HasPrefix(name, ownPrefix) {
					faults = append(faults, fmt.Errorf("provider %d cannot answer %s", i, clean(name, 80)))
				}
				t.own[name] = pr
			}
		}
		for _, name := range pr.Servers() {
			switch {
			case name == "":
				faults = append(faults, fmt.Errorf("provider %d has a server without a name", i))
			case len(name) > maxToolName || CleanText(name, maxToolName) != name || strings.ContainsAny(name, "\n\t"):
				faults = append(faults, fmt.Errorf("%q is no name for a server", clean(name, 80)))
			case strings.HasPrefix(name, ownPrefix):
				faults = append(faults, fmt.Errorf("no server may be called %s", clean(name, 80)))
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
	if t.recording != nil {
		return slices.Clone(t.recording.Start.Servers)
	}
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
	c := catalogue.New(tools).Observing(t.observing())
	if len(errs) == 0 {
		t.whole = c
		t.reviewing.Go(func() { t.review(c) })
	}
	return c, errs
}

// review holds the policy against the tools that there are, once for each
// catalogue, beside whatever is going on: a rule for a tool or an argument that
// does not exist does not do what its writer meant.
func (t *Table) review(c *catalogue.Catalogue) {
	if t.policy == nil || t.options.Logger == nil {
		return
	}
	defer func() {
		if r := recover(); r != nil {
			t.log().Error("the policy could not be held against the tools", "panic", fmt.Sprint(r))
		}
	}()
	digest := c.Digest()
	t.viewing.Lock()
	again := t.reviewed == digest
	t.reviewed = digest
	t.viewing.Unlock()
	if again {
		return
	}
	for _, f := range t.policy.Check(c) {
		level := slog.LevelDebug
		switch f.Severity {
		case policy.SeverityError:
			level = slog.LevelWarn
		case policy.SeverityWarning:
			level = slog.LevelInfo
		}
		t.log().Log(context.Background(), level, "a rule does not do what it seems to",
			"at", fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column), "finding", f.Message, "hint", f.Hint)
	}
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
	return catalogue.New(tools).Observing(t.observing()), complete
}

// Digest is the digest of the whole catalogue where every server has listed
// its tools, else "". Tools that are refused because they are not what was
// pinned count as other tools.
func (t *Table) Digest() string {
	t.mu.Lock()
	whole := t.whole
	t.mu.Unlock()
	if whole == nil {
		if len(t.names) > 0 {
			return ""
		}
		whole = t.spelled // of no servers: the empty one
	}
	t.viewing.Lock()
	defer t.viewing.Unlock()
	if pins := t.pins(); t.digestOf != whole || t.digestBy != pins {
		t.digest = whole.Digest()
		var refused []string
		for _, tool := range whole.Tools() {
			if len(pins.Of(tool.ID())) > 0 {
				if _, changed := pins.Changed(tool); changed {
					refused = append(refused, tool.ID())
				}
			}
		}
		if len(refused) > 0 {
			t.digest = audit.Digest([]byte(t.digest + "\n" + strings.Join(refused, "\n")))
		}
		t.digestOf, t.digestBy = whole, pins
	}
	return t.digest
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
	t.reviewing.Wait()
	var errs []error
	for _, p := range t.all {
		errs = append(errs, closeProvider(p))
	}
	return errors.Join(errs...)
}

func closeProvider(p Provider) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.Internal, "a provider failed while it was closed: %v", r)
		}
	}()
	return p.Close()
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
