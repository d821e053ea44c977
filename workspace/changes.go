package workspace

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
)

// Kind is how a path differs from the base.
type Kind string

// The kinds of a [Change].
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
)

// Change is a path that differs from the base.
type Change struct {
	Path    string      `json:"path"`
	Kind    Kind        `json:"kind"`
	Folder  bool        `json:"folder,omitempty"`
	From    string      `json:"from,omitempty"` // path in the base of a file or link that was moved
	Link    string      `json:"link,omitempty"` // where a link leads
	Mode    fs.FileMode `json:"mode,omitempty"`
	OldMode fs.FileMode `json:"old_mode,omitempty"`

	n     *node
	below fs.FileInfo
}

// Changes lists what differs from the base, folders before what is in them.
func (w *Workspace) Changes(ctx context.Context) ([]Change, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.active(); err != nil {
		return nil, err
	}
	return w.changes(ctx)
}

func (w *Workspace) changes(ctx context.Context) ([]Change, error) {
	c := &comparison{w: w, ctx: ctx}
	err := c.folder(".", w.root)
	return c.out, err
}

// Each calls do with each change, folders before what is in them. Meanwhile the workspace
// does not change.
func (w *Workspace) Each(ctx context.Context, do func(e Entry) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.active(); err != nil {
		return err
	}
	changes, err := w.changes(ctx)
	if err != nil {
		return err
	}
	for _, c := range changes {
		if err := cmp.Or(context.Cause(ctx), do(Entry{c, w})); err != nil {
			return err
		}
	}
	return nil
}

// Entry is a change whose content can be read, while [Workspace.Each] calls.
type Entry struct {
	Change
	w *Workspace
}

// Open opens the file that was added or modified.
func (e Entry) Open() (*os.File, error) {
	if e.n.kind != file {
		return nil, fs.ErrInvalid
	}
	return e.w.read(e.n)
}

// comparison compares a layer with its base.
type comparison struct {
	w   *Workspace
	ctx context.Context
	out []Change
}

// folder compares what is in a folder.
func (c *comparison) folder(name string, n *node) error {
	var names []string
	if n.lower == name { // the base shows through, except for the nodes
		for child := range n.children {
			names = append(names, child)
		}
	} else {
		items, _, err := c.w.list(n)
		if err != nil {
			return err
		}
		for _, i := range items {
			names = append(names, i.name)
		}
		below, err := c.w.readBase(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrNotFolder) {
			return err
		}
		for _, e := range below {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	for _, child := range slices.Compact(names) {
		next, err := c.w.child(n, child)
		if err != nil {
			return err
		}
		if err := c.name(path.Join(name, child), next); err != nil {
			return err
		}
	}
	return nil
}

// name compares a name of the layer, nil if the layer does not have it, with the name in the base.
func (c *comparison) name(name string, n *node) error {
	below, err := c.w.lstat(name)
	if err := cmp.Or(context.Cause(c.ctx), err); err != nil {
		return err
	}
	if n == nil {
		return c.deleted(name, below)
	}
	if below != nil && kindOf(below) != n.kind {
		if err := c.deleted(name, below); err != nil {
			return err
		}
		below = nil
	}
	change := Change{Path: name, Kind: Added, Folder: n.kind == folder, Link: n.target, Mode: n.mode, n: n, below: below}
	switch n.kind {
	case folder:
		if below == nil {
			c.out = append(c.out, change)
		}
		return c.folder(name, n)
	case file:
		info, err := c.w.stat(name, n)
		if err != nil {
			return err
		}
		change.Mode = info.Mode().Perm()
		if below == nil {
			break
		}
		change.Kind, change.OldMode = Modified, below.Mode().Perm()
		if n.lower == name && n.content == "" {
			return nil
		}
		same, err := c.same(name, n)
		if err != nil || same && change.Mode == change.OldMode {
			return err
		}
	case link:
		change.Mode = 0
		if below != nil {
			target, err := c.w.readLink(name)
			if err != nil || target == n.target {
				return err
			}
			change.Kind = Modified
		}
	}
	if n.lower != name && n.kind != folder {
		change.From = n.lower
	}
	c.out = append(c.out, change)
	return nil
}

// deleted notes that the base has a name that the layer does not have.
func (c *comparison) deleted(name string, below fs.FileInfo) error {
	if below == nil || kindOf(below) == "" {
		return nil
	}
	if below.IsDir() {
		inside, err := c.w.readBase(name)
		if err != nil {
			return err
		}
		for _, info := range inside {
			if err := c.deleted(path.Join(name, info.Name()), info); err != nil {
				return err
			}
		}
	}
	c.out = append(c.out, Change{Path: name, Kind: Deleted, Folder: below.IsDir(), OldMode: below.Mode().Perm(), n: &node{kind: gone}, below: below})
	return nil
}

// same reports whether a file of the layer has the content of one of the base.
func (c *comparison) same(name string, n *node) (bool, error) {
	ours, err := c.w.read(n)
	if err != nil {
		return false, err
	}
	defer ours.Close()
	theirs, err := c.w.openBase(name)
	if err != nil {
		return false, err
	}
	defer theirs.Close()
	a, b := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		i, errA := io.ReadFull(ours, a)
		j, errB := io.ReadFull(theirs, b)
		if !bytes.Equal(a[:i], b[:j]) {
			return false, nil
		}
		if errA != nil || errB != nil {
			return isEnd(errA) && isEnd(errB), errors.Join(notEnd(errA), notEnd(errB))
		}
	}
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

func notEnd(err error) error {
	if isEnd(err) {
		return nil
	}
	return err
}

// read opens the content of a file.
func (w *Workspace) read(n *node) (*os.File, error) {
	if n.content != "" {
		return w.files.Open(contentPath(n.content))
	}
	f, err := w.openBase(n.lower)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || info.Size() > MaxFile {
		return nil, errors.Join(cmp.Or(err, ErrTooLarge), f.Close())
	}
	return f, nil
}
