package privacy

import (
	"bufio"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sources are modules whose text holds no personal data but what
// testdata/genuine.txt lists: authors' addresses, examples, test keys.
var sources = []string{
	"github.com/tetratelabs/wazero", "cel.dev/cel-go", "github.com/evanw/esbuild", "github.com/klauspost/compress",
	"golang.org/x/net", "golang.org/x/sys", "golang.org/x/text", "github.com/goccy/go-yaml", "github.com/modelcontextprotocol/go-sdk",
}

// genuine are the findings in those sources that are what they seem: "kind value".
func genuine(t *testing.T) map[string]bool {
	t.Helper()
	f, err := os.Open("testdata/genuine.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all := make(map[string]bool)
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			all[line] = true
		}
	}
	return all
}

func texts(t *testing.T, dir string, most int, visit func(path string, text []byte)) int {
	t.Helper()
	total := 0
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if name := e.Name(); name == "testdata" || name == ".git" || name == "node_modules" || name == "bin" || name == "work" {
				return fs.SkipDir
			}
			return nil
		}
		if ext := filepath.Ext(path); !slices.Contains([]string{".go", ".md", ".ts", ".js", ".py", ".yaml", ".sh"}, ext) || total > most {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || len(text) > 1<<20 {
			return err
		}
		total += len(text)
		visit(path, text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return total
}

func TestNoFalseAlarmInSourceCode(t *testing.T) {
	d := detector(t)
	known := genuine(t)
	most := 12 << 20
	if testing.Short() {
		most = 2 << 20
	}
	used := make(map[string]bool)
	alarms, total := 0, 0
	visit := func(path string, text []byte) {
		for _, f := range d.Scan(text) {
			key := string(f.Kind) + " " + strings.ReplaceAll(string(text[f.Start:f.End]), "\n", `\n`)
			if len(key) > 120 {
				key = key[:120]
			}
			if known[key] {
				used[key] = true
				continue
			}
			alarms++
			if alarms <= 400 {
				t.Errorf("%s:%d: %s\n\tin %q", path, f.Line, key, excerpt(string(text), f.Start, f.End))
			}
		}
	}
	for _, m := range sources {
		out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", m).Output()
		if err != nil || len(strings.TrimSpace(string(out))) == 0 {
			t.Skipf("the sources of %s are not there: %v", m, err)
		}
		if total < most {
			total += texts(t, strings.TrimSpace(string(out)), most-total, visit)
		}
	}
	t.Logf("%.1f MB of source code, %d findings that are none, %d that are listed", float64(total)/1e6, alarms, len(used))
	if !testing.Short() && total < 10<<20 {
		t.Errorf("only %d bytes of source code", total)
	}
}
