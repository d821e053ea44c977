// Package atomicfile replaces files atomically: a reader sees the old content
// or the new, never a part of either. It does not create folders and does not
// follow a symbolic link at the path, but replaces it.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Write replaces the file at path with data.
func Write(path string, data []byte, mode fs.FileMode) error {
	return WriteFunc(path, mode, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// WriteFunc replaces the file at path with what write puts into f, a temporary
// file in the same folder. If write returns an error the file at path stays as
// it was. The data is not synced to disk unless write calls f.Sync.
func WriteFunc(path string, mode fs.FileMode, write func(f *os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if mode != 0o600 {
		if err := f.Chmod(mode); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Create creates the file at path with data and mode 0600. If there is a file, it
// fails with an error that is [fs.ErrExist]. The file is synced to disk.
func Create(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err != nil {
		return err
	}
	return SyncDir(dir)
}

// SyncDir syncs the names in a folder to disk. On Windows, which cannot, it does
// nothing.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
