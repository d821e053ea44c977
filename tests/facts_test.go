package tests

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/wexec/wexec/fault"
)

// A fact has one source: versions of modules in go.mod, of guests in the manifest,
// codes in fault, flags in the commands. These tests find copies, which could drift.

// texts returns documents and scripts.
func texts(t *testing.T) []string {
	t.Helper()
	out := documents(t)
	for _, pattern := range []string{"../Makefile", "../.ci/run", "../tests/*.sh", "../tests/*/*.sh", "../internal/tools/*/*.sh", "../wasm-modules/*.sh", "../wasm-modules/*/*.sh"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			out = append(out, strings.TrimPrefix(filepath.ToSlash(f), "../"))
		}
	}
	return out
}

func TestVersionsOfModulesStandInGoModAlone(t *testing.T) {
	mod := read(t, "go.mod")
	direct, _, _ := strings.Cut(mod, "// indirect")
	versions := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(direct, -1) {
		versions[m[1]] = m[2]
	}
	if len(versions) < 10 {
		t.Fatalf("only %d modules found in go.mod", len(versions))
	}
	for _, name := range texts(t) {
		switch name { // figures are listed with the versions that were measured
		case "docs/understand/peers.md", "docs/understand/performance.md", "docs/understand/compare.md":
			continue
		}
		for n, line := range strings.Split(read(t, name), "\n") {
			for module, version := range versions {
				last := module[strings.LastIndexByte(module, '/')+1:]
				if strings.Contains(line, version) && strings.Contains(line, last) {
					t.Errorf("%s:%d repeats the version of %s, %s", name, n+1, module, version)
				}
			}
		}
	}
}

func TestTheVersionOfGoIsTheSameEverywhere(t *testing.T) {
	want := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))[1]
	said := regexp.MustCompile(`\bGo (1\.\d+)\b`)
	for _, name := range texts(t) {
		for _, m := range said.FindAllStringSubmatch(read(t, name), -1) {
			if m[1] != want {
				t.Errorf("%s requires Go %s, go.mod Go %s", name, m[1], want)
			}
		}
	}
}

func TestVersionsOfGuestsStandInTheManifestAlone(t *testing.T) {
	var manifest struct {
		Guests []struct {
			Name, Version string
			Sources       []struct{ Version, SHA256 string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "wasm-modules/manifest.json")), &manifest); err != nil {
		t.Fatal(err)
	}
	facts := map[string]string{}
	for _, g := range manifest.Guests {
		facts[g.Version] = g.Name
		for _, s := range g.Sources {
			facts[s.Version], facts[s.SHA256] = g.Name, g.Name
		}
	}
	for fact := range facts {
		if fact == "" || strings.HasPrefix(fact, "go") { // documents name the Go version of measurements
			delete(facts, fact)
		}
	}
	if len(facts) < 6 {
		t.Fatalf("the manifest has only %d versions and digests", len(facts))
	}
	// Licenses, changes, and real output of commands.
	homes := func(name string) bool {
		return name == "NOTICE" || name == "CHANGELOG.md" || name == "docs/use/json.md"
	}
	for _, name := range texts(t) {
		text := read(t, name)
		for fact, guest := range facts {
			if !homes(name) && regexp.MustCompile(`(^|[^\w.])`+regexp.QuoteMeta(fact)+`($|[^\w])`).MatchString(text) {
				t.Errorf("%s repeats %s, which the manifest has for %s", name, fact, guest)
			}
		}
	}
	for _, s := range sources(t) {
		for fact, guest := range facts {
			for _, lit := range literals(s) {
				if lit.text == fact && s.product() && !strings.HasPrefix(fact, "v") {
					t.Errorf("%s repeats %s, which the manifest has for %s", s.fset.Position(lit.pos), fact, guest)
				}
			}
		}
	}
}

type literal struct {
	text string
	pos  token.Pos
}

func literals(s source) []literal {
	var out []literal
	ast.Inspect(s.file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				out = append(out, literal{text, lit.Pos()})
			}
		}
		return true
	})
	return out
}

// TestCodesAreNamedAndNotSpelt checks that only package fault has codes as literals,
// so references to a code can be found by its name.
func TestCodesAreNamedAndNotSpelt(t *testing.T) {
	known := map[string]bool{}
	for _, c := range fault.Codes() {
		if strings.Contains(string(c), ".") {
			known[string(c)] = true
		}
	}
	for _, s := range sources(t) {
		if !s.product() || s.room == "fault" {
			continue
		}
		for _, lit := range literals(s) {
			if known[lit.text] {
				t.Errorf("%s has the code %s as a literal", s.fset.Position(lit.pos), lit.text)
			}
		}
	}
}

// TestCodesInTextsAndPreludesExist checks everything with the form of a code in
// documents and preludes.
func TestCodesInTextsAndPreludesExist(t *testing.T) {
	known := map[string]bool{}
	classes := map[string]bool{}
	for _, c := range fault.Codes() {
		known[string(c)] = true
		class, _, dotted := strings.Cut(string(c), ".")
		if dotted {
			classes[class] = true
		}
	}
	code := regexp.MustCompile("[`'\"]([a-z]+)\\.([a-z_]+)[`'\"]")
	names := documents(t)
	for _, pattern := range []string{"../guests/javascript/*.js", "../guests/python/*.py"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no preludes: %v", err)
		}
		for _, f := range found {
			names = append(names, strings.TrimPrefix(filepath.ToSlash(f), "../"))
		}
	}
	seen := 0
	for _, name := range names {
		for _, m := range code.FindAllStringSubmatch(read(t, name), -1) {
			word := m[1] + "." + m[2]
			switch {
			case known[word]:
				seen++
			case classes[m[1]] && m[1] != "guest" && m[1] != "tool" && m[1] != "audit" && !strings.HasPrefix(m[2], "tokens_"): // usage.tokens_… are fields of a Result
				t.Errorf("%s names the unknown code %s", name, word)
			}
		}
	}
	if seen < 30 {
		t.Errorf("only %d codes seen", seen)
	}
}

// TestOnlyTheCommandNamesItsFlags checks texts of packages that also serve MCP clients
// and Go hosts, who have no command line.
func TestOnlyTheCommandNamesItsFlags(t *testing.T) {
	flag := regexp.MustCompile(`(?:^|[\s(])--[a-z][a-z-]+`)
	allowed := map[string]bool{
		"policy/flags.go":     true, // problems of flags
		"workspace/diff.go":   true, // headers as git writes them
		"config/reference.go": true, // the page of settings
	}
	for _, s := range sources(t) {
		if !s.product() || strings.HasPrefix(s.path, "cmd/") && !strings.HasPrefix(s.path, "cmd/wexec/mcpd/") || allowed[s.path] {
			continue
		}
		for _, lit := range literals(s) {
			if flag.MatchString(lit.text) {
				t.Errorf("%s names a flag: %q", s.fset.Position(lit.pos), lit.text)
			}
		}
	}
}

// TestFlagsInDocumentsExist checks every flag after wexec in a document against the
// generated page of commands.
func TestFlagsInDocumentsExist(t *testing.T) {
	commands := read(t, "docs/use/commands.md")
	line := regexp.MustCompile("(?m)(?:^|[`$ /])wexec ([a-z].*)$")
	flag := regexp.MustCompile(`(?:^|[\s\x60\[])(--[a-z][a-z-]+)`)
	shown := 0
	for _, doc := range documents(t) {
		for _, m := range line.FindAllStringSubmatch(read(t, doc), -1) {
			command, _, _ := strings.Cut(m[1], "`")
			command, _, _ = strings.Cut(command, " -- ")
			for _, f := range flag.FindAllStringSubmatch(command, -1) {
				shown++
				if !strings.Contains(commands, f[1]) {
					t.Errorf("%s shows the unknown flag %s in %q", doc, f[1], command)
				}
			}
		}
	}
	if shown < 20 {
		t.Errorf("only %d flags shown", shown)
	}
}

// TestPinnedPackagesAreExact checks that tests install exact versions from npm, and
// the same version in all lists.
func TestPinnedPackagesAreExact(t *testing.T) {
	lists, err := filepath.Glob("*/package.json")
	more, merr := filepath.Glob("../internal/tools/*/package.json")
	lists = append(lists, more...)
	if err := errors.Join(err, merr); err != nil || len(lists) < 3 {
		t.Fatalf("%d lists: %v", len(lists), err)
	}
	exact := regexp.MustCompile(`^\d+\.\d+\.\d+(-[\w.]+)?$`)
	first := map[string]string{}
	for _, file := range lists {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Dependencies map[string]string }
		if err := json.Unmarshal(data, &list); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for name, version := range list.Dependencies {
			if !exact.MatchString(version) {
				t.Errorf("%s: %s %s is not an exact version", file, name, version)
			}
			if was, ok := first[name]; ok && was != version {
				t.Errorf("%s is pinned to %s and to %s", name, was, version)
			}
			first[name] = version
		}
	}
}
