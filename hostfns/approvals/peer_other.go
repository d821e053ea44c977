//go:build !linux && !darwin

package approvals

import "net"

// peerIsMe rests on the folder of the socket, which only its owner can enter.
func peerIsMe(c net.Conn) bool {
	_, ok := c.(*net.UnixConn)
	return ok
}
