//go:build !unix

package upstream

import (
	"os"
	"os/exec"
)

// ownGroup has nothing to do where there are no process groups.
func ownGroup(*exec.Cmd) {}

// signalGroup ends the leader; its children end when their input does.
func signalGroup(leader int, kill bool) {
	p, err := os.FindProcess(leader)
	if err != nil {
		return
	}
	if kill {
		_ = p.Kill()
		return
	}
	_ = p.Signal(os.Interrupt)
}
