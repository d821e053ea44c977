package audit

import (
	"io"
	"io/fs"
	"os"
)

// disk is what the log asks of the file system, so that tests can break it.
type disk interface {
	MkdirAll(dir string, perm fs.FileMode) error
	OpenFile(name string, flag int, perm fs.FileMode) (file, error)
	ReadDir(dir string) ([]fs.DirEntry, error)
	Lock(f file) (bool, error) // false: another process has it
	LockWait(f file) error
}

type file interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Truncate(size int64) error
	Sync() error
	Stat() (fs.FileInfo, error)
}

// realDisk is the file system of this machine.
type realDisk struct{}

func (realDisk) MkdirAll(dir string, perm fs.FileMode) error { return os.MkdirAll(dir, perm) }
func (realDisk) ReadDir(dir string) ([]fs.DirEntry, error)   { return os.ReadDir(dir) }

func (realDisk) OpenFile(name string, flag int, perm fs.FileMode) (file, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (realDisk) Lock(f file) (bool, error) { return lock(f.(*os.File), false) }

func (realDisk) LockWait(f file) error {
	_, err := lock(f.(*os.File), true)
	return err
}
