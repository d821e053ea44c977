// Package ownfile opens folders and files that only this user and root can
// change, so that what a process reads back from a cache was written by this
// user. On Windows the access list of the user's profile folder decides instead,
// and nothing is checked. Access lists of other systems are checked as far as
// they show in the permission bits.
package ownfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Error says why a folder or file is not used.
type Error struct {
	Path string
	Why  string // such as "other users can write to it (mode drwxrwxrwx)"
	Do   string // what a person can do about it, as an imperative
}

// Error returns the path and the reason.
func (e *Error) Error() string { return e.Path + ": " + e.Why }

// maxLinks bounds the symbolic links in a path.
const maxLinks = 40

// Dir creates a folder with mode 0700 if it is missing. It fails with an [Error]
// if another user except root can change or replace the folder: each folder and
// link of the path must belong to this user or root, and nobody else may write to
// the folders. Those above the last one may be sticky instead, like /tmp.
//
// The path is checked from the root down. Others cannot change what is above an
// entry once it is checked, so there is no race between the checks, nor between
// them and a later use of the path.
func Dir(path string) error {
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	volume := filepath.VolumeName(path)
	at, rest := volume+string(filepath.Separator), path[len(volume):]
	info, err := os.Lstat(at)
	if err != nil {
		return err
	}
	for links := 0; ; {
		var name string
		name, rest, _ = strings.Cut(strings.TrimLeft(rest, string(filepath.Separator)), string(filepath.Separator))
		if err := checkDir(at, info, name == ""); err != nil {
			return err
		}
		if name == "" {
			return nil
		}
		next := filepath.Join(at, name)
		if info, err = lstatOrMake(next); err != nil {
			return err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		if err := checkOwner(next, info); err != nil {
			return err
		}
		to, err := os.Readlink(next)
		if links++; err != nil || links > maxLinks {
			return errors.Join(err, &Error{Path: next, Why: "it is a symbolic link that does not end", Do: "remove it"})
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(at, to)
		}
		volume = filepath.VolumeName(to)
		at, rest = volume+string(filepath.Separator), filepath.Join(to, rest)[len(volume):]
		if info, err = os.Lstat(at); err != nil {
			return err
		}
	}
}

// Sub is [Dir] for a folder in one that Dir or Sub has checked. It does not
// follow a link.
func Sub(path string) error {
	info, err := lstatOrMake(path)
	if err != nil {
		return err
	}
	return checkDir(path, info, true)
}

// lstatOrMake describes a folder, which it creates if it is missing.
func lstatOrMake(path string) (fs.FileInfo, error) {
	info, err := os.Lstat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return info, err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return os.Lstat(path)
}

// Open opens a file for reading. The caller has checked its folder with [Dir].
// Open does not follow a symbolic link at the end of the path, and fails with an
// [Error] unless the file is regular, belongs to this user or root, can be
// written by its owner only, and has one name. It does not block on a pipe.
func Open(path string) (*os.File, error) {
	f, err := openNoFollow(path)
	if err != nil {
		return nil, err
	}
	if err := check(f, checkFile); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// check applies a check to a regular file.
func check(f *os.File, one func(string, fs.FileInfo) error) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return &Error{Path: f.Name(), Why: "it is not a regular file", Do: "remove it"}
	}
	return one(f.Name(), info)
}

// Read reads a file of at most n bytes. It opens the file as [Open] does.
func Read(path string, n int64) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	return readAll(f, n)
}

// ReadPrivate reads a file of at most n bytes that only its owner can read. The
// caller has checked its folder with [Dir]. It fails with an [Error] as [Open]
// does, but the file may have other names.
func ReadPrivate(path string, n int64) ([]byte, error) {
	f, err := openNoFollow(path)
	if err != nil {
		return nil, err
	}
	if err := check(f, checkPrivate); err != nil {
		_ = f.Close()
		return nil, err
	}
	return readAll(f, n)
}

// readAll reads and closes a file of at most n bytes.
func readAll(f *os.File, n int64) ([]byte, error) {
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > n {
		return nil, fmt.Errorf("read %s: larger than %d bytes", f.Name(), n)
	}
	data := make([]byte, info.Size())
	_, err = io.ReadFull(f, data)
	return data, err
}
