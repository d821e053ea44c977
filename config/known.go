package config

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
)

// knownFile holds the names of the tools that were seen last, a line each, for
// completion in shells.
func knownFile(env *Environment) string {
	dir := env.cacheDir()
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, "tools.txt")
}

// RememberTools notes the names of the tools that are connected now. It is a
// convenience: a folder that cannot be written costs nothing else.
func RememberTools(env *Environment, c *catalogue.Catalogue) {
	path := knownFile(env)
	if path == "" || len(c.Tools()) == 0 {
		return
	}
	var names []string
	for _, s := range c.Servers() {
		names = append(names, s.Name)
	}
	for _, t := range c.Tools() {
		names = append(names, t.ID())
	}
	_ = writePrivate(path, []byte(strings.Join(names, "\n")+"\n"))
}

// KnownTools lists the names of servers and tools that were seen last.
func KnownTools(env *Environment) []string {
	path := knownFile(env)
	if path == "" {
		return nil
	}
	data, err := readBounded(path)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Split(string(data), "\n"), func(s string) bool { return s == "" })
}
