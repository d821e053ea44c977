package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// page writes a page with two sections.
func page(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "proof.md")
	text := "# Proof\n\n<!-- what follows is written by: make one -->\nold\n<!-- what make one wrote ends here -->\n\nwords\n\n" +
		"<!-- what follows is written by: make two -->\nstays\n<!-- what make two wrote ends here -->\nend\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// command returns a program that prints a text and succeeds or fails.
func command(t *testing.T, says string, well bool) []string {
	t.Helper()
	if !well {
		return []string{"go", "tool", "no-such-tool"}
	}
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte("package main\n\nimport \"fmt\"\n\nfunc main() { fmt.Print("+says+") }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return []string{"go", "run", path}
}

func TestWhatAProofSaysReplacesWhatItSaidBefore(t *testing.T) {
	path := page(t)
	if err := record("one", "^(runs|level)", path, command(t, `"\x1b[32mruns 7\x1b[0m  \nnoise\n    soak_test.go:12: level\n"`, true)); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"```text\nruns 7\nlevel\n```\n<!-- what make one wrote ends here -->\n\nwords\n", "stays\n", " processors", "wexec "} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is missing in:\n%s", want, got)
		}
	}
	if strings.Contains(string(got), "old") || strings.Contains(string(got), "noise") {
		t.Errorf("it kept too much:\n%s", got)
	}
}

func TestAProofThatDoesNotHoldChangesNothing(t *testing.T) {
	path := page(t)
	before, _ := os.ReadFile(path)
	for name, try := range map[string]func() error{
		"a command that fails":  func() error { return record("one", ".", path, command(t, "", false)) },
		"nothing that matches":  func() error { return record("one", "^never", path, command(t, `"x"`, true)) },
		"a proof without place": func() error { return record("three", ".", path, command(t, `"x"`, true)) },
		"an invalid pattern":    func() error { return record("one", "(", path, command(t, `"x"`, true)) },
		"no command":            func() error { return record("one", ".", path, nil) },
	} {
		if err := try(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if after, _ := os.ReadFile(path); string(after) != string(before) {
		t.Errorf("the page became:\n%s", after)
	}
}
