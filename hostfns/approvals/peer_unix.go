//go:build linux || darwin

package approvals

import (
	"net"
	"os"
)

// peerIsMe reports whether the other end of a socket belongs to the same user.
func peerIsMe(c net.Conn) bool {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return false
	}
	var user uint32
	var failed error
	if err := raw.Control(func(fd uintptr) { user, failed = peerUser(int(fd)) }); err != nil || failed != nil {
		return false
	}
	return user == uint32(os.Getuid())
}
