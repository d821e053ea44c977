// Package search measures the search over tools with questions as people ask
// them, written without reading the descriptions of the tools.
package search

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/internal/tools/figures"
)

var update = flag.Bool("update", false, "write the figures into the document")

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
	tools, others := written(t), real(t, "known", known)
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

// score counts the questions by the place of their best tool.
type score struct{ questions, first, three, ten int }

// percent is the share of a count.
func (s score) percent(n int) int { return n * 100 / max(s.questions, 1) }

// asked asks questions, and returns the score and what was missed among the first
// three.
func asked(t *testing.T, what string, c *catalogue.Catalogue, all []question) (s score, missed []string) {
	t.Helper()
	for _, q := range all {
		var got []string
		for _, e := range search(t, c, catalogue.Query{Text: q.text, Limit: 10}).Tools {
			got = append(got, e.Name)
		}
		s.questions++
		at := slices.IndexFunc(got, q.fits)
		if at == 0 {
			s.first++
		}
		if at >= 0 && at < 3 {
			s.three++
		} else {
			missed = append(missed, fmt.Sprintf("%q gave %s, not %s", q.text, strings.Join(got[:min(3, len(got))], ", "), strings.Join(q.tools, " or ")))
		}
		if at >= 0 {
			s.ten++
		}
	}
	t.Logf("%s: %d tools of %d servers, %d questions: %d %% first, %d %% among three, %d %% among ten",
		what, len(c.Tools()), len(c.Servers()), s.questions, s.percent(s.first), s.percent(s.three), s.percent(s.ten))
	return s, missed
}

// atLeast asks questions, and fails if fewer than least percent of their tools are
// among the first three.
func atLeast(t *testing.T, what string, c *catalogue.Catalogue, all []question, least int) {
	t.Helper()
	if s, missed := asked(t, what, c, all); s.three*100 < least*s.questions {
		t.Errorf("%s: %d of %d are found, want %d percent\n%s", what, s.three, s.questions, least, strings.Join(missed, "\n"))
	}
}

func TestTheRightToolIsAmongTheFirstThree(t *testing.T) {
	c, everything := whole(t)
	all := questions(t, "queries.txt", c, everything)
	if len(all) < 100 {
		t.Fatalf("only %d questions", len(all))
	}
	atLeast(t, "questions", c, all, 80)
}

// TestHeldOutQuestions asks questions that the synonyms were not chosen for. The
// thresholds are just below what the search reaches: a change that fails one made
// the search worse.
func TestHeldOutQuestions(t *testing.T) {
	c, everything := whole(t)
	for _, set := range []struct {
		file  string
		c     *catalogue.Catalogue
		least int // percent
	}{
		{"heldout.txt", c, 80},
		{"real.txt", catalogue.New(real(t, "known", known)), 80},
	} {
		if set.file == "real.txt" && !everything {
			continue // asked of the real servers only
		}
		all := questions(t, set.file, set.c, everything)
		if len(all) < 40 {
			t.Fatalf("%s has only %d questions", set.file, len(all))
		}
		atLeast(t, "held out, "+set.file, set.c, all, set.least)
	}
}

const writeFigures = "go test ./tests/search -run RealServers -update"

// TestToolsOfRealServersAreFound asks questions about the tools of real servers.
// Change the search by the misses of the first half. Those of the second half are
// not printed: it measures.
func TestToolsOfRealServersAreFound(t *testing.T) {
	build, held := append(real(t, "known", known), real(t, "built", built)...), real(t, "held", held)
	if len(build) == 0 || len(held) == 0 {
		t.Skip("needs the servers of tests/npm.sh servers")
	}
	table := "| questions | servers | tools | first | among three | among ten |\n|---|---|---|---|---|---|\n"
	for _, half := range []struct {
		name              string
		c                 *catalogue.Catalogue
		files             []string
		first, three, ten int // percent, at least
	}{
		{"built on", catalogue.New(build), []string{"real.txt", "servers-build.txt"}, 55, 78, 86},
		{"held out", catalogue.New(held), []string{"servers-heldout.txt"}, 47, 70, 81},
	} {
		var all []question
		for _, file := range half.files {
			all = append(all, questions(t, file, half.c, true)...)
		}
		s, missed := asked(t, half.name, half.c, all)
		if half.name == "built on" {
			for _, m := range missed {
				t.Logf("   %s", m)
			}
		}
		if s.percent(s.first) < half.first || s.percent(s.three) < half.three || s.percent(s.ten) < half.ten {
			t.Errorf("%s: want %d %%, %d %% and %d %%", half.name, half.first, half.three, half.ten)
		}
		table += fmt.Sprintf("| %d, %s | %d | %d | %d %% | %d %% | %d %% |\n", s.questions, half.name,
			len(half.c.Servers()), len(half.c.Tools()), s.percent(s.first), s.percent(s.three), s.percent(s.ten))
	}
	figures.Compare(t, "../../docs/use/tools.md", writeFigures, table+"\nMeasured on "+figures.Today+".\n", *update)
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
