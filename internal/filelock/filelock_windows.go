package filelock

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Lock locks a file until it is closed or the process ends. The locked byte is
// far beyond the end, so that others can still read the file.
func Lock(f *os.File, wait bool) (bool, error) {
	how := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK)
	if !wait {
		how |= windows.LOCKFILE_FAIL_IMMEDIATELY
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{OffsetHigh: 1 << 30})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}
