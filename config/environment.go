package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/upstream"
)

// Environment is what this package uses of the machine. Tests make their own.
type Environment struct {
	Dir    string   // working folder
	Home   string   // of the user; may be empty
	Vars   []string // NAME=value
	System string   // folder of the system's configuration; may be empty
	OS     string   // as runtime.GOOS
	// Within is the folder of a tenant that a server's operator does not trust with
	// the machine: files outside it are not read for the tenant. Empty: no bound.
	Within string
}

// Process returns the environment of this process.
func Process() (*Environment, error) {
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir() // "" if there is none
	e := &Environment{Dir: dir, Home: home, Vars: os.Environ(), OS: runtime.GOOS}
	switch runtime.GOOS {
	case "windows":
		if data, ok := e.Lookup("PROGRAMDATA"); ok {
			e.System = filepath.Join(data, "wexec")
		}
	case "darwin":
		e.System = "/Library/Application Support/wexec"
	default:
		e.System = "/etc/wexec"
	}
	return e, nil
}

// Lookup returns the value of a variable.
func (e *Environment) Lookup(name string) (string, bool) {
	for _, kv := range e.Vars {
		k, v, ok := strings.Cut(kv, "=")
		if ok && (k == name || (e.OS == "windows" && strings.EqualFold(k, name))) {
			return v, true
		}
	}
	return "", false
}

// list returns the paths of a variable that is a list.
func (e *Environment) list(name string) []string {
	v, _ := e.Lookup(name)
	return slices.DeleteFunc(filepath.SplitList(v), func(p string) bool { return p == "" })
}

func (e *Environment) expander(workspace string) expander {
	return expander{lookup: e.Lookup, workspace: workspace}
}

// folder returns wexec's folder in an XDG folder, or in that of the platform. It
// is empty if there is no home folder.
func (e *Environment) folder(variable, unix, darwin, windows string) string {
	if v, ok := e.Lookup(variable); ok && filepath.IsAbs(v) {
		return filepath.Join(v, "wexec")
	}
	base := below(e.Home, unix)
	switch e.OS {
	case "windows":
		if v, _ := e.Lookup(windows); v != "" {
			base = v
		}
	case "darwin":
		base = below(e.Home, darwin)
	}
	return below(base, "wexec")
}

// below returns a path in a folder, or "" if there is no folder.
func below(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

func (e *Environment) configDir() string {
	return e.folder("XDG_CONFIG_HOME", ".config", "Library/Application Support", "APPDATA")
}

func (e *Environment) cacheDir() string {
	return e.folder("XDG_CACHE_HOME", ".cache", "Library/Caches", "LOCALAPPDATA")
}

func (e *Environment) stateDir() string {
	return e.folder("XDG_STATE_HOME", ".local/state", "Library/Application Support", "LOCALAPPDATA")
}

func (e *Environment) dataDir() string {
	return e.folder("XDG_DATA_HOME", ".local/share", "Library/Application Support", "LOCALAPPDATA")
}

// DataDir returns the folder of what lasts: a given one, or the user's.
func (e *Environment) DataDir(given string) (string, error) {
	if given != "" {
		return absolute(e.Dir, given), nil
	}
	if dir := e.dataDir(); dir != "" {
		return dir, nil
	}
	return "", fault.New(fault.UsageStore, "there is no home folder for data").WithHint("set XDG_DATA_HOME")
}

// Store returns the address of the store: a given one, that of WEXEC_STORE, or a
// file in the data folder, which is the user's unless one is given.
func (e *Environment) Store(address, data string) (string, error) {
	if address == "" {
		address, _ = e.Lookup("WEXEC_STORE")
	}
	if file, ok := strings.CutPrefix(address, "sqlite:"); ok && file != "" {
		return "sqlite:" + absolute(e.Dir, file), nil
	}
	if address != "" {
		return address, nil
	}
	dir, err := e.DataDir(data)
	return "sqlite:" + filepath.Join(dir, "wexec.db"), err
}

// Grants returns the user's logins at HTTP servers.
func (e *Environment) Grants() *upstream.Grants {
	return upstream.NewGrants(below(e.stateDir(), "logins.json"))
}

// RuntimeDir returns the folder of sockets.
func (e *Environment) RuntimeDir() string {
	if v, ok := e.Lookup("XDG_RUNTIME_DIR"); ok && filepath.IsAbs(v) {
		return filepath.Join(v, "wexec")
	}
	return below(e.stateDir(), "run")
}

// absolute returns a path as seen from a folder. It does not expand ~.
func absolute(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

// shown returns a path as messages name it: relative if it is below the working
// folder.
func (e *Environment) shown(path string) string {
	if rel, err := filepath.Rel(e.Dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// Map returns all variables, of which programs get those that the policy
// allows.
func (e *Environment) Map() map[string]string {
	out := map[string]string{}
	for _, kv := range e.Vars {
		if k, v, ok := strings.Cut(kv, "="); ok {
			out[k] = v
		}
	}
	return out
}
