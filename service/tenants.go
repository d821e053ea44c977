package service

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	artifact "github.com/wexec/wexec/hostfns/artifacts"
	"github.com/wexec/wexec/internal/seal"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/service/webhooks"
	"github.com/wexec/wexec/service/workspaces"
	"github.com/wexec/wexec/store"
)

// DefaultTenant is the tenant that always exists.
const DefaultTenant = "default"

// Tenant is a tenant and what its programs may reach.
type Tenant struct {
	Name     string
	settings *config.Settings
	host     *config.Host
	hook     *webhooks.Hook    // nil without one
	env      map[string]string // of programs, as far as the policy lets it through
	root     string            // of the operator, for workspaces; empty: no bound
}

// Table returns the table of new runs.
func (t *Tenant) Table() *hostfns.Table { return t.host.Current() }

// Settings returns what the tenant's files say.
func (t *Tenant) Settings() *config.Settings { return t.settings }

// Env returns the environment of the tenant's programs, which the policy filters.
func (t *Tenant) Env() map[string]string { return t.env }

// tableFor returns the table of new runs that may call a subset of the tools.
func (t *Tenant) tableFor(only config.Subset) (*hostfns.Table, error) { return t.host.Narrowed(only) }

// Feature reports whether an actor of the tenant has a feature, such as "skills". One
// that the tenant's files do not name is on. A percentage selects the same actors
// each time, on every server, and more of them when it rises.
func (t *Tenant) Feature(name, actor string) bool {
	share, set := t.settings.Features[name]
	if !set {
		return true
	}
	sum := sha256.Sum256([]byte(t.Name + "\x00" + name + "\x00" + actor))
	return binary.BigEndian.Uint64(sum[:])%100 < uint64(share)
}

// Limits returns the limits of a run that asks for others.
func (t *Tenant) Limits(asked policy.Limits) policy.Limits {
	return t.Table().Policy().Limits().Tighten(t.settings.Limits).OrDefaults().Tighten(asked)
}

// workspaces returns the workspaces of the tenant for the programs of an actor.
func (t *Tenant) workspaces(o Options, by engine.Actor) (*workspaces.Client, error) {
	if !t.Feature("workspaces", by.ID) {
		return nil, fault.New(fault.DeniedScope, "the tenant has no workspaces for %.60q", by.ID).WithHint("ask its operator about features.workspaces in wexec.yaml")
	}
	return &workspaces.Client{Settings: t.settings, Kept: t.layers(o), Root: t.root, Actor: by.ID, Agent: by.Type != store.TypePerson, Logger: o.Logger}, nil
}

// layers are the workspaces of the tenant on the disk of this server.
func (t *Tenant) layers(o Options) *config.Workspaces {
	return t.settings.WorkspacesIn(filepath.Join(o.Data, "workspaces", t.Name), environment(o, t.Name))
}

// tenants are the tenants by name.
type tenants struct {
	reloading sync.Mutex

	prices pricing
	tools  func(tenant string) hostfns.Provider // that the server adds

	mu   sync.RWMutex
	all  map[string]*Tenant
	gone []*Tenant // their runs may go on
}

func (x *tenants) get(name string) *Tenant {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.all[name]
}

// list returns the tenants.
func (x *tenants) list() []*Tenant {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return slices.Collect(maps.Values(x.all))
}

// isTenantName reports whether a tenant may have a name, which is that of its folder.
func isTenantName(name string) bool {
	return len(name) <= 63 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == "" && !strings.ContainsAny(name[:1], "_-")
}

// quotas returns the quotas of all runs of the tenant.
func (t *Tenant) quotas() store.Quotas {
	q := t.settings.Quotas
	return store.Quotas{Running: int64(q.Running), Queued: int64(q.Queued), RunsPerDay: int64(q.RunsPerDay),
		FuelPerDay: int64(q.FuelPerDay), TokensPerDay: int64(q.TokensPerDay), MoneyPerDay: q.MoneyPerDay.Float()}
}

// accounts returns what a run is counted for: its tenant, with the present quotas,
// and its token.
func (x *tenants) accounts(run store.Run, ofToken store.Quotas) []store.Account {
	var all []store.Account
	if t := x.get(run.Tenant); t != nil {
		all = append(all, store.Account{Tenant: run.Tenant, Quotas: t.quotas()})
	}
	return append(all, store.Account{Tenant: run.Tenant, Token: run.Token, Quotas: ofToken})
}

// names lists the folders of the tenants. The default one is made.
func names(o Options) ([]string, error) {
	root := filepath.Join(o.Data, "tenants")
	if err := os.MkdirAll(filepath.Join(root, DefaultTenant), 0o700); err != nil {
		return nil, fault.New(fault.UsageFile, "make the folder of the tenants: %w", err)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fault.New(fault.UsageFile, "read the folder of the tenants: %w", err)
	}
	var all []string
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		if !isTenantName(e.Name()) {
			return nil, fault.New(fault.UsageConfig, "tenants/%s: the name of a tenant has lower-case letters, digits, - and _", e.Name())
		}
		all = append(all, e.Name())
	}
	return all, nil
}

// load reads the files of all tenants and returns the settings of the default one.
func (x *tenants) load(o Options) (*config.Settings, error) {
	all, err := names(o)
	if err != nil {
		return nil, err
	}
	if err := x.prices.read(o.Data); err != nil {
		return nil, err
	}
	x.all = map[string]*Tenant{}
	for _, name := range all {
		if x.all[name], err = x.loadTenant(o, name); err != nil {
			return nil, err
		}
	}
	return x.all[DefaultTenant].settings, nil
}

// loadTenant reads the files of a tenant.
func (x *tenants) loadTenant(o Options, name string) (*Tenant, error) {
	settings, err := readTenant(o, name)
	if err != nil {
		return nil, err
	}
	if err := x.prices.check(settings.Model); err != nil {
		return nil, fault.New(fault.CodeOf(err), "tenant %s: model: %w", name, err).WithHint("%s", fault.HintOf(err))
	}
	t := &Tenant{Name: name, settings: settings}
	if t.hook, err = openHook(o, name, settings.Webhook); err != nil {
		return nil, fault.New(fault.CodeOf(err), "tenant %s: approvals.webhook: %w", name, err).WithHint("%s", fault.HintOf(err))
	}
	operator, _, err := tenancy(o, name)
	if err != nil {
		return nil, err
	}
	t.root = operator.Root
	if name == DefaultTenant {
		t.env = environment(o, name).Map()
	}
	return t, nil
}

// readTenant reads the settings of a tenant. A tenant other than the default one, and
// that one too if the operator lists it, starts commands on this machine and reaches
// its files only as the operator says.
func readTenant(o Options, name string) (*config.Settings, error) {
	dir := filepath.Join(o.Data, "tenants", name)
	settings, err := config.LoadTenant(environment(o, name), dir, o.Data)
	if err != nil {
		return nil, fault.New(fault.CodeOf(err), "tenant %s: %w", name, err).WithHint("%s", fault.HintOf(err))
	}
	for _, server := range settings.Servers {
		if server.Name == artifact.Server {
			return nil, fault.New(fault.UsageConfig, "tenant %s: the name of the server %s is taken", name, server.Name).WithHint("rename the server")
		}
	}
	operator, bounded, err := tenancy(o, name)
	if err != nil || !bounded {
		return settings, err
	}
	for i, server := range settings.Servers {
		if server.Command == "" {
			continue
		}
		if !operator.Stdio {
			return nil, fault.New(fault.UsageConfig, "tenant %s: server %s is a command, and the operator does not let the tenant start commands on this machine", name, server.Name).
				WithHint("serve it over HTTP, and set its url; or let the operator write  tenants: {%s: {stdio: true, user: NAME}}  to wexec.yaml in the data folder", name)
		}
		settings.Servers[i].User = operator.User
	}
	files := settings.Policy().Files()
	for _, granted := range slices.Concat(files.Read, files.Write) {
		if err := withinRoot(operator.Root, name, "the policy grants", granted.Path, granted.Pattern); err != nil {
			return nil, err
		}
	}
	for _, folder := range settings.Folders {
		if err := withinRoot(operator.Root, name, "workspaces names", folder, folder); err != nil {
			return nil, err
		}
	}
	return settings, nil
}

// withinRoot refuses a path of the machine that is not below the root that the operator
// names for a tenant.
func withinRoot(root, tenant, what, path, pattern string) error {
	if root == "" {
		return fault.New(fault.UsageConfig, "tenant %s: %s files of this machine, and the operator names no root for the tenant", tenant, what).
			WithHint("remove %s; or let the operator write  tenants: {%s: {root: FOLDER}}  to wexec.yaml in the data folder", pattern, tenant)
	}
	if rel, err := filepath.Rel(root, path); err != nil || !filepath.IsLocal(rel) || strings.Contains(pattern, "..") {
		return fault.New(fault.UsageConfig, "tenant %s: %s %s, which is outside %s, the root of the tenant", tenant, what, pattern, root)
	}
	return nil
}

// tenancy returns what the operator allows a tenant. The default tenant has no bounds
// unless the operator lists it.
func tenancy(o Options, name string) (t config.Tenancy, bounded bool, err error) {
	allowed, err := config.Operator(o.Data)
	t, listed := allowed[name]
	return t, listed || name != DefaultTenant, err
}

// openHook opens the webhook of a tenant, or returns nil if the tenant has no webhook.
func openHook(o Options, name string, w config.Webhook) (*webhooks.Hook, error) {
	if w == (config.Webhook{}) {
		return nil, nil
	}
	operator, bounded, err := tenancy(o, name)
	if err != nil {
		return nil, err
	}
	env := environment(o, name)
	return webhooks.New(webhooks.Config{URL: w.URL, Link: cmp.Or(w.Link, o.Address), Anywhere: !bounded, Private: operator.PrivateHosts,
		Secret: func() (string, error) { return env.Secret(context.Background(), w.Secret) }})
}

// environment is what the files of a tenant may refer to, and what its commands and
// programs may get: never the seal key. Its folder is the working folder.
func environment(o Options, name string) *config.Environment {
	env := *o.Env
	env.Dir = filepath.Join(o.Data, "tenants", name)
	if name != DefaultTenant {
		env.Vars, env.Within = nil, env.Dir
	}
	env.Vars = slices.DeleteFunc(slices.Clone(env.Vars), func(v string) bool { return strings.HasPrefix(strings.ToUpper(v), seal.Variable+"=") })
	return &env
}

// open opens the tables of the tenants.
func (x *tenants) open(ctx context.Context, o Options, e *engine.Engine) error {
	for _, t := range x.all {
		if err := t.open(ctx, o, e, x); err != nil {
			return errors.Join(err, x.close())
		}
	}
	return nil
}

// open opens the table of the tenant.
func (t *Tenant) open(ctx context.Context, o Options, e *engine.Engine, all *tenants) (err error) {
	t.host, err = t.settings.Open(ctx, config.Options{Env: environment(o, t.Name), Version: o.Version, Logger: o.Logger, Engine: e, Owner: t.Name,
		More:   []hostfns.Provider{all.tools(t.Name)},
		Record: func(log audit.Sink) audit.Sink { return newRecorder(log, t.Name, o.Store, o.Keys) }})
	if err != nil {
		return fault.New(fault.CodeOf(err), "tenant %s: %w", t.Name, err)
	}
	return nil
}

func (x *tenants) close() error {
	var errs []error
	for _, t := range slices.AppendSeq(x.gone, maps.Values(x.all)) {
		if t.host != nil {
			errs = append(errs, t.host.Close())
		}
	}
	return errors.Join(errs...)
}

// reloadOne reads the files of a tenant again.
func (x *tenants) reloadOne(ctx context.Context, o Options, e *engine.Engine, name string) error {
	x.reloading.Lock()
	defer x.reloading.Unlock()
	return x.reloadTenant(ctx, o, e, name)
}

func (x *tenants) reloadTenant(ctx context.Context, o Options, e *engine.Engine, name string) error {
	t, err := x.loadTenant(o, name)
	if before := x.get(name); err == nil && before != nil {
		t.host = before.host
		err = t.host.Reload(t.settings)
	} else if err == nil {
		err = t.open(ctx, o, e, x)
	}
	if err != nil {
		return err
	}
	x.mu.Lock()
	x.all[name] = t
	x.mu.Unlock()
	return nil
}

// reload reads the files of all tenants again. New folders become tenants. One whose
// folder is gone takes no more runs.
func (x *tenants) reload(ctx context.Context, o Options, e *engine.Engine) error {
	x.reloading.Lock()
	defer x.reloading.Unlock()
	found, err := names(o)
	if err != nil {
		return err
	}
	var errs []error
	if err := x.prices.read(o.Data); err != nil {
		errs = append(errs, err)
	}
	for _, name := range found {
		if err := x.reloadTenant(ctx, o, e, name); err != nil {
			errs = append(errs, err)
		}
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for name, t := range x.all {
		if !slices.Contains(found, name) {
			delete(x.all, name)
			x.gone = append(x.gone, t)
		}
	}
	return errors.Join(errs...)
}

func errNoTenant() error {
	return fault.New(fault.DeniedToken, "the tenant of the token does not exist")
}
