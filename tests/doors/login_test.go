package doors

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// lockedServer is an MCP server that accepts clients after consent at /agree, with
// the part of an authorization server that this needs.
func lockedServer(t *testing.T) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "vault", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "open", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "gold"}}}, nil
	})
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	var base string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		doc := map[string]any{}
		switch {
		case r.URL.Path == "/mcp" && r.Header.Get("Authorization") == "Bearer let-me-in":
			tools.ServeHTTP(w, r)
			return
		case r.URL.Path == "/mcp":
			http.Error(w, "log in first", http.StatusUnauthorized)
			return
		case strings.HasPrefix(r.URL.Path, "/.well-known/oauth-protected-resource"):
			doc["resource"], doc["authorization_servers"] = base+"/mcp", []string{base}
		case r.URL.Path == "/.well-known/oauth-authorization-server":
			doc["issuer"], doc["authorization_endpoint"], doc["token_endpoint"] = base, base+"/agree", base+"/token"
			doc["registration_endpoint"], doc["code_challenge_methods_supported"] = base+"/register", []string{"S256"}
			doc["response_types_supported"] = []string{"code"}
		case r.URL.Path == "/register":
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_, _ = w.Write([]byte(`{"client_id": "wexec-1"}`))
			return
		case r.URL.Path == "/agree":
			http.Redirect(w, r, r.FormValue("redirect_uri")+"?code=yes&state="+r.FormValue("state"), http.StatusFound)
			return
		case r.URL.Path == "/token" && r.FormValue("code") == "yes" && r.FormValue("code_verifier") != "":
			doc["access_token"], doc["token_type"] = "let-me-in", "Bearer"
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(doc)
	}))
	t.Cleanup(server.Close)
	base = server.URL
	return base
}

// TestLoginAtAServer logs in as a person does, process by process.
func TestLoginAtAServer(t *testing.T) {
	dir, env := furnished(t, "version: 1\ntools: {allow: [\"vault.*\"]}\n")
	config := fmt.Sprintf(`{"mcpServers": {"vault": {"url": %q}}}`, lockedServer(t)+"/mcp")
	if err := os.WriteFile(filepath.Join(dir, "http.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) string {
		out, err := command(t.Context(), dir, env, args...).CombinedOutput()
		if err != nil {
			return fmt.Sprintf("%s%v", out, err)
		}
		return string(out)
	}
	use := []string{"run", "--mcp", "http.json", "--policy", "policy.yaml", "-l", "js", "-e", "return await tools.vault.open()"}
	if out := run(use...); !strings.Contains(out, "server vault requires a login") || !strings.Contains(out, "hint: run wexec mcp login vault") || !strings.Contains(out, "exit status 5") {
		t.Fatalf("without a login: %s", out)
	}
	if out := run("mcp", "login", "--status", "--mcp", "http.json"); !strings.HasPrefix(out, "out ") {
		t.Errorf("status: %s", out)
	}

	login := command(t.Context(), dir, env, "mcp", "login", "vault", "--mcp", "http.json")
	says, err := login.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := login.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	for lines := bufio.NewScanner(says); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if address := strings.TrimSpace(lines.Text()); strings.HasPrefix(address, "http://") {
			resp, err := http.Get(address) // the browser
			if err != nil {
				t.Fatal(err)
			}
			_ = resp.Body.Close()
		}
	}
	if err := login.Wait(); err != nil || !strings.Contains(said.String(), "logged in to vault, which offers 1 tool") {
		t.Fatalf("%v\n%s", err, &said)
	}
	if out := run(use...); out != "gold\n" {
		t.Errorf("after the login: %s", out)
	}
	if out := run("mcp", "login", "--status", "--json", "--mcp", "http.json"); !strings.Contains(out, `"state": "in"`) || strings.Contains(out, "let-me-in") {
		t.Errorf("status: %s", out)
	}
	if out := run("mcp", "login", "--logout", "vault", "--mcp", "http.json"); !strings.Contains(out, "logged out of vault") {
		t.Errorf("logout: %s", out)
	}
	if out := run(use...); !strings.Contains(out, "wexec mcp login vault") {
		t.Errorf("after logging out: %s", out)
	}
	if out := run("mcp", "login", "valt", "--mcp", "http.json"); !strings.Contains(out, "did you mean vault?") {
		t.Errorf("a slip: %s", out)
	}
}
