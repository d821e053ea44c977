// Package tests3 starts an S3 server for tests: versitygw, which tests/s3.sh builds.
// It checks signatures, keeps objects in a folder and listens on a unix socket.
package tests3

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/tools/testenv"
)

// The credentials of the server, and its bucket.
const (
	AccessKey = "test"
	SecretKey = "secret of the tests"
	Bucket    = "bucket"
)

// server is a running server.
type server struct {
	dir string
	cmd *exec.Cmd
}

// running is the server of this test binary.
var running = sync.OnceValues(start)

// Address returns the address of an empty prefix of a server that all tests of the
// binary share, and sets the credentials in the environment. A test can put itself
// between: wrap gets the handler that forwards to the server, and may be nil. It
// skips the test if the server is not built.
func Address(t testing.TB, wrap func(http.Handler) http.Handler) string {
	t.Helper()
	s, err := running()
	if err != nil {
		t.Fatal(err)
	}
	if s == nil {
		t.Skip("need an S3 server: run tests/s3.sh")
	}
	var handler http.Handler = s.proxy()
	if wrap != nil {
		handler = wrap(handler)
	}
	front := httptest.NewServer(handler)
	t.Cleanup(front.Close)
	t.Setenv("AWS_ACCESS_KEY_ID", AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", SecretKey)
	t.Setenv("AWS_SESSION_TOKEN", "")
	return "s3://" + Bucket + "/" + strings.ToLower(rand.Text()) + "?region=us-east-1&endpoint=" + url.QueryEscape(front.URL)
}

// Stop ends the server, if one was started. TestMain calls it after the tests.
func Stop() {
	if s, err := running(); err == nil && s != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		_ = os.RemoveAll(s.dir)
	}
}

// proxy forwards requests as they are, since their signature covers the host.
func (s *server) proxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.Host = "http", "server", r.In.Host
		},
		Transport: &http.Transport{
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "unix", s.socket())
			},
			DisableKeepAlives: true, DisableCompression: true,
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
}

func (s *server) socket() string { return filepath.Join(s.dir, "socket") }

// start starts the server and makes the bucket. It returns nil if the server is not
// built.
func start() (*server, error) {
	root, err := testenv.Root()
	if err != nil {
		return nil, err
	}
	program := filepath.Join(root, "work", "bin", "versitygw")
	if _, err := os.Stat(program); err != nil {
		return nil, nil
	}
	s := &server{}
	if s.dir, err = os.MkdirTemp("", "wexec-s3-"); err != nil {
		return nil, err
	}
	data, meta := filepath.Join(s.dir, "data"), filepath.Join(s.dir, "meta")
	if err := errors.Join(os.MkdirAll(filepath.Join(data, Bucket), 0o700), os.Mkdir(meta, 0o700)); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(s.dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	s.cmd = exec.Command(program, "--port", s.socket(), "--quiet", "posix", "--sidecar", meta, data)
	s.cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if conn, err := net.Dial("unix", s.socket()); err == nil {
			return s, conn.Close()
		} else if time.Now().After(end) {
			text, _ := os.ReadFile(log.Name())
			return nil, fmt.Errorf("the S3 server does not start: %w\n%s", err, text)
		}
	}
}
