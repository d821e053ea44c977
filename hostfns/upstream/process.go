package upstream

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/scrub"
)

// How long a server may take to end after its input is closed, and after it
// gets the signal to terminate.
const (
	closeGrace = 2 * time.Second
	termGrace  = 2 * time.Second
)

// process is a running stdio server, the leader of its process group
// on platforms that have them.
type process struct {
	cmd    *exec.Cmd
	ending ending
	stdin  io.WriteCloser
	stdout io.ReadCloser
	stderr *tail
	watch  io.Closer // stops the watcher without stopping the group

	done chan struct{} // closed when the leader ended
	err  error         // of the leader, after done
	once sync.Once
}

// inherited are the variables of wexec's environment that a server gets:
// paths, locale and folders, which are not secret.
var inherited = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR",
	"TEMP", "TMP", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES",
	"USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "WINDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"}

// start runs a server's command. environ is the host's
// environment, of which the server gets the inherited variables. Its stderr is kept
// without secrets.
func start(s Server, environ []string, e ending, secrets *scrub.Scrubber) (*process, error) {
	path, err := lookPath(s.Command, s.Env["PATH"], environ)
	if err != nil {
		return nil, fault.New(fault.UpstreamUnavailable, "start server %s: command %q not found", s.Name, s.Command).
			WithHint("install it, or correct the command in %s", orHere(s.Origin))
	}
	p := &process{ending: e, stderr: newTail(secrets), done: make(chan struct{})}
	p.cmd = exec.Command(path, s.Args...)
	p.cmd.Dir = s.Dir
	p.cmd.Env = childEnv(s.Env, environ)
	p.cmd.Stderr = p.stderr
	p.cmd.WaitDelay = time.Second
	e.own(p.cmd)
	if s.User != "" {
		err = become(p.cmd, s.User)
	}
	if err != nil {
		return nil, fault.New(fault.UpstreamUnavailable, "start server %s as the user %s: %w", s.Name, s.User, err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err == nil {
		p.stdout, err = p.cmd.StdoutPipe()
	}
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, fault.New(fault.UpstreamUnavailable, "start server %s: %w", s.Name, cause(err)).
			WithHint("check its command and working folder in %s", orHere(s.Origin))
	}
	p.watch = e.watch(p.cmd.Process.Pid)
	return p, nil
}

// reap waits for the leader. It is called once, after stdout was read to
// its end or abandoned.
func (p *process) reap() {
	p.err = p.cmd.Wait()
	close(p.done)
}

// stop ends the process as MCP specifies: it closes its input, then signals it to
// terminate, then kills it, with its group on platforms that have them.
func (p *process) stop() {
	p.once.Do(func() {
		_ = p.stdin.Close()
		if !p.ends(closeGrace) {
			p.ending.signal(p.cmd.Process.Pid, false)
			p.ends(termGrace)
		}
		// Children of the leader may still run.
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

// lookPath finds a command on the PATH of the child.
func lookPath(command, path string, environ []string) (string, error) {
	if path == "" {
		path = valueOf("PATH", environ)
	}
	if path == "" || hasSeparator(command) {
		return exec.LookPath(command)
	}
	for _, dir := range filepath.SplitList(path) {
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

// cause returns an error without its operation and path.
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

// tail is a writer that keeps the last tailSize bytes, without secrets.
type tail struct {
	secrets *scrub.Scrubber
	mu      sync.Mutex
	clean   *scrub.Writer // to buf
	buf     lastBytes
}

func newTail(secrets *scrub.Scrubber) *tail {
	t := &tail{secrets: secrets}
	t.clean = secrets.Writer(&t.buf)
	return t
}

// tailSize is how much of a server's stderr is kept.
const tailSize = 64 << 10

// Write never fails, so that a server cannot be blocked by its output.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.clean.Write(b)
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf) + string(t.clean.Held())
}

// lastBytes keeps the last tailSize bytes.
type lastBytes []byte

func (l *lastBytes) Write(b []byte) (int, error) {
	*l = append(*l, b[max(0, len(b)-tailSize):]...)
	if over := len(*l) - tailSize; over > 0 {
		*l = append((*l)[:0], (*l)[over:]...)
	}
	return len(b), nil
}

// nameOf returns the name of NAME=value.
func nameOf(kv string) string {
	name, _, _ := strings.Cut(kv, "=")
	return name
}

// sameName compares names of variables by the platform's rules.
func sameName(a, b string) bool {
	if runtime.GOOS == "windows" {
		return strings.EqualFold(a, b)
	}
	return a == b
}

// valueOf finds a variable in a list of NAME=value.
func valueOf(name string, environ []string) string {
	for _, kv := range environ {
		if k, v, ok := strings.Cut(kv, "="); ok && sameName(k, name) {
			return v
		}
	}
	return ""
}

func hasSeparator(command string) bool {
	return strings.ContainsRune(command, filepath.Separator) || strings.Contains(command, "/")
}

func join(dir, name string) string {
	if dir == "" {
		dir = "."
	}
	// Without a separator exec.LookPath would search the PATH of
	// this process.
	if joined := filepath.Join(dir, name); hasSeparator(joined) {
		return joined
	}
	return "." + string(filepath.Separator) + name
}
