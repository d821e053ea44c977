//go:build unix

package approvals

import (
	"io/fs"
	"os"
	"syscall"
)

// hasModes is true: folders have permission bits.
const hasModes = true

// ownedByMe reports whether a file belongs to the user of this process.
func ownedByMe(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}
