// Package testenv is for tests that need the built programs of this repository
// or a host wired as the command and the servers wire it. Each test gets an
// isolated environment; compiled guests are shared. Nothing but tests imports it.
package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/wexec/wexec/config"
)

// Cache returns the cache folder that all tests of this machine share, so that
// each guest is compiled once.
func Cache() string {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	return filepath.Join(base, "wexec-tests")
}

// NPM returns the folder that tests/npm.sh installs MCP servers and type
// checkers into.
func NPM(t testing.TB) string {
	t.Helper()
	root, err := Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(root, "work", "npm")
}

// Main runs the tests of a package, removes the programs that [Program] built,
// and exits.
func Main(m *testing.M) { os.Exit(Tests{m}.Run()) }

// Tests is a testing.M whose Run also removes the programs that [Program]
// built. It is for testscript.Main; other packages call [Main].
type Tests struct{ M *testing.M }

// Run implements testscript.TestingM.
func (t Tests) Run() int {
	code := t.M.Run()
	if dir := built.Load(); dir != nil {
		_ = os.RemoveAll(*dir)
	}
	return code
}

// built is the folder with the programs, nil before the first build.
var built atomic.Pointer[string]

var build = sync.OnceValues(func() (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "wexec-testenv-")
	if err != nil {
		return "", err
	}
	cmd := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./cmd/wexec", "./examples/demo-server")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", errors.Join(fmt.Errorf("go build: %w\n%s", err, out), os.RemoveAll(dir))
	}
	built.Store(&dir)
	return dir, nil
})

// Program returns the path of "wexec" or "demo-server", built from the current
// sources on first use.
func Program(t testing.TB, name string) string {
	t.Helper()
	dir, err := build()
	if err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(dir, name)
}

// Root returns the top folder of the repository.
func Root() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, "LICENSE")); err == nil {
			return dir, nil
		}
		if filepath.Dir(dir) == dir {
			return "", errors.New("the working directory is outside the repository")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// Isolated returns an environment with its home and configuration in dir. Of the
// user's environment it keeps only PATH.
func Isolated(dir string, vars ...string) *config.Environment {
	return &config.Environment{Dir: dir, Home: dir, OS: runtime.GOOS, Vars: append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "WEXEC_CACHE=" + Cache(), "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
		"XDG_STATE_HOME=" + filepath.Join(dir, "state"), "XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"),
		"SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}, vars...)}
}

// Open opens a host as the command does and closes it at the end of the test.
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
