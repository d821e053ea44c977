package config

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/fetch"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/hostfns/packages"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/policy"
)

// state is what one reading of the settings gives to runs.
type state struct {
	table    *hostfns.Table
	narrowed map[string]*hostfns.Table // see [Host.Narrowed], by profile and tools
	open     func(p *policy.Policy, only Profile) (*hostfns.Table, error)
	policies []policy.Layered
	profiles map[string]Profile
	defined  []upstream.Server
	servers  *upstream.Provider
}

// tables returns the tables of the state.
func (x state) tables() []*hostfns.Table {
	return append(slices.Collect(maps.Values(x.narrowed)), x.table)
}

// running returns how many runs a state has.
func (x *states) running(s state) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, t := range s.tables() {
		n += t.Running()
	}
	return n
}

// closeTables closes the tables of the state.
func (x state) closeTables() error {
	var err error
	for _, t := range x.tables() {
		err = errors.Join(err, t.Close())
	}
	return err
}

// states are the states of a host that have runs, or may soon have some. The last
// one is that of new runs.
type states struct {
	mu     sync.Mutex
	list   []state
	closed chan struct{}
	ending sync.WaitGroup
	anchor *upstream.Provider // keeps heads of the audit log until the host is closed; or nil
}

// Current returns the table of new runs.
func (h *Host) Current() *hostfns.Table { return h.states.current().table }

// Narrowed returns a table of new runs that may only call the tools of a subset, of
// those that the current one allows. An unknown profile is [fault.UsageProfile].
func (h *Host) Narrowed(to Subset) (*hostfns.Table, error) {
	x := &h.states
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.list) == 0 {
		return nil, fault.New(fault.Internal, "the host is closed")
	}
	s := x.list[len(x.list)-1]
	profile, ok := s.profiles[to.Profile]
	if to.Profile != "" && !ok {
		err := fault.New(fault.UsageProfile, "there is no profile %.80q", to.Profile)
		if known := slices.Sorted(maps.Keys(s.profiles)); len(known) > 0 {
			return nil, err.WithHint("use %s", strings.Join(known, " or "))
		}
		return nil, err.WithHint("set profiles in wexec.yaml")
	}
	if to.Profile == "" && (to.Tools == nil || len(s.policies) == 0) { // without a policy every tool is denied
		return s.table, nil
	}
	key := to.Profile + "\x00" + strings.Join(to.Tools, "\x00")
	if t := s.narrowed[key]; t != nil {
		return t, nil
	}
	var p *policy.Policy
	if len(s.policies) > 0 {
		ofToken, err := onlyTools("the token", to.Tools)
		if err != nil {
			return nil, err
		}
		ofProfile, err := onlyTools("the profile "+to.Profile, profile.Tools)
		if err != nil {
			return nil, err
		}
		p = policy.Layer(append(slices.Clone(s.policies), policy.Layered{Policy: ofToken, Origin: policy.Named}, policy.Layered{Policy: ofProfile, Origin: policy.Named})...)
	}
	t, err := s.open(p, profile)
	if err == nil {
		s.narrowed[key] = t
	}
	return t, err
}

func (x *states) current() state {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.list) == 0 {
		return state{}
	}
	return x.list[len(x.list)-1]
}

// Reload makes new runs use other settings: their policy, servers and pins. Runs
// in flight keep what they began with, except that the deny and ask rules of the
// new policy apply to them at once. Servers whose definition stays keep running.
// After an error nothing has changed. Cache, audit log and the way in which
// people are asked stay those of the first settings.
func (h *Host) Reload(s *Settings) (err error) {
	last := h.states.current()
	next := state{defined: s.Servers}
	p := s.Policy()
	if last.table != nil && last.serves(s.Servers, p) {
		next.servers = last.servers
	}
	if next.servers == nil {
		if next.servers, err = upstream.New(s.Servers, h.upstreamOptions()); err != nil {
			return err
		}
		defer func() {
			if err != nil {
				_ = next.servers.Close()
			}
		}()
	}
	o := h.options
	var installed *packages.Set
	if !o.NoAudit { // programs run
		if installed, err = openPackages(s.Packages); err != nil {
			return err
		}
	}
	pins := &pinWatcher{files: s.PinFiles(o.Env), servers: s.Servers, log: o.Logger}
	if err := pins.read(); err != nil {
		return err
	}
	ranker, err := s.ranker(o)
	if err != nil {
		return err
	}
	seen := func(c *catalogue.Catalogue) map[string]time.Time { return h.seen.at(c, s.Servers, time.Now()) }
	next.narrowed, next.policies, next.profiles = map[string]*hostfns.Table{}, s.Policies, s.Profiles
	next.open = func(p *policy.Policy, only Profile) (*hostfns.Table, error) {
		providers := []hostfns.Provider{unclosed{next.servers, only}, fetch.New(fetch.Options{}), files.New(s.protected(o.Env)...)}
		for _, more := range o.More {
			if only.has(more.Servers()) {
				providers = append(providers, more)
			}
		}
		t, err := hostfns.NewTable(p, h.sink, providers...)
		if err != nil {
			return nil, err
		}
		return t.With(hostfns.Options{Owner: o.Owner, Packages: installed, Asker: h.Approvals, Logger: o.Logger, Secrets: o.Env.Secret, Pins: pins.current, Seen: seen, Learned: h.learned, Ranker: ranker}), nil
	}
	if next.table, err = next.open(p, Profile{}); err != nil {
		return err
	}
	h.states.begin(next)
	return nil
}

// serves reports whether servers that run for a state can be used under another
// policy: it gives them no secrets and offers them the same features.
func (x state) serves(servers []upstream.Server, p *policy.Policy) bool {
	before := x.table.Policy()
	if !reflect.DeepEqual(x.defined, servers) || len(before.Secrets())+len(p.Secrets()) > 0 {
		return false
	}
	for _, srv := range servers {
		for _, f := range policy.Features() {
			if before.DecideFeature(srv.Name, f).Effect != p.DecideFeature(srv.Name, f).Effect {
				return false
			}
		}
	}
	return true
}

// upstreamOptions are the options of servers. Their secrets are those of the
// policy that applies when they start.
func (h *Host) upstreamOptions() upstream.Options {
	o := h.options
	return upstream.Options{
		Environ: o.Env.Vars, Logger: o.Logger, Version: o.Version,
		Secrets: func(ctx context.Context, server string) ([]hostfns.Secret, error) {
			return h.Current().ServerSecrets(ctx, server)
		},
		Offers: func(server string, f policy.Feature) bool {
			return h.Current().Policy().DecideFeature(server, f).Effect != policy.Deny
		},
		Redact:    func(text string) string { return h.Current().Redact(text) },
		Authorize: o.Env.Grants().Authorize,
	}
}

// unclosed is the provider of servers that more than one table may use. A table has
// those of its profile.
type unclosed struct {
	*upstream.Provider
	only Profile
}

// Servers implements hostfns.Provider.
func (p unclosed) Servers() []string {
	return slices.DeleteFunc(slices.Clone(p.Provider.Servers()), func(name string) bool { return !p.only.has([]string{name}) })
}

// Close implements hostfns.Provider. The servers end with their last state.
func (unclosed) Close() error { return nil }

// begin makes a state that of new runs.
func (x *states) begin(next state) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed == nil {
		x.closed = make(chan struct{})
	}
	for _, s := range x.list {
		for _, t := range s.tables() {
			t.Tighten(next.table.Policy())
		}
	}
	if n := len(x.list); n > 0 {
		last := x.list[n-1]
		x.ending.Go(func() { x.end(last) })
	}
	x.list = append(x.list, next)
}

// endAfter is how long a state stays after its last run: a run may be about to
// open.
const endAfter = 10 * time.Second

// end waits for the runs of a state that is not the current one, and closes it.
func (x *states) end(s state) {
	tick := time.NewTicker(endAfter)
	defer tick.Stop()
	for idle := false; ; {
		select {
		case <-x.closed:
			return
		case <-tick.C:
		}
		was := idle
		if idle = x.running(s) == 0; idle && was {
			break
		}
	}
	x.mu.Lock()
	x.list = slices.DeleteFunc(x.list, func(o state) bool { return o.table == s.table })
	shared := s.servers == x.anchor || slices.ContainsFunc(x.list, func(o state) bool { return o.servers == s.servers })
	x.mu.Unlock()
	_ = s.closeTables()
	if !shared {
		_ = s.servers.Close()
	}
}

// Close closes every state.
func (x *states) Close() error {
	x.mu.Lock()
	list := slices.Clone(x.list)
	if x.closed != nil {
		close(x.closed)
	}
	x.mu.Unlock()
	x.ending.Wait()
	var err error
	for _, s := range list {
		err = errors.Join(err, s.closeTables(), s.servers.Close())
	}
	if x.anchor != nil {
		err = errors.Join(err, x.anchor.Close())
	}
	return err
}

// Stamp changes when a file changes that decides what the settings are: one that
// was read, one that would be read if it were there, or the record of trust.
func (s *Settings) Stamp(env *Environment) string {
	paths := append(slices.Clone(s.files), below(env.stateDir(), "trust.json"))
	for _, dir := range []string{env.System, env.configDir(), env.Dir, s.Project.Dir} {
		for _, name := range []string{"wexec.yaml", "policy.yaml", ".mcp.json"} {
			paths = append(paths, below(dir, name))
		}
	}
	for name := range s.Project.Files {
		paths = append(paths, filepath.Join(s.Project.Dir, name))
	}
	slices.Sort(paths)
	var b strings.Builder
	for _, path := range slices.Compact(paths) {
		if info, err := os.Stat(path); err == nil {
			fmt.Fprintf(&b, "%s %d %d\n", path, info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String()
}
