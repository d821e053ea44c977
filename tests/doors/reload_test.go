//go:build unix

package doors

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serving is a running wexec mcp with a client, in a trusted project.
type serving struct {
	t       *testing.T
	dir     string
	env     []string
	process *exec.Cmd
	log     lockedBuffer
	session *mcp.ClientSession
}

func serve(t *testing.T, rules string) *serving {
	t.Helper()
	x := &serving{t: t}
	x.dir, x.env = furnished(t, rules)
	x.write("wexec.yaml", "mcp: mcp.json\nlog: info\nlimits: {time: 5m, tool_calls: 5000}\n")
	x.trust()
	x.process = command(t.Context(), x.dir, x.env, "mcp")
	x.process.Stderr = &x.log
	x.session = x.connect(x.process)
	return x
}

func (x *serving) connect(cmd *exec.Cmd) *mcp.ClientSession {
	x.t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "c", Version: "1"}, nil).
		Connect(x.t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Minute}, nil)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(func() { _ = session.Close() })
	return session
}

func (x *serving) write(name, text string) {
	x.t.Helper()
	if err := os.WriteFile(filepath.Join(x.dir, name), []byte(text), 0o600); err != nil {
		x.t.Fatal(err)
	}
}

func (x *serving) trust() {
	x.t.Helper()
	if out, err := command(x.t.Context(), x.dir, x.env, "config", "trust").CombinedOutput(); err != nil {
		x.t.Fatalf("%v: %s", err, out)
	}
}

// call calls a tool of the server and returns the text of its answer.
func (x *serving) call(name string, args map[string]any) string {
	x.t.Helper()
	res, err := x.session.CallTool(x.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		x.t.Fatal(err)
	}
	var texts []string
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	return strings.Join(texts, "\n")
}

func (x *serving) run(code string) string {
	x.t.Helper()
	return x.call("execute_code", map[string]any{"language": "javascript", "code": code})
}

// until waits until an answer has what is wanted.
func (x *serving) until(want bool, part string, answer func() string) string {
	x.t.Helper()
	last := ""
	for end := time.Now().Add(90 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if last = answer(); strings.Contains(last, part) == want {
			return last
		}
	}
	x.t.Fatalf("%q: want %v, got %q; log: %s", part, want, last, x.log.String())
	return ""
}

func (x *serving) search() string { return x.call("search_tools", map[string]any{"query": ""}) }

const allowing = "version: 1\ntools:\n  allow: [\"github.*\"]\n"

func TestARunningServerFollowsItsPolicy(t *testing.T) {
	x := serve(t, allowing)
	list := `return (await tools.github.list_commits({limit: 3})).length`
	if got := x.run(list); !strings.Contains(got, "3") {
		t.Fatalf("%q", got)
	}
	denied := make(chan string, 1)
	go func() {
		res, err := x.session.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript",
			"code": `for (;;) { try { await tools.github.list_commits({limit: 1}) } catch (e) { return e.code + " " + (await tools.github.get_commit({sha: "x"}).catch(e => e.code)) } await new Promise(r => setTimeout(r, 200)) }`}})
		if err != nil {
			denied <- err.Error()
			return
		}
		denied <- res.Content[0].(*mcp.TextContent).Text
	}()
	// A changed policy is not trusted. What it denies applies at once, also to the
	// run in flight, which keeps everything else.
	x.write("policy.yaml", allowing+"  deny: [github.list_commits] # no more\n")
	select {
	case got := <-denied:
		if !strings.HasPrefix(got, "denied.tool") || strings.Count(got, "denied") != 1 {
			t.Errorf("the run in flight: %q", got)
		}
	case <-time.After(90 * time.Second):
		t.Fatalf("the run in flight is not denied; log: %s", x.log.String())
	}
	const todo = "policy.yaml changed since a person trusted them: read them, then run: wexec config trust"
	x.until(true, todo, x.search)
	if got := x.run(`return await tools.github.get_commit({sha: "x"})`); !strings.Contains(got, todo) {
		t.Errorf("an error does not say that the policy is not trusted: %q", got)
	}
	late := x.connect(command(t.Context(), x.dir, x.env, "mcp"))
	if got := late.InitializeResult().Instructions; !strings.Contains(got, todo) {
		t.Errorf("the instructions do not say that the policy is not trusted: %q", got)
	}
	// Trust is followed too.
	x.trust()
	if got := x.until(false, "not trusted", x.search); strings.Contains(got, "list_commits") || !strings.Contains(got, "get_commit") {
		t.Errorf("after trust: %q", got)
	}
	// A file that cannot be read changes nothing.
	x.write("policy.yaml", "version: 1\ntools: [\n")
	if got := x.until(true, "the changed configuration is not used, the last one still applies: ", x.search); !strings.Contains(got, "get_commit") || !strings.Contains(got, "policy.yaml:2") {
		t.Errorf("after a damaged file: %q", got)
	}
	// Servers are followed as well.
	x.write("policy.yaml", "version: 1\ntools:\n  allow: [\"*\"]\n")
	demo := strings.ReplaceAll(string(must(os.ReadFile(filepath.Join(x.dir, "mcp.json")))), "github", "jira")
	x.write("mcp.json", demo)
	x.trust()
	x.until(true, "jira", x.search)
	if got := x.run(list); !strings.Contains(got, "github") || strings.Contains(got, "3\n") {
		t.Errorf("a removed server: %q", got)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func TestSIGHUPReloadsTheConfiguration(t *testing.T) {
	x := serve(t, allowing)
	if err := x.process.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	x.until(true, "the configuration is reloaded", x.log.String)
	if got := x.search(); !strings.Contains(got, "list_commits") {
		t.Errorf("%q", got)
	}
}

// TestARunInFlightGetsNothingFromALooserPolicy has a program that waits for a right: a
// person adds it and trusts it, and only new runs have it. A file that nobody trusts
// gives nothing to either.
func TestARunInFlightGetsNothingFromALooserPolicy(t *testing.T) {
	const denying = "version: 1\ntools:\n  allow: [github.get_commit]\n"
	x := serve(t, denying)
	const ask = `await tools.github.list_commits({limit: 1}).then(() => "allowed", (e) => e.code)`
	ended := make(chan string, 1)
	go func() {
		res, err := x.session.CallTool(context.WithoutCancel(t.Context()), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript",
			"code": `const seen = new Set(); for (;;) { seen.add(` + ask + `);
if (await tools.github.get_commit({sha: "x"}).then(() => false, () => true)) return [...seen].join(); await new Promise(r => setTimeout(r, 100)) }`}})
		if err != nil {
			ended <- err.Error()
			return
		}
		ended <- res.Content[0].(*mcp.TextContent).Text
	}()
	// Nobody trusts the looser policy.
	x.write("policy.yaml", allowing)
	x.until(true, "not trusted", func() string { return x.search() + x.log.String() })
	if got := x.run("return " + ask); strings.Contains(got, "allowed") {
		t.Errorf("a policy that nobody trusts allows: %q", got)
	}
	// A person does, and new runs have it.
	x.trust()
	x.until(true, "allowed", func() string { return x.run("return " + ask) })
	// A server that is swapped with it is not the one of the run in flight.
	x.write("mcp.json", strings.ReplaceAll(string(must(os.ReadFile(filepath.Join(x.dir, "mcp.json")))), `"github":`, `"jira":`))
	x.trust()
	x.until(false, "list_commits", x.search)
	// The run in flight ends by a new denial.
	x.write("policy.yaml", allowing+"  deny: [github.get_commit]\n")
	select {
	case got := <-ended:
		if strings.Contains(got, "allowed") || !strings.HasPrefix(got, "denied.tool") {
			t.Errorf("the run in flight saw %q", got)
		}
	case <-time.After(90 * time.Second):
		t.Fatalf("the run in flight is not denied; log: %s", x.log.String())
	}
}
