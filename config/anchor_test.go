package config

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
)

// notary is an MCP server with a tool that keeps heads.
type notary struct {
	mu    sync.Mutex
	heads []json.RawMessage
}

func (n *notary) serve(t *testing.T) string {
	t.Helper()
	s := mcp.NewServer(&mcp.Implementation{Name: "notary", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "keep", InputSchema: json.RawMessage(`{"type":"object","properties":{"head":{"type":"object"}}}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct {
				Head json.RawMessage `json:"head"`
			}
			if err := json.Unmarshal(r.Params.Arguments, &in); err != nil {
				return nil, err
			}
			n.mu.Lock()
			defer n.mu.Unlock()
			if in.Head != nil {
				n.heads = append(n.heads, in.Head)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "kept"}}}, nil
			}
			all, err := json.Marshal(n.heads)
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(all)}}}, err
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil))
	t.Cleanup(web.Close)
	return web.URL
}

func TestAToolIsAnAnchor(t *testing.T) {
	n := &notary{}
	env := machine(t, map[string]string{
		"config/wexec/wexec.yaml":  fmt.Sprintf("audit: {anchor: {tool: notary.keep, required: true}}\nservers: {notary: {url: %q}}\n", n.serve(t)),
		"config/wexec/policy.yaml": "version: 1\ntools: {allow: ['*']}\n",
	})
	s, err := Load(env, Flags{})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Policy().BestEffect("notary.keep"); got != policy.Deny {
		t.Errorf("programs may call the anchor: %v", got)
	}
	host, err := s.Open(t.Context(), Options{Env: env})
	if err != nil {
		t.Fatal(err)
	}
	if err := host.Close(); err != nil {
		t.Fatal(err)
	}
	heads, ok, err := s.AnchoredHeads(t.Context(), Options{Env: env})
	if err != nil || !ok {
		t.Fatalf("%v, %v", ok, err)
	}
	rep, err := audit.VerifyAnchored(s.Audit.Dir, heads)
	if err != nil || !rep.OK() || rep.Anchor.Heads != len(n.heads) || len(n.heads) == 0 {
		t.Errorf("%+v, %v, heads %s", rep, err, heads)
	}
	if rep, err := audit.VerifyAnchored(t.TempDir(), heads); err != nil || rep.OK() {
		t.Errorf("an empty directory passes: %+v, %v", rep, err)
	}
}

// TestAnAnchorBelongsToItsFolder gives another folder than that of the
// configuration, whose heads must not mix with the others.
func TestAnAnchorBelongsToItsFolder(t *testing.T) {
	env := machine(t, map[string]string{
		"etc/wexec.yaml":          "audit: {dir: records, anchor: {file: heads, every: 5s, records: 10}}\n",
		"config/wexec/wexec.yaml": "audit: {sync: always}\n",
	})
	s, err := Load(env, Flags{})
	if err != nil {
		t.Fatal(err)
	}
	want := "file " + filepath.Join(env.System, "heads")
	if got := s.Audit.Anchor.String(); got != want || s.Audit.Anchor.Every.Seconds() != 5 || s.Audit.Anchor.Records != 10 {
		t.Errorf("anchor %+v, want %s", s.Audit.Anchor, want)
	}
	shown := func(s *Settings) bool {
		for _, v := range s.Values() {
			if strings.HasPrefix(v.Key, "audit.anchor") {
				return true
			}
		}
		return false
	}
	if !shown(s) {
		t.Error("config show has no anchor")
	}
	for name, load := range map[string]func() (*Settings, error){
		"flag": func() (*Settings, error) { return Load(env, Flags{Audit: "other"}) },
		"environment": func() (*Settings, error) {
			e := *env
			e.Vars = append(e.Vars, "WEXEC_AUDIT=other")
			return Load(&e, Flags{})
		},
	} {
		s, err := load()
		if err != nil || s.Audit.Anchor.String() != "" || shown(s) {
			t.Errorf("%s: anchor %s, %v", name, s.Audit.Anchor, err)
		}
	}
	if s, err = Load(env, Flags{Audit: filepath.Join(env.System, "records")}); err != nil || s.Audit.Anchor.String() != want {
		t.Errorf("the same folder: anchor %s, %v", s.Audit.Anchor, err)
	}
}

func TestAnAnchorWithoutAnyPlaceIsRefused(t *testing.T) {
	for _, anchor := range []string{"{command: []}", `{command: [""]}`, "{}", "{every: 1m}"} {
		_, err := parseFile("wexec.yaml", []byte("audit: {anchor: "+anchor+"}\n"))
		if !errors.Is(err, fault.UsageConfig) || !strings.Contains(err.Error(), "must have a file, a command or a tool") {
			t.Errorf("%s gives %v", anchor, err)
		}
	}
}
