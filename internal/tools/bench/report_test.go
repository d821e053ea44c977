package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestTheDocumentShowsTheStoredFigures compares docs/understand/performance.md
// with docs/understand/performance.json.
func TestTheDocumentShowsTheStoredFigures(t *testing.T) {
	r, err := read(filepath.FromSlash("../../../docs/understand/performance.json"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := os.ReadFile(filepath.FromSlash("../../../docs/understand/performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	want, err := document(doc, r)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(doc) {
		t.Error("the table differs from docs/understand/performance.json: go run ./internal/tools/bench -docs")
	}
	seen, budgets := map[int]bool{}, promises()
	for _, f := range r.Figures {
		if f.Budget != budgets[f.Name] {
			t.Errorf("%s: stored budget %v, want %v", f.Name, f.Budget, budgets[f.Name])
		}
		delete(budgets, f.Name)
		seen[f.place()] = true
		if f.Ratio == 0 && f.Measured != 0 || f.Budget == 0 {
			t.Errorf("%s has no budget or no ratio", f.Name)
		}
	}
	for name := range budgets {
		t.Errorf("no stored figure for the budget %q", name)
	}
	for i, o := range order {
		if !seen[i] {
			t.Errorf("no figure for %q", o)
		}
	}
}

func TestAPartIsMergedIntoAReport(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.json")
	if err := (report{Figures: []figure{{Name: "tool call round trip, python", Measured: 1}, {Name: "fresh python", Measured: 2}}}).write(path, false); err != nil {
		t.Fatal(err)
	}
	if err := (report{Figures: []figure{{Name: "tool call round trip, python", Measured: 3}}}).write(path, true); err != nil {
		t.Fatal(err)
	}
	r, err := read(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Figures) != 2 || r.Figures[0].Name != "fresh python" || r.Figures[1].Measured != 3 {
		t.Errorf("%+v", r.Figures)
	}
	if _, err := document([]byte("no marks"), r); err == nil || !strings.Contains(err.Error(), "no table marks") {
		t.Errorf("%v", err)
	}
}
