package tests

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestEveryPromiseNamesATest looks up the tests of the table of promises.
func TestEveryPromiseNamesATest(t *testing.T) {
	page, err := os.ReadFile("../docs/operate/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(page), "## What is promised, and by which test")
	if !ok {
		t.Fatal("security.md has no table of promises")
	}
	cmd := exec.Command("git", "grep", "-hoE", "^func Test[A-Za-z0-9_]+", "--", "*_test.go")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile("`(Test[A-Za-z0-9_]+)`").FindAllStringSubmatch(table, -1)
	if len(names) < 20 {
		t.Errorf("only %d tests are named", len(names))
	}
	for _, name := range names {
		if !strings.Contains(string(out), "func "+name[1]+"\n") {
			t.Errorf("there is no %s", name[1])
		}
	}
}
