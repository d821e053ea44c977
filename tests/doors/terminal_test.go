//go:build unix

package doors

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/creack/pty"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// terminal is a process at a pseudo-terminal.
type terminal struct {
	t    *testing.T
	cmd  *exec.Cmd
	tty  *os.File
	seen lockedBuffer
	done chan struct{}
}

func atTerminal(t *testing.T, cmd *exec.Cmd) *terminal {
	t.Helper()
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 30, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, cmd: cmd, tty: tty, done: make(chan struct{})}
	go func() {
		defer close(x.done)
		_, _ = io.Copy(&x.seen, tty) // ends with EIO when the process does
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = tty.Close()
	})
	return x
}

// sees waits until the screen has had a text.
func (x *terminal) sees(text string) {
	x.t.Helper()
	x.shows(regexp.MustCompile(regexp.QuoteMeta(text)))
}

// shows waits until the screen has had what a pattern fits.
func (x *terminal) shows(pattern *regexp.Regexp) {
	x.t.Helper()
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if pattern.MatchString(x.seen.String()) {
			return
		}
	}
	x.t.Fatalf("%q was not seen in %q", pattern, x.seen.String())
}

func (x *terminal) types(keys string) {
	x.t.Helper()
	if _, err := io.WriteString(x.tty, keys); err != nil {
		x.t.Fatal(err)
	}
}

// ends waits for the process and gives its exit status.
func (x *terminal) ends() int {
	x.t.Helper()
	waited := make(chan error, 1)
	go func() { waited <- x.cmd.Wait() }()
	select {
	case <-waited:
	case <-time.After(90 * time.Second):
		x.t.Fatalf("the process does not end: %q", x.seen.String())
	}
	<-x.done
	return x.cmd.ProcessState.ExitCode()
}

func TestApprovalsAtATerminal(t *testing.T) {
	for _, c := range []struct {
		keys   string
		status int
		want   string
	}{
		{"maybe\ny\n", 0, "done"},
		{"n\n", 3, "denied.approval"},
	} {
		dir, env := furnished(t, askingPolicy)
		x := atTerminal(t, command(t.Context(), dir, env, "run", "--mcp", "mcp.json", "--policy", "policy.yaml", "-l", "js", "-e",
			`await tools.github.create_issue({title: "x\u001b[2Jall is well\u202etxt"}); return "done"`))
		x.sees("[y]es, [n]o, [a]lways for this run: ")
		shown := x.seen.String()
		if !strings.Contains(shown, "approve?") || !strings.Contains(shown, "github.create_issue") {
			t.Errorf("the question is %q", shown)
		}
		if strings.Contains(shown, "\x1b[2J") || strings.Contains(shown, "\u202e") || !strings.Contains(shown, `all is well`) {
			t.Errorf("control characters reach the terminal: %q", shown)
		}
		x.types(c.keys)
		if got := x.ends(); got != c.status || !strings.Contains(x.seen.String(), c.want) {
			t.Errorf("%q: status %d, %q", c.keys, got, x.seen.String())
		}
	}
}

func TestAlwaysHoldsForTheRun(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	x := atTerminal(t, command(t.Context(), dir, env, "run", "--mcp", "mcp.json", "--policy", "policy.yaml", "-l", "js", "-e",
		`for (let i = 0; i < 3; i++) await tools.github.create_issue({title: "n" + i}); return "three"`))
	x.sees("[a]lways")
	x.types("a\n")
	if got := x.ends(); got != 0 || strings.Count(x.seen.String(), "approve?") != 1 || !strings.Contains(x.seen.String(), "three") {
		t.Errorf("status %d, %q", got, x.seen.String())
	}
}

func TestProgressIsOneLineThatDisappears(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "js", "-e", `await new Promise(r => setTimeout(r, 1500)); return "slept"`))
	if got := x.ends(); got != 0 {
		t.Fatalf("status %d", got)
	}
	seen := x.seen.String()
	if !regexp.MustCompile(`\r\x1b\[K[^\n]*\d\.\d s`).MatchString(seen) {
		t.Errorf("no progress was shown: %q", seen)
	}
	last := seen[strings.LastIndex(seen, "\r\x1b[K")+len("\r\x1b[K"):]
	if strings.TrimSpace(last) != "slept" {
		t.Errorf("%q is left behind", last)
	}
}

// TestNothingIsPrintedDuringAQuestion has the program go on while a question is
// open: nothing is drawn until it is answered.
func TestNothingIsPrintedDuringAQuestion(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	x := atTerminal(t, command(t.Context(), dir, env, "run", "--mcp", "mcp.json", "--policy", "policy.yaml", "-l", "js", "-e",
		`const asked = tools.github.create_issue({title: "one"});
for (let i = 0; i < 12; i++) await new Promise(r => setTimeout(r, 100));
console.log("went on"); console.error("\x1b[2J\x1b[H▐ approve? shop.look"); progress(1, 2, "half"); await asked; return "done"`))
	x.sees("for this run: ")
	time.Sleep(2500 * time.Millisecond)
	open := x.seen.String()
	if open = open[strings.Index(open, "approve?"):]; strings.Contains(open, "\x1b[K") || !strings.HasSuffix(open, "for this run: ") {
		t.Errorf("something was drawn during the question: %q", open)
	}
	x.types("y\n")
	if got := x.ends(); got != 0 || !strings.Contains(x.seen.String(), "went on\r\n\\u{2590} approve? shop.look\r\n") || !strings.Contains(x.seen.String(), "done") {
		t.Errorf("status %d, %q", got, x.seen.String())
	}
}

// TestProgressShowsCallsInFlight watches a call of a slow server from a
// terminal, while it goes on.
func TestProgressShowsCallsInFlight(t *testing.T) {
	dir, env := furnished(t, "version: 1\ntools: {allow: [\"slow.*\"]}\n")
	server := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	answer := make(chan struct{})
	server.AddTool(&mcp.Tool{Name: "work", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		<-answer
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "worked"}}}, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	if err := os.WriteFile(filepath.Join(dir, "slow.json"), fmt.Appendf(nil, `{"mcpServers": {"slow": {"url": %q}}}`, web.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	x := atTerminal(t, command(t.Context(), dir, env, "run", "--mcp", "slow.json", "--policy", "policy.yaml", "-l", "js", "-e",
		`const one = tools.slow.work(), two = tools.slow.work(); await one; return await two`))
	times := regexp.MustCompile(`\r\x1b\[K[^\r\n]*in flight: slow\.work (\d+\.\d s) \+1  fuel \d`)
	told := map[string]bool{}
	for end := time.Now().Add(90 * time.Second); len(told) < 3; time.Sleep(10 * time.Millisecond) { // it ticks while nothing else happens
		for _, at := range times.FindAllStringSubmatch(x.seen.String(), -1) {
			told[at[1]] = true
		}
		if time.Now().After(end) {
			t.Fatalf("%q", x.seen.String())
		}
	}
	close(answer)
	if got := x.ends(); got != 0 {
		t.Fatalf("status %d: %q", got, x.seen.String())
	}
	seen := x.seen.String()
	if last := seen[strings.LastIndex(seen, "\r\x1b[K")+len("\r\x1b[K"):]; strings.TrimSpace(last) != "worked" {
		t.Errorf("%q is left behind", last)
	}
}

func TestCtrlCOnceStopsTheRunAndSaysWhatWasDone(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	x := atTerminal(t, command(t.Context(), dir, env, "run", "--mcp", "mcp.json", "--policy", "policy.yaml", "-l", "js", "-e",
		`await tools.github.list_commits({limit: 3}); console.log("listed"); for (;;);`))
	x.sees("listed")
	time.Sleep(200 * time.Millisecond)
	begun := time.Now()
	x.types("\x03")
	if got := x.ends(); got != 130 {
		t.Errorf("status %d", got)
	}
	if took := time.Since(begun); took > 25*time.Second {
		t.Errorf("it took %v to stop", took)
	}
	seen := x.seen.String()
	if !strings.Contains(seen, "interrupted") || !strings.Contains(seen, "github.list_commits") {
		t.Errorf("it does not say what was done: %q", seen)
	}
}

func TestCtrlCEndsWhatIsNoRunToo(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	records := filepath.Join(dir, "records")
	if out, err := command(t.Context(), dir, env, "run", "--audit", records, "-l", "js", "-e", "1").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	x := atTerminal(t, command(t.Context(), dir, env, "audit", "show", "--follow", "--audit", records))
	x.sees("end ")
	time.Sleep(200 * time.Millisecond)
	x.types("\x03")
	if got := x.ends(); got != 130 {
		t.Errorf("following the records: status %d", got)
	}

	started := filepath.Join(dir, "started")
	slow := fmt.Sprintf(`{"mcpServers": {"slow": {"command": "sh", "args": ["-c", "touch %s; sleep 600"]}}}`, started)
	if err := os.WriteFile(filepath.Join(dir, "slow.json"), []byte(slow), 0o600); err != nil {
		t.Fatal(err)
	}
	x = atTerminal(t, command(t.Context(), dir, env, "tools", "list", "--mcp", "slow.json"))
	for begun := time.Now(); time.Since(begun) < 30*time.Second; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(started); err == nil {
			break
		}
	}
	time.Sleep(200 * time.Millisecond)
	x.types("\x03")
	if got, seen := x.ends(), x.seen.String(); got != 130 || !strings.Contains(seen, "interrupted") || strings.Contains(seen, "there is no tool") {
		t.Errorf("waiting for a server: status %d: %s", got, seen)
	}
}

func TestCtrlCTwiceEndsTheProcess(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	// A watch lives on after a run; an interrupt ends it.
	x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "js", "-e", `console.log("on"); for (;;);`))
	x.sees("on")
	x.types("\x03\x03")
	if got := x.ends(); got != 130 {
		t.Errorf("status %d: %q", got, x.seen.String())
	}
}

func TestNoPromptWithoutATerminal(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	cmd := command(t.Context(), dir, env, "run", "--mcp", "mcp.json", "--policy", "policy.yaml", "-l", "js", "-e", `await tools.github.create_issue({title: "x"})`)
	cmd.Stdin = strings.NewReader("y\ny\n")
	out, err := cmd.CombinedOutput()
	if err == nil || cmd.ProcessState.ExitCode() != 3 || strings.Contains(string(out), "approve?") {
		t.Errorf("%v: %s", err, out)
	}
}

func TestHelpFitsTheTerminal(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "NO_COLOR=") })
	for _, args := range [][]string{{"mcp", "--help"}, {"audit"}, {"--help"}} {
		for _, plain := range []bool{false, true} {
			with := append(slices.Clone(env), "TERM=xterm")
			if plain {
				with = append(with, "NO_COLOR=1")
			}
			x := atTerminal(t, command(t.Context(), dir, with, args...))
			if got := x.ends(); got != 0 {
				t.Fatalf("status %d: %q", got, x.seen.String())
			}
			text := x.seen.String()
			if painted := strings.Contains(text, "\x1b[1m"); painted == plain {
				t.Errorf("%q, NO_COLOR %v: %q", args, plain, text)
			}
			for line := range strings.Lines(regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(text, "")) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); n > 100 {
					t.Errorf("%q has a line of %d characters: %q", args, n, line)
				}
			}
		}
	}
}
