// Package search holds the search over tools against questions as people ask
// them, written without looking at the descriptions.
package search

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/catalogue"
)

// written reads the catalogue of testdata/written.txt.
func written(t testing.TB) []catalogue.Tool {
	t.Helper()
	data, err := os.ReadFile("testdata/written.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []catalogue.Tool
	server := ""
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !strings.HasPrefix(line, "  ") {
			server = strings.TrimSpace(line)
			continue
		}
		part := strings.Split(line, "|")
		if len(part) != 3 {
			t.Fatalf("line %d: %q", i+1, line)
		}
		props := map[string]any{}
		for _, a := range strings.Fields(part[2]) {
			if a != "-" {
				props[a] = map[string]any{"type": "string"}
			}
		}
		schema, err := json.Marshal(map[string]any{"type": "object", "properties": props})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, catalogue.Tool{Server: server, Name: strings.TrimSpace(part[0]), Description: strings.TrimSpace(part[1]), InputSchema: schema})
	}
	return out
}

// question is one way to ask, and the tools that would do.
type question struct {
	text  string
	tools []string
}

func questions(t testing.TB) []question {
	t.Helper()
	data, err := os.ReadFile("testdata/queries.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []question
	for _, line := range strings.Split(string(data), "\n") {
		text, tools, ok := strings.Cut(line, "=>")
		if ok && !strings.HasPrefix(line, "#") {
			out = append(out, question{strings.TrimSpace(text), strings.Fields(tools)})
		}
	}
	return out
}

func TestTheRightToolIsAmongTheFirstThree(t *testing.T) {
	c := catalogue.New(written(t))
	all := questions(t)
	if len(all) < 100 {
		t.Fatalf("only %d questions", len(all))
	}
	found, first := 0, 0
	for _, q := range all {
		for _, want := range q.tools {
			if _, ok := c.Lookup(want); !ok {
				t.Fatalf("%q expects %s, which is no tool", q.text, want)
			}
		}
		var got []string
		for _, e := range c.Search(catalogue.Query{Text: q.text, Limit: 3}).Tools {
			got = append(got, e.Name)
		}
		switch {
		case len(got) > 0 && slices.Contains(q.tools, got[0]):
			first++
			fallthrough
		case slices.ContainsFunc(got, func(g string) bool { return slices.Contains(q.tools, g) }):
			found++
		default:
			t.Logf("missed: %q gave %s, not %s", q.text, strings.Join(got, ", "), strings.Join(q.tools, " or "))
		}
	}
	t.Logf("%d tools, %d questions: %d first, %d among the first three", len(c.Tools()), len(all), first, found)
	if found*100 < 95*len(all) {
		t.Errorf("%d of %d are found, the goal is 95 of 100", found, len(all))
	}
}
