// Package doors proves the command from outside: scripts by feature, terminals,
// clients over a real process.
package doors

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/wexec/wexec/cmd/wexec/cli"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/internal/tools/testpg"
)

// update rewrites golden files.
var update = flag.Bool("update", false, "update golden files")

// TestMain makes the test binary the command wexec too, so that scripts and
// terminals run what is built from the sources as they are.
func TestMain(m *testing.M) {
	testscript.Main(tests{testenv.Tests{M: m}}, map[string]func(){
		"wexec": func() { os.Exit(cli.Main(context.Background(), os.Args, "v0.0.0-test")) },
	})
}

// tests are the tests of this package. After them the database that they started
// is stopped.
type tests struct{ testenv.Tests }

// Run implements testscript.TestingM.
func (t tests) Run() int {
	defer testpg.Stop()
	return t.Tests.Run()
}

func TestScripts(t *testing.T) {
	demo := testenv.Program(t, "demo-server")
	plugin, err := filepath.Abs(filepath.Join("..", "..", "engine", "testdata", "plugin", "plugin.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "../scripts", RequireExplicitExec: true, RequireUniqueNames: true, UpdateScripts: *update,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_RUNTIME_DIR", filepath.Join(e.WorkDir, "run"))
			e.Setenv("WEXEC_CACHE", testenv.Cache())
			e.Setenv("DEMO_SERVER", demo)
			e.Setenv("PLUGIN", plugin)
			e.Setenv("WEB", filepath.Join(filepath.Dir(plugin), "web.wasm"))
			e.Setenv("NO_COLOR", "1")
			return errors.Join(os.MkdirAll(home, 0o700), os.MkdirAll(filepath.Join(e.WorkDir, "run"), 0o700))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "shape": shape, "saved": saved, "served": served, "same": same, "workspace": newestWorkspace},
	})
}

// exits runs a command and holds its exit status: exits 3 wexec run main.js
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 || neg {
		ts.Fatalf("usage: exits STATUS COMMAND ARGS…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		got = exit.ExitCode()
	case err != nil:
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// newestWorkspace sets WORKSPACE to the id of the last workspace.
func newestWorkspace(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) > 0 || neg {
		ts.Fatalf("usage: workspace")
	}
	ts.Check(ts.Exec("wexec", "workspace", "list", "--json"))
	var list struct{ Workspaces []struct{ ID string } }
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &list))
	if len(list.Workspaces) == 0 {
		ts.Fatalf("there are no workspaces")
	}
	ts.Setenv("WORKSPACE", list.Workspaces[0].ID)
}

// shape checks fields of the JSON in stdout: shape status=ok usage.fuel calls.0.tool
func shape(ts *testscript.TestScript, neg bool, args []string) {
	text := strings.TrimSpace(ts.ReadFile("stdout"))
	if args[0] == "-last" { // of several lines
		args, text = args[1:], text[strings.LastIndexByte(text, '\n')+1:]
	}
	var doc any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		ts.Fatalf("stdout is not JSON: %v", err)
	}
	for _, arg := range args {
		path, want, valued := strings.Cut(arg, "=")
		got, ok := at(doc, path)
		if ok == neg {
			ts.Fatalf("%s: there is %v", path, got)
		}
		if text := fmt.Sprint(got); valued && text != want {
			ts.Fatalf("%s is %s, want %s", path, text, want)
		}
	}
}

func at(doc any, path string) (any, bool) {
	for _, part := range strings.Split(path, ".") {
		switch v := doc.(type) {
		case map[string]any:
			next, ok := v[part]
			if !ok {
				return nil, false
			}
			doc = next
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(v) {
				return nil, false
			}
			doc = v[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

// saved puts a value of stdout's JSON into a variable: saved RUN run_id
func saved(ts *testscript.TestScript, _ bool, args []string) {
	var doc any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile("stdout")), &doc))
	v, ok := at(doc, args[1])
	if !ok {
		ts.Fatalf("there is no %s", args[1])
	}
	ts.Setenv(args[0], fmt.Sprint(v))
}

// TestCommandsAreDocumentedAsTheyAre holds docs/use/commands.md against the
// commands themselves.
func TestCommandsAreDocumentedAsTheyAre(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "use", "commands.md")
	want := cli.Markdown()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != want {
		t.Error("docs/use/commands.md is not what the commands say: go test ./tests/doors -run Commands -update")
	}
}
