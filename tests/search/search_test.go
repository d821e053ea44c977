// Package search measures the search over tools with questions as people ask
// them, written without reading the descriptions of the tools.
package search

import (
	"encoding/json"
	"fmt"
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

// whole is a catalogue of servers written for this test, and of real ones if they
// are installed.
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

// question is a query and the tools that answer it.
type question struct {
	text  string
	tools []string // globs
}

func (q question) fits(tool string) bool {
	return slices.ContainsFunc(q.tools, func(g string) bool { ok, _ := path.Match(g, tool); return ok })
}

// questions reads a file. It leaves out questions whose tools are not installed,
// and fails for one that matches no tool at all.
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

func search(t testing.TB, c *catalogue.Catalogue, q catalogue.Query) catalogue.Found {
	t.Helper()
	found, err := c.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// asked counts the questions whose tool is first and among the first three, and
// fails if fewer than least percent are among the first three.
func asked(t *testing.T, what string, c *catalogue.Catalogue, all []question, least int) {
	t.Helper()
	first, found := 0, 0
	var missed []string
	for _, q := range all {
		var got []string
		for _, e := range search(t, c, catalogue.Query{Text: q.text, Limit: 3}).Tools {
			got = append(got, e.Name)
		}
		switch {
		case len(got) > 0 && q.fits(got[0]):
			first++
			fallthrough
		case slices.ContainsFunc(got, q.fits):
			found++
		default:
			missed = append(missed, fmt.Sprintf("%q gave %s, not %s", q.text, strings.Join(got, ", "), strings.Join(q.tools, " or ")))
		}
	}
	t.Logf("%s: %d tools of %d servers, %d questions: %d first, %d among the first three", what, len(c.Tools()), len(c.Servers()), len(all), first, found)
	if found*100 < least*len(all) {
		t.Errorf("%s: %d of %d are found, want %d percent\n%s", what, found, len(all), least, strings.Join(missed, "\n"))
	}
}

func TestTheRightToolIsAmongTheFirstThree(t *testing.T) {
	c, everything := whole(t)
	all := questions(t, "queries.txt", c, everything)
	if len(all) < 100 {
		t.Fatalf("only %d questions", len(all))
	}
	asked(t, "questions", c, all, 72)
}

// TestHeldOutQuestions asks questions that nothing was tuned on. The thresholds
// are just below what the search reaches: a change that fails one made the search
// worse.
func TestHeldOutQuestions(t *testing.T) {
	c, everything := whole(t)
	for _, set := range []struct {
		file  string
		c     *catalogue.Catalogue
		least int // percent
	}{
		{"heldout.txt", c, 75},
		{"real.txt", catalogue.New(real(t)), 72},
	} {
		if set.file == "real.txt" && !everything {
			continue // asked of the real servers only
		}
		all := questions(t, set.file, set.c, everything)
		if len(all) < 40 {
			t.Fatalf("%s has only %d questions", set.file, len(all))
		}
		asked(t, "held out, "+set.file, set.c, all, set.least)
	}
}

// TestNonsenseFindsLittle tests the thresholds: a tool that hardly matches the
// question is not shown, because it costs its reader tokens.
func TestNonsenseFindsLittle(t *testing.T) {
	c, _ := whole(t)
	for text, most := range map[string]int{
		"asdf qwer": 0, "blorp the fnord": 0, "zzz": 0, "why is the sky blue": 0, "colourless green ideas sleep furiously": 0,
		"purple monkey dishwasher": 1, "the quick brown fox jumps over the lazy dog": 1, "the meaning of life": 3, "lorem ipsum dolor sit amet": 3,
		"my hovercraft is full of eels": 5,
		// Mars has no forecast here, and weather is what was asked for.
		"the weather on mars is purple": 6,
	} {
		if found := search(t, c, catalogue.Query{Text: text}); found.Total > most {
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
		sum += search(t, c, catalogue.Query{Text: q.text}).Total
	}
	if mean := sum / len(all); mean > 40 {
		t.Errorf("a question finds %d of %d tools", mean, len(c.Tools()))
	}
}
