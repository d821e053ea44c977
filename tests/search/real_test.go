package search

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/internal/tools/testenv"
)

type recorded struct {
	Packages json.RawMessage
	Tools    []catalogue.Tool
}

// real lists the tools of real servers, none if they are not installed. The list
// is recorded once, with the packages that it belongs to.
func real(t testing.TB) []catalogue.Tool {
	t.Helper()
	npm := testenv.NPM(t)
	packages, err := os.ReadFile(filepath.Join(npm, "package.json"))
	if err != nil {
		t.Log("the real servers are not installed; run tests/npm.sh")
		return nil
	}
	path := filepath.Join(npm, "tools.json")
	var have recorded
	var wanted bytes.Buffer
	if err := json.Compact(&wanted, packages); err != nil {
		t.Fatal(err)
	}
	if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &have) == nil && bytes.Equal(have.Packages, wanted.Bytes()) {
		return have.Tools
	}
	have = recorded{Packages: wanted.Bytes(), Tools: record(t, npm)}
	data, err := json.Marshal(have)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return have.Tools
}

// record starts the servers, one after the other, and asks for their tools.
func record(t testing.TB, npm string) []catalogue.Tool {
	t.Helper()
	bin := func(name string) string { return filepath.Join(npm, "node_modules", ".bin", name) }
	folder := t.TempDir()
	var all []catalogue.Tool
	for _, s := range []upstream.Server{
		{Name: "filesystem", Command: bin("mcp-server-filesystem"), Args: []string{folder}},
		{Name: "memory", Command: bin("mcp-server-memory"), Env: map[string]string{"MEMORY_FILE_PATH": filepath.Join(folder, "memory.json")}},
		{Name: "everything", Command: bin("mcp-server-everything")},
		{Name: "sequential-thinking", Command: bin("mcp-server-sequential-thinking")},
		{Name: "github-mcp", Command: bin("mcp-server-github"), Env: map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "none"}},
		{Name: "gitlab-mcp", Command: bin("mcp-server-gitlab"), Env: map[string]string{"GITLAB_PERSONAL_ACCESS_TOKEN": "none"}},
		{Name: "slack-mcp", Command: bin("mcp-server-slack"), Env: map[string]string{"SLACK_BOT_TOKEN": "none", "SLACK_TEAM_ID": "none"}},
		{Name: "google-maps", Command: bin("mcp-server-google-maps"), Env: map[string]string{"GOOGLE_MAPS_API_KEY": "none"}},
		{Name: "puppeteer", Command: bin("mcp-server-puppeteer")},
		{Name: "brave-search", Command: bin("mcp-server-brave-search"), Env: map[string]string{"BRAVE_API_KEY": "none"}},
		{Name: "notion-mcp", Command: bin("notion-mcp-server"), Env: map[string]string{"NOTION_TOKEN": "none"}},
		{Name: "playwright", Command: bin("playwright-mcp")},
		{Name: "chrome-devtools", Command: bin("chrome-devtools-mcp"), Args: []string{"--no-usage-statistics"}},
		{Name: "charts", Command: bin("mcp-server-chart")},
	} {
		p, err := upstream.New([]upstream.Server{s}, upstream.Options{Environ: os.Environ()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		tools, err := p.Tools(ctx, s.Name)
		cancel()
		if closed := p.Close(); closed != nil {
			t.Errorf("%s: %v", s.Name, closed)
		}
		if err != nil || len(tools) == 0 {
			t.Fatalf("%s lists %d tools: %v", s.Name, len(tools), err)
		}
		t.Logf("%s: %d tools", s.Name, len(tools))
		for i := range tools {
			tools[i].Server = s.Name
		}
		all = append(all, tools...)
	}
	return all
}
