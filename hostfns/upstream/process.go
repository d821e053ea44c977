package upstream

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
)

// How long a server may take to end: after its input is closed, and after it
// was asked to terminate.
const (
	closeGrace = 2 * time.Second
	termGrace  = 2 * time.Second
)

// process is a running stdio server, the leader of a process group of its own
// where the platform has them.
type process struct {
	cmd    *exec.Cmd
	ending ending
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr *tail
	watch  io.Closer // ends the watcher without ending the group

	done chan struct{} // closed when the leader has ended
	err  error         // of the leader, once done
	once sync.Once
}

// inherited are the variables of wexec's own environment that a server gets:
// what programs need to be found and to speak a language, and no secret.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	"TEMP", "TMP", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
	"USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "WINDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"}

// start runs a server's command. environ is what the host offers of its own
// environment; only the inherited names of it are passed on.
func start(s Server, environ []string, e ending) (*process, error) {
	path, err := lookPath(s.Command, s.Env["PATH"], environ)
	if err != nil {
		return nil, fault.New(fault.UpstreamUnavailable, "server %s cannot start: the command %q was not found", s.Name, s.Command).
			WithHint("install it, or correct the command in %s", orHere(s.Origin))
	}
	p := &process{ending: e, stderr: &tail{}, done: make(chan struct{})}
	p.cmd = exec.Command(path, s.Args...)
	p.cmd.Dir = s.Dir
	p.cmd.Env = childEnv(s.Env, environ)
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = time.Second
	e.own(p.cmd)
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		p.stdout, err = p.cmd.StdoutPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, fault.New(fault.UpstreamUnavailable, "server %s cannot start: %w", s.Name, cause(err)).
			WithHint("check its command and working folder in %s", orHere(s.Origin))
	}
	p.watch = e.watch(p.cmd.Process.Pid)
	return p, nil
}

// reap waits for the leader. It is called once, after stdout has been read to
// its end or given up.
func (p *process) reap() {
	p.err = p.cmd.Wait()
	close(p.done)
}

// stop ends the process as MCP asks: its input is closed, then it is told to
// terminate, then killed, with its group where there is one.
func (p *process) stop() {
	p.once.Do(func() {
		_ = p.stdin.Close()
		if !p.ends(closeGrace) {
			p.ending.signal(p.cmd.Process.Pid, false)
			p.ends(termGrace)
		}
		// Children of the leader may have outlived it.
		p.ending.signal(p.cmd.Process.Pid, true)
		<-p.done
		if p.watch != nil {
			_ = p.watch.Close()
		}
	})
}

func (p *process) ends(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// lookPath finds a command on the PATH the child will have.
func lookPath(command, path string, environ []string) (string, error) {
	if path == "" {
		path = valueOf("PATH", environ)
	}
	if path == "" || hasSeparator(command) {
		return exec.LookPath(command)
	}
	for _, dir := range filepathList(path) {
		if found, err := exec.LookPath(join(dir, command)); err == nil {
			return found, nil
		}
	}
	return "", exec.ErrNotFound
}

func childEnv(own map[string]string, environ []string) []string {
	var out []string
	for _, kv := range environ {
		name := nameOf(kv)
		if _, set := own[name]; !set && slices.ContainsFunc(inherited, func(n string) bool { return sameName(n, name) }) {
			out = append(out, kv)
		}
	}
	for k, v := range own {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return out
}

// cause is an error without the operation and path that it repeats.
func cause(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

func orHere(origin string) string {
	if origin == "" {
		return "its configuration"
	}
	return origin
}

// tail keeps the last bytes that were written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// tailSize is how much of a server's stderr is kept.
const tailSize = 64 << 10

// Write never fails: a server's chatter must not stop it.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b[max(0, len(b)-tailSize):]...)
	if over := len(t.buf) - tailSize; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
