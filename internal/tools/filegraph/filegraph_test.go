package filegraph

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestArrowsBackUpAreFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":      "module example.org/m\n\ngo 1.26\n",
		"base.go":     "package m\n\ntype base struct{ size int }\n",
		"middle.go":   "package m\n\nimport \"slices\"\n\nfunc (b base) grow() int { return b.size + limit }\n\nfunc all(b []base) int { return slices.Clone(b)[0].grow() }\n",
		"top.go":      "package m\n\nconst limit = 1\n\nfunc top() int {\n\tlimit := base{}.grow()\n\treturn limit + all(nil)\n}\n",
		"top_test.go": "package m\n\nvar _ = top\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Load(dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	up := []Arrow{{From: "middle.go", To: "top.go", Names: []string{"limit"}}}
	want := []Package{{Files: 3, Lines: 18, Largest: 8, Shortest: "base.go", Order: []string{"base.go", "middle.go", "top.go"},
		Arrows: []Arrow{
			{From: "middle.go", To: "base.go", Names: []string{"base", "size"}},
			{From: "top.go", To: "base.go", Names: []string{"base"}},
			{From: "top.go", To: "middle.go", Names: []string{"all", "grow"}},
			up[0],
		}, BackUp: up, Cyclic: 2}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestOrderIsCloseToTheBest compares the order with all orders of small graphs.
func TestOrderIsCloseToTheBest(t *testing.T) {
	names := []string{"a", "b", "c", "d", "e", "f"}
	for seed := range uint32(200) {
		uses := map[string]map[string][]string{}
		state := seed*2654435761 + 1
		for _, from := range names {
			uses[from] = map[string][]string{}
			for _, to := range names {
				state = state*1664525 + 1013904223
				if from != to && state>>16%5 < 2 {
					uses[from][to] = []string{"x"}
				}
			}
		}
		backUp := func(order []string) (n int) {
			for i, from := range order {
				for _, to := range order[i+1:] {
					n += len(uses[from][to])
				}
			}
			return n
		}
		best := len(names) * len(names)
		permutations(names, func(order []string) { best = min(best, backUp(order)) })
		if got := backUp(bestOrder(names, uses)); got > best+1 {
			t.Errorf("seed %d: %d arrows back up, %d in the best order", seed, got, best)
		}
	}
}

func permutations(names []string, each func([]string)) {
	order := append([]string(nil), names...)
	var walk func(int)
	walk = func(at int) {
		if at == len(order) {
			each(order)
			return
		}
		for i := at; i < len(order); i++ {
			order[at], order[i] = order[i], order[at]
			walk(at + 1)
			order[at], order[i] = order[i], order[at]
		}
	}
	walk(0)
}
