//go:build linux

// Package deploy tests the files in examples/deploy: the unit by systemd, the image
// and the compose file by validators, and the image's content in a folder that is
// the root of a process.
package deploy

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/wexec/wexec/internal/tools/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const files = "../../examples/deploy"

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(files, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// copyOf writes a text to a new file with a name.
func copyOf(t *testing.T, name, text string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// run runs a program and returns what it prints.
func run(t *testing.T, command ...string) (out string, err error) {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
	return string(text), err
}

func TestSystemdAcceptsTheUnit(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("needs systemd-analyze")
	}
	unit := read(t, "wexec.service")
	here := strings.Replace(unit, "/usr/bin/wexec", testenv.Program(t, "wexec"), 1)
	if out, err := run(t, analyze, "verify", copyOf(t, "wexec.service", here)); err != nil || strings.Contains(out, "wexec.service") {
		t.Errorf("%v\n%s", err, out)
	}
	wrong := strings.Replace(here, "ProtectSystem=", "ProtectSystems=", 1)
	if out, _ := run(t, analyze, "verify", copyOf(t, "wexec.service", wrong)); !strings.Contains(out, "ProtectSystems") {
		t.Errorf("an unknown setting is accepted: %s", out)
	}
	// The scale ends at 100, where a unit is not protected at all.
	if out, err := run(t, analyze, "security", "--offline=true", "--threshold=20", copyOf(t, "wexec.service", here)); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	// The flags of the unit are those of the command.
	command := strings.Fields(regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(unit)[1])
	args := slices.Concat(command[1:], []string{"--data", t.TempDir(), "--check"})
	if out, err := run(t, slices.Concat([]string{testenv.Program(t, "wexec")}, args)...); err != nil {
		t.Errorf("%q: %v\n%s", args, err, out)
	}
}

// validator returns a program that tests/npm.sh installed.
func validator(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(testenv.NPM(t), "node_modules", ".bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Skip("needs the packages of tests/npm.sh")
	}
	return path
}

func TestTheFilesForContainersAreValid(t *testing.T) {
	for _, c := range []struct {
		file, right, wrong string
		command            []string
	}{
		{"Dockerfile", "ENTRYPOINT [", "ENTRIPOINT [", []string{validator(t, "dockerfile-utils"), "lint"}},
		{"compose.yaml", "read_only: true", "read_onli: true", []string{validator(t, "dclint"), "--quiet"}},
	} {
		text := read(t, c.file)
		if out, err := run(t, slices.Concat(c.command, []string{copyOf(t, c.file, text)})...); err != nil {
			t.Errorf("%s: %v\n%s", c.file, err, out)
		}
		wrong := copyOf(t, c.file, strings.Replace(text, c.right, c.wrong, 1))
		if out, err := run(t, slices.Concat(c.command, []string{wrong})...); err == nil {
			t.Errorf("%s: %s is accepted: %s", c.file, c.wrong, out)
		}
	}
}

// image is what the last stage of the Dockerfile says.
type image struct {
	env    []string
	user   uint32
	serve  []string // entry point and arguments
	health []string
}

func readImage(t *testing.T) (i image) {
	t.Helper()
	_, stage, ok := strings.Cut(read(t, "Dockerfile"), "\nFROM scratch\n")
	if !ok {
		t.Fatal("the image does not begin empty")
	}
	words := func(text string) (list []string) {
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return list
	}
	var entry, args []string
	for line := range strings.Lines(stage) {
		switch name, rest, _ := strings.Cut(strings.TrimSpace(line), " "); name {
		case "ENV":
			i.env = strings.Fields(rest)
		case "USER":
			id, group, _ := strings.Cut(rest, ":")
			n, err := strconv.ParseUint(id, 10, 32)
			if err != nil || n == 0 || id != group {
				t.Fatalf("USER %s", rest)
			}
			i.user = uint32(n)
		case "ENTRYPOINT":
			entry = words(rest)
		case "CMD":
			args = words(rest)
		case "HEALTHCHECK":
			_, command, _ := strings.Cut(rest, "CMD ")
			i.health = words(command)
		}
	}
	i.serve = slices.Concat(entry, args)
	return i
}

// replaced returns arguments with another address.
func replaced(t *testing.T, args []string, old, address string) []string {
	t.Helper()
	at := slices.Index(args, old)
	if at < 0 {
		t.Fatalf("%q do not have the address %s", args, old)
	}
	args = slices.Clone(args)
	args[at] = address
	return args
}

// TestTheBinaryIsEnough runs the command of the image in a folder that has the binary
// and nothing else, as a user that may write only to /data and /tmp.
func TestTheBinaryIsEnough(t *testing.T) {
	if testing.Short() {
		t.Skip("short: compiles a guest")
	}
	if os.Getuid() != 0 {
		t.Skip("needs root")
	}
	i := readImage(t)
	root := t.TempDir()
	binary := filepath.Join(root, "wexec")
	if out, err := run(t, "cp", testenv.Program(t, "wexec"), binary); err != nil {
		t.Fatal(out, err)
	}
	for _, name := range []string{"data", "tmp"} {
		dir := filepath.Join(root, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, int(i.user), int(i.user)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{binary, root} {
		if err := os.Chmod(path, 0o555); err != nil { //nolint:gosec // as in an image
			t.Fatal(err)
		}
	}
	inside := func(args []string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
		cmd.Env, cmd.Dir = i.env, "/"
		cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: i.user, Gid: i.user}}
		return cmd
	}
	s := testenv.Await(t, inside(replaced(t, i.serve, "0.0.0.0:8080", "127.0.0.1:0")))
	if s.Status("/health") != http.StatusOK {
		t.Error("/health is not ok")
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/runs?wait=60s", strings.NewReader(`{"language": "js", "code": "return 1+1"}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+s.Token(t))
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var result struct{ Value json.RawMessage }
	if err := json.NewDecoder(res.Body).Decode(&result); err != nil || string(result.Value) != "2" {
		t.Errorf("%d %s %v", res.StatusCode, result.Value, err)
	}
	health := replaced(t, i.health, "127.0.0.1:8080", strings.TrimPrefix(s.URL, "http://"))
	if out, err := inside(health).CombinedOutput(); err != nil {
		t.Errorf("%q: %v\n%s", health, err, out)
	}
	if _, err := os.Stat(filepath.Join(root, "data/cache")); err != nil {
		t.Errorf("compiled code is not kept: %v", err)
	}
	if err := s.Cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Cmd.Wait(); err != nil {
		t.Errorf("it ended with %v: %s", err, s.Says())
	}
	if out, err := inside(health).CombinedOutput(); err == nil {
		t.Errorf("a server that has ended is healthy: %s", out)
	}
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		if top, _, _ := strings.Cut(name, "/"); !slices.Contains([]string{".", "wexec", "data", "tmp"}, top) {
			t.Errorf("the server made %s", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
