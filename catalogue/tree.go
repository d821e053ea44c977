package catalogue

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// pythonHead is the start of every .pyi file.
const pythonHead = "from typing import Any, Literal, Never, NotRequired, TypeAlias, TypedDict, Union\n\n"

// Tree returns the catalogue as read-only files: README.md and HELPERS.md at the
// root, and for each server a directory with index.ts, __init__.pyi, and a .ts
// and .pyi file for each tool. Contents are generated on first use.
func (c *Catalogue) Tree() fs.FS {
	t := tree{files: map[string]func() string{}, dirs: map[string][]string{".": nil}}
	t.add("README.md", c.readme)
	t.add("HELPERS.md", func() string { return helpersText })
	for _, s := range c.servers {
		tools := c.ServerTools(s.Name)
		t.add(s.Call+"/index.ts", func() string { return c.serverTypeScript(s, tools) })
		t.add(s.Call+"/__init__.pyi", func() string { return c.serverPython(s, tools) })
		for _, tool := range tools {
			name := c.Name(tool)
			t.add(s.Call+"/"+name+".ts", func() string { return c.typescript(tool, "export declare function ", 0) })
			t.add(s.Call+"/"+name+".pyi", func() string { return pythonHead + c.Python(tool) })
		}
	}
	for _, names := range t.dirs {
		slices.Sort(names)
	}
	return &t
}

func (c *Catalogue) serverTypeScript(s Server, tools []Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "// %s: %d tools. Call them as tools.%s.<name>(args).\n\n", oneLine(s.Name), len(tools), s.Call)
	for _, t := range tools {
		b.WriteString(c.typescript(t, "export declare function ", 0) + "\n")
	}
	return b.String()
}

func (c *Catalogue) serverPython(s Server, tools []Tool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %d tools. from tools import %s\n", oneLine(s.Name), len(tools), PythonName(s.Call))
	b.WriteString(pythonHead)
	for _, t := range tools {
		b.WriteString(c.Python(t) + "\n")
	}
	return b.String()
}

func (c *Catalogue) readme() string {
	var b strings.Builder
	b.WriteString(readmeText)
	for _, s := range c.servers {
		fmt.Fprintf(&b, "- %s/ (%d tools): %s\n", s.Call, s.Tools, overview(c.Categories(s.Name), maxOverview))
	}
	if len(c.servers) == 0 {
		b.WriteString("No servers are connected.\n")
	}
	return b.String()
}

// maxOverview is the number of categories that the README lists for a server.
const maxOverview = 6

// readmeText explains the convention, helpersText the helpers. Tests run the
// examples in helpersText.
var (
	//go:embed templates/readme.md
	readmeText string
	//go:embed templates/helpers.md
	helpersText string
)

// tree is a read-only file system of generated texts.
type tree struct {
	files map[string]func() string
	dirs  map[string][]string // names in a directory, sorted

	mu   sync.Mutex
	made map[string][]byte
}

func (t *tree) add(name string, content func() string) {
	if _, ok := t.files[name]; ok {
		return
	}
	t.files[name] = content
	for {
		dir := path.Dir(name)
		base := path.Base(name)
		if slices.Contains(t.dirs[dir], base) {
			return
		}
		t.dirs[dir] = append(t.dirs[dir], base)
		if dir == "." {
			return
		}
		name = dir
	}
}

func (t *tree) text(name string) []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b, ok := t.made[name]; ok {
		return b
	}
	b := []byte(t.files[name]())
	if t.made == nil {
		t.made = map[string][]byte{}
	}
	t.made[name] = b
	return b
}

// Open implements [fs.FS].
func (t *tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if _, ok := t.files[name]; ok {
		b := t.text(name)
		return &treeFile{info: treeInfo{name: path.Base(name), size: int64(len(b))}, r: bytes.NewReader(b)}, nil
	}
	if names, ok := t.dirs[name]; ok {
		return &treeFile{info: treeInfo{name: path.Base(name), dir: true}, t: t, path: name, names: names}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// treeFile is an open file or directory.
type treeFile struct {
	info  treeInfo
	r     *bytes.Reader
	t     *tree
	path  string
	names []string
}

func (f *treeFile) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *treeFile) Close() error               { return nil }

func (f *treeFile) Read(b []byte) (int, error) {
	if f.r == nil {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: fs.ErrInvalid}
	}
	return f.r.Read(b)
}

func (f *treeFile) ReadAt(b []byte, off int64) (int, error) {
	if f.r == nil {
		return 0, &fs.PathError{Op: "read", Path: f.path, Err: fs.ErrInvalid}
	}
	return f.r.ReadAt(b, off)
}

func (f *treeFile) Seek(off int64, whence int) (int64, error) {
	if f.r == nil {
		return 0, &fs.PathError{Op: "seek", Path: f.path, Err: fs.ErrInvalid}
	}
	return f.r.Seek(off, whence)
}

func (f *treeFile) ReadDir(n int) ([]fs.DirEntry, error) {
	if f.r != nil {
		return nil, &fs.PathError{Op: "readdir", Path: f.path, Err: fs.ErrInvalid}
	}
	take := len(f.names)
	if n > 0 {
		if take == 0 {
			return nil, io.EOF
		}
		take = min(take, n)
	}
	out := make([]fs.DirEntry, 0, take)
	for _, name := range f.names[:take] {
		full := path.Join(f.path, name)
		_, file := f.t.files[full]
		out = append(out, treeEntry{t: f.t, path: full, dir: !file})
	}
	f.names = f.names[take:]
	return out, nil
}

// treeEntry is an entry of a directory. Only Info generates the text of a file.
type treeEntry struct {
	t    *tree
	path string
	dir  bool
}

func (e treeEntry) Name() string      { return path.Base(e.path) }
func (e treeEntry) IsDir() bool       { return e.dir }
func (e treeEntry) Type() fs.FileMode { return treeInfo{dir: e.dir}.Mode().Type() }

func (e treeEntry) Info() (fs.FileInfo, error) {
	info := treeInfo{name: e.Name(), dir: e.dir}
	if !e.dir {
		info.size = int64(len(e.t.text(e.path)))
	}
	return info, nil
}

// treeInfo describes a file of the tree.
type treeInfo struct {
	name string
	size int64
	dir  bool
}

func (i treeInfo) Name() string       { return i.name }
func (i treeInfo) Size() int64        { return i.size }
func (i treeInfo) ModTime() time.Time { return time.Time{} }
func (i treeInfo) IsDir() bool        { return i.dir }
func (i treeInfo) Sys() any           { return nil }
func (i treeInfo) Mode() fs.FileMode {
	if i.dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}
