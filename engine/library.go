package engine

import (
	"bytes"
	"io"
	"sync"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// newLibrary makes the folder /lib of a guest: one archive, which is unpacked
// when it is first read. It never changes, so that all runs share it.
func newLibrary(m *wasmmodules.Module, load func() ([]byte, error)) experimentalsys.FS {
	at := &lazyArchive{load: sync.OnceValues(load)}
	return &sysfs.ReadFS{FS: &sysfs.AdaptFS{FS: wasmmodules.Folder(m.LibraryName, int64(m.LibrarySize), at)}}
}

// lazyArchive reads an archive that is unpacked on first use.
type lazyArchive struct{ load func() ([]byte, error) }

func (l *lazyArchive) ReadAt(p []byte, off int64) (int, error) {
	data, err := l.load()
	if err != nil {
		return 0, err
	}
	if off < 0 || off > int64(len(data)) {
		return 0, io.EOF
	}
	return bytes.NewReader(data).ReadAt(p, off)
}
