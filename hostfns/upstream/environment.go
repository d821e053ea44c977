package upstream

import (
	"path/filepath"
	"runtime"
	"strings"
)

// nameOf is the name in NAME=value.
func nameOf(kv string) string {
	name, _, _ := strings.Cut(kv, "=")
	return name
}

// sameName compares names of variables as the platform does.
func sameName(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// valueOf finds a variable in a list of NAME=value.
func valueOf(name string, environ []string) string {
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && sameName(k, name) {
			return v
		}
	}
	return ""
}

func hasSeparator(command string) bool {
	return strings.ContainsRune(command, filepath.Separator) || strings.Contains(command, "/")
}

func filepathList(path string) []string { return filepath.SplitList(path) }

func join(dir, name string) string {
	if dir == "" {
		dir = "."
	}
	// A bare "./name" would be looked up in the folder, "name" on the PATH of
	// this process.
	if joined := filepath.Join(dir, name); hasSeparator(joined) {
		return joined
	}
	return "." + string(filepath.Separator) + name
}
