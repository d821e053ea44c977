package privacy

import (
	"bufio"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/privacy"
)

// sources are modules whose only personal data is listed in testdata/genuine.txt:
// addresses of authors, examples, test keys.
var sources = []string{
	"github.com/tetratelabs/wazero", "cel.dev/cel-go", "github.com/evanw/esbuild", "github.com/klauspost/compress",
	"golang.org/x/net", "golang.org/x/sys", "golang.org/x/text", "github.com/goccy/go-yaml", "github.com/modelcontextprotocol/go-sdk",
}

// genuine are the correct findings in those sources: "kind value".
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
	most := 64 << 20
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
			t.Skipf("needs the sources of %s: %v", m, err)
		}
		if total < most {
			total += texts(t, strings.TrimSpace(string(out)), most-total, visit)
		}
	}
	t.Logf("%.1f MB of source code, %d false alarms, %d listed findings", float64(total)/1e6, alarms, len(used))
	if !testing.Short() && total < 10<<20 {
		t.Errorf("only %d bytes of source code", total)
	}
}

// excluded folders hold personal data on purpose: tests, seeded examples and the
// word lists of the detectors.
var excluded = []string{"privacy", "tests", "examples", "wasm-modules"}

func TestNoFalseAlarmInThisRepository(t *testing.T) {
	d := detector(t)
	known := genuine(t)
	total, files := 0, 0
	top, err := os.ReadDir("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range top {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") || slices.Contains(excluded, e.Name()) || e.Name() == "bin" || e.Name() == "work" || e.Name() == "dist" {
			continue
		}
		total += texts(t, filepath.Join("../..", e.Name()), 64<<20, func(path string, text []byte) {
			if strings.HasSuffix(path, "_test.go") || strings.HasSuffix(path, "docs/operate/privacy.md") {
				return
			}
			files++
			for _, f := range d.Scan(text) {
				value := string(text[f.Start:f.End])
				if f.Kind == privacy.Email && (strings.Contains(value, "@example.") || strings.HasSuffix(value, ".example")) || f.Kind == privacy.Phone && strings.Contains(value, "555 01") || f.Kind == privacy.IP && documented(value) || known[string(f.Kind)+" "+value] {
					continue
				}
				t.Errorf("%s:%d: %s %s\n\tin %q", path, f.Line, f.Kind, value, excerpt(string(text), f.Start, f.End))
			}
		})
	}
	t.Logf("%d files, %.1f MB", files, float64(total)/1e6)
	if files < 20 {
		t.Errorf("only %d files were read", files)
	}
}

// documented reports the addresses that RFC 5737 and 3849 reserve, and private
// ones.
func documented(s string) bool {
	a, err := netip.ParseAddr(s)
	if err != nil {
		return false
	}
	for _, p := range []string{"192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32", "169.254.0.0/16", "fe80::/10", "fd00::/8", "100.64.0.0/10"} {
		if netip.MustParsePrefix(p).Contains(a) {
			return true
		}
	}
	return a.IsPrivate()
}
