//go:build !unix

package upstream

import (
	"errors"
	"os/exec"
)

// platformEnding is for platforms without process groups.
func platformEnding() ending { return byLeader() }

// become fails: processes have no other user on these platforms.
func become(*exec.Cmd, string) error {
	return errors.New("commands cannot run as another user on this system")
}
