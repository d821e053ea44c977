//go:build unix

package snapshot

import (
	"io/fs"
	"os"
	"syscall"
)

// privateToOwner reports whether a file belongs to this user and only this user can access it.
func privateToOwner(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
