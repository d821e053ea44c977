package approvals

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
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
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || failed != nil {
		return false
	}
	return cred.Uid == uint32(os.Getuid())
}
