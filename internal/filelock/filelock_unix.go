//go:build unix

// Package filelock locks files between processes.
package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock locks a file until it is closed or the process ends.
func Lock(f *os.File, wait bool) (bool, error) {
	how := unix.LOCK_EX
	if !wait {
		how |= unix.LOCK_NB
	}
	for {
		err := unix.Flock(int(f.Fd()), how)
		switch {
		case err == nil:
			return true, nil
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return false, nil
		default:
			return false, err
		}
	}
}
