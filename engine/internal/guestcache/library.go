package guestcache

import (
	"archive/zip"
	"bytes"
	"io"
	"io/fs"
	"strings"
	"sync"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// newLibrary returns the folder /lib of a guest: one archive, which is unpacked
// when it is first read. All runs share it.
func newLibrary(m *wasmmodules.Module, load func() ([]byte, error)) experimentalsys.FS {
	archive := lazyArchive(sync.OnceValues(load))
	return &sysfs.ReadFS{FS: &sysfs.AdaptFS{FS: wasmmodules.Folder(m.LibraryName, int64(m.LibrarySize), archive)}}
}

// lazyArchive reads an archive that is unpacked on first use.
type lazyArchive func() ([]byte, error)

func (load lazyArchive) ReadAt(p []byte, off int64) (int, error) {
	data, err := load()
	if err != nil {
		return 0, err
	}
	if off < 0 || off > int64(len(data)) {
		return 0, io.EOF
	}
	return bytes.NewReader(data).ReadAt(p, off)
}

// zoneFolder is where the archive of Python's library has the time zones.
const zoneFolder = "tzdata/zoneinfo"

// newZones returns the folder /lib of a guest without a library: the compiled
// time zones out of Python's archive, which is read when a zone is first opened.
func newZones(load func() ([]byte, error)) experimentalsys.FS {
	return &sysfs.ReadFS{FS: &sysfs.AdaptFS{FS: zones(sync.OnceValues(func() (fs.FS, error) {
		data, err := load()
		if err != nil {
			return nil, err
		}
		archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return nil, err
		}
		return fs.Sub(archive, zoneFolder)
	}))}}
}

// zones is a file system with the folder zoneinfo.
type zones func() (fs.FS, error)

// Open opens a zone by its name below zoneinfo.
func (z zones) Open(name string) (fs.File, error) {
	zone, ok := strings.CutPrefix(name, "zoneinfo/")
	if !ok || !fs.ValidPath(zone) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	folder, err := z()
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return folder.Open(zone)
}
