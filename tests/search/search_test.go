// Package search holds the search over tools against questions as people ask
// them, written without looking at the descriptions.
package search

import (
	"encoding/json"
	"os"
	"path"
	"path/filepath"
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

// whole is the catalogue that is asked: of servers written for this test, and
// of real ones where they are installed.
func whole(t testing.TB) (c *catalogue.Catalogue, everything bool) {
	t.Helper()
	tools, others := written(t), real(t)
	servers := map[string]bool{}
	for _, tool := range tools {
		servers[tool.Server] = true
	}
	if len(servers) < 30 {
		t.Errorf("only %d written servers", len(servers))
	}
	c = catalogue.New(append(tools, others...))
	if len(others) > 0 && len(c.Tools()) < 600 {
		t.Errorf("only %d tools", len(c.Tools()))
	}
	return c, len(others) > 0
}

// question is one way to ask, and the tools that would do.
type question struct {
	text  string
	tools []string // globs
}

func (q question) fits(tool string) bool {
	return slices.ContainsFunc(q.tools, func(g string) bool { ok, _ := path.Match(g, tool); return ok })
}

// questions reads a file. Those whose tools are not installed are left out;
// one that fits no tool at all is a mistake.
func questions(t testing.TB, file string, c *catalogue.Catalogue, everything bool) []question {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var out []question
	for _, line := range strings.Split(string(data), "\n") {
		text, tools, ok := strings.Cut(line, "=>")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		q := question{text: strings.TrimSpace(text)}
		for _, glob := range strings.Fields(tools) {
			if slices.ContainsFunc(c.Tools(), func(tool catalogue.Tool) bool { ok, _ := path.Match(glob, tool.ID()); return ok }) {
				q.tools = append(q.tools, glob)
			} else if everything {
				t.Errorf("%s: %q expects %s, which is no tool", file, text, glob)
			}
		}
		if len(q.tools) > 0 {
			out = append(out, q)
		}
	}
	return out
}

// asked asks questions, logs those whose tool is not among the first three,
// and counts.
func asked(t *testing.T, what string, c *catalogue.Catalogue, all []question) (first, found int) {
	t.Helper()
	for _, q := range all {
		var got []string
		for _, e := range c.Search(catalogue.Query{Text: q.text, Limit: 3}).Tools {
			got = append(got, e.Name)
		}
		switch {
		case len(got) > 0 && q.fits(got[0]):
			first++
			fallthrough
		case slices.ContainsFunc(got, q.fits):
			found++
		default:
			t.Logf("%smissed: %q gave %s, not %s", what, q.text, strings.Join(got, ", "), strings.Join(q.tools, " or "))
		}
	}
	return first, found
}

func TestTheRightToolIsAmongTheFirstThree(t *testing.T) {
	c, everything := whole(t)
	all := questions(t, "queries.txt", c, everything)
	if len(all) < 100 {
		t.Fatalf("only %d questions", len(all))
	}
	first, found := asked(t, "", c, all)
	t.Logf("%d tools of %d servers, %d questions: %d first, %d among the first three", len(c.Tools()), len(c.Servers()), len(all), first, found)
	if found*100 < 95*len(all) {
		t.Errorf("%d of %d are found, the goal is 95 of 100", found, len(all))
	}
}

// TestQuestionsNobodyTunedFor has no goal to reach: its figure says what the
// other one is worth. It fails where search has become much worse.
func TestQuestionsNobodyTunedFor(t *testing.T) {
	c, everything := whole(t)
	all := questions(t, "heldout.txt", c, everything)
	if len(all) < 40 {
		t.Fatalf("only %d questions", len(all))
	}
	first, found := asked(t, "held out, ", c, all)
	t.Logf("held out: %d questions: %d first, %d among the first three", len(all), first, found)
	if found*100 < 70*len(all) {
		t.Errorf("%d of %d are found", found, len(all))
	}
}

// TestNonsenseFindsLittle holds the floor: what has next to nothing to do with
// the question is not shown, since whoever reads it pays for it.
func TestNonsenseFindsLittle(t *testing.T) {
	c, _ := whole(t)
	for text, most := range map[string]int{
		"asdf qwer": 0, "blorp the fnord": 0, "zzz": 0, "why is the sky blue": 0, "colourless green ideas sleep furiously": 0,
		"purple monkey dishwasher": 1, "the quick brown fox jumps over the lazy dog": 1, "the meaning of life": 3, "lorem ipsum dolor sit amet": 3,
		"my hovercraft is full of eels": 5,
		// Mars has no forecast here, and weather is what was asked for.
		"the weather on mars is purple": 6,
	} {
		if found := c.Search(catalogue.Query{Text: text}); found.Total > most {
			var got []string
			for _, e := range found.Tools {
				got = append(got, e.Name)
			}
			t.Errorf("%q gave %d: %s", text, found.Total, strings.Join(got, ", "))
		}
	}
}

func TestAnswersAreFew(t *testing.T) {
	c, everything := whole(t)
	all, sum := questions(t, "queries.txt", c, everything), 0
	for _, q := range all {
		sum += c.Search(catalogue.Query{Text: q.text}).Total
	}
	if mean := sum / len(all); mean > 40 {
		t.Errorf("a question finds %d of %d tools", mean, len(c.Tools()))
	}
}
