package workspace

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// child returns the node of a name, one that the base shows, or nil. It does not
// change the layer.
func (w *Workspace) child(n *node, name string) (*node, error) {
	if c := n.children[name]; c != nil {
		if c.kind == gone {
			return nil, nil
		}
		return c, nil
	}
	if n.lower == "" {
		return nil, nil
	}
	lower := path.Join(n.lower, name)
	info, err := w.lstat(lower)
	if err != nil || info == nil {
		return nil, err
	}
	return w.lowerNode(lower, info)
}

// lowerNode returns the node of a path of the base that shows through.
func (w *Workspace) lowerNode(lower string, info fs.FileInfo) (*node, error) {
	if w.o.Never != nil && w.o.Never(lower, info) {
		return nil, fs.ErrPermission
	}
	switch k := kindOf(info); k {
	case link:
		target, err := w.readLink(lower)
		return &node{kind: link, lower: lower, target: target}, err
	case "":
		return nil, fs.ErrPermission // a device or a pipe
	default:
		return &node{kind: k, lower: lower}, nil
	}
}

// resolve follows a path to its parent folder, without links, and the last name.
// The node is nil if it does not exist. The name "." is the workspace itself.
func (w *Workspace) resolve(name string, follow bool) (parents []string, last string, n *node, err error) {
	if err := w.active(); err != nil {
		return nil, "", nil, err
	}
	if !fs.ValidPath(name) || strings.Contains(name, `\`) {
		return nil, "", nil, fs.ErrInvalid
	}
	todo := strings.Split(name, "/")
	stack, nodes := []string{}, []*node{w.root}
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case ".", "":
			continue
		case "..": // of a link
			if len(stack) == 0 {
				return nil, "", nil, fs.ErrPermission
			}
			stack, nodes = stack[:len(stack)-1], nodes[:len(nodes)-1]
			continue
		}
		here := nodes[len(nodes)-1]
		if here.kind != folder {
			return nil, "", nil, ErrNotFolder
		}
		next, err := w.child(here, part)
		switch {
		case err != nil:
			return nil, "", nil, err
		case next == nil && len(todo) > 0:
			return nil, "", nil, fs.ErrNotExist
		case next == nil:
			return stack, part, nil, nil
		case next.kind == link && (follow || len(todo) > 0):
			if links++; links > maxLinks {
				return nil, "", nil, ErrLoop
			}
			if path.IsAbs(next.target) || filepath.VolumeName(next.target) != "" || strings.Contains(next.target, `\`) {
				return nil, "", nil, fs.ErrPermission
			}
			todo = append(strings.Split(next.target, "/"), todo...)
			continue
		}
		stack, nodes = append(stack, part), append(nodes, next)
	}
	if len(stack) == 0 {
		return nil, ".", w.root, nil
	}
	return stack[:len(stack)-1], stack[len(stack)-1], nodes[len(nodes)-1], nil
}

// stat describes a node as a program sees it.
func (w *Workspace) stat(name string, n *node) (fs.FileInfo, error) {
	var below fs.FileInfo
	var err error
	switch {
	case n.content != "":
		below, err = w.files.Stat(contentPath(n.content))
	case n.lower != "":
		if below, err = w.lstat(n.lower); below == nil && err == nil {
			err = fs.ErrNotExist
		}
	}
	if err != nil {
		return nil, err
	}
	return describe(name, n, below), nil
}

// describe describes a node whose content or folder is below; nil is a new folder or
// link.
func describe(name string, n *node, below fs.FileInfo) fs.FileInfo {
	out := info{name: path.Base(name), mode: n.mode}
	if below != nil {
		out.size, out.time = below.Size(), below.ModTime()
		if out.mode == 0 {
			out.mode = below.Mode().Perm()
		}
	}
	out.mode = cmp.Or(out.mode, 0o644)
	switch n.kind {
	case folder:
		out.mode, out.size = fs.ModeDir|out.mode|0o700, 0
	case link:
		out.mode, out.size = fs.ModeSymlink|0o777, int64(len(n.target))
	}
	return out
}

// info describes a file of a workspace.
type info struct {
	name string
	size int64
	mode fs.FileMode
	time time.Time
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.size }
func (i info) Mode() fs.FileMode  { return i.mode }
func (i info) ModTime() time.Time { return i.time }
func (i info) IsDir() bool        { return i.mode.IsDir() }
func (i info) Sys() any           { return nil }

// item is a name in a folder.
type item struct {
	name  string
	n     *node
	below fs.FileInfo // of a name that only the base has; else nil
}

// list returns what is in a folder, sorted by name, and whether the base has something
// there that programs do not see.
func (w *Workspace) list(n *node) (items []item, hidden bool, err error) {
	if n.lower != "" {
		below, err := w.readBase(n.lower)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, false, err
		}
		for _, info := range below {
			if n.children[info.Name()] != nil {
				continue
			}
			c, err := w.lowerNode(path.Join(n.lower, info.Name()), info)
			if err != nil {
				hidden = true
				continue
			}
			items = append(items, item{info.Name(), c, info})
		}
	}
	for name, c := range n.children {
		if c.kind != gone {
			items = append(items, item{name: name, n: c})
		}
	}
	slices.SortFunc(items, func(a, b item) int { return strings.Compare(a.name, b.name) })
	return items, hidden, nil
}
