package tests

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

// update writes what is made from other documents anew.
var update = flag.Bool("update", false, "write the table of the README anew")

// alternatives are what people would pick in place of wexec, and what for.
var alternatives = []struct{ language, peer, better string }{
	{"JavaScript", "wexec", ""},
	{"JavaScript", "isolated-vm", "V8 compiles: loops, sorting and JSON take a fraction; in Node only"},
	{"JavaScript", "workerd", "V8 again, as a server; a tool call costs a request"},
	{"JavaScript", "quickjs-emscripten", "the same interpreter without fuel; smaller, one memory for all runs"},
	{"JavaScript", "goja", "in Go without WebAssembly: starts at once; slow, and its memory has no cap"},
	{"JavaScript", "deno process", "npm, the whole platform, V8; a process for each run"},
	{"Python", "wexec", ""},
	{"Python", "Monty", "starts at once; a part of Python, without its library"},
	{"Python", "Pyodide, new interpreter", "packages with C inside; seconds to start"},
	{"Python", "python3 process", "everything Python has, at full speed; holds nothing in"},
}

// peerTables are the first tables of a language in docs/understand/peers.md: peer to
// column to figure.
func peerTables(t *testing.T, language string) map[string]map[string]string {
	t.Helper()
	_, text, ok := strings.Cut(read(t, "docs/understand/peers.md"), "\n## "+language+"\n")
	if !ok {
		t.Fatalf("docs/understand/peers.md has nothing on %s", language)
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

// TestTheTableOfTheREADMEIsMeasured holds the table against docs/understand/peers.md.
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
		t.Fatal("the README has no place for the table")
	}
	if have == b.String() {
		return
	}
	if !*update {
		t.Fatal("the table of the README is not what docs/understand/peers.md says: go test ./tests -run README -update")
	}
	if err := os.WriteFile("../README.md", []byte(head+begin+b.String()+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
