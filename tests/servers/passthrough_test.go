package servers

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/internal/tools/testenv"
)

// overStdio connects a client to wexec mcp in a project with the server "everything".
func overStdio(t *testing.T, version, rules string) *mcp.ClientSession {
	t.Helper()
	dir, vars := project(t, rules)
	cmd := exec.Command(testenv.Program(t, "wexec"), "mcp", "--mcp", "mcp.json", "--policy", "policy.yaml")
	cmd.Dir, cmd.Env = dir, vars
	session, err := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: cmd, TerminateDuration: time.Minute}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close() })
	return session
}

// offered is what a client can list of the server "everything".
type offered struct{ resources, templates, prompts []string }

func offeredBy(t *testing.T, session *mcp.ClientSession) (o offered) {
	t.Helper()
	resources, err := session.ListResources(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range resources.Resources {
		if strings.HasPrefix(r.URI, "wexec://resources/everything/") {
			o.resources = append(o.resources, r.URI)
		}
	}
	templates, err := session.ListResourceTemplates(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range templates.ResourceTemplates {
		if strings.HasPrefix(r.URITemplate, "wexec://resources/everything/") {
			o.templates = append(o.templates, r.URITemplate)
		}
	}
	prompts, err := session.ListPrompts(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range prompts.Prompts {
		if strings.HasPrefix(p.Name, "everything.") {
			o.prompts = append(o.prompts, p.Name)
		}
	}
	return o
}

// TestResourcesAndPromptsOfARealServerPass connects the reference server, and a client
// that lists and reads what it has: each kind where the policy allows it.
func TestResourcesAndPromptsOfARealServerPass(t *testing.T) {
	if testing.Short() {
		t.Skip("short: starts servers of Node")
	}
	const text = "wexec://resources/everything/demo://resource/dynamic/text/7"
	for name, c := range map[string]struct {
		rules              string
		resources, prompts bool
	}{
		"both":            {"servers: {everything: {resources: allow, prompts: allow}}\n", true, true},
		"resources":       {"servers: {everything: {resources: allow, prompts: deny}}\n", true, false},
		"prompts":         {"servers: {everything: {prompts: allow}}\n", false, true},
		"neither":         {"", false, false},
		"another server":  {"servers: {other: {resources: allow, prompts: allow}}\n", false, false},
		"tools denied":    {"  deny: [everything.read_resource, everything.get_prompt, \"everything.list_*\"]\nservers: {everything: {resources: allow, prompts: allow}}\n", false, false},
		"a deny rule too": {"servers: {everything: {resources: deny, prompts: deny}, \"*\": {resources: allow, prompts: allow}}\n", false, false},
	} {
		t.Run(name, func(t *testing.T) {
			session := overStdio(t, "", c.rules)
			list := offeredBy(t, session)
			if got := len(list.resources) > 0; got != c.resources {
				t.Errorf("resources: %q", list.resources)
			}
			if got := slices.Contains(list.templates, "wexec://resources/everything/demo://resource/dynamic/text/{resourceId}"); got != c.resources || !got && len(list.templates) > 0 {
				t.Errorf("templates: %q", list.templates)
			}
			if got := slices.Contains(list.prompts, "everything.args-prompt"); got != c.prompts || !got && len(list.prompts) > 0 {
				t.Errorf("prompts: %q", list.prompts)
			}
			for _, uri := range append(list.resources, text) {
				res, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri})
				if (err == nil) != c.resources || err == nil && (len(res.Contents) != 1 || res.Contents[0].URI != uri || len(res.Contents[0].Text)+len(res.Contents[0].Blob) == 0) {
					t.Errorf("%s is %+v: %v", uri, res, err)
				}
			}
			prompt, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "everything.args-prompt", Arguments: map[string]string{"city": "Ghent"}})
			if (err == nil) != c.prompts || err == nil && (len(prompt.Messages) != 1 || !strings.Contains(prompt.Messages[0].Content.(*mcp.TextContent).Text, "Ghent")) {
				t.Errorf("the prompt is %+v: %v", prompt, err)
			}
			if embedded, err := session.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "everything.resource-prompt", Arguments: map[string]string{"resourceType": "Text", "resourceId": "7"}}); err == nil {
				found := false
				for _, m := range embedded.Messages {
					if r, ok := m.Content.(*mcp.EmbeddedResource); ok {
						found = r.Resource.URI == text
					}
				}
				if !found {
					t.Errorf("the prompt does not have the resource as a client reads it: %+v", embedded)
				}
			} else if c.prompts {
				t.Error(err)
			}
		})
	}
}

// TestChangesOfARealServerAreNotAnnounced checks that wexec does not announce what
// it does not pass on: the capabilities are absent, and a subscription is an error,
// though the server has both.
func TestChangesOfARealServerAreNotAnnounced(t *testing.T) {
	if testing.Short() {
		t.Skip("short: starts servers of Node")
	}
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		session := overStdio(t, version, "servers: {everything: {resources: allow, prompts: allow}}\n")
		c := session.InitializeResult().Capabilities
		if data, err := json.Marshal(c); err != nil || c.Resources == nil || c.Resources.Subscribe || c.Resources.ListChanged || c.Prompts == nil || c.Prompts.ListChanged || c.Completions != nil {
			t.Errorf("%s: wexec announces %s: %v", version, data, err)
		}
		// In the newer protocol a client is told which of its subscriptions there are.
		err := session.Subscribe(t.Context(), &mcp.SubscribeParams{URI: "wexec://resources/everything/demo://resource/dynamic/text/7"})
		if version == "2025-06-18" && err == nil {
			t.Error("a subscription has no error")
		}
	}
}
