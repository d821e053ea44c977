package guestcache

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tetratelabs/wazero"

	"github.com/wexec/wexec/engine/internal/sandbox"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
	"github.com/wexec/wexec/internal/snapshot"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// Store holds compiled guests and memory images. It is safe for concurrent use.
type Store struct {
	// Memories says how instances get their memory. It must not change once the
	// store is used.
	Memories snapshot.Mode

	dir        string
	code       wazero.CompilationCache
	mappedCode bool // native code is mapped from its file

	mu       sync.Mutex
	images   map[[32]byte]*snapshot.Image
	memory   wazero.CompilationCache // used if the folder cannot be written to; nil: not needed yet
	prefetch *prefetch               // nil: none, or taken
	closed   bool
}

// prefetch is a guest that is loaded before an engine asks for it.
type prefetch struct {
	module string
	done   chan struct{}
	loaded *sandbox.Module // nil: its code has to be compiled, which is not done here
	digest string          // of the module
}

// Dir returns the store's folder, or "".
func (s *Store) Dir() string { return s.dir }

// image returns the memory image of a guest, and writes it to the folder first
// if it is missing or damaged there.
func (s *Store) image(m *wasmmodules.Module) (*snapshot.Image, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if im := s.images[m.ImageSHA256]; im != nil {
		return im, nil
	}
	im, err := s.openImage(m)
	if err != nil {
		return nil, fault.New(fault.Internal, "load the memory image of %s: %w", m.Name, err)
	}
	s.images[m.ImageSHA256] = im
	return im, nil
}

func (s *Store) openImage(m *wasmmodules.Module) (*snapshot.Image, error) {
	path := ""
	if s.dir != "" {
		path = s.partPath(m.Name, m.ImageSHA256)
		if im, err := snapshot.OpenFile(path, m.ImageSHA256, s.Memories); err == nil {
			touch(path)
			return im, nil
		}
	}
	image, err := m.Image()
	if err != nil {
		return nil, err
	}
	if path != "" && snapshot.WriteFile(path, image) == nil {
		s.removeUnused()
		if im, err := snapshot.OpenFile(path, m.ImageSHA256, s.Memories); err == nil {
			return im, nil
		}
	}
	return snapshot.New(image, s.Memories)
}

// library returns the archive of a guest's standard library.
func (s *Store) library(m *wasmmodules.Module) ([]byte, error) {
	return s.part(m.LibraryName, m.LibrarySHA256, m.LibrarySize, m.Library)
}

func (s *Store) partPath(name string, sum [32]byte) string {
	return filepath.Join(s.dir, "images", name+"-"+hex.EncodeToString(sum[:8]))
}

// part returns a part of a guest from the folder, and writes it there first if
// it is missing: unpacking takes longer than reading.
func (s *Store) part(name string, sum [32]byte, size uint64, unpack func() ([]byte, error)) ([]byte, error) {
	if s.dir == "" {
		return unpack()
	}
	path := s.partPath(name, sum)
	if data, err := ownfile.Read(path, int64(size)); err == nil && sha256.Sum256(data) == sum {
		touch(path)
		return data, nil
	}
	data, err := unpack()
	if err == nil {
		_ = atomicfile.Write(path, data, 0o600)
	}
	return data, err
}

// pluginFormat is part of the names of checked plugins. It has to change with the
// meter, with the checks and with the prices of calls.
const pluginFormat = "2"

// maxChecked bounds the file of a checked plugin.
const maxChecked = 256 << 20

// checkedPlugin is the first line of the file of a checked plugin. The metered
// module follows.
type checkedPlugin struct {
	SHA256    string            `json:"sha256"` // of the metered module
	Minimum   int64             `json:"minimum"`
	Functions sandbox.Functions `json:"functions"`
}

// plugin returns a plugin that was checked and metered before, from the folder, and
// else checks it and writes it there: that takes several times as long as a call.
func (s *Store) plugin(digest string, check func() (*sandbox.Plugin, error)) (*sandbox.Plugin, error) {
	if s.dir == "" {
		return check()
	}
	path := filepath.Join(s.dir, "images", "plugin-"+digest+"-"+pluginFormat)
	if data, err := ownfile.Read(path, maxChecked); err == nil {
		head, wasm, _ := bytes.Cut(data, []byte("\n"))
		sum := sha256.Sum256(wasm)
		var c checkedPlugin
		if json.Unmarshal(head, &c) == nil && c.SHA256 == hex.EncodeToString(sum[:]) {
			touch(path)
			return &sandbox.Plugin{Wasm: wasm, Minimum: c.Minimum, Functions: c.Functions}, nil
		}
	}
	p, err := check()
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(p.Wasm)
	if head, err := json.Marshal(checkedPlugin{hex.EncodeToString(sum[:]), p.Minimum, p.Functions}); err == nil {
		_ = atomicfile.Write(path, append(append(head, '\n'), p.Wasm...), 0o600)
		s.removeUnused()
	}
	return p, nil
}

// Every version of wexec writes its own native code and memory images, about
// 60 MB. What no process has used for a month belongs to an older version, and
// is removed when something new is written.

const unusedAfter = 30 * 24 * time.Hour

// touch notes that a file is used, to the day.
func touch(path string) {
	now := time.Now()
	if info, err := os.Lstat(path); err == nil && now.Sub(info.ModTime()) > 24*time.Hour {
		_ = os.Chtimes(path, now, now)
	}
}

// removeUnused removes native code and images that no process has used for
// long. A process that has one of them mapped keeps it.
func (s *Store) removeUnused() {
	for _, pattern := range []string{"images/*", "code/wazero-*/*"} {
		files, _ := filepath.Glob(filepath.Join(s.dir, pattern))
		for _, file := range files {
			if info, err := os.Lstat(file); err == nil && time.Since(info.ModTime()) > unusedAfter {
				_ = os.Remove(file)
			}
		}
	}
	notes, _ := filepath.Glob(filepath.Join(s.dir, "code", "*.json"))
	for _, note := range notes {
		n, err := readNote(note)
		if err != nil {
			continue
		}
		if _, err := os.Lstat(filepath.Join(s.dir, "code", n.File)); os.IsNotExist(err) {
			_ = os.Remove(note)
		}
	}
}

// removeUnfinished removes what killed processes left half written in a folder.
// What is younger than an hour may be in progress.
func removeUnfinished(dir string) {
	list, _ := os.ReadDir(dir)
	for _, d := range list {
		if !strings.HasPrefix(d.Name(), ".") {
			continue
		}
		if info, err := d.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
			_ = os.RemoveAll(filepath.Join(dir, d.Name()))
		}
	}
}

// codeNote says where the native code of a guest lies.
type codeNote struct {
	File string `json:"file"` // below the code folder
	Size int64  `json:"size"`
}

func readNote(path string) (n codeNote, err error) {
	data, err := ownfile.Read(path, 4096)
	if err == nil {
		err = json.Unmarshal(data, &n)
	}
	if err == nil && !filepath.IsLocal(n.File) {
		err = errors.New("not a file below the code folder")
	}
	return n, err
}
