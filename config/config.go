// Package config adds up what files, environment and flags say, and wires the
// engine, the gate and the providers from it. It is the only reader of the
// environment. Nearer layers win: flag, WEXEC_*, the project's wexec.yaml, the
// person's, the machine's.
package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/policy"
)

// Flags are what a door was told on its command line. Zero fields were not
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

// Settings are what all layers add up to.
type Settings struct {
	Servers    []upstream.Server
	Policies   []policy.Layered
	Limits     policy.Limits
	Cache      string // folder; empty: none can be told
	Audit      Audit
	Embeddings Embeddings
	LearnTypes bool // types of answers that no server declares are learned
	Log        string
	Warnings   []string
	Unhonoured []string // what files say that is for the policy to say
	Project    Project

	values []Value
	files  []string // policy and MCP files that were read
}

// Audit says where and how runs are recorded.
type Audit struct {
	Dir    string
	Rotate int64  // bytes of a segment
	Sync   string // when records are forced to disk: writes, never or always
	Key    string // file with an Ed25519 key that signs the head
}

// Embeddings is an OpenAI-compatible endpoint that helps to find tools.
type Embeddings struct {
	URL   string `yaml:"url"`
	Model string `yaml:"model"`
	Key   string `yaml:"key"` // env:NAME or file:PATH; empty: none
}

// Value is one setting and where it came from.
type Value struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"`
}

// Values lists every setting that somebody made, in order of key.
func (s *Settings) Values() []Value {
	out := slices.Clone(s.values)
	slices.SortStableFunc(out, func(a, b Value) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// set notes a value and its origin, in place of one from a farther layer.
func (s *Settings) set(key, value, origin string) {
	s.values = slices.DeleteFunc(s.values, func(v Value) bool { return v.Key == key })
	s.values = append(s.values, Value{key, value, origin})
}

func (s *Settings) setAll(values []Value) {
	for _, v := range values {
		s.set(v.Key, v.Value, v.Origin)
	}
}

// Load adds up the layers as they are seen from env's working folder.
func Load(env *Environment, flags Flags) (*Settings, error) {
	s := &Settings{Cache: env.cacheDir(), Audit: Audit{Dir: env.auditDir(), Rotate: 64 << 20}, LearnTypes: true, Log: "warn"}
	s.set("cache", s.Cache, "default")
	s.set("audit.dir", s.Audit.Dir, "default")
	s.set("log", s.Log, "default")
	project, err := findProject(env)
	if err != nil {
		return nil, err
	}
	s.Project = project

	for _, layer := range []struct {
		origin policy.Origin
		dir    string
	}{{policy.System, env.systemDir()}, {policy.User, env.configDir()}} {
		if layer.dir == "" {
			continue
		}
		if err := s.readFolder(env, layer.dir, layer.origin, true); err != nil {
			return nil, err
		}
	}
	if project.Dir != "" {
		if err := s.readFolder(env, project.Dir, policy.Project, project.Trusted); err != nil {
			return nil, err
		}
		if !project.Trusted {
			s.Warnings = append(s.Warnings, fmt.Sprintf("%s is not trusted: its files start no server and allow nothing, and only what its policy denies or asks for holds (read them, then run: wexec config trust)", project.Dir))
		}
	}
	if err := s.readEnvironment(env); err != nil {
		return nil, err
	}
	if err := s.readFlags(env, flags); err != nil {
		return nil, err
	}
	return s, s.checkServers()
}

// readFolder takes wexec.yaml, policy.yaml and, in a project, .mcp.json.
func (s *Settings) readFolder(env *Environment, dir string, origin policy.Origin, trusted bool) error {
	path := filepath.Join(dir, "wexec.yaml")
	policies, mcps := []string{}, []string{}
	var read reader = readBounded
	has := exists
	if origin == policy.Project {
		read, has = s.Project.read, func(path string) bool { return s.Project.texts[path] != nil }
	}
	file, ok, err := readFile(path, read)
	if err != nil {
		return err
	}
	if ok {
		p, m := s.take(file, dir, path, origin, trusted)
		policies, mcps = append(policies, p...), append(mcps, m...)
		if trusted {
			servers, err := file.servers(path, env.expander(dir))
			if err != nil {
				return err
			}
			s.addServers(servers, path)
		}
	}
	if len(policies) == 0 && has(filepath.Join(dir, "policy.yaml")) {
		policies = []string{filepath.Join(dir, "policy.yaml")}
	}
	if origin == policy.Project && len(mcps) == 0 && has(filepath.Join(dir, ".mcp.json")) {
		mcps = []string{filepath.Join(dir, ".mcp.json")}
	}
	for _, p := range policies {
		if err := s.addPolicy(env, p, read, origin, trusted); err != nil {
			return err
		}
	}
	for _, m := range mcps {
		if !trusted {
			continue
		}
		if err := s.addMCP(env, m, read, dir); err != nil {
			return err
		}
	}
	return nil
}

// take notes the plain values of a file. An untrusted file may lower limits
// and nothing else.
func (s *Settings) take(f *file, dir, path string, origin policy.Origin, trusted bool) (policies, mcps []string) {
	at := func(p string) string { return absolute(dir, p) }
	if origin == policy.Project && !trusted {
		s.Limits = s.Limits.Tighten(f.Limits.Limits)
	} else {
		s.Limits = f.Limits.Or(s.Limits)
	}
	s.setAll(limitValues(f.Limits.Limits, path))
	for _, p := range f.Policy {
		policies = append(policies, at(p))
	}
	if !trusted {
		return policies, nil
	}
	for _, m := range f.MCP {
		mcps = append(mcps, at(m))
	}
	if f.Cache != "" {
		s.Cache = at(f.Cache)
		s.set("cache", s.Cache, path)
	}
	if f.Log != "" {
		s.Log = f.Log
		s.set("log", f.Log, path)
	}
	if a := f.Audit; a != nil {
		if a.Dir != "" {
			s.Audit.Dir = at(a.Dir)
			s.set("audit.dir", s.Audit.Dir, path)
		}
		if a.Rotate > 0 {
			s.Audit.Rotate = int64(a.Rotate)
			s.set("audit.rotate", fmt.Sprint(int64(a.Rotate)), path)
		}
		if a.Sync != "" {
			s.Audit.Sync = a.Sync
			s.set("audit.sync", a.Sync, path)
		}
		if a.Key != "" {
			s.Audit.Key = at(a.Key)
			s.set("audit.key", s.Audit.Key, path)
		}
	}
	if f.LearnTypes != nil {
		s.LearnTypes = *f.LearnTypes
		s.set("learn_types", fmt.Sprint(s.LearnTypes), path)
	}
	if f.Embeddings != nil {
		s.Embeddings = *f.Embeddings
		s.set("embeddings.url", f.Embeddings.URL, path)
		s.set("embeddings.model", f.Embeddings.Model, path)
	}
	return policies, mcps
}

// addPolicy reads a policy file. Of an untrusted one only that holds which
// forbids.
func (s *Settings) addPolicy(env *Environment, path string, read reader, origin policy.Origin, trusted bool) error {
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
	said := string(origin)
	if !trusted {
		p, said = p.Tightening(), said+", not trusted: what it denies or asks for"
	}
	s.Policies = append(s.Policies, policy.Layered{Policy: p, Origin: origin})
	s.files = append(s.files, path)
	s.set("policy."+string(origin), path, said)
	return nil
}

func (s *Settings) addMCP(env *Environment, path string, read reader, workspace string) error {
	servers, err := readServers(path, env.expander(workspace), read)
	if err != nil {
		return err
	}
	s.addServers(servers, path)
	s.files = append(s.files, path)
	s.set("mcp", path, path)
	return nil
}

// addServers takes servers of a nearer layer in place of farther ones of the
// same name.
func (s *Settings) addServers(more Servers, origin string) {
	for _, m := range more.Servers {
		s.Servers = slices.DeleteFunc(s.Servers, func(o upstream.Server) bool { return o.Name == m.Name })
		s.Servers = append(s.Servers, m)
		s.set("servers."+m.Name, described(m), m.Origin)
	}
	s.Unhonoured = append(s.Unhonoured, more.Warnings...)
}

// described is a server as it may be shown: no variables, no headers.
func described(s upstream.Server) string {
	if s.URL != "" {
		return s.URL
	}
	return strings.Join(append([]string{s.Command}, s.Args...), " ")
}

func (s *Settings) readEnvironment(env *Environment) error {
	const origin = "environment"
	for name, set := range map[string]func(string){
		"WEXEC_CACHE": func(v string) { s.Cache = absolute(env.Dir, v); s.set("cache", s.Cache, origin) },
		"WEXEC_AUDIT": func(v string) { s.Audit.Dir = absolute(env.Dir, v); s.set("audit.dir", s.Audit.Dir, origin) },
		"WEXEC_LOG":   func(v string) { s.Log = v; s.set("log", v, origin) },
	} {
		if v, ok := env.Lookup(name); ok && v != "" {
			set(v)
		}
	}
	limits, err := limitsFromEnvironment(env)
	if err != nil {
		return err
	}
	s.Limits = limits.Or(s.Limits)
	s.setAll(limitValues(limits, origin))
	for _, p := range env.list("WEXEC_POLICY") {
		if err := s.addPolicy(env, absolute(env.Dir, p), readBounded, policy.Named, true); err != nil {
			return err
		}
	}
	for _, m := range env.list("WEXEC_MCP") {
		if err := s.addMCP(env, absolute(env.Dir, m), readBounded, env.Dir); err != nil {
			return err
		}
	}
	return nil
}

func (s *Settings) readFlags(env *Environment, f Flags) error {
	const origin = "flag"
	if f.Cache != "" {
		s.Cache = absolute(env.Dir, f.Cache)
		s.set("cache", s.Cache, origin)
	}
	if f.Audit != "" {
		s.Audit.Dir = absolute(env.Dir, f.Audit)
		s.set("audit.dir", s.Audit.Dir, origin)
	}
	if f.Log != "" {
		s.Log = f.Log
		s.set("log", f.Log, origin)
	}
	if !slices.Contains([]string{"debug", "info", "warn", "error"}, s.Log) {
		return fault.New(fault.UsageConfig, "the log level %q is unknown", s.Log).WithHint("use debug, info, warn or error")
	}
	s.Limits = f.Limits.Or(s.Limits)
	s.setAll(limitValues(f.Limits, origin))
	for _, p := range f.Policy {
		if err := s.addPolicy(env, absolute(env.Dir, p), readBounded, policy.Named, true); err != nil {
			return err
		}
	}
	for _, m := range f.MCP {
		if err := s.addMCP(env, absolute(env.Dir, m), readBounded, env.Dir); err != nil {
			return err
		}
	}
	flags, err := policy.FromFlags(f.Allow)
	if err != nil {
		return err
	}
	if flags != nil {
		s.Policies = append(s.Policies, policy.Layered{Policy: flags, Origin: policy.FromCLI})
	}
	return nil
}

// checkServers reports everything that is wrong with the servers at once.
func (s *Settings) checkServers() error {
	var wrong []error
	for _, srv := range s.Servers {
		if srv.Name == "" || strings.ContainsAny(srv.Name, "\x00\n\r\t") || len(srv.Name) > 128 {
			wrong = append(wrong, fault.New(fault.UsageConfig, "%s: %q is no name for a server", srv.Origin, srv.Name))
		}
		if strings.HasPrefix(srv.Name, "wexec:") {
			wrong = append(wrong, fault.New(fault.UsageConfig, "%s: the name %q is taken by wexec itself", srv.Origin, srv.Name))
		}
	}
	return errors.Join(wrong...)
}

// Policy is the effective policy: every layer put together. Nil where there is
// no policy at all, which denies every tool.
func (s *Settings) Policy() *policy.Policy { return policy.Layer(s.Policies...) }
