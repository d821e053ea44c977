package approvals

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/text"
)

// message is a request over the socket: one JSON line, answered by one.
type message struct {
	Op     string `json:"op"` // list, approve, deny
	ID     string `json:"id,omitempty"`
	Always bool   `json:"always,omitempty"`
	Reason string `json:"reason,omitempty"`
	Who    string `json:"who,omitempty"`
}

type reply struct {
	Questions []hostfns.Question `json:"questions,omitempty"`
	Code      fault.Code         `json:"code,omitempty"`
	Message   string             `json:"message,omitempty"`
	Hint      string             `json:"hint,omitempty"`
}

const (
	maxLine   = 64 << 10
	maxReply  = 16 << 20
	ioTimeout = 5 * time.Second
	suffix    = ".approvals"
)

// Listen accepts answers over a new socket in a folder, which
// it creates with access for the owner only. Close the result to stop.
func (b *Broker) Listen(dir string) (io.Closer, error) {
	if err := privateFolder(dir); err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fmt.Sprintf("%d-%s%s", os.Getpid(), rand.Text()[:8], suffix))
	if len(path) > 100 {
		return nil, fault.New(fault.UsageConfig, "socket path is too long: %s", path).WithHint("set XDG_RUNTIME_DIR to a shorter folder")
	}
	l, err := listen(path)
	if err != nil {
		return nil, fault.New(fault.UsageConfig, "open approvals socket: %w", err)
	}
	s := &server{broker: b, listener: l, path: path, conns: map[net.Conn]bool{}}
	b.mu.Lock()
	b.sockets++
	b.mu.Unlock()
	s.wg.Add(1)
	go s.serve()
	return s, nil
}

// listen opens a socket under another name first: one that does not accept yet
// would be removed as left behind.
func listen(path string) (net.Listener, error) {
	opening := strings.TrimSuffix(path, suffix)
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: opening, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	if err = os.Chmod(opening, 0o600); err == nil {
		err = os.Rename(opening, path)
	}
	if err != nil {
		_ = l.Close()
		_ = os.Remove(opening)
		return nil, err
	}
	return l, nil
}

// privateFolder creates a folder that only its owner can enter, or restricts an existing one.
func privateFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fault.New(fault.UsageConfig, "create socket folder: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fault.New(fault.UsageConfig, "inspect socket folder: %w", err)
	}
	if !info.IsDir() || !ownedByMe(info) {
		return fault.New(fault.UsageConfig, "socket folder belongs to another user: %s", dir)
	}
	if info.Mode().Perm()&0o077 != 0 && hasModes {
		if err := os.Chmod(dir, 0o700); err != nil {
			return fault.New(fault.UsageConfig, "restrict access to socket folder: %w", err)
		}
	}
	return nil
}

type server struct {
	broker   *Broker
	listener net.Listener
	path     string
	wg       sync.WaitGroup
	once     sync.Once

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// Close closes the socket and its connections.
func (s *server) Close() error {
	var err error
	s.once.Do(func() {
		s.broker.mu.Lock()
		s.broker.sockets--
		s.broker.mu.Unlock()
		_ = os.Remove(s.path)
		err = s.listener.Close()
		s.mu.Lock()
		for c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return err
}

func (s *server) serve() {
	defer s.wg.Done()
	for {
		c, err := s.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			time.Sleep(10 * time.Millisecond)
			continue
		}
		s.mu.Lock()
		full := len(s.conns) >= 32
		if !full {
			s.conns[c] = true
		}
		s.mu.Unlock()
		if full || !peerIsMe(c) {
			_ = c.Close()
			s.mu.Lock()
			delete(s.conns, c)
			s.mu.Unlock()
			continue
		}
		s.wg.Add(1)
		go s.talk(c)
	}
}

// talk handles one request.
func (s *server) talk(c net.Conn) {
	defer s.wg.Done()
	defer func() {
		_ = c.Close()
		s.mu.Lock()
		delete(s.conns, c)
		s.mu.Unlock()
	}()
	_ = c.SetDeadline(time.Now().Add(ioTimeout))
	line, err := bufio.NewReader(io.LimitReader(c, maxLine)).ReadBytes('\n')
	if err != nil {
		return
	}
	var m message
	var out reply
	if json.Unmarshal(line, &m) != nil {
		err = fault.New(fault.UsageFlag, "invalid message")
	} else {
		out, err = s.broker.handle(m)
	}
	if err != nil {
		out = reply{Code: fault.CodeOf(err), Message: err.Error(), Hint: fault.HintOf(err)}
	}
	_ = json.NewEncoder(c).Encode(out)
}

func (b *Broker) handle(m message) (reply, error) {
	switch m.Op {
	case "list":
		return reply{Questions: b.List()}, nil
	case "approve", "deny":
		return reply{}, b.Answer(m.ID, hostfns.Reply{
			Approved: m.Op == "approve", Always: m.Always && m.Op == "approve", By: Socket, Who: clipped(m.Who), Reason: text.Visible(m.Reason),
		})
	}
	return reply{}, fault.New(fault.UsageFlag, "unknown operation %s", clipped(m.Op))
}

// Pending returns the open questions of every running wexec of this user, whose
// sockets are in a folder.
func Pending(ctx context.Context, dir string) ([]hostfns.Question, error) {
	var all []hostfns.Question
	err := each(ctx, dir, func(r reply, _ string) bool { all = append(all, r.Questions...); return true })
	return all, err
}

// Decide answers a question of a running wexec of this user. An id may be
// shortened to a unique prefix.
func Decide(ctx context.Context, dir, id string, r hostfns.Reply) error {
	type hit struct{ path, id string }
	var hits []hit
	err := each(ctx, dir, func(list reply, path string) bool {
		for _, q := range list.Questions {
			if id != "" && (q.ID == id || strings.HasPrefix(q.ID, id)) {
				hits = append(hits, hit{path, q.ID})
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	switch len(hits) {
	case 0:
		return fault.New(fault.UsageFlag, "no open question %s", clipped(id)).WithHint("run wexec approvals list")
	case 1:
	default:
		return fault.New(fault.UsageFlag, "%s matches %d questions", clipped(id), len(hits)).WithHint("use a longer prefix of the id")
	}
	m := message{Op: "deny", ID: hits[0].id, Reason: r.Reason, Who: r.Who}
	if r.Approved {
		m.Op, m.Always = "approve", r.Always
	}
	out, err := send(ctx, hits[0].path, m)
	if err != nil {
		return err
	}
	if out.Code != "" {
		e := fault.New(out.Code, "%s", text.Visible(out.Message))
		if out.Hint != "" {
			e = e.WithHint("%s", text.Visible(out.Hint))
		}
		return e
	}
	return nil
}

// each asks every socket of a folder for its questions. A socket without a
// listener is removed.
func each(ctx context.Context, dir string, f func(reply, string) bool) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fault.New(fault.UsageConfig, "read socket folder: %w", err)
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) {
			continue
		}
		path := filepath.Join(dir, e.Name())
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSocket == 0 || !ownedByMe(info) {
			continue
		}
		out, err := send(ctx, path, message{Op: "list"})
		if err != nil {
			if errors.Is(err, syscall.ECONNREFUSED) {
				_ = os.Remove(path)
			}
			continue
		}
		if !f(out, path) {
			return nil
		}
	}
	return ctx.Err()
}

func send(ctx context.Context, path string, m message) (reply, error) {
	d := net.Dialer{Timeout: ioTimeout}
	c, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return reply{}, err
	}
	defer c.Close()
	if !peerIsMe(c) {
		return reply{}, fault.New(fault.UsageConfig, "socket %s belongs to another user", path)
	}
	_ = c.SetDeadline(time.Now().Add(ioTimeout))
	if err := json.NewEncoder(c).Encode(m); err != nil {
		return reply{}, fault.New(fault.UpstreamUnavailable, "no answer from the running wexec: %w", err)
	}
	var out reply
	if err := json.NewDecoder(io.LimitReader(c, maxReply)).Decode(&out); err != nil {
		return reply{}, fault.New(fault.UpstreamUnavailable, "no answer from the running wexec: %w", err)
	}
	return out, nil
}

// peerIsMe reports whether the process at the other end of a socket runs as the
// same user.
func peerIsMe(c net.Conn) bool {
	u, ok := c.(*net.UnixConn)
	if !ok {
		return false
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return false
	}
	var user uint32
	var failed error
	if err := raw.Control(func(fd uintptr) { user, failed = peerUser(int(fd)) }); err != nil || failed != nil {
		return false
	}
	return user == uint32(os.Getuid())
}
