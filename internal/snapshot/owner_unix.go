//go:build unix

package snapshot

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedAlone reports whether a file is ours and nobody else can write to it.
func ownedAlone(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}
