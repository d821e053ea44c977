package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
)

// Client is an agent or editor with the file in which it keeps its servers.
type Client struct {
	Name string // as mcp install --client takes it
	Path string
	Key  string // of the servers in the file
	// InProject means that the file belongs to the project, and its servers start
	// in the project's folder.
	InProject bool
}

// Clients lists the files of all known clients on this machine, the most common
// client first.
func Clients(env *Environment) []Client {
	home := func(parts ...string) string { return filepath.Join(append([]string{env.Home}, parts...)...) }
	support := home(".config")
	switch env.OS {
	case "darwin":
		support = home("Library", "Application Support")
	case "windows":
		if v, ok := env.Lookup("APPDATA"); ok {
			support = v
		}
	default:
		if v, ok := env.Lookup("XDG_CONFIG_HOME"); ok && filepath.IsAbs(v) {
			support = v
		}
	}
	return []Client{
		{"claude-code", filepath.Join(env.Dir, ".mcp.json"), "mcpServers", true},
		{"claude-code-user", home(".claude.json"), "mcpServers", false},
		{"claude-desktop", filepath.Join(support, "Claude", "claude_desktop_config.json"), "mcpServers", false},
		{"cursor", home(".cursor", "mcp.json"), "mcpServers", false},
		{"vscode", filepath.Join(env.Dir, ".vscode", "mcp.json"), "servers", true},
		{"gemini", home(".gemini", "settings.json"), "mcpServers", false},
		{"codex", home(".codex", "config.toml"), "mcp_servers", false},
	}
}

// Text reads the client's file, which may be that of a cloned project.
func (c Client) Text() ([]byte, error) { return readUntrusted(c.Path) }

// Found is a file of a client that has servers.
type Found struct {
	Client  string
	Path    string
	Servers int
}

// FindServers returns the files of known clients that have servers. It ignores
// files that it cannot read.
func FindServers(env *Environment) []Found {
	var out []Found
	// The values of variables do not matter for counting.
	anyValue := expander{lookup: func(string) (string, bool) { return "x", true }}
	for _, c := range Clients(env) {
		if !exists(c.Path) || filepath.Ext(c.Path) == ".toml" {
			continue
		}
		if s, err := readServers(c.Path, anyValue, readUntrusted); err == nil && len(s.Servers) > 0 {
			out = append(out, Found{c.Name, c.Path, len(s.Servers)})
		}
	}
	return out
}

// toolNames is a file in the cache with the names of the tools that were listed
// last, one a line. Shell completion uses it.
const toolNames = "tools.txt"

// SaveToolNames saves the names of servers and tools for [SavedToolNames]. It
// ignores errors.
func SaveToolNames(env *Environment, c *catalogue.Catalogue) {
	dir := env.cacheDir()
	if dir == "" || len(c.Tools()) == 0 || ownfile.Dir(dir) != nil {
		return
	}
	var names []string
	for _, s := range c.Servers() {
		names = append(names, s.Name)
	}
	for _, t := range c.Tools() {
		names = append(names, t.ID())
	}
	_ = atomicfile.Write(filepath.Join(dir, toolNames), []byte(strings.Join(names, "\n")+"\n"), 0o600)
}

// SavedToolNames returns the names of servers and tools that were listed last. A
// shell gets them, so other users must not be able to write them.
func SavedToolNames(env *Environment) []string {
	dir := env.cacheDir()
	if dir == "" || ownfile.Dir(dir) != nil {
		return nil
	}
	data, err := ownfile.Read(filepath.Join(dir, toolNames), maxFile)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(strings.Split(string(data), "\n"), func(s string) bool { return s == "" })
}

// Moved is what a move of servers took out of the file of a client.
type Moved struct {
	Path    string   `json:"path"`   // of the client's file
	Before  string   `json:"before"` // text of the file
	After   string   `json:"after"`
	Servers []string `json:"servers"`           // that were moved
	Out     string   `json:"out"`               // the file that they were moved to
	Secrets []string `json:"secrets,omitempty"` // files that were written
}

// movedFile is the file with the moves of a client's file, the last one at the end.
// It has secrets of the client.
func (c Client) movedFile(env *Environment) (string, error) {
	dir := below(env.stateDir(), "moved")
	if dir == "" {
		return "", fault.New(fault.UsageFile, "there is no home folder for the record of the move").WithHint("set XDG_STATE_HOME")
	}
	sum := sha256.Sum256([]byte(c.Path))
	return filepath.Join(dir, c.Name+"-"+hex.EncodeToString(sum[:6])+".json"), nil
}

// Moves returns the moves of servers out of a client's file that were not undone.
func (c Client) Moves(env *Environment) ([]Moved, error) {
	path, err := c.movedFile(env)
	if err != nil || !exists(path) {
		return nil, err
	}
	data, err := ownfile.Read(path, 10*maxFile)
	var all []Moved
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil, fault.New(fault.UsageFile, "read the record of moves %s: %w", path, pathCause(err))
	}
	return all, nil
}

// SaveMoves replaces the record of the moves, which only this user can read.
func (c Client) SaveMoves(env *Environment, all []Moved) error {
	path, err := c.movedFile(env)
	if err != nil {
		return err
	}
	return writeJSON(path, all, 0o600)
}

// SaveSecret writes a secret of a server to a file outside the project that only
// this user can read, or finds the environment variable that has it. It returns the
// source as a policy names it, and the file.
func SaveSecret(env *Environment, server, name, value string) (from, file string, err error) {
	if v, ok := env.Lookup(name); ok && v == value {
		return "env:" + name, "", nil
	}
	dir := below(env.configDir(), "secrets")
	if dir == "" {
		return "", "", fault.New(fault.UsageFile, "there is no home folder for secrets").WithHint("set XDG_CONFIG_HOME")
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{env.Dir, server, name}, "\x00")))
	file = filepath.Join(dir, hex.EncodeToString(sum[:12]))
	if err := write(file, []byte(value+"\n"), 0o600); err != nil {
		return "", "", fault.New(fault.UsageFile, "write a secret to %s: %w", file, pathCause(err))
	}
	return "file:" + file, file, nil
}
