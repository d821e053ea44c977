//go:build unix

package upstream

import (
	"os/exec"
	"syscall"
)

// platformEnding is for platforms with process groups.
func platformEnding() ending {
	return ending{own: ownGroup, signal: signalGroup, watch: watchGroup}
}

// ownGroup makes the command the leader of a process group.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// signalGroup terminates or kills the group.
func signalGroup(leader int, kill bool) {
	sig := syscall.SIGTERM
	if kill {
		sig = syscall.SIGKILL
	}
	_ = syscall.Kill(-leader, sig) // an error means that the group already ended
}
