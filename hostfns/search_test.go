package hostfns

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
)

// sense is a Ranker of a test.
type sense struct {
	near    func(tools []catalogue.Tool) (map[string]float64, error)
	asked   int
	longest int // bytes of a question
}

func (s *sense) Near(_ context.Context, tools []catalogue.Tool, question string) (map[string]float64, error) {
	s.asked++
	s.longest = max(s.longest, len(question))
	return s.near(tools)
}

func searching(t *testing.T, s Ranker) (*Table, *catalogue.Catalogue) {
	t.Helper()
	var tools []catalogue.Tool
	for i := range 60 {
		tools = append(tools, catalogue.Tool{Server: "garage", Name: fmt.Sprintf("count_part_%d", i), Description: "Count parts on a shelf"})
	}
	tools = append(tools, catalogue.Tool{Server: "garage", Name: "lease_vehicle"}, catalogue.Tool{Server: "garage", Name: "drive"})
	table, err := NewTable(mustPolicy(t, allowAll), audit.None(), &fakeProvider{tools: tools})
	if err != nil {
		t.Fatal(err)
	}
	table.With(Options{Ranker: s})
	c, errs := table.Catalogue(t.Context())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	return table, c
}

func named(f catalogue.Found) string {
	var all []string
	for _, e := range f.Tools {
		all = append(all, e.Name)
	}
	return strings.Join(all, " ")
}

func TestALongQueryIsCutBeforeItIsRanked(t *testing.T) {
	s := &sense{near: func([]catalogue.Tool) (map[string]float64, error) { return nil, nil }}
	table, c := searching(t, s)
	if f, err := table.Search(t.Context(), c, catalogue.Query{Text: strings.Repeat("drive ", 1<<20)}, nil); len(f.Tools) == 0 {
		t.Errorf("nothing was found by words: %v", err)
	}
	if s.asked != 1 || s.longest == 0 || s.longest > 8<<10 {
		t.Errorf("asked %d times with up to %d bytes", s.asked, s.longest)
	}
}

func TestASearchCombinesMeaningAndWords(t *testing.T) {
	s := &sense{near: func(tools []catalogue.Tool) (map[string]float64, error) {
		near := map[string]float64{}
		for i, tool := range tools {
			near[tool.ID()] = 0.2 + float64(i%7)/1000
		}
		near["garage.lease_vehicle"] = 0.6
		return near, nil
	}}
	table, c := searching(t, s)
	ask := func(text string, limit int) string {
		found, err := table.Search(t.Context(), c, catalogue.Query{Text: text, Limit: limit}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return named(found)
	}
	if got := ask("xylophone", 3); got != "garage.lease_vehicle" {
		t.Errorf("by meaning: %q", got)
	}
	if got := ask("drive", 2); got != "garage.drive garage.lease_vehicle" {
		t.Errorf("words come first where they are sure, then meaning: %q", got)
	}
	asked := s.asked
	if ask("", 100); s.asked != asked {
		t.Error("a list of everything needs no meaning")
	}
	s.near = func([]catalogue.Tool) (map[string]float64, error) { return nil, errors.New("down") }
	if got := ask("drive", 2); got != "garage.drive" {
		t.Errorf("without it: %q", got)
	}
	s.near = func(tools []catalogue.Tool) (map[string]float64, error) {
		near := map[string]float64{}
		for _, tool := range tools {
			near[tool.ID()] = 0.5
		}
		return near, nil
	}
	if got := ask("xylophone", 3); got != "" {
		t.Errorf("without an outlier nothing is found: %q", got)
	}
}

func TestDeterministicRunsSearchByWords(t *testing.T) {
	s := &sense{near: func([]catalogue.Tool) (map[string]float64, error) {
		return map[string]float64{"garage.lease_vehicle": 1, "garage.drive": 0}, nil
	}}
	table, _ := searching(t, s)
	for _, fixed := range []bool{true, false} {
		run := openRun(t, table, RunInfo{ID: fmt.Sprint(fixed), Start: audit.Start{Deterministic: fixed}})
		a, err := run.Call(context.Background(), "wexec:search", []byte(`{"query":"xylophone"}`))
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Contains(string(a.Data), "lease_vehicle"); found == fixed {
			t.Errorf("deterministic %v: %s", fixed, a.Data)
		}
	}
}
