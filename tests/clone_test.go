package tests

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTheREADMEWorksOnAFreshClone clones the repository and runs make and the
// commands of the README in an environment with nothing but Go.
func TestTheREADMEWorksOnAFreshClone(t *testing.T) {
	if testing.Short() {
		t.Skip("short: clones and builds")
	}
	if runtime.GOOS == "windows" {
		t.Skip("needs make and a shell")
	}
	clone, home := filepath.Join(t.TempDir(), "wexec"), t.TempDir()
	top, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "clone", "--quiet", top, clone).CombinedOutput(); err != nil {
		t.Skipf("needs a git checkout: %s", out)
	}
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "NO_COLOR=1"}
	for _, name := range []string{"GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS", "GOSUMDB"} { // only Go modules are downloaded
		out, err := exec.Command("go", "env", name).Output()
		if err != nil {
			t.Fatal(err)
		}
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	sh := func(line string) (string, string) {
		t.Helper()
		cmd := exec.Command("sh", "-c", line)
		cmd.Dir, cmd.Env = clone, env
		var out, wrong bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &wrong
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v\n%s%s", line, err, out.String(), wrong.String())
		}
		return out.String(), wrong.String()
	}
	out, said := sh("make")
	_, answer, ok := strings.Cut(out, "\n{")
	want, err := os.ReadFile(filepath.Join(clone, "examples", "commits", "expected.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		t.Fatalf("make prints no result: %s", out)
	}
	sameJSON(t, "make", []byte("{"+answer), want)
	for _, word := range []string{"tokens", "saved", "fuel"} {
		if !strings.Contains(said, word) {
			t.Errorf("make prints no statistics: %s", said)
		}
	}
	if out, _ := sh("make -n test"); !strings.Contains(out, "test -short ./...") {
		t.Errorf("make test runs %s", out)
	}
	if out, _ := sh("git status --porcelain"); out != "" {
		t.Errorf("make creates %s", out)
	}

	_, block, ok := strings.Cut(read(t, "README.md"), "## Try it\n\n```sh\n")
	block, _, _ = strings.Cut(block, "```")
	if !ok {
		t.Fatal("the README has no block under Try it")
	}
	answers := []string{}
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "  #")
		out, _ := sh(line + " </dev/null")
		answers = append(answers, strings.Join(strings.Fields(out), ""))
	}
	if len(answers) != 5 {
		t.Fatalf("the README has %d commands", len(answers))
	}
	if diff := cmp.Diff([]string{"[2,4,6]", "2.3333333333333335"}, answers[:2]); diff != "" {
		t.Error(diff)
	}
}
