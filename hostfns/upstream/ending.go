package upstream

import (
	"io"
	"os"
	"os/exec"
)

// ending is how the processes of a server are grouped and stopped.
type ending struct {
	// own makes the command the leader of its group.
	own func(*exec.Cmd)
	// signal terminates or kills the leader and its children.
	signal func(leader int, kill bool)
	// watch stops them when wexec is gone; Close stops the watch only. A nil
	// Closer watches nothing.
	watch func(leader int) io.Closer
}

// byLeader is for platforms without process groups. Only the leader is signaled or
// killed; its children end when their input ends, as MCP specifies, and so does
// every server when wexec is gone.
func byLeader() ending {
	return ending{
		own:    func(*exec.Cmd) {},
		signal: signalLeader,
		watch:  func(int) io.Closer { return nil },
	}
}

func signalLeader(leader int, kill bool) {
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
