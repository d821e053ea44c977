package tests

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wexec/wexec/internal/tools/testenv"
)

var update = flag.Bool("update", false, "rewrite the generated parts of documents")

// TestConsoleBlocksOfTheREADMEAreReal runs the commands of console blocks, with
// the policy that the README shows, and compares what they print. Times, run
// ids, durations, fuel and warnings about caches may differ.
func TestConsoleBlocksOfTheREADMEAreReal(t *testing.T) {
	env := machine(t)
	file := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(env.Dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	file("mcp.json", `{"mcpServers": {"github": {"command": "${DEMO_SERVER}", "args": ["github"]}}}`)
	text, ran := read(t, "README.md"), 0
	for _, f := range fencesOf(t, "README.md") {
		switch f.info {
		case "yaml policy":
			file("policy.yaml", f.text)
		case "console":
			var printed strings.Builder
			for line := range strings.Lines(f.text) {
				command, ok := strings.CutPrefix(line, "$ ")
				if !ok {
					continue
				}
				ran++
				cmd := exec.Command("sh", "-c", command)
				cmd.Dir = env.Dir
				cmd.Env = append(env.Vars, "PATH="+filepath.Dir(testenv.Program(t, "wexec"))+string(filepath.ListSeparator)+os.Getenv("PATH"))
				out, err := cmd.CombinedOutput()
				if _, failed := err.(*exec.ExitError); err != nil && !failed {
					t.Fatal(err)
				}
				fmt.Fprintf(&printed, "$ %s%s", command, out)
			}
			if steady(printed.String()) == steady(f.text) {
				continue
			}
			if !*update {
				t.Errorf("README.md:%d shows\n%s\nbut the commands print\n%s\ngo test ./tests -run README -update", f.line, f.text, printed.String())
			}
			text = strings.Replace(text, f.text, printed.String(), 1)
		}
	}
	if ran == 0 {
		t.Error("the README has no console block")
	}
	if *update {
		if err := os.WriteFile("../README.md", []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	warnings = regexp.MustCompile(`(?m)^warning: .*\n`)
	unsteady = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d+|\b[0-9A-Z]{26}\b|[\d,]+ ms\b|fuel [\d,]+`)
)

// steady removes what differs between runs.
func steady(text string) string {
	return unsteady.ReplaceAllString(warnings.ReplaceAllString(text, ""), "…")
}

// alternatives are sandboxes that people could use instead of wexec.
var alternatives = []struct{ language, peer, better string }{
	{"JavaScript", "wexec", ""},
	{"JavaScript", "isolated-vm", "JIT compiler: computes several times faster; needs Node"},
	{"JavaScript", "workerd", "JIT compiler, as a server; a tool call is a request"},
	{"JavaScript", "quickjs-emscripten", "same interpreter without fuel; smaller; all runs share one memory"},
	{"JavaScript", "goja", "pure Go, starts at once; slow, no memory cap"},
	{"JavaScript", "deno process", "npm and the whole platform; one process per run"},
	{"Python", "wexec", ""},
	{"Python", "Monty", "starts at once; a subset of Python without its standard library"},
	{"Python", "Pyodide, new interpreter", "packages with native code; takes seconds to start"},
	{"Python", "python3 process", "all of Python at full speed; no isolation"},
}

// peerTables returns the first table of a language in docs/understand/peers.md:
// figures by peer and column.
func peerTables(t *testing.T, language string) map[string]map[string]string {
	t.Helper()
	_, text, ok := strings.Cut(read(t, "docs/understand/peers.md"), "\n## "+language+"\n")
	if !ok {
		t.Fatalf("docs/understand/peers.md has no section %q", language)
	}
	out := map[string]map[string]string{}
	var columns []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "|") {
			if columns != nil {
				break
			}
			continue
		}
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case columns == nil:
			columns = cells
		case strings.HasPrefix(cells[0], "---"):
		default:
			out[cells[0]] = map[string]string{}
			for i, c := range columns {
				out[cells[0]][c] = cells[i]
			}
		}
	}
	return out
}

// TestTheTableOfTheREADMEIsMeasured compares the table with
// docs/understand/peers.md.
func TestTheTableOfTheREADMEIsMeasured(t *testing.T) {
	const begin, end = "<!-- from docs/understand/peers.md: go test ./tests -run README -update -->\n", "<!-- end -->\n"
	columns := []string{"start, ms", "host call, µs", "commits job, ms", "fib, ms", "memory, KiB"}
	var b strings.Builder
	fmt.Fprintf(&b, "| | | %s | better at |\n|---|---|%s---|\n", strings.Join(columns, " | "), strings.Repeat("---:|", len(columns)))
	for _, a := range alternatives {
		peer, ok := peerTables(t, a.language)[a.peer]
		if !ok {
			t.Errorf("docs/understand/peers.md has no %s for %s", a.peer, a.language)
			continue
		}
		name := a.peer
		if name == "wexec" {
			name = "**wexec**"
		}
		fmt.Fprintf(&b, "| %s | %s ", name, a.language)
		for _, c := range columns {
			figure, ok := peer[c]
			if !ok {
				t.Errorf("docs/understand/peers.md has no column %q", c)
			}
			fmt.Fprintf(&b, "| %s ", figure)
		}
		fmt.Fprintf(&b, "| %s |\n", a.better)
	}
	text := read(t, "README.md")
	head, rest, ok := strings.Cut(text, begin)
	have, tail, ended := strings.Cut(rest, end)
	if !ok || !ended {
		t.Fatal("the README has no marks around the table")
	}
	if have == b.String() {
		return
	}
	if !*update {
		t.Fatal("the table of the README differs from docs/understand/peers.md: go test ./tests -run README -update")
	}
	if err := os.WriteFile("../README.md", []byte(head+begin+b.String()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
