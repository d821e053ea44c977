package search

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/internal/tools/testenv"
)

// installed are the packages of one recipe, and the servers in them.
type installed struct {
	folder  string // below work, from tests/npm.sh
	servers func(bin func(string) string, folder string) []upstream.Server
}

// Real servers, by what their questions are for: the search is tuned on those of
// known and built, and measured on those of held.
var (
	known = installed{"npm", func(bin func(string) string, folder string) []upstream.Server {
		return []upstream.Server{
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
		}
	}}
	built = installed{"servers", func(bin func(string) string, folder string) []upstream.Server {
		return []upstream.Server{
			{Name: "mongodb", Command: bin("mongodb-mcp-server"), Env: map[string]string{"MDB_MCP_TELEMETRY": "disabled", "MDB_MCP_API_CLIENT_ID": "none", "MDB_MCP_API_CLIENT_SECRET": "none"}},
			{Name: "asana", Command: bin("mcp-server-asana"), Env: map[string]string{"ASANA_ACCESS_TOKEN": "none"}},
			{Name: "todoist", Command: bin("todoist-mcp"), Env: map[string]string{"API_KEY": "none"}},
			{Name: "grafana", Command: bin("mcp-grafana"), Env: map[string]string{"GRAFANA_URL": "https://127.0.0.1:1", "GRAFANA_SERVICE_ACCOUNT_TOKEN": "none"}},
			{Name: "hubspot", Command: bin("mcp-hubspot"), Env: map[string]string{"PRIVATE_APP_ACCESS_TOKEN": "none"}},
			{Name: "linear", Command: "node", Args: []string{filepath.Join(filepath.Dir(bin("")), "linear-mcp", "build", "index.js")}, Env: map[string]string{"LINEAR_API_KEY": "none"}},
			{Name: "airtable", Command: bin("airtable-mcp-server"), Env: map[string]string{"AIRTABLE_API_KEY": "pat.none"}},
			{Name: "postgres", Command: bin("postgres-mcp"), Env: map[string]string{"POSTGRES_CONNECTION_STRING": "postgres://none@127.0.0.1:1/none"}},
			{Name: "discord", Command: bin("mcp-discord"), Env: map[string]string{"DISCORD_TOKEN": "none"}},
			{Name: "trello", Command: bin("mcp-server-trello"), Env: map[string]string{"TRELLO_API_KEY": "none", "TRELLO_TOKEN": "none"}},
			{Name: "launchdarkly", Command: bin("mcp"), Args: []string{"start", "--api-key", "none"}},
			{Name: "shopify", Command: bin("shopify-mcp"), Args: []string{"--accessToken", "none", "--domain", "none.myshopify.com"}},
			{Name: "tavily", Command: bin("tavily-mcp"), Env: map[string]string{"TAVILY_API_KEY": "none"}},
			{Name: "mapbox", Command: bin("mcp-server"), Env: map[string]string{"MAPBOX_ACCESS_TOKEN": "pk.eyJ1Ijoibm9uZSJ9.none"}},
		}
	}}
	held = installed{"servers", func(bin func(string) string, folder string) []upstream.Server {
		return []upstream.Server{
			{Name: "git", Command: bin("git-mcp-server")},
			{Name: "sentry", Command: bin("sentry-mcp"), Args: []string{"--access-token=none"}},
			{Name: "xero", Command: bin("xero-mcp-server"), Env: map[string]string{"XERO_CLIENT_ID": "none", "XERO_CLIENT_SECRET": "none"}},
			{Name: "cloudflare", Command: bin("mcp-server-cloudflare"), Args: []string{"run", "0123456789abcdef0123456789abcdef"}, Env: map[string]string{"CLOUDFLARE_API_TOKEN": "none"}},
			{Name: "desktop", Command: bin("desktop-commander")},
			{Name: "firecrawl", Command: bin("firecrawl-mcp"), Env: map[string]string{"FIRECRAWL_API_KEY": "fc-none"}},
			{Name: "circleci", Command: bin("mcp-server-circleci"), Env: map[string]string{"CIRCLECI_TOKEN": "none"}},
		}
	}}
)

// recorded are the tools of servers. Of is the digest of their packages and of how
// they are started.
type recorded struct {
	Of    [sha256.Size]byte
	Tools []catalogue.Tool
}

// real lists the tools of real servers, none if they are not installed. The list
// is recorded once, in a file with the given name.
func real(t testing.TB, name string, from installed) []catalogue.Tool {
	t.Helper()
	root := filepath.Join(filepath.Dir(testenv.NPM(t)), from.folder)
	packages, err := os.ReadFile(filepath.Join(root, "package.json"))
	if err != nil {
		t.Log("the real servers are not installed: run tests/npm.sh, with servers for all")
		return nil
	}
	path := filepath.Join(root, "tools-"+name+".json")
	wanted := sha256.Sum256(fmt.Appendf(packages, "%v", from.servers(filepath.Base, "")))
	var have recorded
	if data, err := os.ReadFile(path); err == nil && json.Unmarshal(data, &have) == nil && have.Of == wanted {
		return have.Tools
	}
	have = recorded{wanted, record(t, root, from)}
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
func record(t testing.TB, root string, from installed) []catalogue.Tool {
	t.Helper()
	folder := t.TempDir()
	bin := func(name string) string { return filepath.Join(root, "node_modules", ".bin", name) }
	var all []catalogue.Tool
	for _, s := range from.servers(bin, folder) {
		if s.Env == nil {
			s.Env = map[string]string{}
		}
		s.Env["HOME"] = folder // some keep files there
		p, err := upstream.New([]upstream.Server{s}, upstream.Options{Environ: os.Environ()})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		tools, err := p.Tools(ctx, s.Name)
		cancel()
		if closed := p.Close(); closed != nil {
			t.Logf("%s: %v", s.Name, closed)
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
