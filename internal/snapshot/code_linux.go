//go:build linux && (amd64 || arm64)

package snapshot

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// mapOver maps a part of a file over memory that was mapped for its bytes, to
// be read and run. It is false where that cannot be done, on a file system
// that nothing may be run from for one: nothing has changed then.
func mapOver(p []byte, f *os.File, from int64) bool {
	at := unsafe.Pointer(&p[0])
	page := uintptr(os.Getpagesize())
	if uintptr(at)%page != 0 || uintptr(from)%page != 0 {
		return false
	}
	_, err := unix.MmapPtr(int(f.Fd()), from, at, uintptr(len(p)), unix.PROT_READ|unix.PROT_EXEC, unix.MAP_PRIVATE|unix.MAP_FIXED|unix.MAP_POPULATE)
	return err == nil
}
