package sandbox

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"time"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/experimental/sysfs"

	"github.com/wexec/wexec/engine/internal/world"
	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// binding ties an instance, which may have been made long before, to the host
// of the run that it serves: clock, random bytes, standard streams and files of
// WASI are those of that run.
type binding struct{ host *Host }

func (b *binding) walltime() (sec int64, nsec int32) {
	b.host.readings++
	now := b.host.World.Now()
	return now.Unix(), int32(now.Nanosecond())
}

// nanotime is never before the time at which images were made, so that no guest
// sees its clock go backwards.
func (b *binding) nanotime() int64 {
	b.host.readings++
	return int64(wasmmodules.BakeNanotime + b.host.Uptime + b.host.World.Elapsed())
}

func (b *binding) nanosleep(ns int64) {
	h := b.host
	h.checkContext()
	if ns <= 0 {
		return
	}
	h.calls.Launch()
	if h.Options.Sleep != nil && h.calls.Idle() {
		_, err := h.calls.Wait(0, time.Duration(ns)) // a durable run can park in it
		h.failOn(err)
	} else {
		h.Slot.Park()
		err := h.World.Sleep(h.ctx, time.Duration(ns))
		h.unpark()
		h.failOn(err)
	}
	h.checkContext()
}

// readerFunc is a reader made of a function, writerFunc a writer.
type (
	readerFunc func(p []byte) (int, error)
	writerFunc func(p []byte) (int, error)
)

func (f readerFunc) Read(p []byte) (int, error)  { return f(p) }
func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

func (b *binding) readStdin(p []byte) (int, error) {
	h := b.host
	h.checkContext()
	h.ReadStdin = true
	h.calls.Launch()
	h.Slot.Park()
	n, err := h.World.ReadStdin(h.ctx, p)
	h.unpark()
	h.checkContext()
	if err != nil && !errors.Is(err, io.EOF) {
		return n, experimentalsys.EIO
	}
	return n, nil // wazero takes 0 bytes for the end
}

func (b *binding) writeStdout(p []byte) (int, error) { return b.host.Outputs.Stdout.Write(p) }
func (b *binding) writeStderr(p []byte) (int, error) { return b.host.Outputs.Stderr.Write(p) }

func (b *binding) readRandom(p []byte) (int, error) {
	n, err := b.host.World.Entropy().Read(p)
	b.host.drawn += int64(n)
	return n, err
}

// fileOp does a file operation of the guest: below /lib in its library, else in
// the files of the run.
func (b *binding) fileOp(op world.FileOp) world.FileResult {
	if b.host == nil {
		return op.On(noFiles)
	}
	path, inLibrary := b.resolve(op.Path)
	if op.To != "" {
		to, toLibrary := b.resolve(op.To)
		if toLibrary != inLibrary {
			return world.FileResult{Errno: experimentalsys.ENOTSUP}
		}
		op.To = to
	}
	op.Path = path
	switch {
	case inLibrary:
		return op.On(b.host.library)
	case b.host.files == nil:
		return op.On(noFiles)
	}
	return op.On(b.host.files)
}

// resolve returns the path within the file system that it belongs to.
func (b *binding) resolve(path string) (within string, inLibrary bool) {
	h := b.host
	clean := strings.TrimPrefix(path, "/")
	if h.Look != nil {
		h.Look(clean)
	}
	if h.library != nil {
		if clean == "lib" {
			return ".", true
		}
		if rest, ok := strings.CutPrefix(clean, "lib/"); ok {
			return rest, true
		}
	}
	return path, false
}

// noFiles is what a run without files sees: an empty folder that is read-only.
// WASI needs a root.
var noFiles = func() experimentalsys.FS {
	const write = experimentalsys.O_WRONLY | experimentalsys.O_RDWR | experimentalsys.O_CREAT | experimentalsys.O_TRUNC | experimentalsys.O_APPEND
	empty := &sysfs.ReadFS{FS: &sysfs.AdaptFS{FS: emptyFolder{}}}
	return world.FileHandler(func(op world.FileOp) world.FileResult {
		if op.Name == "open" && op.Flag&write != 0 {
			return world.FileResult{Errno: experimentalsys.EROFS}
		}
		return op.On(empty)
	})
}()

// emptyFolder is a file system, its root, and the description of its root.
type emptyFolder struct{}

func (emptyFolder) Open(name string) (fs.File, error) {
	if name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return emptyFolder{}, nil
}

func (emptyFolder) ReadDir(n int) ([]fs.DirEntry, error) {
	if n > 0 {
		return nil, io.EOF
	}
	return nil, nil
}

func (emptyFolder) Stat() (fs.FileInfo, error) { return emptyFolder{}, nil }
func (emptyFolder) Close() error               { return nil }
func (emptyFolder) Read([]byte) (int, error)   { return 0, fs.ErrInvalid }
func (emptyFolder) Name() string               { return "." }
func (emptyFolder) Size() int64                { return 0 }
func (emptyFolder) Mode() fs.FileMode          { return fs.ModeDir | 0o555 }
func (emptyFolder) ModTime() time.Time         { return world.VirtualStart() }
func (emptyFolder) IsDir() bool                { return true }
func (emptyFolder) Sys() any                   { return nil }
