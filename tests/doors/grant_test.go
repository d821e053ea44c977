//go:build unix

package doors

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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
