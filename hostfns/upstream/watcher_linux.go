package upstream

import (
	"io"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// watchScript reads one line. A line means that the server was stopped; the end of the
// input without a line means that wexec is gone, and the script stops the group.
const watchScript = `read -r line && exit 0; kill -TERM "-$1" 2>/dev/null || exit 0; sleep 2; kill -KILL "-$1" 2>/dev/null`

// watchGroup starts a small process that outlives wexec and
// stops the server's group. If it cannot be started, a server has to
// end when its input is closed.
func watchGroup(leader int) io.Closer {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	cmd := exec.Command("/bin/sh", "-c", watchScript, "watch", strconv.Itoa(leader))
	cmd.Stdin = r
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	_ = r.Close()
	if err != nil {
		_ = w.Close()
		return nil
	}
	return &watcher{cmd: cmd, pipe: w}
}

// watcher is the running watch process.
type watcher struct {
	cmd  *exec.Cmd
	pipe *os.File
}

// Close stops the watcher without touching the group.
func (w *watcher) Close() error {
	_, err := w.pipe.WriteString("ended\n")
	if cerr := w.pipe.Close(); err == nil {
		err = cerr
	}
	if werr := w.cmd.Wait(); err == nil {
		err = werr
	}
	return err
}
