package blobs

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/atomicfile"
	"github.com/wexec/wexec/internal/ownfile"
)

// folder is a Store in a folder of one process. The blob abcd… is the file
// ab/cd/abcd…; files that are being written are in tmp.
type folder struct {
	dir  string
	root *os.Root

	mu   sync.Mutex      // for publishing and deleting
	made map[string]bool // folders whose names are on disk
}

const temporary = "tmp"

func openFolder(dir string) (Store, error) {
	if err := ownfile.Dir(dir); err != nil {
		bad := fault.New(fault.UsageStore, "%w", err).WithOp("open the folder of blobs")
		if own, ok := errors.AsType[*ownfile.Error](err); ok {
			bad = bad.WithHint("%s", own.Do)
		}
		return nil, bad
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unavailable(err)
	}
	f := &folder{dir: dir, root: root, made: map[string]bool{}}
	if err := f.makeDir(temporary); err != nil {
		_ = root.Close()
		return nil, err
	}
	return f, nil
}

func unavailable(err error) error {
	if err == nil {
		return nil
	}
	return fault.New(fault.StoreUnavailable, "%w", err).WithOp("use the folder of blobs")
}

// place returns the name of the file of a blob.
func place(d Digest) string {
	name := d.String()
	return path.Join(name[:2], name[2:4], name)
}

// makeDir creates a folder below the first one. A folder that exists may come from
// a process that was killed, so its name is synced to disk as well.
func (f *folder) makeDir(name string) error {
	if f.made[name] {
		return nil
	}
	if err := f.root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return unavailable(err)
	}
	if _, err := f.look(name, fs.ModeDir); err != nil {
		return unavailable(err)
	}
	if err := f.sync(path.Dir(name)); err != nil {
		return err
	}
	f.made[name] = true
	return nil
}

// sync syncs the names in a folder to disk.
func (f *folder) sync(name string) error {
	return unavailable(atomicfile.SyncDir(filepath.Join(f.dir, filepath.FromSlash(name))))
}

// look describes a file or folder and fails if it has another type, such as a link.
func (f *folder) look(name string, want fs.FileMode) (fs.FileInfo, error) {
	info, err := f.root.Lstat(name)
	if err == nil && info.Mode().Type() != want {
		return nil, &fs.PathError{Op: "use", Path: filepath.Join(f.dir, name), Err: errors.New("it is not a folder or file of the store")}
	}
	return info, err
}

// find describes the file of a blob. It follows no link.
func (f *folder) find(d Digest) (fs.FileInfo, error) {
	name := place(d)
	for _, dir := range []string{path.Dir(path.Dir(name)), path.Dir(name)} {
		if _, err := f.look(dir, fs.ModeDir); err != nil {
			return nil, f.notFound(d, err)
		}
	}
	info, err := f.look(name, 0)
	return info, f.notFound(d, err)
}

func (f *folder) notFound(d Digest, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return missing(d)
	}
	return unavailable(err)
}

// Put implements [Store].
func (f *folder) Put(ctx context.Context, r io.Reader, most int64) (d Digest, n int64, err error) {
	name := path.Join(temporary, rand.Text())
	file, err := f.root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return d, 0, unavailable(err)
	}
	d, n, err = copyHashed(ctx, file, r, most)
	if err == nil {
		err = unavailable(file.Sync())
	}
	if closing := unavailable(file.Close()); err == nil {
		err = closing
	}
	if err == nil {
		err = f.publish(name, d)
	}
	if err != nil {
		_ = f.root.Remove(name)
		return Digest{}, 0, err
	}
	return d, n, nil
}

// publish gives a complete file its name. It replaces a file that exists, which
// renews its time and repairs it.
func (f *folder) publish(name string, d Digest) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	to := place(d)
	for _, dir := range []string{path.Dir(path.Dir(to)), path.Dir(to)} {
		if err := f.makeDir(dir); err != nil {
			return err
		}
	}
	if err := f.root.Rename(name, to); err != nil {
		return unavailable(err)
	}
	return f.sync(path.Dir(to))
}

// Open implements [Store].
func (f *folder) Open(ctx context.Context, d Digest) (Blob, error) {
	if _, err := f.find(d); err != nil {
		return nil, err
	}
	file, err := f.root.Open(place(d))
	if err != nil {
		return nil, f.notFound(d, err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return nil, unavailable(err)
	}
	return &fileBlob{ctx, file, info.Size()}, nil
}

// fileBlob is a blob in a folder.
type fileBlob struct {
	ctx  context.Context
	file *os.File
	size int64
}

func (b *fileBlob) Size() int64  { return b.size }
func (b *fileBlob) Close() error { return b.file.Close() }

func (b *fileBlob) ReadAt(p []byte, off int64) (int, error) {
	if err := context.Cause(b.ctx); err != nil {
		return 0, err
	}
	n, err := b.file.ReadAt(p, off)
	if err != io.EOF {
		err = unavailable(err)
	}
	return n, err
}

// Stat implements [Store].
func (f *folder) Stat(ctx context.Context, d Digest) (Info, error) {
	if err := context.Cause(ctx); err != nil {
		return Info{}, err
	}
	info, err := f.find(d)
	if err != nil {
		return Info{}, err
	}
	return Info{d, info.Size(), info.ModTime()}, nil
}

// Delete implements [Store].
func (f *folder) Delete(ctx context.Context, d Digest, since time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := f.Stat(ctx, d)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case !since.IsZero() && !info.Time.Before(since):
		return nil
	}
	if err := f.root.Remove(place(d)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return unavailable(err)
	}
	return f.sync(path.Dir(place(d)))
}

// List implements [Store].
func (f *folder) List(ctx context.Context) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		err := fs.WalkDir(f.root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
			switch {
			case context.Cause(ctx) != nil:
				return context.Cause(ctx)
			case errors.Is(err, fs.ErrNotExist):
				return nil // deleted since its folder was read
			case err != nil:
				return unavailable(err)
			case name == temporary:
				return fs.SkipDir
			}
			d, err := ParseDigest(path.Base(name))
			if err != nil || name != place(d) || !entry.Type().IsRegular() {
				return nil
			}
			info, err := f.Stat(ctx, d)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return err
			case !yield(info, nil):
				return fs.SkipAll
			}
			return nil
		})
		if err != nil {
			yield(Info{}, err)
		}
	}
}

// Sweep implements [Store].
func (f *folder) Sweep(ctx context.Context, before time.Time) error {
	entries, err := fs.ReadDir(f.root.FS(), temporary)
	if err != nil {
		return unavailable(err)
	}
	for _, e := range entries {
		if err := context.Cause(ctx); err != nil {
			return err
		}
		info, err := e.Info()
		if err == nil && info.ModTime().Before(before) {
			err = f.root.Remove(path.Join(temporary, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return unavailable(err)
		}
	}
	return nil
}

// Close implements [Store].
func (f *folder) Close() error { return f.root.Close() }
