// Package clients reads and edits the files in which MCP clients keep their
// servers: JSON with comments and, for Codex, TOML. An edit changes one server
// and leaves the rest of the file as it is, comments and order included. Where
// the files are is known to package config.
package clients

import (
	"path/filepath"

	"github.com/wexec/wexec/config"
)

func isTOML(c config.Client) bool { return filepath.Ext(c.Path) == ".toml" }

// Servers returns the servers in a client's file other than wexec: those of JSON
// in the order of the file, those of TOML by name.
func Servers(c config.Client, text string) ([]Server, error) {
	if isTOML(c) {
		return tomlServers(text, c.Key)
	}
	return jsonServers(text, c.Key)
}

// Has reports whether wexec is among the servers in a client's file.
func Has(c config.Client, text string) bool {
	without, err := Remove(c, text, Self)
	return err == nil && without != text
}

// Install returns the text of a client's file with wexec as a server.
func Install(c config.Client, text string, l Launch) (string, error) {
	if isTOML(c) {
		return setTOML(text, c.Key, l)
	}
	if c.Key == "servers" { // VS Code
		l.Type = "stdio"
	}
	return setJSON(text, c.Key, l)
}

// Remove returns the text of a client's file without some servers.
func Remove(c config.Client, text string, names ...string) (string, error) {
	remove := removeJSON
	if isTOML(c) {
		remove = removeTOML
	}
	for _, name := range names {
		var err error
		if text, err = remove(text, c.Key, name); err != nil {
			return "", err
		}
	}
	return text, nil
}
