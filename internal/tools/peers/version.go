package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// version returns the installed version of the peer.
func (p peer) version(work string) string {
	switch {
	case p.npm != "":
		data, err := os.ReadFile(filepath.Join(work, "node_modules", filepath.FromSlash(p.npm), "package.json"))
		if err != nil {
			return "not installed"
		}
		var pkg struct{ Version string }
		if json.Unmarshal(data, &pkg) != nil {
			return "unknown"
		}
		return pkg.Version
	case p.gomod != "":
		data, err := os.ReadFile(filepath.Join("internal", "tools", "peers", "go", "go.mod"))
		if err != nil {
			return "unknown"
		}
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(strings.TrimPrefix(line, "require ")); len(f) > 1 && f[0] == p.gomod {
				return f[1]
			}
		}
		return "unknown"
	case strings.HasPrefix(p.name, "node"):
		return said("node", "--version")
	case strings.HasPrefix(p.name, "python3"):
		return said(python(), "--version")
	}
	return said("git", "describe", "--tags", "--always")
}

func said(args ...string) string {
	out, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil {
		return "not installed"
	}
	return string(bytes.TrimPrefix(bytes.TrimSpace(out), []byte("Python ")))
}
