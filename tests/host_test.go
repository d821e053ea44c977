package tests

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
)

// built holds programs that are built once for all tests of this package.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// program builds the command or the demo server and gives its path.
func program(t *testing.T, name string) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "wexec-tests-"); built.err != nil {
			return
		}
		for _, pkg := range []string{"./cmd/wexec", "./examples/demo-server"} {
			cmd := exec.Command("go", "build", "-o", built.dir+string(filepath.Separator), pkg)
			cmd.Dir = ".."
			cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
			if out, err := cmd.CombinedOutput(); err != nil {
				built.err = &buildError{string(out), err}
				return
			}
		}
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(built.dir, name)
}

type buildError struct {
	output string
	err    error
}

func (e *buildError) Error() string { return e.err.Error() + "\n" + e.output }

// cacheFolder is shared by the tests of a machine, so that guests are compiled
// once.
func cacheFolder(t *testing.T) string {
	t.Helper()
	base, err := os.UserCacheDir()
	if err != nil {
		return t.TempDir()
	}
	return filepath.Join(base, "wexec-tests")
}

// machine is an environment of its own: nothing of the person's is read.
func machine(t *testing.T) *config.Environment {
	t.Helper()
	top := t.TempDir()
	return &config.Environment{Dir: top, Home: top, OS: runtime.GOOS, Vars: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + top, "XDG_CONFIG_HOME=" + filepath.Join(top, "config"),
		"XDG_STATE_HOME=" + filepath.Join(top, "state"), "XDG_CACHE_HOME=" + cacheFolder(t),
		"XDG_RUNTIME_DIR=" + filepath.Join(top, "run"), "DEMO_SERVER=" + program(t, "demo-server"),
		"SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}}
}

// open wires a host as the doors do.
func open(t *testing.T, env *config.Environment, flags config.Flags) *config.Host {
	t.Helper()
	settings, err := config.Load(env, flags)
	if err != nil {
		t.Fatal(err)
	}
	host, err := settings.Open(context.Background(), config.Options{Env: env, Version: "test"})
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

// run runs a program and fails the test where it fails.
func run(t *testing.T, host *config.Host, req engine.Request) *engine.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	res, err := host.Engine.Run(ctx, req)
	if err != nil {
		t.Fatalf("%v\nstdout %s\nstderr %s\nerror %+v", err, res.Stdout, res.Stderr, res.Error)
	}
	return res
}

// sameJSON compares two documents by what they say.
func sameJSON(t *testing.T, what string, got, want []byte) {
	t.Helper()
	var a, b any
	if err := json.Unmarshal(got, &a); err != nil {
		t.Errorf("%s: %q is no JSON: %v", what, got, err)
		return
	}
	if err := json.Unmarshal(want, &b); err != nil {
		t.Fatalf("%s: the expectation %q is no JSON: %v", what, want, err)
	}
	if diff := cmp.Diff(b, a); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
