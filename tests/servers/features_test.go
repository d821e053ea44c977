package servers

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/tools/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const featuresToken = "a-token-for-the-tests"

// answered is what client.mjs prints.
type answered struct {
	Asked  []json.RawMessage `json:"asked"`
	Failed bool              `json:"failed"`
	Text   string            `json:"text"`
}

// project is a folder with the server "everything" and a policy.
func project(t *testing.T, rules string) (dir string, vars []string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range map[string]string{
		"mcp.json":    `{"mcpServers": {"everything": {"command": "` + filepath.ToSlash(installed(t, "mcp-server-everything")) + `"}}}`,
		"policy.yaml": "version: 1\ntools:\n  allow: [\"everything.*\"]\n" + rules,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, testenv.Isolated(dir, "WEXEC_HTTP_TOKEN="+featuresToken).Vars
}

var listening = regexp.MustCompile(`http://\S+`)

// typescript runs a program through the client with the official TypeScript SDK.
func typescript(t *testing.T, transport, rules, code string, more ...string) answered {
	t.Helper()
	dir, vars := project(t, rules)
	wexec := testenv.Program(t, "wexec")
	serve := []string{"mcp", "--mcp", "mcp.json", "--policy", "policy.yaml"}
	args := append([]string{filepath.Join("testdata", "client.mjs"), testenv.NPM(t), transport}, wexec)
	if transport == "stdio" {
		args = append(args, "mcp", "--mcp", filepath.Join(dir, "mcp.json"), "--policy", filepath.Join(dir, "policy.yaml"))
	} else {
		server := exec.Command(wexec, append(serve, "--http", "0")...)
		server.Dir, server.Env = dir, vars
		said, err := server.StderrPipe()
		if err == nil {
			err = server.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _, _ = server.Process.Kill(), server.Wait() })
		lines := bufio.NewScanner(said)
		for lines.Scan() && !listening.MatchString(lines.Text()) {
		}
		args = append(args[:3], listening.FindString(lines.Text()), featuresToken)
	}
	client := exec.Command("node", args...)
	client.Env = append(append(vars, "CODE="+code), more...)
	var stderr bytes.Buffer
	client.Stderr = &stderr
	defer time.AfterFunc(2*time.Minute, func() { _ = client.Process.Kill() }).Stop()
	out, err := client.Output()
	var got answered
	if err != nil || json.Unmarshal(out, &got) != nil {
		t.Fatalf("%v: %s\n%s", err, out, &stderr)
	}
	return got
}

// TestServersGetWhatClientsOffer connects the reference server with a client of the
// official TypeScript SDK: forms and texts of a model pass through wexec where the
// policy says so, without values, and are refused with the reason where it does not.
func TestServersGetWhatClientsOffer(t *testing.T) {
	if testing.Short() {
		t.Skip("short: starts servers of Node")
	}
	const elicit, sample = `return await tools.everything.trigger_elicitation_request({})`,
		`return await tools.everything.trigger_sampling_request({prompt: ["to ada", "example.com\u200b"].join("@"), maxTokens: 100000})`
	for name, c := range map[string]struct {
		rules, code string
		asked       []string // in each request, in order
		failed      bool
		text        string // in the answer
	}{
		"a form": {"servers: {everything: {elicitation: allow}}\n", elicit,
			[]string{`The tool everything.trigger-elicitation-request asks`}, false, "User provided the requested information"},
		"a form that a person allows": {"servers: {\"every*\": {elicitation: ask}}\n", elicit + " // ask", []string{`Allow the program to call`, `requestedSchema`}, false, "requested information"},
		"a model":                     {"servers: {everything: {sampling: allow}}\n", sample, []string{`to [EMAIL`}, false, "a model wrote this"},
		"a text with a token for a tool that gets no values": {"servers: {everything: {sampling: allow}}\n", sample + " // token", []string{`"maxTokens":4096`}, false, "write to [~EMAIL_1]"},
		"neither":                {"", "return Object.keys(await searchTools('trigger elicitation sampling'))&&" + strings.TrimPrefix(elicit, "return "), nil, true, "tool.unknown"},
		"the other one":          {"servers: {everything: {elicitation: allow, sampling: deny}}\n", sample, nil, true, "tool.unknown"},
		"a project that may not": {"servers: {everything: {elicitation: deny}, \"*\": {elicitation: allow}}\n", elicit, nil, true, "tool.unknown"},
	} {
		for _, transport := range []string{"stdio", "http"} {
			t.Run(name+" over "+transport, func(t *testing.T) {
				form := `FORM={"name":"Ada","check":true}`
				if strings.HasSuffix(c.code, "// ask") {
					form = `FORM={"answer":"yes","name":"Ada","check":true}`
				}
				got := typescript(t, transport, c.rules, c.code, form, "MODEL=a model wrote this: write to [EMAIL_1]")
				if len(got.Asked) != len(c.asked) || got.Failed != c.failed || !strings.Contains(got.Text, c.text) {
					t.Fatalf("asked %s, failed %v: %s", got.Asked, got.Failed, got.Text)
				}
				for i, want := range c.asked {
					if asked := string(got.Asked[i]); !strings.Contains(asked, want) || strings.Contains(asked, "\u200b") || strings.Contains(asked, "ada@example.com") {
						t.Errorf("asked %s, want %q", asked, want)
					}
				}
			})
		}
	}
}
