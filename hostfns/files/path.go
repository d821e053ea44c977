package files

import (
	"path/filepath"
	"runtime"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
)

// plain rejects ambiguous paths, and returns the path
// without leading and trailing slashes.
func plain(name string, windows bool) (string, sys.Errno) {
	if len(name) > 4096 {
		return "", sys.ENAMETOOLONG
	}
	name = strings.Trim(name, "/")
	if name == "" || name == "." {
		return ".", 0
	}
	var parts []string
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "" || part == ".":
			continue
		case part == "..":
			return "", sys.EACCES
		case len(part) > 255:
			return "", sys.ENAMETOOLONG
		case strings.ContainsAny(part, "\x00\\") || strings.ContainsFunc(part, func(r rune) bool { return r < 0x20 || r == 0x7f }):
			return "", sys.EINVAL
		case windows && !plainOnWindows(part, len(parts) == 0):
			return "", sys.EINVAL
		}
		parts = append(parts, part)
	}
	if len(parts) == 0 {
		return ".", 0
	}
	if len(parts) > 100 {
		return "", sys.ENAMETOOLONG
	}
	return strings.Join(parts, "/"), 0
}

// plainOnWindows rejects names with a special meaning on Windows: streams, trailing
// dots and spaces, devices, short names.
func plainOnWindows(part string, first bool) bool {
	if first && len(part) == 2 && part[1] == ':' {
		return true // a drive
	}
	if strings.ContainsAny(part, `:*?"<>|~`) || strings.HasSuffix(part, ".") || strings.HasSuffix(part, " ") {
		return false
	}
	base, _, _ := strings.Cut(strings.ToUpper(part), ".")
	base = strings.TrimSpace(base)
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return false
	}
	if r := []rune(base); len(r) == 4 && (strings.HasPrefix(base, "COM") || strings.HasPrefix(base, "LPT")) && strings.ContainsRune("0123456789¹²³", r[3]) {
		return false
	}
	return true
}

// cleanDir returns an absolute folder of the host with slashes, or "".
func cleanDir(dir string) string {
	if dir == "" || !filepath.IsAbs(dir) {
		return ""
	}
	return filepath.ToSlash(filepath.Clean(dir))
}

// hostPath converts "home/u/x" to "/home/u/x". On Windows, it returns "C:/x"
// unchanged.
func hostPath(clean string) string {
	if runtime.GOOS == "windows" {
		if len(clean) >= 2 && clean[1] == ':' {
			return clean
		}
		return ""
	}
	return "/" + clean
}

// below returns the part of a path below a folder.
func below(dir, abs string) (string, bool) {
	if abs == dir {
		return ".", true
	}
	if rest, ok := strings.CutPrefix(abs, strings.TrimSuffix(dir, "/")+"/"); ok {
		return rest, true
	}
	return "", false
}
