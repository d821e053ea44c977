package sandbox

import (
	"io"
	"io/fs"

	experimentalsys "github.com/tetratelabs/wazero/experimental/sys"
	"github.com/tetratelabs/wazero/sys"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/snapshot"
)

// maxStale bounds the numbers of open files that an instance may have when its
// state is saved.
const maxStale = 1024

// ownFiles is how many numbers of files an instance has from its start: the
// standard streams and the root.
const ownFiles = 4

// Save writes the state of an instance in which nothing runs, and returns the numbers
// of its open files, which are not part of it.
func (i *Instance) Save(w io.Writer) (stale []int32, err error) {
	if stale, err = i.openFiles(); err != nil {
		return nil, err
	}
	return stale, i.mems.from.WriteDelta(w, i.main)
}

// openFiles returns the numbers of the files that the program opened.
func (i *Instance) openFiles() (numbers []int32, err error) {
	files, ok := snapshot.DescriptorsOf(i.main)
	if !ok {
		return nil, fault.New(fault.Internal, "the files of the instance are not where wazero 1.12 has them")
	}
	for _, n := range files.Open() {
		if n >= ownFiles {
			numbers = append(numbers, n)
		}
	}
	return numbers, checkStale(numbers)
}

// checkStale refuses numbers of files that are not in ascending order or too large.
func checkStale(numbers []int32) error {
	last := int32(ownFiles - 1)
	for _, n := range numbers {
		if n <= last || n >= maxStale {
			return fault.New(fault.UsageSession, "a file is open under the number %d", n).WithHint("close files before the session sleeps")
		}
		last = n
	}
	return nil
}

// Load gives a fresh instance the state that Save wrote. Its memory must not become
// larger than limit. The numbers of the files that were open stay taken until the
// program closes them: every other use fails, and no new file gets such a number. If
// it fails the instance is broken.
func (i *Instance) Load(r io.Reader, limit int64, stale []int32) error {
	i.broken = true
	if err := checkStale(stale); err != nil {
		return err
	}
	if err := i.mems.from.ReadDelta(r, i.main, uint64(limit)); err != nil {
		return err
	}
	return i.occupy(stale)
}

// occupy takes the numbers of files that were open. The instance is broken until then.
func (i *Instance) occupy(stale []int32) error {
	files, ok := snapshot.DescriptorsOf(i.main)
	if !ok {
		return fault.New(fault.Internal, "the files of the instance are not where wazero 1.12 has them")
	}
	var free []int32
	for _, n := range stale {
		for {
			at, ok := files.Occupy(staleFiles{})
			if !ok || at > n {
				return fault.New(fault.Internal, "the number %d of an open file is taken", n)
			}
			if at == n {
				break
			}
			free = append(free, at)
		}
	}
	for _, n := range free {
		files.Close(n)
	}
	i.broken = false
	return nil
}

// staleFiles is a file system whose only file was open when a session fell asleep.
type staleFiles struct {
	experimentalsys.UnimplementedFS
}

// OpenFile implements experimentalsys.FS.
func (staleFiles) OpenFile(string, experimentalsys.Oflag, fs.FileMode) (experimentalsys.File, experimentalsys.Errno) {
	return staleFile{}, 0
}

// staleFile is a file that can only be closed. Everything else fails as for a file
// that is closed.
type staleFile struct {
	experimentalsys.UnimplementedFile
}

const errStale = experimentalsys.EBADF

func (staleFile) Dev() (uint64, experimentalsys.Errno)             { return 0, errStale }
func (staleFile) Ino() (sys.Inode, experimentalsys.Errno)          { return 0, errStale }
func (staleFile) IsDir() (bool, experimentalsys.Errno)             { return false, errStale }
func (staleFile) SetAppend(bool) experimentalsys.Errno             { return errStale }
func (staleFile) Stat() (sys.Stat_t, experimentalsys.Errno)        { return sys.Stat_t{}, errStale }
func (staleFile) Read([]byte) (int, experimentalsys.Errno)         { return 0, errStale }
func (staleFile) Pread([]byte, int64) (int, experimentalsys.Errno) { return 0, errStale }
func (staleFile) Readdir(int) ([]experimentalsys.Dirent, experimentalsys.Errno) {
	return nil, errStale
}
func (staleFile) Write([]byte) (int, experimentalsys.Errno)         { return 0, errStale }
func (staleFile) Pwrite([]byte, int64) (int, experimentalsys.Errno) { return 0, errStale }
func (staleFile) Truncate(int64) experimentalsys.Errno              { return errStale }
func (staleFile) Sync() experimentalsys.Errno                       { return errStale }
func (staleFile) Datasync() experimentalsys.Errno                   { return errStale }
func (staleFile) Utimens(int64, int64) experimentalsys.Errno        { return errStale }
