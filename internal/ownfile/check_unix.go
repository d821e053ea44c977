//go:build unix

package ownfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// othersWrite are the permissions of users other than the owner to write.
const othersWrite = 0o022

func checkOwner(path string, info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	if ok && (st.Uid == 0 || int(st.Uid) == os.Geteuid()) {
		return nil
	}
	why := "its owner is unknown"
	if ok {
		why = fmt.Sprintf("it belongs to user %d, and this process runs as user %d", st.Uid, os.Geteuid())
	}
	return &Error{Path: path, Why: why, Do: "set a folder that belongs to this user, below folders that only this user and root can change"}
}

// checkDir checks a folder of a path. Last says that it is the one that is used.
func checkDir(path string, info fs.FileInfo, last bool) error {
	if !info.IsDir() {
		return &Error{Path: path, Why: "it is not a folder", Do: "remove it"}
	}
	if err := checkOwner(path, info); err != nil {
		return err
	}
	if info.Mode().Perm()&othersWrite != 0 && (last || info.Mode()&fs.ModeSticky == 0) {
		return &Error{Path: path, Why: fmt.Sprintf("other users can write to it (mode %v)", info.Mode()),
			Do: "empty the folder and run chmod go-w " + path + ", or set another folder"}
	}
	return nil
}

func checkFile(path string, info fs.FileInfo) error {
	if err := checkOwner(path, info); err != nil {
		return err
	}
	switch st := info.Sys().(*syscall.Stat_t); {
	case info.Mode().Perm()&othersWrite != 0:
		return &Error{Path: path, Why: fmt.Sprintf("other users can write to it (mode %v)", info.Mode()), Do: "remove it"}
	case st.Nlink != 1:
		return &Error{Path: path, Why: fmt.Sprintf("it has %d names", st.Nlink), Do: "remove it"}
	}
	return nil
}

// checkPrivate checks a file that other users must not read.
func checkPrivate(path string, info fs.FileInfo) error {
	if err := checkOwner(path, info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return &Error{Path: path, Why: fmt.Sprintf("other users can read or write it (mode %v)", info.Mode()), Do: "run chmod 600 " + path}
	}
	return nil
}

func openNoFollow(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.EMLINK) {
		return nil, &Error{Path: path, Why: "it is a symbolic link", Do: "remove it"}
	}
	return f, err
}
