package wasmmodules

import (
	"io"
	"io/fs"
	"time"
)

// Folder returns a read-only folder with a single file, which a
// guest sees at /lib. The file's date is fixed.
func Folder(name string, size int64, at io.ReaderAt) fs.FS {
	return folder{entry{name: name, size: size}, at}
}

type folder struct {
	entry
	at io.ReaderAt
}

// Open opens the folder or its file.
func (f folder) Open(name string) (fs.File, error) {
	switch name {
	case ".":
		return &openFolder{entry: f.entry}, nil
	case f.name:
		return &openFile{SectionReader: io.NewSectionReader(f.at, 0, f.size), entry: f.entry}, nil
	}
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
}

// Stat describes the folder or its file without opening it.
func (f folder) Stat(name string) (fs.FileInfo, error) {
	switch name {
	case ".":
		return entry{name: "."}, nil
	case f.name:
		return f.entry, nil
	}
	return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// entry describes the file, or by the name "." the folder.
type entry struct {
	name string
	size int64
}

func (e entry) Name() string               { return e.name }
func (e entry) Size() int64                { return e.size }
func (e entry) ModTime() time.Time         { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
func (e entry) IsDir() bool                { return e.name == "." }
func (e entry) Sys() any                   { return nil }
func (e entry) Info() (fs.FileInfo, error) { return e, nil }
func (e entry) Type() fs.FileMode          { return e.Mode().Type() }

func (e entry) Mode() fs.FileMode {
	if e.IsDir() {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

type openFile struct {
	*io.SectionReader
	entry
}

func (f *openFile) Stat() (fs.FileInfo, error) { return f.entry, nil }
func (f *openFile) Size() int64                { return f.entry.size }
func (f *openFile) Close() error               { return nil }

type openFolder struct {
	entry
	done bool
}

func (f *openFolder) Stat() (fs.FileInfo, error) { return entry{name: "."}, nil }
func (f *openFolder) Close() error               { return nil }

func (f *openFolder) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
}

func (f *openFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if f.done {
		if n > 0 {
			return nil, io.EOF
		}
		return nil, nil
	}
	f.done = true
	return []fs.DirEntry{f.entry}, nil
}
