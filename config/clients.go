package config

import (
	"path/filepath"
)

// Client is a program for agents and the file in which it keeps its servers.
type Client struct {
	Name string // as mcp install --client takes it
	Path string
	Key  string // under which its servers stand
	// InProject says that the file is the project's: its servers start there.
	InProject bool
}

// Clients lists where each known client keeps its servers on this machine, in
// the order in which people have them.
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

// Found is a file with servers that a client of this machine has.
type Found struct {
	Client  string
	Path    string
	Servers int
}

// Text is what the client's file says. It may be a stranger's, such as that of
// a cloned project, and whoever reads it asked for the client and not for it.
func (c Client) Text() ([]byte, error) { return readUntrusted(c.Path) }

// FindServers looks for the files of every known client. Files without servers
// and files that cannot be read are passed over.
func FindServers(env *Environment) []Found {
	var out []Found
	for _, c := range Clients(env) {
		if !exists(c.Path) || filepath.Ext(c.Path) == ".toml" {
			continue
		}
		// A variable that is not set does not matter for counting.
		x := expander{lookup: func(string) (string, bool) { return "x", true }}
		if s, err := readServers(c.Path, x, readUntrusted); err == nil && len(s.Servers) > 0 {
			out = append(out, Found{c.Name, c.Path, len(s.Servers)})
		}
	}
	return out
}
