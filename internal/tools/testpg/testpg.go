// Package testpg starts a PostgreSQL server for tests: the one of the Debian
// package postgresql, as an unprivileged user, on a unix socket.
package testpg

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // for database/sql
)

// Server is a running server.
type Server struct {
	dir  string // holds data and the socket
	bin  string
	user []string // the command that runs the rest as another user
}

// running is the server of this test binary, and started the same if it was
// started.
var (
	running = sync.OnceValues(func() (*Server, error) {
		s, err := Start()
		started.Store(s)
		return s, err
	})
	started atomic.Pointer[Server]
)

// Address returns the address of an empty schema of a server that all tests of
// the binary share. It skips the test where PostgreSQL is not installed.
func Address(t testing.TB) string {
	t.Helper()
	s, err := running()
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		t.Skip("need PostgreSQL: install the package postgresql")
	}
	schema := "t" + strings.ToLower(rand.Text())
	db, err := sql.Open("pgx", s.address(""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE SCHEMA " + schema); err != nil {
		t.Fatal(err)
	}
	return s.address(schema)
}

// storeEnv is set in processes that [Again] starts.
const storeEnv = "WEXEC_TEST_ON_POSTGRESQL"

// Store returns the address of an empty store, of SQLite unless [Again] started the
// process.
func Store(t testing.TB) string {
	t.Helper()
	if os.Getenv(storeEnv) != "" {
		return Address(t)
	}
	return "sqlite:" + filepath.Join(t.TempDir(), "wexec.db")
}

// Again runs the tests of this binary again in another process, in which [Store]
// returns stores of PostgreSQL. With -short it runs those that a pattern selects.
func Again(t *testing.T, short string) {
	if os.Getenv(storeEnv) != "" {
		return
	}
	if Address(t); !testing.Short() {
		short = "."
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run", short, fmt.Sprintf("-test.short=%t", testing.Short()))
	cmd.Env = append(os.Environ(), storeEnv+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("on PostgreSQL: %v\n%s", err, out)
	}
}

// Own starts a server for a test that stops it and starts it again. It is removed with
// the test, which is skipped where PostgreSQL is not installed.
func Own(t testing.TB) *Server {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		t.Skip("need PostgreSQL: install the package postgresql")
	}
	t.Cleanup(s.Stop)
	return s
}

// Address returns the address of the server's default schema.
func (s *Server) Address() string { return s.address("") }

// Down stops the server as a crash does.
func (s *Server) Down() error {
	return s.command("pg_ctl", "-D", s.data(), "-m", "immediate", "-w", "stop")
}

// Up starts the server.
func (s *Server) Up() error {
	return s.command("pg_ctl", "-D", s.data(), "-w", "-t", "60", "-l", filepath.Join(s.dir, "log"), "-o",
		"-c listen_addresses='' -c max_connections=300 -c unix_socket_directories="+s.dir, "start")
}

// Drop ends all connections of clients.
func (s *Server) Drop() error {
	db, err := sql.Open("pgx", s.Address())
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.Exec("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
	return err
}

// Stop ends the server, if one was started. TestMain calls it after the tests.
func Stop() {
	if s := started.Load(); s != nil {
		s.Stop()
	}
}

// address returns the address of a schema.
func (s *Server) address(schema string) string {
	q := url.Values{"host": {s.dir}, "user": {"wexec"}}
	if schema != "" {
		q.Set("search_path", schema)
	}
	return "postgres:///postgres?" + q.Encode()
}

// Start makes a cluster and starts its server. It returns nil if there are no
// programs to do so.
func Start() (*Server, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return nil, err
	}
	s := &Server{bin: filepath.Dir(found[len(found)-1])}
	if s.dir, err = os.MkdirTemp("", "wexec-pg-"); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 { // the server refuses to run as root
		s.user = []string{"setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"}
		if out, err := exec.Command("chown", "nobody:nogroup", s.dir).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("chown: %w: %s", err, out)
		}
	}
	if err := s.command("initdb", "--no-sync", "--auth=trust", "--username=wexec", "--encoding=UTF8", "--locale=C", "-D", s.data()); err != nil {
		return nil, err
	}
	return s, s.Up()
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Stop ends the server and removes its data.
func (s *Server) Stop() {
	_ = s.Down()
	_ = os.RemoveAll(s.dir)
}

// command runs a program of the server as its user.
func (s *Server) command(name string, args ...string) error {
	all := append(append([]string{}, s.user...), filepath.Join(s.bin, name))
	cmd := exec.CommandContext(context.Background(), all[0], append(all[1:], args...)...)
	cmd.Dir = s.dir
	out, err := os.Create(filepath.Join(s.dir, name+".out")) // a pipe would stay open in the server
	if err != nil {
		return err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		said, _ := os.ReadFile(out.Name())
		return fmt.Errorf("%s: %w: %s", name, err, said)
	}
	return nil
}
