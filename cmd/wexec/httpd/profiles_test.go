package httpd

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/store"
)

// trading is the MCP servers shop, shop.inner and bank, whose tools note their calls.
type trading struct {
	mu     sync.Mutex
	called []string
}

func (x *trading) serve(t *testing.T) (mcpFile string) {
	t.Helper()
	entries := map[string]any{}
	for name, tools := range map[string][]string{"shop": {"list_items", "delete_item"}, "shop.inner": {"list_items"}, "bank": {"pay"}} {
		server := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
		for _, tool := range tools {
			mcp.AddTool(server, &mcp.Tool{Name: tool, Description: "moves goods"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
				x.mu.Lock()
				defer x.mu.Unlock()
				x.called = append(x.called, name+"."+tool)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "done"}}}, nil, nil
			})
		}
		web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
		t.Cleanup(web.Close)
		t.Cleanup(web.CloseClientConnections)
		entries[name] = map[string]string{"type": "http", "url": web.URL}
	}
	file, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	return string(file)
}

// calls returns the calls since the last time.
func (x *trading) calls() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	all := strings.Join(x.called, " ")
	x.called = nil
	return all
}

const someProfiles = `profiles:
  sales: {servers: [shop]}
  reading: {tools: ["*.list_*"]}
  careful: {servers: [shop, bank], tools: ["*.list_*", "bank.*"]}
  nothing: {servers: [missing]}
`

func newTrading(t *testing.T) (*api, *trading) {
	t.Helper()
	x := &trading{}
	return newAPI(t, withSettings(someProfiles, files{"tenants/default/mcp.json": x.serve(t),
		"tenants/default/policy.yaml": "version: 1\ntools: {allow: ['*']}\n"})), x
}

// toolText returns the text that a tool answers an agent with.
func toolText(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) string {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, c := range res.Content {
		if text, ok := c.(*mcp.TextContent); ok {
			all = append(all, text.Text)
		}
	}
	return strings.Join(all, "\n")
}

// everyWay are programs that call a tool by different ways.
var everyWay = map[string]string{
	"javascript":   `return await tools.SERVER.TOOL({})`,
	"by index":     `return await tools["SERVER"]["TOOL"]({})`,
	"by id":        `return await callTool("ID", {})`,
	"by MCP name":  `return await callTool("mcp__SERVER__TOOL", {})`,
	"by two names": `return await callTool("tools.ID", {})`,
	"python":       "return call_tool('ID', {})",
}

func TestAProgramOfAProfileCallsOnlyItsTools(t *testing.T) {
	a, x := newTrading(t)
	for profile, inside := range map[string]string{
		"":        "shop.list_items shop.delete_item shop.inner.list_items bank.pay",
		"sales":   "shop.list_items shop.delete_item",
		"reading": "shop.list_items shop.inner.list_items",
		"careful": "shop.list_items bank.pay",
		"nothing": "",
	} {
		session, err := a.mcpAt("agent", profile, "")
		if err != nil {
			t.Fatal(err)
		}
		found := toolText(t, session, "search_tools", map[string]any{"query": "", "limit": 100})
		for _, id := range strings.Fields("shop.list_items shop.delete_item shop.inner.list_items bank.pay") {
			cut := strings.LastIndexByte(id, '.')
			server, tool := id[:cut], id[cut+1:]
			has := strings.Contains(" "+inside+" ", " "+id+" ")
			call := "tools." + strings.ReplaceAll(server, ".", "_") + "." + tool + ":"
			if strings.Contains(found, call) != has {
				t.Errorf("profile %q: a search finds %s", profile, found)
			}
			for way, code := range everyWay {
				if server == "shop.inner" && way != "by id" {
					continue
				}
				language := "javascript"
				if way == "python" {
					language = way
				}
				code = strings.NewReplacer("SERVER", server, "TOOL", tool, "ID", id).Replace(code)
				res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": language, "code": code, "session": language}})
				if err != nil {
					t.Fatal(err)
				}
				run, err := mcpd.ResultOf(res)
				if err != nil {
					t.Fatal(err)
				}
				called := x.calls()
				switch {
				case has && (called != id || res.IsError):
					t.Errorf("profile %q, %s %s: %+v, called %q", profile, id, way, run.Error, called)
				case !has && (called != "" || run.Error == nil || run.Error.Code != fault.ToolUnknown && run.Error.Code != fault.DeniedTool || run.Error.Hint == ""):
					t.Errorf("profile %q, %s %s: %+v, called %q", profile, id, way, run.Error, called)
				}
			}
		}
	}
}

func TestAProfileShowsOnlyItsServers(t *testing.T) {
	a, _ := newTrading(t)
	for profile, servers := range map[string]string{"": "artifacts, bank, shop, shop_inner", "sales": "shop", "nothing": "none is connected"} {
		session, err := a.mcpAt("agent", profile, "")
		if err != nil {
			t.Fatal(err)
		}
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range list.Tools {
			if tool.Name == "execute_code" && !strings.HasSuffix(tool.Description, "Servers: "+servers+".") {
				t.Errorf("profile %q: %s", profile, tool.Description)
			}
		}
		read, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "wexec://mcp-servers/README.md"})
		if err != nil {
			t.Fatal(err)
		}
		if text := read.Contents[0].Text; strings.Contains(text, "bank") != (profile == "") {
			t.Errorf("profile %q: %s", profile, text)
		}
		if text := toolText(t, session, "describe_tools", map[string]any{"names": []string{"bank.pay"}}); strings.Contains(text, "unknown tool") == (profile == "") {
			t.Errorf("profile %q: %s", profile, text)
		}
	}
}

// A profile and the tools of a token narrow together.
func TestATokenNarrowsAProfile(t *testing.T) {
	a, x := newTrading(t)
	var made struct{ Token string }
	a.call("admin", "POST", "/v1/tokens", `{"name":"n","scopes":["run"],"tools":["*.list_items","bank.*"]}`).is(201, &made)
	a.tokens["narrow"] = made.Token
	session, err := a.mcpAt("narrow", "sales", "")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]fault.Code{"shop.list_items": "", "shop.delete_item": fault.DeniedTool, "bank.pay": fault.ToolUnknown, "shop.inner.list_items": fault.ToolUnknown} {
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript", "code": "return await callTool('" + id + "', {})"}})
		if err != nil {
			t.Fatal(err)
		}
		run, err := mcpd.ResultOf(res)
		if err != nil || (run.Error == nil) != (want == "") || run.Error != nil && run.Error.Code != want || (x.calls() != "") != (want == "") {
			t.Errorf("%s: %+v %v", id, run.Error, err)
		}
	}
}

func TestTheDoorOfAProfile(t *testing.T) {
	a, _ := newTrading(t)
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	for _, c := range []struct {
		token, path string
		status      int
		code        string
	}{
		{"", "/mcp/p/sales", 401, "denied.token"},
		{"", "/mcp/p/unknown", 401, "denied.token"},
		{"wx_wrong", "/mcp/p/sales", 401, "denied.token"},
		{"reader", "/mcp/p/sales", 403, "denied.scope"},
		{"other", "/mcp/p/sales", 404, "usage.profile"}, // a profile of another tenant
		{"agent", "/mcp/p/unknown", 404, "usage.profile"},
		{"agent", "/mcp/p/SALES", 404, "usage.profile"},
		{"agent", "/mcp/p/sales/", 404, "usage.flag"},
		{"agent", "/mcp/p/", 404, "usage.flag"},
	} {
		got := a.call(c.token, "POST", c.path, hello, "Accept", "application/json, text/event-stream")
		var p Problem
		if err := json.Unmarshal(got.body, &p); err != nil || got.status != c.status || string(p.Code) != c.code || p.Hint == "" && c.code == "usage.profile" {
			t.Errorf("%s with %q: %d %s", c.path, c.token, got.status, got.body)
		}
	}
	// A session of MCP belongs to its profile.
	opened := a.call("agent", "POST", "/mcp/p/sales", hello, "Accept", "application/json, text/event-stream")
	id := opened.header.Get("Mcp-Session-Id")
	if opened.status != 200 || id == "" {
		t.Fatalf("%d %s", opened.status, opened.body)
	}
	const list = `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	for path, status := range map[string]int{"/mcp/p/sales": 200, "/mcp/p/reading": 404, "/mcp": 404} {
		if got := a.call("agent", "POST", path, list, "Accept", "application/json, text/event-stream", "Mcp-Session-Id", id); got.status != status {
			t.Errorf("a session of sales at %s: %d %s", path, got.status, got.body)
		}
	}
}

// The globals of a session are those of its profile, also without sessions of MCP.
func TestASessionBelongsToItsProfile(t *testing.T) {
	a, _ := newTrading(t)
	seen := map[string]bool{}
	for _, profile := range []string{"sales", "reading", "", "sales"} {
		session, err := a.mcpAt("agent", profile, "2026-07-28")
		if err != nil {
			t.Fatal(err)
		}
		text := toolText(t, session, "execute_code", map[string]any{"language": "javascript", "session": "work", "code": "const before = globalThis.seen ?? 'new'; globalThis.seen = '" + profile + "'; return before"})
		want := "new"
		if seen[profile] {
			want = profile
		}
		seen[profile] = true
		if text != want {
			t.Errorf("profile %q sees %q, want %q", profile, text, want)
		}
	}
}

func TestProfilesAreReloaded(t *testing.T) {
	a, x := newTrading(t)
	session, err := a.mcpAt("agent", "sales", "")
	if err != nil {
		t.Fatal(err)
	}
	run := func() string {
		return toolText(t, session, "execute_code", map[string]any{"language": "javascript", "code": "return await callTool('bank.pay', {})"})
	}
	if text := run(); !strings.Contains(text, "tool.unknown") || x.calls() != "" {
		t.Fatal(text)
	}
	withSettings("profiles: {sales: {servers: [shop, bank]}, late: {servers: [bank]}}\n", files{}).write(t, a.data)
	if err := a.service.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := run(); text != "done" || x.calls() != "bank.pay" {
		t.Error(text)
	}
	if _, err := a.mcpAt("agent", "late", ""); err != nil {
		t.Error(err)
	}
	withSettings("profiles: {late: {servers: [bank]}}\n", files{}).write(t, a.data)
	if err := a.service.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "search_tools", Arguments: map[string]any{"query": ""}}); err == nil {
		t.Error("a profile that is gone answers")
	}
	// A file that cannot be used changes nothing.
	withSettings("profiles: {late: {servers: []}}\n", files{}).write(t, a.data)
	if err := a.service.Reload(t.Context()); fault.CodeOf(err) != fault.UsageConfig {
		t.Error(err)
	}
	if _, err := a.mcpAt("agent", "late", ""); err != nil {
		t.Error(err)
	}
}

// A run of a profile keeps it in the store, so that another server that executes it
// gives it nothing else.
func TestTheStoreKnowsTheProfileOfARun(t *testing.T) {
	a, _ := newTrading(t)
	session, err := a.mcpAt("agent", "sales", "")
	if err != nil {
		t.Fatal(err)
	}
	_ = toolText(t, session, "execute_code", map[string]any{"language": "javascript", "code": "return 1"})
	runs, _, err := a.store.Runs(t.Context(), "default", store.Filter{Limit: 1})
	if err != nil || len(runs) != 1 {
		t.Fatal(runs, err)
	}
	run, err := a.store.Run(t.Context(), "default", runs[0].ID)
	if err != nil || !strings.Contains(string(run.Request), `"profile":"sales"`) {
		t.Errorf("%s %v", run.Request, err)
	}
}
