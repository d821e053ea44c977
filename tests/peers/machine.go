package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// machine is the machine in a few words, without its name.
func machine() string {
	model := runtime.GOARCH
	if data, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(data)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%s/%s, %d processors (%s), %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), model, runtime.Version())
}

// version is the peer's own version, as it is installed.
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
		data, err := os.ReadFile(filepath.Join("tests", "peers", "go", "go.mod"))
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
