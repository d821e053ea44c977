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
// and .pyi file for each tool. Contents are generated on first use. spend is
// charged for each tool before it is written, and for the file, in bytes; a file
// for which it returns an error cannot be opened. A nil spend is free.
func (c *Catalogue) Tree(spend func(bytes int64) error) fs.FS {
	t := tree{spend: spend, files: map[string]content{}, dirs: map[string][]string{".": nil}}
	if spend == nil {
		t.spend = func(int64) error { return nil }
	}
	t.add("README.md", c.readme)
	t.add("HELPERS.md", func(func(int64) error) (string, error) { return helpersText, nil })
	exported := func(tool Tool) string { return c.typescript(tool, "export declare function ", 0) }
	for _, s := range c.servers {
		tools := c.ServerTools(s.Name)
		t.add(s.Call+"/index.ts", declarations(tools, exported,
			fmt.Sprintf("// %s: %d tools. Call them as tools.%s.<name>(args).\n\n", oneLine(s.Name), len(tools), s.Call), "\n"))
		t.add(s.Call+"/__init__.pyi", declarations(tools, c.Python, pythonServerHead(s), "\n"))
		for i, tool := range tools {
			name := c.Name(tool)
			t.add(s.Call+"/"+name+".ts", declarations(tools[i:i+1], exported, "", ""))
			t.add(s.Call+"/"+name+".pyi", declarations(tools[i:i+1], c.Python, pythonHead, ""))
		}
	}
	for _, names := range t.dirs {
		slices.Sort(names)
	}
	return &t
}

// content writes a file. It charges for its work.
type content = func(spend func(bytes int64) error) (string, error)

// declarations returns the content of a file with the declarations of tools.
func declarations(tools []Tool, write func(Tool) string, head, end string) content {
	return func(spend func(int64) error) (string, error) {
		var b strings.Builder
		b.WriteString(head)
		for _, t := range tools {
			if err := spend(t.declarationCost()); err != nil {
				return "", err
			}
			text := write(t)
			if err := spend(int64(len(text))); err != nil {
				return "", err
			}
			b.WriteString(text + end)
		}
		return b.String(), nil
	}
}

func pythonServerHead(s Server) string {
	return fmt.Sprintf("# %s: %d tools. from tools import %s\n", oneLine(s.Name), s.Tools, PythonName(s.Call)) + pythonHead
}

func (c *Catalogue) readme(spend func(int64) error) (string, error) {
	var b strings.Builder
	b.WriteString(readmeText)
	for _, s := range c.servers {
		if err := spend(categoryCost * int64(s.Tools)); err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "- %s/ (%d tools): %s\n", s.Call, s.Tools, overview(c.Categories(s.Name), maxOverview))
	}
	if len(c.servers) == 0 {
		b.WriteString("No servers are connected.\n")
	}
	return b.String(), nil
}

// categoryCost is the charge for finding the category of a tool, in bytes.
const categoryCost = 256

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
	spend func(bytes int64) error
	files map[string]content
	dirs  map[string][]string // names in a directory, sorted

	mu   sync.Mutex
	made map[string][]byte
}

func (t *tree) add(name string, text content) {
	if _, ok := t.files[name]; ok {
		return
	}
	t.files[name] = text
	for {
		dir := path.Dir(name)
		_, known := t.dirs[dir]
		t.dirs[dir] = append(t.dirs[dir], path.Base(name))
		if known {
			return
		}
		name = dir
	}
}

func (t *tree) text(name string) ([]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if b, ok := t.made[name]; ok {
		return b, nil
	}
	s, err := t.files[name](t.spend)
	if err != nil {
		return nil, err
	}
	if t.made == nil {
		t.made = map[string][]byte{}
	}
	t.made[name] = []byte(s)
	return t.made[name], nil
}

// Open implements [fs.FS].
func (t *tree) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if _, ok := t.files[name]; ok {
		b, err := t.text(name)
		if err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
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
		b, err := e.t.text(e.path)
		if err != nil {
			return nil, &fs.PathError{Op: "stat", Path: e.path, Err: err}
		}
		info.size = int64(len(b))
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
