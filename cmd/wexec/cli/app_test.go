package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
)

func TestAnEndlessFileIsReadToItsLimit(t *testing.T) {
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("needs /dev/zero")
	}
	if _, err := readFile("/dev/zero"); fault.CodeOf(err) != fault.UsageFile || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(t.TempDir(), "a.js")
	if err := os.WriteFile(path, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	if data, err := readFile(path); err != nil || string(data) != "1" {
		t.Errorf("got %q, %v", data, err)
	}
}
