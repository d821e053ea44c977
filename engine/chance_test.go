package engine

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// corpus returns programs of the guests' own tests, by language.
func corpus(t *testing.T) map[string][]string {
	t.Helper()
	programs := map[string][]string{}
	add := func(language, pattern, separator string) {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, code := range strings.Split("\n"+string(data), separator) {
				if strings.TrimSpace(code) != "" {
					programs[language] = append(programs[language], code)
				}
			}
		}
	}
	add(JavaScript, "../guests/javascript/testdata/programs.txt", "\n\n")
	add(JavaScript, "../guests/javascript/testdata/agents.txt", "\n\n")
	add(Python, "../guests/python/testdata/programs/*.py", "\n# --- ")
	return programs
}

// TestProgramsThatUseChanceAreNotCached runs programs that were not written for
// it, as they are and with a random number added, with a real clock and real
// random numbers, after a call that may be reused. A program whose result changes
// must not be cached. How many others are refused is logged.
func TestProgramsThatUseChanceAreNotCached(t *testing.T) {
	var calls atomic.Int64
	table := cachingTable(t, &calls, "1h")
	e := newReal(t, Config{Results: 1 << 30})
	for language, programs := range corpus(t) {
		call := map[string]string{JavaScript: "await tools.x.get({});\n", Python: "from tools import x\nx.get()\n# "}[language]
		random := map[string]string{JavaScript: "await tools.x.get({}); console.log(Math.random());\n", Python: "from tools import x\nx.get()\nimport random\nprint(random.random())\n# "}[language]
		ran, changed, certain, refused := 0, 0, 0, 0
		var variants []string
		for n, code := range programs {
			if n%10 == 0 {
				variants = append(variants, call+code, random+code)
			} else if !testing.Short() {
				variants = append(variants, call+code)
			}
		}
		for _, code := range variants {
			run := func(cache bool) *Result {
				res, _ := e.Run(t.Context(), Request{Language: language, Code: code, Table: table, Cache: &cache})
				return res
			}
			first, second := run(true), run(false)
			if first.Error != nil || second.Error != nil {
				continue // errors are never cached
			}
			ran++
			cached := run(true).Cache == "hit"
			same := string(first.Value) == string(second.Value) && first.Stdout == second.Stdout && first.Stderr == second.Stderr
			switch {
			case !same && cached:
				t.Errorf("%s: the result of a program that changes is cached:\n%s", language, code)
			case !same:
				changed++
			case cached:
				certain++
			default:
				refused++
			}
		}
		t.Logf("%s: %d programs; %d change their result and are not cached; of the others %d are cached and %d refused",
			language, ran, changed, certain, refused)
		if ran < 50 || certain < 5*refused {
			t.Errorf("%s: too few programs are cached", language)
		}
	}
}
