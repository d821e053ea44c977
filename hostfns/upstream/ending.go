package upstream

import (
	"io"
	"os"
	"os/exec"
)

// ending is how a server and its children are kept together, and ended.
type ending struct {
	// own makes the command the leader of what is ended with it.
	own func(*exec.Cmd)
	// signal tells the leader and its children to terminate, or kills them.
	signal func(leader int, kill bool)
	// watch ends them when wexec is gone; closing it ends the watch alone. A nil
	// closer watches nothing.
	watch func(leader int) io.Closer
}

// byLeader is for platforms without process groups. Only the leader is told or
// killed; its children end when their input does, as MCP has it, and so does
// everybody when wexec is gone.
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
