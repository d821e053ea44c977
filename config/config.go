// Package config combines configuration files, environment variables and flags,
// and makes the engine, the table and the providers from them. It is the only
// package that reads the environment. Of two values the nearer wins: flag,
// WEXEC_*, the project's wexec.yaml, the user's, the system's.
//
// Use [Load] and then [Settings.Open]. A project's own files start no server and
// allow nothing until a person trusts them with [Trust]. Files may come from
// untrusted people: reading them takes bounded time and memory.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/internal/units"
	"github.com/wexec/wexec/internal/yamldoc"
	"github.com/wexec/wexec/policy"
)

// Flags are the command-line flags that configure wexec. Zero fields were not
// given.
type Flags struct {
	Policy []string // policy files
	MCP    []string // MCP files
	Cache  string
	Audit  string
	Log    string
	Limits policy.Limits
	Allow  policy.Flags // --allow-tool and the like
}

// Settings are the result of all layers.
type Settings struct {
	Servers       []upstream.Server
	Policies      []policy.Layered
	Limits        policy.Limits
	Cache         string // folder; empty if there is no home folder
	Audit         Audit
	Embeddings    Embeddings
	Artifacts     Artifacts
	Keep          bool            // wexec run keeps runs in the user's store
	LearnTypes    bool            // learn the types of answers that no server declares
	Packages      []PinnedPackage // those of all layers
	Quotas        Quotas
	Features      map[string]int // the percentage of actors that have a feature; absent: all
	Model         string         // of the tenant's agents; may be empty
	Retention     time.Duration  // of runs in a store; a project does not set it
	ParkAfter     time.Duration  // how long a durable run waits until it leaves memory
	Webhook       Webhook
	Profiles      map[string]Profile
	Folders       map[string]string // that clients of a server may make workspaces over, by name
	Log           string
	Warnings      []string
	IgnoredGrants []string // settings of MCP files that only a policy can make
	Project       Project
	Untrusted     string // why the project's files allow nothing, and what to do; or ""

	values   []Value
	files    []string // policies and MCP files
	policies []PolicyFile
	data     string            // folder of the server whose tenant this is; or ""
	writable map[string]string // policy files that a person's rules may go to, by the name that decisions use
}

// How long a server keeps runs unless told, and the least.
const (
	defaultRetention = 30 * 24 * time.Hour
	leastRetention   = time.Hour
)

// defaultParkAfter is how long a run waits until it leaves memory, unless told.
const defaultParkAfter = 30 * time.Second

// PolicyFile is a policy file as it was read.
type PolicyFile struct {
	Path    string        `json:"path"`
	Text    string        `json:"text"`
	Origin  policy.Origin `json:"origin"`
	Trusted bool          `json:"trusted"` // false: only what it forbids applies
}

// Audit says where and how runs are recorded.
type Audit struct {
	Dir    string
	Rotate int64  // bytes of a segment
	Sync   string // when records are forced to disk: writes, never or always
	Key    string // file with an Ed25519 key that signs the head
	Anchor Anchor
}

// Artifacts bounds the artifacts of a tenant.
type Artifacts struct {
	Keep  time.Duration // the longest time that one is kept
	Quota int64         // bytes of all
}

// Values returns every setting that was made, sorted by key.
func (s *Settings) Values() []Value {
	out := slices.Clone(s.values)
	slices.SortStableFunc(out, func(a, b Value) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// note records the values of a layer instead of those of farther ones.
func (s *Settings) note(values ...Value) {
	for _, v := range values {
		s.values = slices.DeleteFunc(s.values, func(o Value) bool { return o.Key == v.Key })
		s.values = append(s.values, v)
	}
}

// setText sets a text setting, unless the layer does not have it.
func (s *Settings) setText(to *string, key, value, origin string) {
	if value != "" {
		*to = value
		s.note(Value{key, value, origin})
	}
}

// setPath sets a path setting. Relative paths begin at dir.
func (s *Settings) setPath(to *string, key, dir, value, origin string) {
	if value != "" {
		s.setText(to, key, absolute(dir, value), origin)
	}
}

// setAuditDir sets the folder of the audit log. An anchor has the heads of one
// folder, so that of another folder no longer applies.
func (s *Settings) setAuditDir(dir, value, origin string) {
	before := s.Audit.Dir
	if s.setPath(&s.Audit.Dir, "audit.dir", dir, value, origin); s.Audit.Dir != before {
		s.Audit.Anchor = Anchor{}
		s.values = slices.DeleteFunc(s.values, func(v Value) bool { return v.Key == "audit.anchor" })
	}
}

// setLimits sets the limits that a layer has.
func (s *Settings) setLimits(l policy.Limits, origin string) {
	s.Limits = l.Or(s.Limits)
	s.note(limitValues(l, origin)...)
}

// Policy returns the effective policy, or nil if there is none: then every tool
// is denied.
func (s *Settings) Policy() *policy.Policy { return policy.Layer(s.Policies...) }

// PolicyFile returns the file in which a person's rules belong: the one that was
// named last, or else the project's. It returns "" if there is none.
func (s *Settings) PolicyFile() string {
	for _, origin := range []policy.Origin{policy.Named, policy.Project} {
		for _, v := range s.values {
			if v.Key == "policy."+string(origin) {
				return v.Value
			}
		}
	}
	return ""
}

// RuleFile returns the path of a policy file that a person's rules may go to, by the
// name that decisions use, or "".
func (s *Settings) RuleFile(name string) string { return s.writable[name] }

// FileFor returns the policy file to which a rule for a grant is added, or "" if
// there is none: the one that lacks it, or the person's if no file has such
// rules.
func (s *Settings) FileFor(g hostfns.Grant) string {
	switch len(g.Files) {
	case 0:
		if path := s.PolicyFile(); slices.Contains(slices.Collect(maps.Values(s.writable)), path) {
			return path
		}
	case 1:
		return s.writable[g.Files[0]]
	}
	return ""
}

// Load reads all layers, as seen from env's working folder.
func Load(env *Environment, flags Flags) (*Settings, error) {
	s := newSettings(env, below(env.stateDir(), "audit"))
	var err error
	if s.Project, err = findProject(env); err != nil {
		return nil, err
	}
	for _, folder := range []struct {
		dir    string
		origin policy.Origin
	}{{env.System, policy.System}, {env.configDir(), policy.User}, {s.Project.Dir, policy.Project}} {
		if err := s.readFolder(env, folder.dir, folder.origin); err != nil {
			return nil, err
		}
	}
	if s.Untrusted = s.Project.untrusted(); s.Untrusted != "" {
		s.Warnings = append(s.Warnings, s.Untrusted)
	}
	if err := s.readEnvironment(env); err != nil {
		return nil, err
	}
	if err := s.readFlags(env, flags); err != nil {
		return nil, err
	}
	if err := s.denyAnchor(); err != nil {
		return nil, err
	}
	s.warnOfProfiles()
	return s, s.checkServers()
}

// LoadTenant reads the settings of a tenant of a server: those of the system, and
// wexec.yaml, policy.yaml and mcp.json of the tenant's folder. Files of a user or a
// project do not apply. Programs reach no file below data, the server's folder, which
// has the cache unless the environment names another place.
func LoadTenant(env *Environment, dir, data string) (*Settings, error) {
	s := newSettings(env, filepath.Join(dir, "audit"))
	s.data = data
	if s.Cache, _ = env.Lookup("WEXEC_CACHE"); s.Cache == "" {
		s.Cache = cmp.Or(env.cacheDir(), filepath.Join(data, "cache"))
	}
	for _, folder := range []struct {
		dir    string
		origin policy.Origin
	}{{env.System, policy.System}, {dir, policy.Named}} {
		if err := s.readFolder(env, folder.dir, folder.origin); err != nil {
			return nil, err
		}
	}
	if err := s.denyAnchor(); err != nil {
		return nil, err
	}
	s.warnOfProfiles()
	return s, s.checkServers()
}

// newSettings returns the defaults.
func newSettings(env *Environment, auditDir string) *Settings {
	s := &Settings{Cache: env.cacheDir(), Audit: Audit{Dir: auditDir, Rotate: 64 << 20, Sync: "writes"},
		Artifacts: Artifacts{Keep: 30 * 24 * time.Hour, Quota: 10 << 30}, LearnTypes: true, Retention: defaultRetention, ParkAfter: defaultParkAfter, Log: "warn"}
	s.note(s.defaults()...)
	return s
}

// defaults lists the settings that have a value before the first layer.
func (s *Settings) defaults() []Value {
	var out []Value
	for _, v := range []Value{{Key: "cache", Value: s.Cache}, {Key: "audit.dir", Value: s.Audit.Dir}, {Key: "audit.rotate", Value: units.FormatSize(s.Audit.Rotate)},
		{Key: "audit.sync", Value: s.Audit.Sync}, {Key: "learn_types", Value: fmt.Sprint(s.LearnTypes)}, {Key: "log", Value: s.Log},
		{Key: "quotas.artifacts", Value: units.FormatSize(s.Artifacts.Quota)}, {Key: "retention.artifacts", Value: "30d"}} {
		v.Origin = "default"
		out = append(out, v)
	}
	return out
}

// readFolder reads wexec.yaml, policy.yaml and, in a project or of a tenant, the MCP
// file of a folder. There may be no folder.
func (s *Settings) readFolder(env *Environment, dir string, origin policy.Origin) error {
	if dir == "" {
		return nil
	}
	path := filepath.Join(dir, "wexec.yaml")
	var read reader = readBounded
	has, trusted := exists, true
	confined := origin == policy.Named && env.Within != ""
	if confined {
		read = env.readWithin
	}
	if origin == policy.Project {
		read, has, trusted = s.Project.read, func(path string) bool { return s.Project.texts[path] != nil }, s.Project.Trusted
	}
	f, ok, err := readFile(path, read)
	if err != nil {
		return err
	}
	var policies, mcps []string
	if ok && confined {
		if err := f.confined(path, env.Within); err != nil {
			return err
		}
	}
	if ok {
		policies, mcps = f.Policy, f.MCP
		if r := f.Retention; r != nil && r.Runs > 0 && origin == policy.Project { // the store has the runs of other projects
			s.Warnings = append(s.Warnings, path+": retention.runs has no effect in a project: set it in the wexec.yaml of the user")
			r.Runs = 0
		}
		s.apply(f, dir, path, trusted)
		if trusted {
			servers, err := f.servers(path, env.expander(dir))
			if err != nil {
				return err
			}
			s.addServers(servers)
		}
	}
	if len(policies) == 0 && has(filepath.Join(dir, "policy.yaml")) {
		policies = []string{"policy.yaml"}
	}
	servers := map[policy.Origin]string{policy.Project: ".mcp.json", policy.Named: "mcp.json"}[origin]
	if servers != "" && len(mcps) == 0 && has(filepath.Join(dir, servers)) {
		mcps = []string{servers}
	}
	if !trusted {
		mcps = nil
	}
	return s.addFiles(env, dir, policies, mcps, read, origin, trusted)
}

// apply applies the plain values of a file. An untrusted file can only lower
// limits.
func (s *Settings) apply(f *file, dir, path string, trusted bool) {
	if !trusted {
		s.Limits = s.Limits.Tighten(f.Limits.Limits)
		s.note(limitValues(f.Limits.Limits, path)...)
		return
	}
	s.setLimits(f.Limits.Limits, path)
	s.setPath(&s.Cache, "cache", dir, f.Cache, path)
	s.setText(&s.Log, "log", f.Log, path)
	if a := f.Audit; a != nil {
		s.setAuditDir(dir, a.Dir, path)
		s.setText(&s.Audit.Sync, "audit.sync", a.Sync, path)
		s.setPath(&s.Audit.Key, "audit.key", dir, a.Key, path)
		if n := a.Anchor; n != nil {
			s.Audit.Anchor = n.anchor(dir)
			s.note(Value{"audit.anchor", s.Audit.Anchor.String(), path})
		}
		if a.Rotate > 0 {
			s.Audit.Rotate = int64(a.Rotate)
			s.note(Value{"audit.rotate", units.FormatSize(s.Audit.Rotate), path})
		}
	}
	for _, p := range f.Packages {
		pinned := PinnedPackage{absolute(dir, p.V.Path), p.V.SHA256, path}
		s.Packages, s.files = append(s.Packages, pinned), append(s.files, pinned.Path)
		s.note(Value{"packages." + p.V.Path, p.V.SHA256, path})
	}
	for name, share := range f.Features.shares() {
		if s.Features == nil {
			s.Features = map[string]int{}
		}
		s.Features[name] = share
		s.note(Value{"features." + name, fmt.Sprintf("%d%%", share), path})
	}
	s.setText(&s.Model, "model", f.Model, path)
	if f.Approvals.Webhook != (Webhook{}) {
		s.Webhook = f.Approvals.Webhook
	}
	s.setProfiles(f.Profiles, path)
	folders, values := f.folders(s.Folders, path)
	s.Folders = folders
	s.note(values...)
	if r := f.Retention; r != nil && r.Runs > 0 {
		s.Retention = max(time.Duration(r.Runs), leastRetention)
		s.note(Value{"retention.runs", s.Retention.String(), path})
	}
	if f.ParkAfter > 0 {
		s.ParkAfter = time.Duration(f.ParkAfter)
		s.note(Value{"park_after", s.ParkAfter.String(), path})
	}
	if f.Quotas != (Quotas{}) {
		s.Quotas = f.Quotas
		if f.Quotas.Artifacts > 0 {
			s.Artifacts.Quota = int64(f.Quotas.Artifacts)
		}
		s.note(f.Quotas.values(path)...)
	}
	if f.Keep != nil {
		s.Keep = *f.Keep
		s.note(Value{"keep", fmt.Sprint(s.Keep), path})
	}
	if f.LearnTypes != nil {
		s.LearnTypes = *f.LearnTypes
		s.note(Value{"learn_types", fmt.Sprint(s.LearnTypes), path})
	}
	if r := f.Retention; r != nil && r.Artifacts > 0 {
		s.Artifacts.Keep = time.Duration(r.Artifacts)
		s.note(Value{"retention.artifacts", s.Artifacts.Keep.String(), path})
	}
	if f.Embeddings != nil {
		s.Embeddings = *f.Embeddings
		s.note(Value{"embeddings.url", f.Embeddings.URL, path}, Value{"embeddings.model", f.Embeddings.Model, path})
	}
}

// setProfiles sets the profiles of a file instead of farther ones with the same name.
func (s *Settings) setProfiles(profiles yamldoc.Map[Profile], origin string) {
	for _, p := range profiles {
		if s.Profiles == nil {
			s.Profiles = map[string]Profile{}
		}
		s.Profiles[p.Key] = p.V
		s.note(Value{"profiles." + p.Key, p.V.String(), origin})
	}
}

// warnOfProfiles warns of profiles with servers that are not configured.
func (s *Settings) warnOfProfiles() {
	for _, name := range slices.Sorted(maps.Keys(s.Profiles)) {
		for _, server := range s.Profiles[name].Servers {
			if !slices.ContainsFunc(s.Servers, func(o upstream.Server) bool { return o.Name == server }) {
				s.Warnings = append(s.Warnings, fmt.Sprintf("profile %s: no server %.80q is configured", name, server))
			}
		}
	}
}

func (s *Settings) readEnvironment(env *Environment) error {
	const origin = "environment"
	variable := func(name string) string { v, _ := env.Lookup(name); return v }
	s.setPath(&s.Cache, "cache", env.Dir, variable("WEXEC_CACHE"), origin)
	s.setAuditDir(env.Dir, variable("WEXEC_AUDIT"), origin)
	s.setText(&s.Log, "log", variable("WEXEC_LOG"), origin)
	limits, err := limitsFromEnvironment(env)
	if err != nil {
		return err
	}
	s.setLimits(limits, origin)
	return s.addFiles(env, env.Dir, env.list("WEXEC_POLICY"), env.list("WEXEC_MCP"), readBounded, policy.Named, true)
}

func (s *Settings) readFlags(env *Environment, f Flags) error {
	const origin = "flag"
	s.setPath(&s.Cache, "cache", env.Dir, f.Cache, origin)
	s.setAuditDir(env.Dir, f.Audit, origin)
	s.setText(&s.Log, "log", f.Log, origin)
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, s.Log) {
		return fault.New(fault.UsageConfig, "log level must be debug, info, warn or error, not %q", s.Log)
	}
	s.setLimits(f.Limits, origin)
	if err := s.addFiles(env, env.Dir, f.Policy, f.MCP, readBounded, policy.Named, true); err != nil {
		return err
	}
	flags, err := policy.FromFlags(f.Allow)
	if flags != nil {
		s.Policies = append(s.Policies, policy.Layered{Policy: flags, Origin: policy.FromCLI})
	}
	return err
}

// addFiles reads policies and MCP files. Relative paths begin at dir.
func (s *Settings) addFiles(env *Environment, dir string, policies, mcps []string, read reader, origin policy.Origin, trusted bool) error {
	for _, p := range policies {
		if err := s.addPolicy(env, absolute(dir, p), read, origin, trusted); err != nil {
			return err
		}
	}
	for _, m := range mcps {
		if err := s.addMCP(env, absolute(dir, m), read, dir); err != nil {
			return err
		}
	}
	return nil
}

// addPolicy reads a policy file. Of an untrusted one only what it forbids
// applies.
func (s *Settings) addPolicy(env *Environment, path string, read reader, origin policy.Origin, trusted bool) error {
	s.files = append(s.files, path)
	data, err := read(path)
	if err != nil {
		return err
	}
	p, err := policy.Parse(env.shown(path), data)
	if err != nil {
		return err
	}
	if p, err = p.Resolve(filepath.Dir(path), env.Home); err != nil {
		return err
	}
	from := string(origin)
	if !trusted {
		p, from = p.Tightening(), from+", not trusted: only deny and ask rules"
	}
	if trusted && origin != policy.System {
		if s.writable == nil {
			s.writable = map[string]string{}
		}
		s.writable[env.shown(path)] = path
	}
	s.Policies = append(s.Policies, policy.Layered{Policy: p, Origin: origin})
	s.policies = append(s.policies, PolicyFile{path, string(data), origin, trusted})
	s.note(Value{"policy." + string(origin), path, from})
	return nil
}

func (s *Settings) addMCP(env *Environment, path string, read reader, workspace string) error {
	s.files = append(s.files, path)
	servers, err := readServers(path, env.expander(workspace), read)
	if err != nil {
		return err
	}
	s.addServers(servers)
	s.note(Value{"mcp", path, path})
	return nil
}

// addServers adds servers of a nearer layer instead of farther ones with the
// same name.
func (s *Settings) addServers(more Servers) {
	for _, m := range more.Servers {
		s.Servers = slices.DeleteFunc(s.Servers, func(o upstream.Server) bool { return o.Name == m.Name })
		s.Servers = append(s.Servers, m)
		command := strings.Join(append([]string{m.Command}, m.Args...), " ")
		s.note(Value{"servers." + m.Name, cmp.Or(m.URL, command), m.Origin}) // no variables and headers: they may be secrets
	}
	s.IgnoredGrants = append(s.IgnoredGrants, more.Warnings...)
}

// BrokenServers returns why no server can be used, if that is so because of the
// configuration of each.
func (s *Settings) BrokenServers() error {
	var problems []error
	for _, srv := range s.Servers {
		if srv.Fault == nil {
			return nil
		}
		problems = append(problems, srv.Fault)
	}
	return errors.Join(problems...)
}

// checkServers reports every invalid name of a server.
func (s *Settings) checkServers() error {
	var problems []error
	for _, srv := range s.Servers {
		if srv.Name == "" || strings.ContainsAny(srv.Name, "\x00\n\r\t") || len(srv.Name) > 128 {
			problems = append(problems, fault.New(fault.UsageConfig, "%s: invalid name of a server %q", srv.Origin, srv.Name))
		}
		if strings.HasPrefix(srv.Name, "wexec:") {
			problems = append(problems, fault.New(fault.UsageConfig, "%s: server name %q is reserved: the prefix wexec: belongs to wexec", srv.Origin, srv.Name))
		}
	}
	return errors.Join(problems...)
}

// denyAnchor keeps programs from the tool that is the anchor, whatever a policy
// allows.
func (s *Settings) denyAnchor() error {
	if s.Audit.Anchor.Tool == "" || len(s.Policies) == 0 { // without a policy every tool is denied
		return nil
	}
	deny, err := policy.FromFlags(policy.Flags{DenyTool: []string{s.Audit.Anchor.Tool}})
	if err != nil {
		return fault.New(fault.UsageConfig, "audit.anchor: %w", err)
	}
	s.Policies = append(s.Policies, policy.Layered{Policy: deny, Origin: policy.FromCLI})
	return nil
}

// protected lists the files and folders that decide and record what programs
// do: policies, settings, servers, the audit log, state and caches. No program
// reaches them, whatever a policy grants.
func (s *Settings) protected(env *Environment) []string {
	out := append(slices.Clone(s.files), s.Cache, s.Audit.Dir, s.Audit.Key, s.Audit.Anchor.File,
		env.System, env.configDir(), env.cacheDir(), env.stateDir(), env.dataDir(), env.RuntimeDir(), s.data)
	out = slices.Concat(out, projectFiles(env.Dir), projectFiles(s.Project.Dir))
	return slices.DeleteFunc(out, func(path string) bool { return path == "" })
}

// projectFiles returns the files of a project that say what programs may do.
func projectFiles(dir string) []string {
	var out []string
	for _, name := range []string{"wexec.yaml", "policy.yaml", ".mcp.json", "mcp.json", "wexec.lock"} {
		out = append(out, below(dir, name))
	}
	return out
}

// PolicyFiles returns the policy files that the settings are made of.
func (s *Settings) PolicyFiles() []PolicyFile { return slices.Clone(s.policies) }

// TightenBy adds policy files as they were before, where they are no longer the same.
// What both forbid is forbidden, and only what both allow is allowed.
func (s *Settings) TightenBy(env *Environment, before []PolicyFile) error {
	now := s.PolicyFiles()
	for _, f := range before {
		if slices.Contains(now, f) {
			continue
		}
		if err := s.addPolicy(env, f.Path, func(string) ([]byte, error) { return []byte(f.Text), nil }, f.Origin, f.Trusted); err != nil {
			return err
		}
	}
	return nil
}
