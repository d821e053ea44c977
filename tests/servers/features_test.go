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
	var got answered
	client(t, transport, "client.mjs", dir, append(append(vars, "CODE="+code), more...), &got)
	return got
}

// client connects a program of testdata with wexec mcp in a folder, and decodes what
// the program prints.
func client(t *testing.T, transport, script, dir string, vars []string, got any) {
	t.Helper()
	wexec := testenv.Program(t, "wexec")
	serve := []string{"mcp", "--mcp", filepath.Join(dir, "mcp.json"), "--policy", filepath.Join(dir, "policy.yaml"), "--audit", filepath.Join(dir, "audit")}
	args := []string{filepath.Join("testdata", script), testenv.NPM(t), transport}
	if transport == "stdio" {
		args = append(append(args, wexec), serve...)
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
		args = append(args, listening.FindString(lines.Text()), featuresToken)
	}
	client := exec.Command("node", args...)
	client.Env = vars
	var stderr bytes.Buffer
	client.Stderr = &stderr
	defer time.AfterFunc(2*time.Minute, func() { _ = client.Process.Kill() }).Stop()
	out, err := client.Output()
	if err != nil || json.Unmarshal(out, got) != nil {
		t.Fatalf("%v: %s\n%s", err, out, &stderr)
	}
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

// TestTheTypeScriptSDKHasAWholeSession uses everything that wexec mcp offers with a
// client of the official TypeScript SDK, over both transports. Over HTTP, the
// connection of a run is cut, and the client gets the rest with Last-Event-ID.
func TestTheTypeScriptSDKHasAWholeSession(t *testing.T) {
	if testing.Short() {
		t.Skip("short: starts servers of Node")
	}
	for _, transport := range []string{"stdio", "http"} {
		t.Run(transport, func(t *testing.T) {
			dir, vars := project(t, "")
			rules := "version: 1\ntools:\n  allow: [\"everything.*\"]\n  ask: [everything.get-sum]\nfiles: {read: ['" + filepath.ToSlash(dir) + "']}\n" +
				"servers: {everything: {sampling: allow, resources: allow, prompts: allow}}\n"
			if err := os.WriteFile(filepath.Join(dir, "policy.yaml"), []byte(rules), 0o600); err != nil {
				t.Fatal(err)
			}
			got := map[string]any{}
			client(t, transport, "session.mjs", dir, append(vars, "FOLDER="+filepath.ToSlash(dir)), &got)
			want := map[string]string{
				"tools":     `["describe_tools","execute_code","search_tools","wait_run"]`,
				"progress":  `["done",true]`,
				"asked":     `["Allow the program to call everything.get-sum?","Allow the program to call everything.get-sum?",true]`,
				"approved":  `"The sum of 1 and 2 is 3."`,
				"refused":   `["denied","denied.approval"]`,
				"sampled":   `true`,
				"resource":  `true`,
				"template":  `true`,
				"prompts":   `["code-mode-claude","everything.args-prompt"]`,
				"prompt":    `"What's weather in Paris?"`,
				"cancelled": `true`,
				"after":     `42`,
			}
			if transport == "http" {
				want["cut"], want["resumed"] = `["not cancelled",true]`, `200`
			}
			for name, value := range got {
				data, err := json.Marshal(value)
				if err != nil || string(data) != want[name] {
					t.Errorf("%s: %s, %v; want %s", name, data, err, want[name])
				}
				delete(want, name)
			}
			for name := range want {
				t.Errorf("%s is missing", name)
			}
		})
	}
}
