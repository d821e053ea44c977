// Package firsttries runs programs as models write them unaided and counts how many
// work at the first try. Each file in programs begins with comments:
//
//	Task: what the model was asked for
//	Want: the value as JSON; a line "Prints:" instead has text that stdout must contain
//
// The programs are not adapted to wexec.
//
// The folder advised has each program that fails once more, with the advice of its
// hint applied. Its comments also have what the hint says, one or more of
//
//	Advice: code that the hint says to write
//	Without: code that the hint says to remove
//
// The description of execute_code is measured by programs whose writers do not know
// one of its sentences. They are in the folder naive, and have that sentence in a
// comment, as have some in the folder programs:
//
//	Sentence: its name in mcpd.Sentences, or in leftOut
//
// The folder taught has each program of the folder naive that fails once more, as it
// is written with the sentence.
package firsttries

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/tools/figures"
	"github.com/wexec/wexec/internal/tools/testenv"
)

var update = flag.Bool("update", false, "store the programs that fail and the figures")

// serverVariable makes the test binary run as a server.
const serverVariable = "WEXEC_FIRSTTRIES_SERVER"

func TestMain(m *testing.M) {
	if name := os.Getenv(serverVariable); name != "" {
		if err := serve(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	testenv.Main(m)
}

// program is one file of the corpus.
type program struct {
	name, language, code string
	want, prints         string
	sentence             string   // of the description, which the writer does not know
	advice, without      []string // only in the folder advised
}

var languages = map[string]string{".js": engine.JavaScript, ".ts": engine.TypeScript, ".py": engine.Python}

func corpus(t *testing.T, folder string) []program {
	t.Helper()
	files, err := filepath.Glob(folder + "/*")
	if err != nil {
		t.Fatal(err)
	}
	var all []program
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := program{name: filepath.Base(file), language: languages[filepath.Ext(file)]}
		task := false
		rest := string(data)
		for {
			line, after, _ := strings.Cut(rest, "\n")
			comment, ok := strings.CutPrefix(strings.TrimPrefix(line, "//"), "#")
			if _, js := strings.CutPrefix(line, "//"); !ok && !js {
				break
			}
			comment = strings.TrimSpace(comment)
			if v, ok := strings.CutPrefix(comment, "Want:"); ok {
				p.want = strings.TrimSpace(v)
			} else if v, ok := strings.CutPrefix(comment, "Prints:"); ok {
				p.prints = strings.TrimSpace(v)
			} else if v, ok := strings.CutPrefix(comment, "Sentence:"); ok {
				p.sentence = strings.TrimSpace(v)
			} else if strings.HasPrefix(comment, "Task:") {
				task = true
			} else if v, ok := strings.CutPrefix(comment, "Advice:"); ok {
				p.advice = append(p.advice, strings.TrimSpace(v))
			} else if v, ok := strings.CutPrefix(comment, "Without:"); ok {
				p.without = append(p.without, strings.TrimSpace(v))
			} else {
				break
			}
			rest = after
		}
		p.code = rest
		if !task || p.language == "" || (p.want == "") == (p.prints == "") {
			t.Errorf("%s: begin the file with Task and Want or Prints", file)
		}
		all = append(all, p)
	}
	return all
}

// open starts the servers with a policy.
func open(t *testing.T, policy string) *config.Host {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	servers := map[string]any{}
	for _, name := range []string{"github", "slack", "crm", "weather"} {
		servers[name] = map[string]any{"command": self, "env": map[string]string{serverVariable: name}}
	}
	doc, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	mcpFile, policyFile := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "policy.yaml")
	if err := cmp.Or(os.WriteFile(mcpFile, doc, 0o600), os.WriteFile(policyFile, []byte(policy), 0o600)); err != nil {
		t.Fatal(err)
	}
	return testenv.Open(t, testenv.Isolated(dir), config.Flags{MCP: []string{mcpFile}, Policy: []string{policyFile}})
}

// everything allows every tool and replaces nothing.
const everything = "version: 1\npii: {mode: off}\ntools:\n  allow: ['*']\n"

// fault returns why a program did not work, or an empty string, and the hint of its
// error.
func fault(t *testing.T, host *config.Host, p program) (why, hint string) {
	t.Helper()
	res, err := host.Engine.Run(t.Context(), engine.Request{Language: p.language, Code: p.code, Trigger: "mcp"})
	if err != nil {
		if res != nil && res.Error != nil {
			hint = res.Error.Hint
		}
		return fmt.Sprintf("%v (hint: %s)", err, hint), hint
	}
	return mismatch(t, p, res), ""
}

// mismatch returns how a result differs from what a program has to print or return,
// or an empty string.
func mismatch(t *testing.T, p program, res *engine.Result) string {
	t.Helper()
	if p.prints != "" {
		if !strings.Contains(res.Stdout, strings.ReplaceAll(p.prints, `\n`, "\n")) {
			return fmt.Sprintf("printed %q", res.Stdout)
		}
		return ""
	}
	var got, want any
	if err := json.Unmarshal([]byte(p.want), &want); err != nil {
		t.Fatalf("%s: Want: %v", p.name, err)
	}
	value := cmp.Or(string(bytes.TrimSpace(res.Value)), "null")
	if err := json.Unmarshal([]byte(value), &got); err != nil || !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("value %s, stdout %q", value, res.Stdout)
	}
	return ""
}

const baseline = "testdata/failing.txt"

// unadvised marks a program of the baseline whose hint does not make it run.
const unadvised = " unadvised"

// TestProgramsWorkAtTheFirstTry runs the corpus. The list of programs that fail only
// shrinks. Applying the hint of one that fails makes it run.
func TestProgramsWorkAtTheFirstTry(t *testing.T) {
	host := open(t, everything)
	failing, err := os.ReadFile(baseline)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	known := strings.Split(strings.TrimSpace(string(failing)), "\n")
	advised := map[string]program{}
	for _, p := range corpus(t, "advised") {
		advised[p.name] = p
	}
	now, total, works, saved := []string{}, map[string]int{}, map[string]int{}, map[string]int{}
	for _, p := range corpus(t, "programs") {
		total[p.language]++
		why, hint := fault(t, host, p)
		m, ok := advised[p.name]
		delete(advised, p.name)
		if why == "" {
			works[p.language]++
			if ok {
				t.Errorf("%s works; remove it from the folder advised", p.name)
			}
			continue
		}
		t.Logf("%s: %s", p.name, why)
		if still := stillFails(t, host, p, m, hint); still == "" {
			saved[p.language]++
			now = append(now, p.name)
		} else {
			t.Logf("%s: %s", p.name, still)
			now = append(now, p.name+unadvised)
		}
	}
	for name := range advised {
		t.Errorf("advised/%s: there is no such program", name)
	}
	table := "Counted on " + figures.Today + ".\n\n| language | programs | run at the first try | run when the advice of the error is applied |\n|---|---|---|---|\n"
	for _, language := range slices.Sorted(maps.Keys(total)) {
		table += fmt.Sprintf("| %s | %d | %d | %d |\n", language, total[language], works[language], saved[language])
	}
	figures.Compare(t, "../../docs/learn/programs.md", "go test ./tests/firsttries -update", table, *update)
	if *update {
		if err := os.WriteFile(baseline, []byte(strings.Join(now, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if !slices.Equal(now, known) {
		t.Errorf("%s does not list the programs that fail now; if it only gets shorter, run with -update:\n%s", baseline, strings.Join(now, "\n"))
	}
}

// stillFails returns why the advice of a hint does not make a program run, or an empty
// string. m is the program with the advice applied.
func stillFails(t *testing.T, host *config.Host, p, m program, hint string) string {
	t.Helper()
	if m.want != p.want || m.prints != p.prints || len(m.advice)+len(m.without) == 0 {
		return "write advised/" + p.name + " with the same Want or Prints, and with Advice or Without"
	}
	for _, code := range m.advice {
		if !strings.Contains(hint, code) || !strings.Contains(m.code, code) || strings.Contains(p.code, code) {
			return fmt.Sprintf("the hint does not say to write %s, or only the hint has it", code)
		}
	}
	for _, code := range m.without {
		if !strings.Contains(hint, code) || strings.Contains(m.code, code) || !strings.Contains(p.code, code) {
			return fmt.Sprintf("the hint does not say to remove %s, or it was not removed", code)
		}
	}
	if why, _ := fault(t, host, m); why != "" {
		return "advised: " + why
	}
	return ""
}

// TestProgramsReachTheirEndInADryRun counts the programs that end without an error when
// the tools answer with samples: before wexec has seen an answer, and after.
func TestProgramsReachTheirEndInADryRun(t *testing.T) {
	host := open(t, everything)
	all := corpus(t, "programs")
	dry := func() int {
		ends := 0
		for _, p := range all {
			res, err := host.Engine.Run(t.Context(), engine.Request{Language: p.language, Code: p.code, Trigger: "mcp", DryRun: true})
			if err == nil {
				ends++
				continue
			}
			t.Logf("%s: %d calls: %v", p.name, len(res.Calls), err)
		}
		return ends
	}
	before := dry()
	for _, p := range all {
		_, _ = fault(t, host, p)
	}
	t.Log("with learned types")
	after := dry()
	figures.Compare(t, "../../docs/learn/getting-started.md", "go test ./tests/firsttries -update",
		fmt.Sprintf("Of the %d programs in `tests/firsttries`, %d reach their end in a dry run before wexec has seen an answer of the tools, and %d after (counted on %s).\n",
			len(all), before, after, figures.Today), *update)
}

// TestACheckFindsNoFaultInPrograms checks the literal arguments of programs that work.
func TestACheckFindsNoFaultInPrograms(t *testing.T) {
	host := open(t, everything)
	tools, _ := host.Table.Catalogue(t.Context())
	checked := 0
	for _, p := range corpus(t, "programs") {
		res, err := host.Engine.Run(t.Context(), engine.Request{Language: p.language, Code: p.code, Trigger: "mcp", Check: true})
		if err != nil {
			t.Errorf("%s: %v", p.name, err)
			continue
		}
		var rows [][6]any
		if err := json.Unmarshal(res.Value, &rows); err != nil {
			t.Fatalf("%s: %v", p.name, err)
		}
		for _, row := range rows {
			tool, ok := tools.Lookup(fmt.Sprintf("%s.%s", row[0], row[1]))
			if !ok || row[5] == nil {
				continue
			}
			form, err := json.Marshal(row[5])
			if err != nil {
				t.Fatal(err)
			}
			checked++
			if f, err := host.Table.CheckArguments(t.Context(), tool.ID(), form, nil); f != nil || err != nil {
				t.Errorf("%s:%v: %v, %v for %s", p.name, row[2], f, err, form)
			}
		}
	}
	if checked == 0 {
		t.Error("no call was checked")
	}
}
