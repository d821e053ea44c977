package packages

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"io/fs"
	"maps"
	"path"
	"slices"
	"sync"
	"time"
)

// Set is the files of several packages as one read-only file system. Its methods
// can be called concurrently.
type Set struct {
	nodes  map[string]*node
	digest string
}

// maxTotal bounds what all packages of a set unpack to: a file that was read stays
// in memory.
const maxTotal = 2 * maxBytes

// Open returns the packages of archives that [Package.Archive] made. Two packages
// may share folders, as namespace packages do, but no file.
func Open(archives ...[]byte) (*Set, error) {
	s := &Set{nodes: map[string]*node{".": {name: ".", dir: true}}}
	h := sha256.New()
	owner := map[string]string{}
	all := map[string]*zip.File{}
	var size uint64
	for _, data := range archives {
		sum := sha256.Sum256(data)
		h.Write(sum[:])
		about, files, err := openArchive(data)
		if err != nil {
			return nil, err
		}
		for name, f := range files {
			if other, ok := owner[name]; ok {
				return nil, refused("the packages %s and %s both have the file %s", other, about.Name, name).
					WithHint("run: wexec packages remove %s", other)
			}
			owner[name], all[name] = about.Name, f
			size += f.UncompressedSize64
		}
	}
	if size > maxTotal {
		return nil, refused("the packages have more than %d MiB of files", maxTotal>>20)
	}
	if err := checkCase(all); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s.add(name, all[name])
	}
	s.digest = hex.EncodeToString(h.Sum(nil))
	return s, nil
}

// Digest identifies the packages by their content. A nil set has none.
func (s *Set) Digest() string {
	if s == nil {
		return ""
	}
	return s.digest
}

// add adds a file and the folders above it, in the order of their names.
func (s *Set) add(name string, f *zip.File) {
	n := &node{name: path.Base(name), size: int64(f.UncompressedSize64)}
	n.data = sync.OnceValues(func() ([]byte, error) { return inflate(f, n.size) })
	s.nodes[name] = n
	for child := n; name != "."; {
		name = path.Dir(name)
		above, ok := s.nodes[name]
		if !ok {
			above = &node{name: path.Base(name), dir: true}
			s.nodes[name] = above
		}
		above.entries = append(above.entries, child)
		if ok {
			return
		}
		child = above
	}
}

// node is a file or a folder.
type node struct {
	name    string
	dir     bool
	size    int64
	entries []fs.DirEntry
	data    func() ([]byte, error) // inflated when it is first read
}

// made is the time of all files: archives have none.
var made = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func (n *node) Name() string               { return n.name }
func (n *node) Size() int64                { return n.size }
func (n *node) ModTime() time.Time         { return made }
func (n *node) IsDir() bool                { return n.dir }
func (n *node) Sys() any                   { return nil }
func (n *node) Info() (fs.FileInfo, error) { return n, nil }
func (n *node) Type() fs.FileMode          { return n.Mode().Type() }

func (n *node) Mode() fs.FileMode {
	if n.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// Open implements fs.FS.
func (s *Set) Open(name string) (fs.File, error) {
	n, ok := s.nodes[name]
	if !ok {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openNode{node: n}, nil
}

// Stat implements fs.StatFS.
func (s *Set) Stat(name string) (fs.FileInfo, error) {
	if n, ok := s.nodes[name]; ok {
		return n, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// openNode is an open file or folder.
type openNode struct {
	*node
	r  *bytes.Reader // of a file that was read
	at int           // in the entries of a folder
}

// Stat implements fs.File.
func (o *openNode) Stat() (fs.FileInfo, error) { return o.node, nil }

// Close implements fs.File.
func (o *openNode) Close() error { return nil }

func (o *openNode) reader() (*bytes.Reader, error) {
	if o.r != nil {
		return o.r, nil
	}
	if o.dir {
		return nil, fs.ErrInvalid
	}
	data, err := o.data()
	if err != nil {
		return nil, err
	}
	o.r = bytes.NewReader(data)
	return o.r, nil
}

// Read implements fs.File.
func (o *openNode) Read(b []byte) (int, error) {
	r, err := o.reader()
	if err != nil {
		return 0, err
	}
	return r.Read(b)
}

// ReadAt implements io.ReaderAt.
func (o *openNode) ReadAt(b []byte, off int64) (int, error) {
	r, err := o.reader()
	if err != nil {
		return 0, err
	}
	return r.ReadAt(b, off)
}

// Seek implements io.Seeker.
func (o *openNode) Seek(offset int64, whence int) (int64, error) {
	if o.dir && offset == 0 && whence == io.SeekStart {
		o.at = 0
		return 0, nil
	}
	r, err := o.reader()
	if err != nil {
		return 0, err
	}
	return r.Seek(offset, whence)
}

// ReadDir implements fs.ReadDirFile.
func (o *openNode) ReadDir(n int) ([]fs.DirEntry, error) {
	if !o.dir {
		return nil, fs.ErrInvalid
	}
	rest := o.entries[o.at:]
	switch {
	case n <= 0:
	case len(rest) == 0:
		return nil, io.EOF
	case len(rest) > n:
		rest = rest[:n]
	}
	o.at += len(rest)
	return slices.Clone(rest), nil
}
