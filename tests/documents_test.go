package tests

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
)

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEveryCodeIsDocumentedAndNoOther(t *testing.T) {
	text := read(t, "docs/use/errors.md")
	documented := map[fault.Code]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_.]+)` \\|").FindAllStringSubmatch(text, -1) {
		documented[fault.Code(m[1])] = true
	}
	for _, c := range fault.Codes() {
		if !documented[c] {
			t.Errorf("%s is not documented", c)
		}
		delete(documented, c)
	}
	for c := range documented {
		t.Errorf("%s is documented but does not exist", c)
	}
}

// documents returns every Markdown file of the repository.
func documents(t *testing.T) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{"../*.md", "../docs/*.md", "../docs/*/*.md", "../examples/*.md", "../examples/*/*.md", "../guests/*.md", "../wasm-modules/*.md", "../wasm-modules/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			out = append(out, strings.TrimPrefix(filepath.ToSlash(f), "../"))
		}
	}
	if len(out) < 5 {
		t.Fatalf("only %d documents found", len(out))
	}
	return out
}

func TestLinksInDocumentsLeadSomewhere(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)\s#]+)(#[^)]*)?\)`)
	for _, doc := range documents(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, doc), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			target := filepath.Join("..", filepath.Dir(filepath.FromSlash(doc)), filepath.FromSlash(m[1]))
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", doc, m[1])
			}
		}
	}
}

// TestPathsInDocumentsExist checks paths in backticks that start with a folder of
// the repository.
func TestPathsInDocumentsExist(t *testing.T) {
	path := regexp.MustCompile("`((?:audit|catalogue|cmd|config|docs|engine|examples|fault|guests|hostfns|internal|policy|privacy|tests|wasm-modules)/[A-Za-z0-9_./-]*)`")
	for _, doc := range documents(t) {
		for _, m := range path.FindAllStringSubmatch(read(t, doc), -1) {
			if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s names %s, which does not exist", doc, m[1])
			}
		}
	}
}

func TestMakeTargetsInDocumentsExist(t *testing.T) {
	makefile := read(t, "Makefile")
	target := regexp.MustCompile("`make ([a-z][a-z-]*)`")
	for _, doc := range documents(t) {
		for _, m := range target.FindAllStringSubmatch(read(t, doc), -1) {
			if !strings.Contains(makefile, "\n"+m[1]+":") {
				t.Errorf("%s names the unknown target make %s", doc, m[1])
			}
		}
	}
}

// TestTheArchitectureNamesEveryRoom checks that docs/understand/architecture.md
// names every room of the floor plan, or the folder above an internal one.
func TestTheArchitectureNamesEveryRoom(t *testing.T) {
	text := read(t, "docs/understand/architecture.md")
	for room := range plan {
		above, _, internal := strings.Cut(room, "/internal/")
		if !strings.Contains(text, "`"+room) && !(internal && strings.Contains(text, "`"+above+"/internal`")) {
			t.Errorf("%s is missing", room)
		}
	}
}
