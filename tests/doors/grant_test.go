//go:build unix

package doors

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const narrow = "version: 1\n# mine\ntools:\n  allow: # what I use\n    - github.get_commit # one\n  deny: [github.delete_branch]\n"

// lacking is a project whose policy lacks a rule for list_commits.
func lacking(t *testing.T, rules string) (dir string, env []string) {
	t.Helper()
	dir, env = furnished(t, rules)
	if err := os.WriteFile(filepath.Join(dir, "wexec.yaml"), []byte("mcp: mcp.json\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := command(t.Context(), dir, env, "config", "trust").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir, env
}

const twoCalls = `for (let i = 0; i < 2; i++) await tools.github.list_commits({limit: 1}); return "done"`

func TestAToolWithoutARuleIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		keys      string
		questions int
		status    int
	}{
		{"y\n|y\n", 2, 0},
		{"a\n", 1, 0},
		{"n\n", 1, 3},
		{"w\n|n\n|n\n", 1, 3}, // a rule that is not confirmed is not written
	} {
		dir, env := lacking(t, narrow)
		x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "js", "-e", twoCalls))
		for i, keys := range strings.Split(c.keys, "|") {
			x.sees("[y]es, [n]o, [a]lways for this run, [w]rite the rule: ")
			if i > 0 {
				x.answered(i)
			}
			x.types(keys)
		}
		got, seen := x.ends(), x.seen.String()
		if got != c.status || strings.Count(seen, "approve?") != c.questions || !strings.Contains(seen, "no rule allows") {
			t.Errorf("%q: status %d, %q", c.keys, got, seen)
		}
		if now := string(must(os.ReadFile(filepath.Join(dir, "policy.yaml")))); now != narrow {
			t.Errorf("%q wrote %s", c.keys, now)
		}
	}
}

// answered waits for the question after n answers.
func (x *terminal) answered(n int) {
	x.t.Helper()
	for end := time.Now().Add(90 * time.Second); strings.Count(x.seen.String(), "[y]es, [n]o") <= n; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			x.t.Fatalf("there is no question after %d answers: %q", n, x.seen.String())
		}
	}
}

// plainSite is a web site that says hello.
func plainSite(t *testing.T) string {
	t.Helper()
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }))
	t.Cleanup(web.Close)
	return web.URL
}

func TestTheRuleIsShownAndWritten(t *testing.T) {
	dir, env := lacking(t, narrow)
	x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "js", "-e", twoCalls))
	x.sees("[w]rite the rule: ")
	x.types("w\n")
	x.sees("policy.yaml: tools.allow: github.list_commits")
	x.sees("write this rule? [y]es, [n]o: ")
	x.types("y\n")
	if got := x.ends(); got != 0 || strings.Count(x.seen.String(), "approve?") != 1 {
		t.Fatalf("status %d, %q", got, x.seen.String())
	}
	want := strings.Replace(narrow, "# what I use\n", "# what I use\n    - github.list_commits\n", 1)
	if now := string(must(os.ReadFile(filepath.Join(dir, "policy.yaml")))); now != want {
		t.Errorf("wrote\n%s\nwant\n%s", now, want)
	}
	// The project is trusted with the rule, and nobody is asked again.
	out, err := command(t.Context(), dir, env, "run", "-l", "js", "-e", twoCalls).CombinedOutput()
	if err != nil || string(out) != "done\n" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestNobodyIsAskedForWhatARuleDenies(t *testing.T) {
	dir, env := lacking(t, narrow)
	x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "js", "-e", `return await tools.github.delete_branch({branch: "x"})`))
	if got, seen := x.ends(), x.seen.String(); got != 3 || strings.Contains(seen, "allow ") && strings.Contains(seen, "[y]es") {
		t.Errorf("status %d, %q", got, seen)
	}
	// Without a terminal nobody is asked at all.
	cmd := command(t.Context(), dir, env, "run", "-l", "js", "-e", twoCalls)
	cmd.Stdin = strings.NewReader("y\ny\n")
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 3 || !strings.Contains(string(out), "denied.tool") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestAHostWithoutARuleIsAskedFor(t *testing.T) {
	web := plainSite(t)
	host := strings.TrimPrefix(web, "http://")
	program := `return (await (await fetch("` + web + `")).text()) + (await (await fetch("` + web + `")).text())`
	dir, env := lacking(t, narrow)
	x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "js", "-e", program))
	x.sees("[a]lways for this run, [w]rite the rule: ")
	if seen := x.seen.String(); !strings.Contains(seen, "host 127.0.0.1") || !strings.Contains(seen, host) {
		t.Errorf("the question is %q", seen)
	}
	x.types("w\n")
	x.sees("write this rule? [y]es, [n]o: ")
	x.types("y\n")
	if got, seen := x.ends(), x.seen.String(); got != 0 || strings.Count(seen, "approve?") != 1 || !strings.Contains(seen, "hellohello") {
		t.Fatalf("status %d, %q", got, seen)
	}
	out, err := command(t.Context(), dir, env, "run", "-l", "js", "-e", program).CombinedOutput()
	if err != nil || string(out) != "hellohello\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestAFileWithoutARuleIsAskedFor opens a file by its name in the working folder,
// in both languages.
func TestAFileWithoutARuleIsAskedFor(t *testing.T) {
	for _, c := range []struct {
		language, keys string
		questions      int
		status         int
	}{
		{"js", "y\n|y\n", 2, 0},
		{"py", "y\n|y\n", 2, 0},
		{"js", "a\n", 1, 0},
		{"py", "n\n", 1, 3},
		{"js", "w\n|n\n|n\n", 1, 3},
	} {
		dir, env := lacking(t, narrow)
		write(t, filepath.Join(dir, "data.csv"), "hello")
		program := map[string]string{
			"js": `import { readFileSync } from "node:fs"; return readFileSync("data.csv", "utf8") + readFileSync("./data.csv", "utf8")`,
			"py": "open('data.csv').read() + open('./data.csv').read()",
		}[c.language]
		x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", c.language, "-e", program))
		for i, keys := range strings.Split(c.keys, "|") {
			x.sees("[y]es, [n]o, [a]lways for this run, [w]rite the rule: ")
			if i > 0 {
				x.answered(i)
			}
			x.types(keys)
		}
		got, seen := x.ends(), x.seen.String()
		if got != c.status || strings.Count(seen, "approve?") != c.questions || !strings.Contains(seen, "no rule allows") {
			t.Errorf("%s %q: status %d, %q", c.language, c.keys, got, seen)
		}
		if c.status == 0 && !strings.Contains(seen, "hellohello") {
			t.Errorf("%s %q: %q", c.language, c.keys, seen)
		}
		if now := string(must(os.ReadFile(filepath.Join(dir, "policy.yaml")))); now != narrow {
			t.Errorf("%q wrote %s", c.keys, now)
		}
	}
}

// TestTheRuleOfAFileIsWritten writes the rules for a folder that is listed and for a
// file that is written. What exists and what does not is asked for alike.
func TestTheRuleOfAFileIsWritten(t *testing.T) {
	dir, env := lacking(t, narrow)
	write(t, filepath.Join(dir, "in", "a.txt"), "A")
	program := "import os\nfor name in sorted(os.listdir('in')):\n    text = open('in/' + name).read()\nwith open('out.txt', 'w') as f:\n    f.write(text)\n'done'"
	x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "py", "-e", program))
	for i, rule := range []string{"files.read: ./in # and everything in this folder", "files.write: ./out.txt"} {
		x.shows(regexp.MustCompile([]string{"read", "write"}[i] + ` /[^?]*\? \[y\]es, \[n\]o, \[a\]lways for this run, \[w\]rite the rule: `))
		x.types("w\n")
		x.sees("policy.yaml: " + rule)
		x.sees("write this rule? [y]es, [n]o: ")
		x.types("y\n")
	}
	if got := x.ends(); got != 0 || strings.Count(x.seen.String(), "approve?") != 2 {
		t.Fatalf("status %d, %q", got, x.seen.String())
	}
	if got := string(must(os.ReadFile(filepath.Join(dir, "out.txt")))); got != "A" {
		t.Errorf("wrote %q", got)
	}
	if now := string(must(os.ReadFile(filepath.Join(dir, "policy.yaml")))); !strings.HasPrefix(now, narrow) {
		t.Errorf("comments are lost:\n%s", now)
	}
	out, err := command(t.Context(), dir, env, "run", "-l", "py", "-e", program).CombinedOutput()
	if err != nil || string(out) != "done\n" {
		t.Errorf("%v: %s", err, out)
	}
}

func TestNobodyIsAskedForAFileThatIsDenied(t *testing.T) {
	rules := narrow + "files: {read: [./in], deny: ['**/.env']}\n"
	dir, env := lacking(t, rules)
	write(t, filepath.Join(dir, ".env"), "SECRET")
	for _, path := range []string{".env", "policy.yaml", "/proc/self/environ", "/dev/mem"} {
		x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "py", "-e", "open('"+path+"').read()"))
		if got, seen := x.ends(), x.seen.String(); got != 3 || strings.Contains(seen, "[y]es") || strings.Contains(seen, "SECRET") {
			t.Errorf("%s: status %d, %q", path, got, seen)
		}
	}
	// Without a terminal nobody is asked at all, nor for a look.
	write(t, filepath.Join(dir, "data.csv"), "hello")
	cmd := command(t.Context(), dir, env, "run", "-l", "py", "-e", "open('data.csv').read()")
	cmd.Stdin = strings.NewReader("y\ny\n")
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 3 || strings.Contains(string(out), "hello") {
		t.Errorf("%v: %s", err, out)
	}
	x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "py", "-e", "import os\nos.path.exists('data.csv')"))
	if got, seen := x.ends(), x.seen.String(); got != 0 || strings.Contains(seen, "[y]es") {
		t.Errorf("status %d, %q", got, seen)
	}
}

// TestALinkIsAskedForByWhereItLeads has the question name the file itself.
func TestALinkIsAskedForByWhereItLeads(t *testing.T) {
	dir, env := lacking(t, narrow)
	real := must(filepath.EvalSymlinks(dir))
	write(t, filepath.Join(dir, "secret.txt"), "SECRET")
	if err := os.Symlink("secret.txt", filepath.Join(dir, "data.csv")); err != nil {
		t.Fatal(err)
	}
	x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "py", "-e", "open('data.csv').read()"))
	x.sees("[w]rite the rule: ")
	if seen := x.seen.String(); !strings.Contains(seen, filepath.Join(real, "secret.txt")) || strings.Contains(seen, "data.csv") {
		t.Errorf("the question is %q", seen)
	}
	x.types("n\n")
	if got := x.ends(); got != 3 {
		t.Errorf("status %d: %q", got, x.seen.String())
	}
}

// TestAQuestionNamesTheFileItself has paths with "..", and names that would rewrite the
// question or look like another file.
func TestAQuestionNamesTheFileItself(t *testing.T) {
	dir, env := lacking(t, narrow)
	real := must(filepath.EvalSymlinks(dir))
	write(t, filepath.Join(dir, "in", "a.txt"), "A")
	write(t, filepath.Join(dir, "secret.txt"), "SECRET")
	for path, want := range map[string]string{
		`in/../secret.txt`:                 filepath.Join(real, "secret.txt"),
		`./in/.././in/../secret.txt`:       filepath.Join(real, "secret.txt"),
		`ok\u202etxt.csv`:                  `ok\u{202e}txt.csv`,
		`s\u200becret.txt`:                 `s\u{200b}ecret.txt`,
		`x? [y]es, [n]o: \u2590 approve? `: `x? [y]es, [n]o: \u{2590} a`,
	} {
		x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "py", "-e", `open("`+path+`", "w")`))
		x.sees("[a]lways for this run")
		seen := x.seen.String()
		if !strings.Contains(seen, want) || strings.Contains(seen, "..") {
			t.Errorf("%q: the question is %q, want %q", path, seen, want)
		}
		x.types("n\n")
		if got := x.ends(); got != 3 {
			t.Errorf("%q: status %d: %q", path, got, x.seen.String())
		}
		holdsNoControls(t, path, x.seen.String())
	}
	// Names with control characters are refused, and nobody is asked.
	x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "py", "-e", `open("ok\x1b[2J\r.csv", "w")`))
	if got, seen := x.ends(), x.seen.String(); got != 1 || strings.Contains(seen, "[y]es") {
		t.Errorf("status %d: %q", got, seen)
	}
	if got := string(must(os.ReadFile(filepath.Join(dir, "secret.txt")))); got != "SECRET" {
		t.Errorf("the file is %q", got)
	}
}

// TestANoIsTheAnswerForTheRun has a program that asks for a tool, a host and a file
// many times, and at once.
func TestANoIsTheAnswerForTheRun(t *testing.T) {
	web := plainSite(t)
	for name, program := range map[string]string{
		"a tool": `const ask = (n) => tools.github.list_commits({limit: n})`,
		"a host": `const ask = (n) => fetch("` + web + `/" + n)`,
		"a file": `import { readFile } from "node:fs/promises"; const ask = (n) => readFile("secret.txt")`,
	} {
		dir, env := lacking(t, narrow)
		write(t, filepath.Join(dir, "secret.txt"), "SECRET")
		x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "js", "-e", program+`
let got = 0;
await Promise.allSettled(Array.from({length: 10}, (_, i) => ask(i).then(() => got++)));
for (let i = 0; i < 10; i++) await ask(i).then(() => got++, () => {});
return "got " + got`))
		x.sees("[w]rite the rule: ")
		x.types("n\n")
		if status, seen := x.ends(), x.seen.String(); status != 0 || strings.Count(seen, "approve?") != 1 || !strings.Contains(seen, "got 0") {
			t.Errorf("%s: status %d, %q", name, status, seen)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
