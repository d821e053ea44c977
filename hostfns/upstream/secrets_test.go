package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/internal/scrub"
)

func TestSecretsGoIntoTheServersOwnStart(t *testing.T) {
	c := &connection{
		server: Server{Name: "gh", Env: map[string]string{"A": "1", "TOKEN": "configured"}},
		options: &Options{Secrets: func(_ context.Context, server string) ([]hostfns.Secret, error) {
			if server != "gh" {
				return nil, errors.New("asked for " + server)
			}
			return []hostfns.Secret{{As: "env:TOKEN", Value: "v1"}, {As: "header:Authorization: Bearer {}", Value: "v2"}, {As: "header:X-Key", Value: "v3"}, {As: "arg:x", Value: "v4"}}, nil
		}},
	}
	got, values, err := c.withSecrets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(got.Env, map[string]string{"A": "1", "TOKEN": "v1"}) || !maps.Equal(got.Headers, map[string]string{"Authorization": "Bearer v2", "X-Key": "v3"}) {
		t.Fatalf("%v %v", got.Env, got.Headers)
	}
	var texts []string
	for _, v := range values {
		texts = append(texts, v.Value)
	}
	if !slices.Equal(texts, []string{"v1", "v2", "v3", "v4"}) {
		t.Fatalf("values %q", values)
	}
	if c.server.Env["TOKEN"] != "configured" || c.server.Headers != nil {
		t.Fatal("the configuration keeps the secret")
	}
	c.options.Secrets = func(context.Context, string) ([]hostfns.Secret, error) { return nil, errors.New("not set") }
	if _, _, err := c.withSecrets(t.Context()); err == nil {
		t.Fatal("a server starts without its secret")
	}
}

// A secret with characters that JSON and addresses write in other ways.
const givenKey = `k3y"<&>/ü+42`

func TestAServerCannotGiveItsSecretsAway(t *testing.T) {
	p, err := New([]Server{{Name: "leaky", Command: os.Args[0], Env: map[string]string{"SERVER": "plain", "API_KEY": givenKey},
		Secrets: []string{givenKey}, Timeout: 5 * time.Second}}, Options{Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	leaks := func(s string) bool {
		return strings.Contains(s, "k3y") || strings.Contains(s, "azN5") // the second in base64
	}
	tools, err := p.Tools(t.Context(), "leaky")
	if err != nil || leaks(tools[0].Description) || !strings.Contains(tools[0].Description, "[secret]") {
		t.Fatalf("%v, %v", tools, err)
	}
	for how, want := range map[string]string{"text": "key [secret]", "structured": `{"key":"[secret]","list":["x[secret]y"]}`, "base64": "[secret]", "progress": "key [secret]"} {
		var mu sync.Mutex
		var told []string
		heard := filepath.Join(t.TempDir(), "heard")
		got, err := p.Call(t.Context(), hostfns.Call{Server: "leaky", Tool: "leak", Args: fmt.Appendf(nil, `{"How":%q,"Heard":%q}`, how, heard),
			Progress: func(_, _ float64, text string) {
				mu.Lock()
				defer mu.Unlock()
				told = append(told, text)
				_ = os.WriteFile(heard, nil, 0o600)
			}})
		if err != nil || string(got.Data) != want {
			t.Errorf("%s: %s, %v", how, got.Data, err)
		}
		mu.Lock()
		if how == "progress" && (len(told) != 1 || told[0] != "using [secret]") {
			t.Errorf("progress %q", told)
		}
		mu.Unlock()
	}
	for _, how := range []string{"error", "fault", "death"} {
		_, err := call(p, "leaky", "leak", `{"How":"`+how+`"}`)
		if err == nil || leaks(err.Error()+fault.HintOf(err)) || !strings.Contains(err.Error()+fault.HintOf(err), "[secret]") {
			t.Errorf("%s: %v, %q", how, err, fault.HintOf(err))
		}
	}
}

func TestLogsOfAServerHaveNoValues(t *testing.T) {
	var log lockedBuffer
	p, err := New([]Server{{Name: "leaky", Command: os.Args[0], Env: map[string]string{"SERVER": "plain", "API_KEY": givenKey}, Secrets: []string{givenKey}}},
		Options{Environ: os.Environ(), Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Redact: func(s string) string { return strings.ReplaceAll(s, "ada@example.org", "[EMAIL]") }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	const argument = "argument-k3y-of-policy"
	leak := func(how, text string) error {
		args, err := json.Marshal(map[string]string{"How": how, "Text": text})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Call(t.Context(), hostfns.Call{Server: "leaky", Tool: "leak", Args: args, Secrets: []hostfns.Secret{{Name: "ARG", Value: argument}}})
		return err
	}
	if err := leak("log", strings.Repeat("x", maxText/2-20)+" for ada@example.org"); err != nil {
		t.Fatal(err)
	}
	if err := leak("log", "the end "+argument+" for ada@example.org"); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(time.Minute); !strings.Contains(log.String(), "the end"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("nothing is logged: %s", log.String())
		}
	}
	if s := log.String(); strings.Contains(s, "k3y") || strings.Contains(s, "ada@") || !strings.Contains(s, "[secret ARG] for [EMAIL] with [secret]") {
		t.Errorf("the log has %s", s)
	}
	if err := leak("long death", argument); err == nil || strings.Contains(err.Error()+fault.HintOf(err), "policy") {
		t.Errorf("%v %q", err, fault.HintOf(err))
	}
}

func TestDescriptionsAreCleanedAndHaveNoSecrets(t *testing.T) {
	const key = "sk-<b>12345</b>-end"
	l := &live{}
	l.secrets.Add("", key)
	for _, d := range []string{"uses " + key, "uses sk-\u200b<b>12345</b>-end", strings.Repeat("x", 4090) + key, "sk-<b><i>12345</b>-end"} {
		tool, err := l.cleanTool("s", "1", &mcp.Tool{Name: "t", Description: d, InputSchema: map[string]any{"title": d}})
		if err != nil || strings.Contains(tool.Description+string(tool.InputSchema), "sk-<") {
			t.Errorf("%.40q: %v %s", d, tool, err)
		}
	}
	if tool, err := l.cleanTool("s", "1", &mcp.Tool{Name: key}); err == nil && strings.Contains(tool.Name, "12345") {
		t.Errorf("the name is %s", tool.Name)
	}
}

func TestASecretThatIsANumberLeavesJSONWhole(t *testing.T) {
	var s scrub.Scrubber
	for _, v := range []string{"123456789", "abc", "123456789012"} {
		s.Add("", v)
	}
	if got := string(s.Bytes([]byte(`{"pin":123456789,"text":"123456789012 abc"}`))); got != `{"pin":0,"text":"0 abc"}` {
		t.Error(got)
	}
}
