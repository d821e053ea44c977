//go:build unix

package upstream

import (
	"os/exec"
	"os/user"
	"strconv"
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

// become lets the command run as a user, with the user's group and without further groups. Its
// working folder is / if it has none, since the user may not enter that of wexec.
func become(cmd *exec.Cmd, name string) error {
	u, err := user.Lookup(name)
	if err != nil {
		return err
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return err
	}
	cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), Groups: []uint32{}}
	cmd.Env = append(cmd.Env, "HOME="+u.HomeDir, "USER="+name, "LOGNAME="+name)
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	return nil
}
