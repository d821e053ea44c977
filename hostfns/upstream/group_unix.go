//go:build unix

package upstream

import (
	"os/exec"
	"syscall"
)

// platformEnding is how servers are ended where there are process groups.
func platformEnding() ending {
	return ending{own: ownGroup, signal: signalGroup, watch: watchGroup}
}

// ownGroup makes the command the leader of a process group.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// signalGroup tells the whole group to terminate, or kills it.
func signalGroup(leader int, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-leader, sig) // no such group: it has ended already
}
