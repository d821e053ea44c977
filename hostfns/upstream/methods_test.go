package upstream

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// permitting is a gate that permits everything but one feature, and notes what it was
// asked.
type permitting struct {
	hostfns.Gate
	run    context.Context
	denies policy.Feature
	asked  []string
}

func (g *permitting) Lifetime() context.Context { return g.run }
func (g *permitting) Arriving(int64) bool       { return true }
func (g *permitting) Permit(_ context.Context, f policy.Feature, use json.RawMessage) error {
	g.asked = append(g.asked, string(f)+" "+string(use))
	if f == g.denies {
		return &hostfns.Failure{Code: fault.DeniedTool, Message: "denied " + string(f)}
	}
	return nil
}

// reading connects to a server over HTTP that has resources and prompts, which the
// policy allows.
func reading(t *testing.T, more func(*mcp.Server)) *Provider {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "docs", Version: "1"}, nil)
	s.AddResource(&mcp.Resource{URI: "doc://a", Name: "a"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "text"}, {URI: r.Params.URI, Blob: []byte{1}}}}, nil
	})
	s.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "n://{n}", Name: "numbers"}, func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, Text: "n"}}}, nil
	})
	s.AddPrompt(&mcp.Prompt{Name: "greet"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: &mcp.TextContent{Text: "hello"}}}}, nil
	})
	s.AddTool(&mcp.Tool{Name: "plain", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "plain"}}}, nil
	})
	if more != nil {
		more(s)
	}
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(web.Close)
	p, err := New([]Server{{Name: "docs", URL: web.URL}}, Options{Offers: func(string, policy.Feature) bool { return true }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestResourcesAndPromptsAreToolsOfTheServer(t *testing.T) {
	p := reading(t, nil)
	for _, c := range []struct {
		tool, args, want, asked string
		kind                    hostfns.Kind
	}{
		{"list_resources", `{}`, `{"resources":[{"name":"a","uri":"doc://a"}]}`, "resources ", hostfns.JSON},
		{"list_resource_templates", `{}`, `{"resourceTemplates":[{"name":"numbers","uriTemplate":"n://{n}"}]}`, "resources ", hostfns.JSON},
		{"read_resource", `{"uri":"doc://a"}`, `{"contents":[{"text":"text","uri":"doc://a"},{"blob":{"$bytes":"AQ=="},"uri":"doc://a"}]}`, `resources {"uri":"doc://a"}`, hostfns.Content},
		{"list_prompts", `{}`, `{"prompts":[{"name":"greet"}]}`, "prompts ", hostfns.JSON},
		{"get_prompt", `{"name":"greet"}`, `{"messages":[{"content":{"type":"text","text":"hello"},"role":"user"}]}`, `prompts {"name":"greet"}`, hostfns.JSON},
	} {
		gate := &permitting{run: t.Context()}
		a, err := p.Call(t.Context(), hostfns.Call{Server: "docs", Tool: c.tool, Args: json.RawMessage(c.args), Gate: gate})
		if err != nil || a.Kind != c.kind || !sameJSON(a.Data, []byte(c.want)) {
			t.Errorf("%s answered %d %s: %v", c.tool, a.Kind, a.Data, err)
		}
		if !slices.Equal(gate.asked, []string{c.asked}) {
			t.Errorf("%s asked for %q", c.tool, gate.asked)
		}
	}
	for tool, feature := range map[string]policy.Feature{"read_resource": policy.Resources, "list_prompts": policy.Prompts} {
		gate := &permitting{run: t.Context(), denies: feature}
		if a, err := p.Call(t.Context(), hostfns.Call{Server: "docs", Tool: tool, Args: json.RawMessage(`{"uri":"doc://a"}`), Gate: gate}); fault.CodeOf(err) != fault.DeniedTool {
			t.Errorf("%s, which is denied, answered %s: %v", tool, a.Data, err)
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// The library keeps an entry for each URI that was read. A program can read any number.
func TestReadingKeepsNothing(t *testing.T) {
	p := reading(t, nil)
	for i := range 20 {
		args := fmt.Sprintf(`{"uri":"n://%d"}`, i)
		if _, err := p.Call(t.Context(), hostfns.Call{Server: "docs", Tool: "read_resource", Args: json.RawMessage(args), Gate: &permitting{run: t.Context()}}); err != nil {
			t.Fatal(err)
		}
	}
	cache := reflect.ValueOf(p.connections["docs"].live.session).Elem().FieldByName("readResourceCache").FieldByName("cachedValues")
	if n := cache.Len(); n > 0 {
		t.Errorf("%d results are kept", n)
	}
}

// A tool that runs only as a task is refused before the server is asked, and one for
// which a task is optional is called.
func TestAToolThatRunsOnlyAsATaskSaysSo(t *testing.T) {
	var a answers
	a.noteTasks(json.RawMessage(`{"tools":[{"name":"research","execution":{"taskSupport":"required"}},{"name":"plain","execution":{"taskSupport":"optional"}}]}`))
	if !a.needsTask("research") || a.needsTask("plain") {
		t.Error("the wrong tools need a task")
	}
	a.noteTasks(json.RawMessage(`{"tools":[{"name":"research"}]}`))
	if a.needsTask("research") {
		t.Error("a tool that changed still needs a task")
	}
	p := reading(t, nil)
	if _, err := p.Tools(t.Context(), "docs"); err != nil {
		t.Fatal(err)
	}
	p.connections["docs"].live.answers.noteTasks(json.RawMessage(`{"tools":[{"name":"plain","execution":{"taskSupport":"required"}}]}`))
	if _, err := p.Call(t.Context(), hostfns.Call{Server: "docs", Tool: "plain", Args: json.RawMessage(`{}`)}); err == nil || !strings.Contains(err.Error(), "docs.plain runs only as a task") {
		t.Errorf("the call failed with %v", err)
	}
}
