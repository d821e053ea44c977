package workspace

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"
)

// Resolve follows the links of a path and describes what is there. info is nil if
// nothing is, and only the folder of the path exists.
func (w *Workspace) Resolve(name string, follow bool) (where string, info fs.FileInfo, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parents, last, n, err := w.resolve(name, follow)
	if err != nil {
		return "", nil, err
	}
	if n != nil {
		info, err = w.stat(last, n)
	}
	return path.Join(append(parents, last)...), info, err
}

// ReadLink returns where a link leads, as it was written.
func (w *Workspace) ReadLink(name string) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _, n, err := w.resolve(name, false)
	switch {
	case err != nil:
		return "", err
	case n == nil:
		return "", fs.ErrNotExist
	case n.kind != link:
		return "", fs.ErrInvalid
	}
	return n.target, nil
}

// ReadDir lists a folder, sorted by name.
func (w *Workspace) ReadDir(name string) ([]fs.FileInfo, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _, n, err := w.resolve(name, true)
	switch {
	case err != nil:
		return nil, err
	case n == nil:
		return nil, fs.ErrNotExist
	case n.kind != folder:
		return nil, ErrNotFolder
	}
	items, _, err := w.list(n)
	if err != nil {
		return nil, err
	}
	out := make([]fs.FileInfo, 0, len(items))
	for _, i := range items {
		if i.below != nil {
			out = append(out, describe(i.name, i.n, i.below))
		} else if info, err := w.stat(i.name, i.n); err == nil {
			out = append(out, info)
		}
	}
	return out, nil
}

// File is an open file of a workspace. One that was opened to read keeps what it had
// if the file is written later.
type File struct {
	*os.File
	w       *Workspace // of a file that can be written; else nil
	appends bool
}

// Write implements io.Writer.
func (f *File) Write(b []byte) (int, error) {
	if f.w == nil {
		return 0, fs.ErrPermission
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	whence := io.SeekCurrent
	if f.appends {
		whence = io.SeekEnd
	}
	at, err := f.Seek(0, whence)
	if err == nil {
		err = f.grow(at, len(b))
	}
	if err != nil {
		return 0, err
	}
	return f.File.Write(b)
}

// WriteAt implements io.WriterAt.
func (f *File) WriteAt(b []byte, at int64) (int, error) {
	if f.w == nil {
		return 0, fs.ErrPermission
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	if err := f.grow(at, len(b)); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, at)
}

// Truncate changes the size of the file.
func (f *File) Truncate(size int64) error {
	if f.w == nil {
		return fs.ErrPermission
	}
	f.w.mu.Lock()
	defer f.w.mu.Unlock()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if size > info.Size() {
		if err := f.grow(size, 0); err != nil {
			return err
		}
	} else {
		f.w.bytes -= info.Size() - max(size, 0)
	}
	return f.File.Truncate(size)
}

// grow counts n bytes that are written at a place of the file.
func (f *File) grow(at int64, n int) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if at < 0 || at > MaxFile-int64(n) {
		return ErrTooLarge
	}
	more := max(at+int64(n)-info.Size(), 0)
	if f.w.bytes+more > maxBytes {
		return ErrFull
	}
	f.w.bytes += more
	return nil
}

// writing are the flags that change a file.
const writing = os.O_WRONLY | os.O_RDWR | os.O_APPEND | os.O_CREATE | os.O_TRUNC

// Open opens a file with flags of package os. A file that is opened to be written is
// copied into the layer first.
func (w *Workspace) Open(name string, flag int, mode fs.FileMode) (*File, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	parents, last, n, err := w.resolve(name, true)
	if err != nil {
		return nil, err
	}
	where := path.Join(append(parents, last)...)
	switch {
	case n == nil && flag&os.O_CREATE == 0:
		return nil, fs.ErrNotExist
	case n != nil && flag&(os.O_CREATE|os.O_EXCL) == os.O_CREATE|os.O_EXCL:
		return nil, fs.ErrExist
	case n != nil && n.kind == folder:
		return nil, ErrIsFolder
	case flag&writing == 0:
		f, err := w.read(n)
		if err != nil {
			return nil, err
		}
		return &File{File: f}, nil
	case w.isProtected(where):
		return nil, fs.ErrPermission
	case n == nil:
		n = &node{kind: file, content: w.newContent(), mode: cmp.Or(mode&0o777, 0o644)}
		if err := w.write(n.content, nil); err != nil {
			return nil, err
		}
		if err := w.do(put(where, n)); err != nil {
			return nil, errors.Join(err, w.drop(n))
		}
	case n.content == "":
		if n, err = w.copyUp(where, n, n.mode); err != nil {
			return nil, err
		}
	}
	size := int64(0)
	if flag&os.O_TRUNC != 0 {
		if info, err := w.files.Stat(contentPath(n.content)); err == nil {
			size = info.Size()
		}
	}
	f, err := w.files.OpenFile(contentPath(n.content), flag&^(os.O_CREATE|os.O_EXCL|os.O_APPEND), 0)
	if err != nil {
		return nil, err
	}
	w.bytes -= size
	return &File{f, w, flag&os.O_APPEND != 0}, nil
}

// copyUp copies a file of the base into the layer and gives it permissions, those of
// the base if mode is 0.
func (w *Workspace) copyUp(where string, n *node, mode fs.FileMode) (*node, error) {
	f, err := w.openBase(n.lower)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	data, err := readAll(f, nil)
	if err != nil {
		return nil, err
	}
	if err := w.remember(n.lower); err != nil {
		return nil, err
	}
	up := &node{kind: file, lower: n.lower, content: w.newContent(), mode: cmp.Or(mode, info.Mode().Perm(), 0o400)}
	if err := w.write(up.content, data); err != nil {
		return nil, err
	}
	if err := w.do(put(where, up)); err != nil {
		return nil, errors.Join(err, w.drop(up))
	}
	return up, nil
}

// remember notes what the base has at a path that the layer is about to hide, once.
func (w *Workspace) remember(lower string) error {
	if _, known := w.was[lower]; known || lower == "" {
		return nil
	}
	now, err := w.look(lower)
	if err != nil {
		return err
	}
	c := change{Op: "was", Path: lower, State: now}
	if now.kind() == "file" {
		data, err := readAll(w.openBase(lower))
		if err != nil {
			return err
		}
		if fileState(data, now.mode()) == now && isText(data) {
			c.Content = w.newContent()
			if err := w.write(c.Content, data); err != nil {
				return err
			}
		}
	}
	return w.do(c)
}

// write makes a file in the content folder.
func (w *Workspace) write(name string, data []byte) error {
	if w.bytes+int64(len(data)) > maxBytes {
		return ErrFull
	}
	w.bytes += int64(len(data))
	return w.files.WriteFile(contentPath(name), data, 0o600)
}

// drop deletes the content of a node that the layer does not have any more.
func (w *Workspace) drop(n *node) error {
	if n == nil || n.content == "" {
		return nil
	}
	if info, err := w.files.Stat(contentPath(n.content)); err == nil {
		w.bytes -= info.Size()
	}
	return w.files.Remove(contentPath(n.content))
}

// newContent returns a name for a file in the content folder.
func (w *Workspace) newContent() string {
	w.content++
	return strconv.FormatInt(w.content, 10)
}

// Mkdir makes a folder.
func (w *Workspace) Mkdir(name string, mode fs.FileMode) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	parents, last, n, err := w.resolve(name, false)
	where := path.Join(append(parents, last)...)
	switch {
	case err != nil:
		return err
	case n != nil:
		return fs.ErrExist
	case w.isProtected(where):
		return fs.ErrPermission
	}
	return w.do(put(where, &node{kind: folder, mode: cmp.Or(mode&0o777, 0o755)}))
}

// spot is something in a workspace that is about to change.
type spot struct {
	parents []string
	last    string
	where   string // its path, without links
	n       *node
}

// changing follows a path to what is there. It fails if nothing is, or if it must not
// change.
func (w *Workspace) changing(name string, follow bool) (spot, error) {
	parents, last, n, err := w.resolve(name, follow)
	at := spot{parents, last, path.Join(append(parents, last)...), n}
	switch {
	case err != nil:
		return at, err
	case n == nil:
		return at, fs.ErrNotExist
	case last == "." || w.isProtected(at.where):
		return at, fs.ErrPermission
	}
	return at, nil
}

// Remove deletes a file, a link or an empty folder.
func (w *Workspace) Remove(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, err := w.changing(name, false)
	if err != nil {
		return err
	}
	if at.n.kind == folder {
		if inside, hidden, err := w.list(at.n); err != nil || hidden || len(inside) > 0 {
			return errors.Join(err, ErrNotEmpty)
		}
	}
	shows, err := w.shows(at.parents, at.last)
	if err != nil {
		return err
	}
	if err := w.remember(at.n.lower); err != nil {
		return err
	}
	c := change{Op: "drop", Path: at.where}
	if shows {
		c = put(at.where, &node{kind: gone})
	}
	if err := w.do(c); err != nil {
		return err
	}
	return w.drop(at.n)
}

// shows reports whether the base has a name in a folder of the layer, which has to be
// hidden when the name is removed.
func (w *Workspace) shows(parents []string, last string) (bool, error) {
	n := w.root
	for _, part := range parents {
		next, err := w.child(n, part)
		if err != nil || next == nil {
			return false, err
		}
		n = next
	}
	if n.lower == "" {
		return false, nil
	}
	info, err := w.lstat(path.Join(n.lower, last))
	return info != nil, err
}

// Rename moves a file, a link or a folder. A file at the new name is replaced, and so
// is an empty folder by a folder. Unless it is nil, may decides each file and folder that
// moves.
func (w *Workspace) Rename(from, to string, may func(from, to string, folder bool) error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	parents, last, n, err := w.resolve(from, false)
	if err != nil {
		return err
	}
	toParents, toLast, there, err := w.resolve(to, false)
	if err != nil {
		return err
	}
	source, target := path.Join(append(parents, last)...), path.Join(append(toParents, toLast)...)
	switch {
	case n == nil:
		return fs.ErrNotExist
	case last == "." || toLast == ".":
		return fs.ErrPermission
	case source == target:
		return nil
	case strings.HasPrefix(target, source+"/"):
		return fs.ErrInvalid
	case there != nil && n.kind == folder && there.kind != folder:
		return ErrNotFolder
	case there != nil && n.kind != folder && there.kind == folder:
		return ErrIsFolder
	case there != nil && there.kind == folder:
		if inside, hidden, err := w.list(there); err != nil || hidden || len(inside) > 0 {
			return errors.Join(err, ErrNotEmpty)
		}
	}
	m := &moving{w: w, may: may}
	if err := m.check(n, source, target); err != nil {
		return err
	}
	hides, err := w.shows(parents, last)
	if err != nil {
		return err
	}
	if there != nil {
		if err := w.remember(there.lower); err != nil {
			return err
		}
	}
	moved := put(source, n)
	moved.Op, moved.To, moved.Hides = "move", target, hides
	if err := w.do(moved); err != nil {
		return err
	}
	return w.drop(there)
}

// maxMoved bounds the names in a folder that moves.
const maxMoved = 20_000

// moving is a check of what moves.
type moving struct {
	w      *Workspace
	may    func(from, to string, folder bool) error
	looked int
}

// check refuses to move what an accept could not move: something that must not change,
// or that is too large.
func (m *moving) check(n *node, source, target string) error {
	if m.looked++; m.looked > maxMoved {
		return ErrTooMany
	}
	if m.w.isProtected(source) || m.w.isProtected(target) || !fs.ValidPath(source) {
		return fs.ErrPermission
	}
	if m.may != nil {
		if err := m.may(source, target, n.kind == folder); err != nil {
			return err
		}
	}
	if n.kind != folder {
		info, err := m.w.stat(source, n)
		if err == nil && info.Size() > MaxFile {
			err = ErrTooLarge
		}
		return err
	}
	items, hidden, err := m.w.list(n)
	if hidden {
		err = fs.ErrPermission
	}
	if err != nil {
		return err
	}
	for _, i := range items {
		if err := m.check(i.n, path.Join(source, i.name), path.Join(target, i.name)); err != nil {
			return err
		}
	}
	return nil
}

// Chmod changes the permissions of a file.
func (w *Workspace) Chmod(name string, mode fs.FileMode) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, err := w.changing(name, true)
	if err != nil {
		return err
	}
	if at.n.kind == folder {
		return fs.ErrPermission
	}
	if mode = cmp.Or(mode&0o777, 0o400); at.n.content == "" {
		_, err := w.copyUp(at.where, at.n, mode)
		return err
	}
	with := *at.n
	with.mode = mode
	return w.do(put(at.where, &with))
}

// Touch sets the times of a file.
func (w *Workspace) Touch(name string, accessed, modified time.Time) error {
	f, err := w.Open(name, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(os.Chtimes(f.Name(), accessed, modified), f.Close())
}
