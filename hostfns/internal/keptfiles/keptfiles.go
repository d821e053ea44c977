// Package keptfiles keeps what a durable run sees of files in its journal, and answers
// from there while the program repeats what it did. A change is then not made again.
package keptfiles

import (
	"context"
	"io/fs"
	"strings"

	"github.com/tetratelabs/wazero/experimental/sys"
	stat "github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/internal/journal"
)

// Options describe the files of a durable run.
type Options struct {
	FS  sys.FS
	Log *journal.Log
	// Context bounds the writing of records, which goes on although the run ends.
	Context context.Context
	// Counted returns how many bytes passed through the host for files so far, and Count
	// counts those that passed before.
	Counted func() int64
	Count   func(n int64) error
	// Fail ends the run, Differs because the program does not do what its journal has.
	Fail    func(error)
	Differs func(why string)
}

// Bounds of what is kept in memory and of a journal.
const (
	maxData  = 16 << 20 // bytes of files that were read; of others there is the digest
	maxAgain = 16 << 20 // bytes that were written to files that are open when the run goes on
	flushAt  = 4 << 20  // bytes after which a record is written
	flushOps = 10_000   // operations after which a record is written
)

// New returns the files of a durable run. Operations in its scratch folder are made
// again when it goes on, all others are kept.
func New(o Options) sys.FS {
	f := &files{Options: o}
	f.scratch = func(string) bool { return false }
	if s, ok := o.FS.(interface{ Scratch(name string) bool }); ok {
		f.scratch = s.Scratch
	}
	return f
}

// files is the root of the files of a run. Only the goroutine of the guest uses it.
type files struct {
	sys.UnimplementedFS
	Options
	scratch func(name string) bool

	data  int  // bytes that were read and are in the journal
	again int  // bytes that are written again if the run goes on now
	dirty bool // the program saw what is not on disk
	size  int  // bytes in the next record
	ops   int  // operations in the next record

	unsure *journal.File // what there was before the change that is made, if another process may have made it
}

// place is where an operation takes effect.
type place uint8

const (
	nowhere place = iota // it only looks
	later                // when the file is closed, or not at all
	now
)

// do answers an operation from the journal, or makes it and keeps its outcome.
// With look a change is in the journal before it is made, with what there was.
func (f *files) do(e journal.File, effect place, look func(e *journal.File), act func(e *journal.File)) journal.File {
	was, ok := f.Log.NextFile()
	if ok && was.Intended {
		if outcome, made := f.Log.NextFile(); made {
			was = outcome
		}
	}
	if ok && (was.Op != e.Op || was.Path != valid(e.Path) || was.To != valid(e.To)) {
		f.Differs("the journal has another operation on files than " + e.Op)
		return journal.File{Errno: uint16(sys.EIO)}
	}
	if ok && !was.Intended {
		f.data += len(was.Data)
		if f.Count(was.Cost) != nil {
			return journal.File{Errno: uint16(sys.EIO)}
		}
		return was
	}
	if !ok && f.Log.Replaying() {
		f.Differs("the journal does not have the operation " + e.Op + " on files")
		return journal.File{Errno: uint16(sys.EIO)}
	}
	intended := ok
	if !intended && look != nil {
		before := e
		look(&before)
		before.Intended = true
		f.Log.File(before)
		f.dirty = true
	}
	if effect == now && (f.dirty || f.Log.Unsynced()) && !f.sync() {
		return journal.File{Errno: uint16(sys.EIO)}
	}
	if f.unsure = nil; intended {
		f.unsure = &was
	}
	before := f.Counted()
	act(&e)
	e.Cost = f.Counted() - before
	if intended && done(e.Op, was.Existed, sys.Errno(e.Errno)) {
		e.Errno = 0
	}
	if effect == nowhere || e.Errno != 0 {
		f.dirty = true
	}
	f.Log.File(e)
	f.ops++
	f.size += len(e.Data) + len(e.Path) + len(e.To)
	for _, n := range e.Names {
		f.size += len(n.Name)
	}
	if (f.size > flushAt || f.ops > flushOps) && !f.sync() {
		return journal.File{Errno: uint16(sys.EIO)}
	}
	return e
}

// done reports whether an error of a change that is made again only tells that it was
// made before.
func done(op string, existed bool, errno sys.Errno) bool {
	switch op {
	case "mkdir":
		return !existed && errno == sys.EEXIST
	case "unlink", "rmdir", "rename":
		return existed && errno == sys.ENOENT
	}
	return false
}

// sync returns when what the program saw outlasts the process.
func (f *files) sync() bool {
	if err := f.Log.Sync(f.Context); err != nil {
		f.Fail(err)
		return false
	}
	f.dirty, f.size, f.ops = false, 0, 0
	return true
}

func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// inPlace reports whether what is written to a file is there before it is closed.
func inPlace(name string) bool {
	return strings.HasPrefix(strings.TrimLeft(name, "/"), "workspace/")
}

func (f *files) OpenFile(name string, flag sys.Oflag, perm fs.FileMode) (sys.File, sys.Errno) {
	if f.scratch(name) {
		return f.FS.OpenFile(name, flag, perm)
	}
	o := newFile(f, name, flag, perm)
	effect, look := nowhere, f.there(f.FS.Stat)
	if o.writes {
		effect = o.effect
	}
	if effect != now {
		look = nil
	}
	e := f.do(journal.File{Op: "open", Path: name}, effect, look, func(e *journal.File) {
		was, how := f.unsure, flag
		if was != nil && !was.Existed {
			how &^= sys.O_EXCL
		}
		var errno sys.Errno
		if o.real, errno = f.FS.OpenFile(name, how, perm); errno != 0 {
			e.Errno = uint16(errno)
			return
		}
		if was != nil && flag&sys.O_TRUNC == 0 { // another process may have written to it
			errno = o.real.Truncate(was.N)
		}
		st, failed := o.real.Stat()
		errno = max(errno, failed)
		if e.Stat, e.Errno = fields(st), uint16(errno); errno != 0 {
			_ = o.real.Close()
		}
	})
	if e.Errno != 0 {
		return nil, sys.Errno(e.Errno)
	}
	o.stat = statOf(e.Stat)
	return o, 0
}

func (f *files) Stat(name string) (stat.Stat_t, sys.Errno)  { return f.look("stat", name, f.FS.Stat) }
func (f *files) Lstat(name string) (stat.Stat_t, sys.Errno) { return f.look("lstat", name, f.FS.Lstat) }

func (f *files) look(op, name string, look func(string) (stat.Stat_t, sys.Errno)) (stat.Stat_t, sys.Errno) {
	if f.scratch(name) {
		return look(name)
	}
	e := f.do(journal.File{Op: op, Path: name}, nowhere, nil, func(e *journal.File) {
		st, errno := look(name)
		if e.Errno = uint16(errno); errno == 0 {
			e.Stat = fields(st)
		}
	})
	return statOf(e.Stat), sys.Errno(e.Errno)
}

func (f *files) Readlink(name string) (string, sys.Errno) {
	if f.scratch(name) {
		return f.FS.Readlink(name)
	}
	e := f.do(journal.File{Op: "readlink", Path: name}, nowhere, nil, func(e *journal.File) {
		target, errno := f.FS.Readlink(name)
		e.Data, e.Errno = []byte(target), uint16(errno)
	})
	return string(e.Data), sys.Errno(e.Errno)
}

// change makes a change of paths. It is in the journal before, with whether its first
// path existed.
func (f *files) change(op, name, to string, act func() sys.Errno) sys.Errno {
	if f.scratch(name) && (to == "" || f.scratch(to)) {
		return act()
	}
	e := f.do(journal.File{Op: op, Path: name, To: to}, now, f.there(f.FS.Lstat), func(e *journal.File) { e.Errno = uint16(act()) })
	return sys.Errno(e.Errno)
}

// there returns what notes whether the path of an operation exists, and the size of its file.
func (f *files) there(look func(string) (stat.Stat_t, sys.Errno)) func(*journal.File) {
	return func(e *journal.File) {
		st, errno := look(e.Path)
		e.Existed, e.N = errno == 0, st.Size
	}
}

func (f *files) Mkdir(name string, perm fs.FileMode) sys.Errno {
	return f.change("mkdir", name, "", func() sys.Errno { return f.FS.Mkdir(name, perm) })
}

func (f *files) Chmod(name string, perm fs.FileMode) sys.Errno {
	return f.change("chmod", name, "", func() sys.Errno { return f.FS.Chmod(name, perm) })
}

func (f *files) Rename(from, to string) sys.Errno {
	return f.change("rename", from, to, func() sys.Errno { return f.FS.Rename(from, to) })
}

func (f *files) Rmdir(name string) sys.Errno {
	return f.change("rmdir", name, "", func() sys.Errno { return f.FS.Rmdir(name) })
}

func (f *files) Unlink(name string) sys.Errno {
	return f.change("unlink", name, "", func() sys.Errno { return f.FS.Unlink(name) })
}

func (f *files) Utimens(name string, atim, mtim int64) sys.Errno {
	return f.change("utimens", name, "", func() sys.Errno { return f.FS.Utimens(name, atim, mtim) })
}

func (f *files) Link(from, to string) sys.Errno        { return f.FS.Link(from, to) }
func (f *files) Symlink(target, name string) sys.Errno { return f.FS.Symlink(target, name) }

// fields returns a status as the journal has it.
func fields(s stat.Stat_t) []int64 {
	return []int64{int64(s.Dev), int64(s.Ino), int64(s.Mode), int64(s.Nlink), s.Size, s.Atim, s.Mtim, s.Ctim}
}

func statOf(v []int64) stat.Stat_t {
	if len(v) != 8 {
		return stat.Stat_t{}
	}
	return stat.Stat_t{Dev: uint64(v[0]), Ino: uint64(v[1]), Mode: fs.FileMode(v[2]), Nlink: uint64(v[3]), Size: v[4], Atim: v[5], Mtim: v[6], Ctim: v[7]}
}
