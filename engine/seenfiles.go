package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// seenFile is a file of the program's own folder that a run looked at, as it
// was then.
type seenFile struct {
	Path   string `json:"path"`             // below the folder, with slashes
	Digest string `json:"sha256,omitempty"` // empty: there was none
}

// seen notes which files a run looks at, as far as its value depends on them.
type seen struct {
	root  string // of the host; empty: the program has no folder
	paths map[string]bool
	spoil bool // it looked at what is not noted
}

// maxSeen bounds how many files are noted.
const maxSeen = 1000

// look notes a path below "/".
func (s *seen) look(p string) {
	p = path.Clean(strings.TrimPrefix(p, "/"))
	first, rest, _ := strings.Cut(p, "/")
	switch first {
	case "lib", "tmp", "mcp-servers", ".", "dev": // fixed by the key, or the run's own
	case "app":
		if s.root == "" || len(s.paths) >= maxSeen {
			s.spoil = true
			return
		}
		if rest == "" {
			return
		}
		if s.paths == nil {
			s.paths = map[string]bool{}
		}
		s.paths[rest] = true
	default:
		s.spoil = true
	}
}

// files are the digests of what was looked at. It is false where the value
// depends on more.
func (s *seen) files() ([]seenFile, bool) {
	if s.spoil {
		return nil, false
	}
	var out []seenFile
	for p := range s.paths {
		d, err := digestFile(s.root, p)
		if err != nil {
			return nil, false
		}
		out = append(out, seenFile{p, d})
	}
	return out, true
}

// holds reports whether the files an entry depends on are what they were.
func (e *resultEntry) holds(root string) bool {
	for _, f := range e.Files {
		if d, err := digestFile(root, f.Path); err != nil || d != f.Digest {
			return false
		}
	}
	return true
}

// digestFile is the digest of a file, "" where there is none, or "folder".
func digestFile(root, p string) (string, error) {
	f, err := os.Open(filepath.Join(root, filepath.FromSlash(p)))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if info.IsDir() {
		return "folder", nil
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("not a regular file")
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
