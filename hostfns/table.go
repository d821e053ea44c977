package hostfns

import (
	"cmp"
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
	"github.com/wexec/wexec/hostfns/internal/guard"
	"github.com/wexec/wexec/hostfns/internal/scrub"
	"github.com/wexec/wexec/hostfns/internal/toolmeta"
	"github.com/wexec/wexec/hostfns/packages"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/privacy"
)

// Table is what one tenant may reach: its policy, its audit sink and its
// providers. It is safe for concurrent use.
type Table struct {
	policy      *policy.Policy
	sink        audit.Sink
	options     Options
	providers   []Provider
	names       []string                 // of servers, sorted
	servers     map[string][]Provider    // by name
	identifiers []string                 // of servers in code, sorted
	native      map[string]*resolvedTool // calls of the prelude that providers answer
	stops       []func()
	rates       rates
	given       scrub.Scrubber                // the secrets that calls, requests and servers got
	recording   *audit.Recording              // answers the calls of a replay; else nil
	tightened   atomic.Pointer[policy.Policy] // set by Tighten
	running     atomic.Int64                  // open runs

	detector  func() (*privacy.Detector, error) // made by the first run that needs it
	reviewing sync.WaitGroup

	mu           sync.Mutex
	listings     map[string]*listing
	stale        map[string]bool          // servers whose tools have changed
	changes      atomic.Uint64            // the number of such changes
	resolved     map[string]*resolvedTool // by spelling, until a listing changes
	catalogue    *catalogue.Catalogue     // of all servers, once all are listed
	spellings    *catalogue.Catalogue     // one nameless tool for each server
	gathered     *catalogue.Catalogue     // the last catalogue of listings
	derived      *derived
	gatheredFrom []*listing
	reviewed     string // the digest of the catalogue that the policy was checked against
	closed       bool
}

// derived is what follows from a catalogue and pins, computed once.
type derived struct {
	catalogue *catalogue.Catalogue
	pins      *Pins
	offered   func() *catalogue.Catalogue // without the tools that are always denied
	digest    func() string
}

// Options configure a [Table]. The zero value asks nobody, has no secrets and
// logs nothing.
type Options struct {
	// Owner names who the table belongs to, such as a tenant of a server.
	Owner string
	// Secrets returns the value of a secret of the policy by its from, such as
	// "env:TOKEN" or "file:~/.config/key". Nil: the table has no secrets.
	Secrets func(ctx context.Context, from string) (string, error)
	// Asker asks a person if the run has no Asker.
	Asker Asker
	// Pins returns the definitions that tools have to match. It is called for
	// each call and must be fast. Nil: nothing is pinned.
	Pins func() *Pins
	// Seen returns since when the tools of a catalogue are defined as they are, by
	// server.tool; those that were always so may be missing. Nil: no tool is new.
	Seen func(*catalogue.Catalogue) map[string]time.Time
	// Packages are what programs may import, unless the run names a folder of
	// packages. Nil: nothing.
	Packages *packages.Set
	// Learned derives types from the answers of tools that declare none. Nil: no
	// types are learned.
	Learned *Learned
	// Ranker improves the search for tools. Nil: the search compares words.
	Ranker Ranker
	// Logger receives what goes wrong without failing a call.
	Logger *slog.Logger
	// Listing is how long a server may take to list its tools; zero is a minute.
	Listing time.Duration
	// Straggler is how long a search in a program waits for servers that are
	// starting before it leaves them out; zero is 10 seconds.
	Straggler time.Duration
}

// NewTable returns a table. A nil policy denies everything. A nil sink is an
// error, since nothing may be done without a record; pass audit.None() to keep no
// records. If two providers have a tool of the same server and name, the first
// is called.
func NewTable(p *policy.Policy, sink audit.Sink, providers ...Provider) (*Table, error) {
	if sink == nil {
		return nil, fault.New(fault.UsageConfig, "a table needs an audit sink").WithHint("pass audit.None() to keep no records")
	}
	t := &Table{
		policy: p, sink: sink, providers: providers,
		servers: map[string][]Provider{}, native: map[string]*resolvedTool{},
		listings: map[string]*listing{}, stale: map[string]bool{}, resolved: map[string]*resolvedTool{},
		detector: sync.OnceValues(func() (*privacy.Detector, error) { return privacy.NewDetector(p.PII().Config) }),
	}
	var errs []error
	for i, provider := range providers {
		if err := t.add(provider); err != nil {
			errs = append(errs, fmt.Errorf("provider %d: %w", i, err))
		}
	}
	if len(errs) > 0 {
		return nil, fault.New(fault.UsageConfig, "%w", errors.Join(errs...)).WithOp("make a table")
	}
	slices.Sort(t.names)
	probes := make([]catalogue.Tool, len(t.names))
	for i, n := range t.names {
		probes[i] = catalogue.Tool{Server: n, Name: "_"}
	}
	t.spellings = catalogue.New(probes)
	for _, s := range t.spellings.Servers() {
		t.identifiers = append(t.identifiers, s.Call)
	}
	slices.Sort(t.identifiers)
	for _, provider := range providers {
		t.stops = append(t.stops, provider.Watch(t.changed))
	}
	return t, nil
}

// add adds the servers and prelude calls of a provider.
func (t *Table) add(p Provider) error {
	if p == nil {
		return errors.New("is nil")
	}
	if f, ok := p.(*function); ok && f.broken != nil {
		return f.broken
	}
	if n, ok := p.(Native); ok {
		for _, name := range n.PreludeCalls() {
			if t.native[name] != nil || !strings.HasPrefix(name, preludePrefix) {
				return fmt.Errorf("cannot answer %s", clean(name, 80))
			}
			t.native[name] = &resolvedTool{Tool: catalogue.Tool{Server: name}, provider: p, id: name}
		}
	}
	for _, name := range p.Servers() {
		switch {
		case name == "":
			return errors.New("a server has no name")
		case !toolmeta.CleanName(name), strings.HasPrefix(name, preludePrefix):
			return fmt.Errorf("invalid server name %q", clean(name, 80))
		case t.servers[name] == nil:
			t.names = append(t.names, name)
		}
		t.servers[name] = append(t.servers[name], p)
	}
	return nil
}

// Packages returns what programs may import; nil is nothing.
func (t *Table) Packages() *packages.Set { return t.options.Packages }

// With sets the options of a table, before its first run, and returns the table.
func (t *Table) With(o Options) *Table {
	t.options = o
	return t
}

// Owner returns who the table belongs to.
func (t *Table) Owner() string { return t.options.Owner }

// Policy returns the policy of the table; nil denies everything.
func (t *Table) Policy() *policy.Policy { return t.policy }

// Tighten applies what a policy forbids to every call that follows, those of runs
// in flight included: its deny and ask rules, as [policy.Policy.Tightening] has
// them. It is for a table that another one replaces, and replaces what an earlier
// call of Tighten applied.
func (t *Table) Tighten(by *policy.Policy) { t.tightened.Store(t.policy.TightenedBy(by)) }

// effective returns the policy that decides calls.
func (t *Table) effective() *policy.Policy {
	if p := t.tightened.Load(); p != nil {
		return p
	}
	return t.policy
}

// Running returns the number of open runs.
func (t *Table) Running() int { return int(t.running.Load()) }

// Servers returns the names of the servers, sorted. It starts none.
func (t *Table) Servers() []string { return slices.Clone(t.names) }

// Identifiers returns the names of the servers in code, sorted. It starts none.
func (t *Table) Identifiers() []string { return slices.Clone(t.identifiers) }

// KeepsValues reports whether a value over the output limit becomes an artifact.
func (t *Table) KeepsValues() bool {
	return t.Policy().KeepsValues() && slices.Contains(t.identifiers, "artifacts")
}

// Close closes every provider.
func (t *Table) Close() error {
	t.mu.Lock()
	closed := t.closed
	t.closed = true
	t.mu.Unlock()
	if closed {
		return nil
	}
	for _, stop := range t.stops {
		if stop != nil {
			stop()
		}
	}
	t.reviewing.Wait()
	var errs []error
	for _, p := range t.providers {
		errs = append(errs, closeProvider(p))
	}
	return errors.Join(errs...)
}

func closeProvider(p Provider) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fault.New(fault.Internal, "close a provider: panic: %v", r)
		}
	}()
	return p.Close()
}

// pins returns the pins as they are now.
func (t *Table) pins() *Pins {
	if t.options.Pins == nil {
		return nil
	}
	return t.options.Pins()
}

func (t *Table) log() *slog.Logger {
	if t.options.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return t.options.Logger
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
		if refused := l.add(server, p, tools, t.names); len(refused) > 0 {
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
	l.digest = sync.OnceValue(l.cat.Digest)
	l.at = time.Now()
	close(l.done)
}

// ask asks a provider for the tools of a server.
func (t *Table) ask(ctx context.Context, p Provider, server string) ([]catalogue.Tool, error) {
	tools, err := guard.Call(ctx, func() ([]catalogue.Tool, error) { return p.Tools(ctx, server) })
	var panicked *guard.Panic
	var known *fault.Error
	switch {
	case errors.As(err, &panicked):
		t.log().Error("panic while tools were listed", "server", server, "panic", t.Redact(fmt.Sprint(panicked)), "stack", string(panicked.Stack))
		return nil, fault.New(fault.UpstreamUnavailable, "list the tools of %s: the provider panicked", server)
	case err != nil && ctx.Err() != nil:
		return nil, fault.New(fault.UpstreamUnavailable, "list the tools of %s: the server did not answer in time", server)
	case err != nil && !errors.As(err, &known):
		return nil, fault.New(fault.UpstreamUnavailable, "list the tools of %s: %w", server, err)
	}
	return tools, err
}

// Redact returns text without secrets and personal data, for a log of what happens
// outside of runs.
func (t *Table) Redact(s string) string {
	s = t.given.Text(s)
	if t.policy == nil || t.policy.PII().Mode == privacy.Off {
		return s
	}
	d, err := t.detector()
	if err != nil {
		return blocked
	}
	out, _, err := privacy.NewVault(d).EgressKnown(s, privacy.Redact)
	if err != nil {
		return blocked
	}
	return out
}
