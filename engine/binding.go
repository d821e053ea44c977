package engine

import (
	"errors"
	"io"
	"io/fs"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"

	wasmmodules "github.com/wexec/wexec/wasm-modules"
)

// binding ties an instance, which may have been made long before, to the run
// that it serves now. WASI asks through it: clock, random bytes, standard
// streams and files are always those of the bound run.
type binding struct {
	run *run

	stdin          inputOf
	stdout, stderr outputOf
	random         randomOf
	files          filesOf
}

func (b *binding) walltime() (sec int64, nsec int32) {
	now := b.run.clock.Now()
	return now.Unix(), int32(now.Nanosecond())
}

// nanotime never begins before the time that images were made at: a guest would
// see its clock go backwards.
func (b *binding) nanotime() int64 {
	return int64(wasmmodules.BakeNanotime + b.run.clock.elapsed())
}

func (b *binding) nanosleep(ns int64) { b.run.sleep(ns) }

// inputOf is the bound run's standard input.
type inputOf struct{ of *binding }

func (i *inputOf) Read(p []byte) (int, error) {
	n, err := i.of.run.readInput(p)
	if err != nil && !errors.Is(err, io.EOF) {
		return n, experimentalsys.EIO
	}
	return n, nil // wazero takes 0 bytes for the end
}

// outputOf is one of its two outputs.
type outputOf struct {
	of  *binding
	err bool
}

func (o *outputOf) Write(p []byte) (int, error) {
	if o.err {
		return o.of.run.out.err.Write(p)
	}
	return o.of.run.out.out.Write(p)
}

// randomOf is its source of random bytes.
type randomOf struct{ of *binding }

func (r *randomOf) Read(p []byte) (int, error) {
	n, err := r.of.run.entropy.Read(p)
	r.of.run.drawn += int64(n)
	return n, err
}

// filesOf is what it sees below "/".
type filesOf struct{ of *binding }

func (f *filesOf) bound() experimentalsys.FS {
	if f.of.run == nil || f.of.run.files == nil {
		return noFiles
	}
	return f.of.run.files
}

func (f *filesOf) OpenFile(path string, flag experimentalsys.Oflag, perm fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	return f.bound().OpenFile(path, flag, perm)
}

func (f *filesOf) Lstat(path string) (sys.Stat_t, experimentalsys.Errno) {
	return f.bound().Lstat(path)
}

func (f *filesOf) Stat(path string) (sys.Stat_t, experimentalsys.Errno) { return f.bound().Stat(path) }

func (f *filesOf) Mkdir(path string, perm fs.FileMode) experimentalsys.Errno {
	return f.bound().Mkdir(path, perm)
}

func (f *filesOf) Chmod(path string, perm fs.FileMode) experimentalsys.Errno {
	return f.bound().Chmod(path, perm)
}

func (f *filesOf) Rename(from, to string) experimentalsys.Errno { return f.bound().Rename(from, to) }

func (f *filesOf) Rmdir(path string) experimentalsys.Errno { return f.bound().Rmdir(path) }

func (f *filesOf) Unlink(path string) experimentalsys.Errno { return f.bound().Unlink(path) }

func (f *filesOf) Link(from, to string) experimentalsys.Errno { return f.bound().Link(from, to) }

func (f *filesOf) Symlink(from, to string) experimentalsys.Errno { return f.bound().Symlink(from, to) }

func (f *filesOf) Readlink(path string) (string, experimentalsys.Errno) {
	return f.bound().Readlink(path)
}

func (f *filesOf) Utimens(path string, atim, mtim int64) experimentalsys.Errno {
	return f.bound().Utimens(path, atim, mtim)
}
