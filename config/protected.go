package config

import (
	"path/filepath"
	"slices"
)

// protected lists the files and folders that decide and record what programs
// do: policies, settings, servers, the audit, state and caches. No program
// reaches them, whatever a policy grants.
func (s *Settings) protected(env *Environment) []string {
	out := append(slices.Clone(s.files), s.Cache, s.Audit.Dir, s.Audit.Key,
		env.systemDir(), env.configDir(), env.cacheDir(), env.stateDir(), env.RuntimeDir())
	for _, dir := range []string{env.Dir, s.Project.Dir} {
		if dir == "" {
			continue
		}
		for _, name := range []string{"wexec.yaml", "policy.yaml", ".mcp.json", "mcp.json"} {
			out = append(out, filepath.Join(dir, name))
		}
	}
	return slices.DeleteFunc(out, func(path string) bool { return path == "" })
}
