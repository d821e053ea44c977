// Package house is what the tests of the whole stand on: a machine of its own
// for each of them, the programs of this tree, one folder of compiled guests for
// all, and a host wired as the doors wire it.
package house

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wexec/wexec/config"
)

// Cache is the folder that the tests of a machine share, so that guests are
// compiled once.
func Cache() string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "wexec-tests")
}

// Packages is the folder that tests/npm.sh installs real servers and type
// checkers into.
func Packages(t testing.TB) string {
	t.Helper()
	top, err := Top()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(top, "work", "npm")
}

// Main runs the tests of a package and removes what [Program] built for them.
func Main(m *testing.M) { os.Exit(Tests{m}.Run()) }

// Tests are the tests of a package, for those who run them otherwise.
type Tests struct{ M *testing.M }

// Run runs them and removes what [Program] built.
func (t Tests) Run() int {
	code := t.M.Run()
	if dir := built.Load(); dir != nil {
		_ = os.RemoveAll(*dir)
	}
	return code
}

// built is the folder of the programs, once there is one.
var built atomic.Pointer[string]

// programs builds the command and the demo server once, into a folder.
var programs = sync.OnceValues(func() (string, error) {
	top, err := Top()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "wexec-house-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./cmd/wexec", "./examples/demo-server")
	cmd.Dir = top
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(err, errors.New(string(out)), os.RemoveAll(dir))
	}
	built.Store(&dir)
	return dir, nil
})

// Program is the command (wexec) or the demo server (demo-server), built from
// the sources as they are.
func Program(t testing.TB, name string) string {
	t.Helper()
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(dir, name)
}

// Top is the top of this tree.
func Top() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "LICENSE")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("the tests do not run inside the tree")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// Machine is an environment of its own in a folder: nothing of the person's is
// read but the programs on PATH.
func Machine(dir string, more ...string) *config.Environment {
	return &config.Environment{Dir: dir, Home: dir, OS: runtime.GOOS, Vars: append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "WEXEC_CACHE=" + Cache(), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
		"XDG_STATE_HOME=" + filepath.Join(dir, "state"), "XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"),
		"SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}, more...)}
}

// Open wires a host as the doors do, and closes it at the end of the test.
func Open(t testing.TB, env *config.Environment, flags config.Flags) *config.Host {
	t.Helper()
	settings, err := config.Load(env, flags)
	if err != nil {
		t.Fatal(err)
	}
	host, err := settings.Open(t.Context(), config.Options{Env: env, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := host.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return host
}
