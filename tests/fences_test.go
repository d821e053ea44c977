package tests

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/policy/lint"
)

// fence is a block of code in a document.
type fence struct {
	doc  string
	line int
	info string
	text string
}

var fences = regexp.MustCompile("(?ms)^```([^\n]*)\n(.*?)^```$")

func fencesOf(t *testing.T, doc string) []fence {
	text := read(t, doc)
	var out []fence
	for _, m := range fences.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, fence{doc, 1 + strings.Count(text[:m[0]], "\n"), text[m[2]:m[3]], text[m[4]:m[5]]})
	}
	return out
}

// TestProgramsInDocumentsRun runs every block marked "runs" with the demo servers and
// compares its result with the next block, marked "value".
func TestProgramsInDocumentsRun(t *testing.T) {
	env := machine(t)
	commits, err := filepath.Abs("../examples/commits/mcp.json")
	if err != nil {
		t.Fatal(err)
	}
	host := testenv.Open(t, env, config.Flags{MCP: []string{commits}, Allow: policy.Flags{AllowTool: []string{"*"}}})
	ran := 0
	for _, doc := range documents(t) {
		all := fencesOf(t, doc)
		for i, f := range all {
			words := strings.Fields(f.info)
			if len(words) != 2 || words[1] != "runs" {
				continue
			}
			ran++
			t.Run(fmt.Sprintf("%s:%d", doc, f.line), func(t *testing.T) {
				if i+1 >= len(all) || all[i+1].info != "json value" {
					t.Fatal("no block with the value follows")
				}
				language, err := engine.Language(words[0])
				if err != nil {
					t.Fatal(err)
				}
				res := run(t, host, engine.Request{Language: language, Code: f.text})
				sameJSON(t, "value", res.Value, []byte(all[i+1].text))
			})
		}
	}
	if ran < 5 {
		t.Errorf("only %d programs in documents", ran)
	}
}

// TestPoliciesInDocumentsHold parses every policy in documents and runs its tests.
func TestPoliciesInDocumentsHold(t *testing.T) {
	for _, doc := range documents(t) {
		for _, f := range fencesOf(t, doc) {
			if f.info != "yaml policy" {
				continue
			}
			p, err := policy.Parse(fmt.Sprintf("%s:%d", doc, f.line), []byte(f.text))
			if err != nil {
				t.Error(err)
				continue
			}
			for _, r := range lint.RunTests(p, lint.TestOptions{}).Results {
				if !r.Passed {
					t.Errorf("%s: %s is %s, not %s", r.Case, r.Tool, r.Got, r.Expect)
				}
			}
		}
	}
}

// TestJSONInDocumentsIsJSON checks blocks of JSON.
func TestJSONInDocumentsIsJSON(t *testing.T) {
	for _, doc := range documents(t) {
		for _, f := range fencesOf(t, doc) {
			if (f.info == "json" || f.info == "json value") && !json.Valid([]byte(f.text)) {
				t.Errorf("%s:%d: invalid JSON", doc, f.line)
			}
		}
	}
}

// TestGoInDocumentsIsTheExample compares blocks with the files they name.
func TestGoInDocumentsIsTheExample(t *testing.T) {
	held := 0
	for _, doc := range documents(t) {
		for _, f := range fencesOf(t, doc) {
			name, ok := strings.CutPrefix(f.info, "go ")
			if !ok {
				continue
			}
			held++
			if f.text != read(t, name) {
				t.Errorf("%s:%d differs from %s", doc, f.line, name)
			}
		}
	}
	if held == 0 {
		t.Error("no document shows an example")
	}
}
