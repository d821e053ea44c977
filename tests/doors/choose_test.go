//go:build unix

package doors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestInitAsksWhichOfSeveralFilesToTake(t *testing.T) {
	for _, c := range []struct{ keys, want string }{
		{"2\n", "mcp: .+gemini.+"},
		{"seven\n1, 2\n", "mcp:\n  - .+cursor.+\n  - .+gemini.+"},
		{"all\n", "mcp:\n  - .+cursor.+\n  - .+gemini.+"},
		{"\n", "# mcp: .mcp.json"},
	} {
		dir := t.TempDir()
		for _, name := range []string{".cursor/mcp.json", ".gemini/settings.json", "project/.keep"} {
			path := filepath.Join(dir, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(`{"mcpServers": {"some": {"command": "true"}}}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		x := atTerminal(t, command(t.Context(), filepath.Join(dir, "project"), []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "TERM=xterm"}, "init", "--no-start"))
		x.sees("use the servers of which")
		x.types(c.keys)
		if got := x.ends(); got != 0 {
			t.Errorf("%q: status %d: %s", c.keys, got, x.seen.String())
		}
		data, err := os.ReadFile(filepath.Join(dir, "project", "wexec.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		text := string(data)
		for i, part := range strings.Split(c.want, ".+") {
			_, rest, ok := strings.Cut(text, part)
			if !ok {
				t.Errorf("%q: part %d, %q, is not in %s", c.keys, i, part, data)
				break
			}
			text = rest
		}
	}
}
