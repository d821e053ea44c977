package doors

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/internal/tools/testenv"
)

const askingPolicy = "version: 1\ntools:\n  allow: [github.list_*]\n  ask: [github.create_*]\napprovals: {remember: run}\n"

// furnished is a folder with servers and a policy, and the environment of a
// process that runs in it.
func furnished(t *testing.T, rules string) (dir string, env []string) {
	t.Helper()
	demo := testenv.Program(t, "demo-server")
	dir = t.TempDir()
	for name, text := range map[string]string{
		"mcp.json":    fmt.Sprintf(`{"mcpServers": {"github": {"command": %q, "args": ["github"]}}}`, demo),
		"policy.yaml": rules,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "WEXEC_CACHE=" + testenv.Cache(), "TERM=xterm",
		"XDG_RUNTIME_DIR=" + filepath.Join(dir, "run")}
}

func command(ctx context.Context, dir string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "wexec", args...)
	cmd.Dir, cmd.Env = dir, env
	return cmd
}

// TestAClientOfARealProcessApproves drives wexec mcp over its standard streams,
// with a client that shows forms.
func TestAClientOfARealProcessApproves(t *testing.T) {
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		dir, env := furnished(t, askingPolicy)
		cmd := command(t.Context(), dir, env, "mcp", "--mcp", "mcp.json", "--policy", "policy.yaml")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		var shown []string
		client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				shown = append(shown, r.Params.Message)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": "yes"}}, nil
			}})
		session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: 2 * time.Minute}, &mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript",
			"code": "const n = (await tools.github.list_commits({limit: 3})).length; await tools.github.create_issue({title: 'a new door'}); return {n}"}})
		if err != nil {
			t.Fatalf("%v\n%s", err, &stderr)
		}
		data, err := json.Marshal(res.StructuredContent)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(data), `"value":{"n":3}`) || len(shown) != 1 || !strings.Contains(shown[0], "a new door") {
			t.Errorf("%s: %s, shown %q", version, data, shown)
		}
		begun := time.Now()
		if err := session.Close(); err != nil {
			t.Errorf("%s: %v", version, err)
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("%s: the process took %v to end", version, took)
		}
	}
}

// TestTheHTTPServerOfARealProcess reads the address and the token that it
// shows, as a person would.
func TestTheHTTPServerOfARealProcess(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	cmd := command(t.Context(), dir, env, "mcp", "--http", "0", "--mcp", "mcp.json", "--policy", "policy.yaml")
	var stderr lockedBuffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile(`at (http://127\.0\.0\.1:\d+/mcp)[\s\S]*Bearer (\w+)`)
	var found []string
	for end := time.Now().Add(90 * time.Second); found == nil && time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		found = shown.FindStringSubmatch(stderr.String())
	}
	if found == nil {
		t.Fatalf("the server says %q", stderr.String())
	}
	session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: found[1], HTTPClient: withToken(found[2])}, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_tools", Arguments: map[string]any{"query": "commits"}})
	if err != nil || res.IsError {
		t.Fatalf("%v %v", res, err)
	}
	_ = session.Close()
	if runtime.GOOS == "windows" {
		_ = cmd.Process.Kill()
		return
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after an interrupt: %v, %s", err, stderr.String())
	}
}

// lockedBuffer collects what a process writes while a test reads it.
type lockedBuffer struct {
	mu  sync.Mutex
	all []byte
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = append(b.all, p...)
	return len(p), nil
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.all)
}

type tokenTransport string

func (t tokenTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}

func withToken(token string) *http.Client { return &http.Client{Transport: tokenTransport(token)} }
