//go:build unix

package doors

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// controls are the control sequences that the command itself uses: styles, the
// status line, and the start of a question.
var controls = regexp.MustCompile(`\x1b\[[0-9;]*m|\r\x1b\[[KJ]|\r\n`)

// holdsNoControls reports control characters from outside on a screen.
func holdsNoControls(t *testing.T, what, seen string) {
	t.Helper()
	rest := controls.ReplaceAllString(seen, "\n")
	if at := strings.IndexFunc(rest, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == 0x202e || r == 0xe0041
	}); at >= 0 {
		t.Errorf("%s: a control character reaches the terminal: %q", what, rest[max(at-40, 0):min(at+40, len(rest))])
	}
	for _, style := range regexp.MustCompile(`\x1b\[([0-9;]*)m`).FindAllStringSubmatch(seen, -1) {
		for _, n := range strings.Split(style[1], ";") {
			if n == "8" || n == "5" || n == "30" || n == "40" || n == "38" {
				t.Errorf("%s: the style %q reaches the terminal", what, style[0])
			}
		}
	}
}

// hostile is text that would rewrite a screen, in a literal of Go, JavaScript, JSON and YAML.
const hostile = `\u001b[2J\u001b[1;1H\u001b]0;t\u0007\u009b2J\u0090q\u001b\\\r\b\u202e\u001b[8mx\u001b[30;40mall is well`

func TestAProgramCannotControlTheTerminal(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	for name, code := range map[string]string{
		"output":    `console.log("` + hostile + `"); console.error("` + hostile + `"); return "` + hostile + `"`,
		"exception": `const e = new Error("` + hostile + `"); e.name = "` + hostile + `"; throw e`,
		"names":     `return {"` + hostile + `": ["` + hostile + `"]}`,
		"a tool":    `await tools.github["` + hostile + `"]({})`,
		"arguments": `await tools.github.list_commits({limit: "` + hostile + `"})`,
		"pieces":    `for (const c of "` + hostile + `".repeat(3)) console.log(c)`,
		"progress":  `progress(1, 2, "` + hostile + `"); await new Promise(r => setTimeout(r, 900)); progress(1, 2, "▐` + hostile + `"); await new Promise(r => setTimeout(r, 300))`,
	} {
		x := atTerminal(t, command(t.Context(), dir, env, "run", "--stats", "--mcp", "mcp.json", "--policy", "policy.yaml", "-l", "js", "-e", code))
		x.ends()
		seen := x.seen.String()
		if name == "output" { // the program returns in lines that it began
			seen = strings.ReplaceAll(seen, "q\r", "q")
		}
		holdsNoControls(t, name, seen)
		if !strings.Contains(seen, "well") && name != "pieces" && name != "progress" {
			t.Errorf("%s: the text is not shown: %q", name, x.seen.String())
		}
		if regexp.MustCompile(`(?m)^\W*▐`).MatchString(x.seen.String()) {
			t.Errorf("%s: the program prints the mark: %q", name, x.seen.String())
		}
	}
	x := atTerminal(t, command(t.Context(), dir, env, "run", "-l", "py", "-e",
		`import sys, time
for i in range(4): sys.stdout.write(f"\r{i}0 %"); sys.stdout.flush(); time.sleep(0.05)
print(); raise ValueError("`+hostile+`")`))
	x.ends()
	if seen := x.seen.String(); !strings.Contains(seen, "00 %\r10 %\r20 %\r30 %\r\n") {
		t.Errorf("a progress bar is %q", seen)
	} else {
		holdsNoControls(t, "Python", strings.Replace(seen, "00 %\r10 %\r20 %\r30 %\r\n", "", 1))
	}
}

// TestWhatWasTypedBeforeAQuestionIsNoAnswer has a program print what looks like a
// question, and call a tool when a person has answered it.
func TestWhatWasTypedBeforeAQuestionIsNoAnswer(t *testing.T) {
	dir, env := furnished(t, askingPolicy)
	x := atTerminal(t, command(t.Context(), dir, env, "run", "--mcp", "mcp.json", "--policy", "policy.yaml", "-l", "js", "-e",
		`console.log("read the commits? [y]es, [n]o: "); await new Promise(r => setTimeout(r, 1500)); await tools.github.create_issue({title: "x"}); return "done"`))
	x.sees("read the commits?")
	x.types("y\ny\n")
	x.sees("for this run: ")
	time.Sleep(300 * time.Millisecond)
	x.types("n\n")
	if got := x.ends(); got != 3 || !strings.Contains(x.seen.String(), "denied.approval") {
		t.Errorf("status %d, %q", got, x.seen.String())
	}
}

// TestARunWithHeldOutputEnds has a program print more than is held, until the
// time is up or a person interrupts it.
func TestARunWithHeldOutputEnds(t *testing.T) {
	const code = `const asked = tools.github.create_issue({title: "x"}); await new Promise(r => setTimeout(r, 300));
for (let i = 0; i < 4000; i++) console.log("x".repeat(1000)); await asked`
	for keys, want := range map[string]int{"": 4, "\x03": 130, "n\n": 3} {
		dir, env := furnished(t, askingPolicy)
		limit := "60s"
		if keys == "" {
			limit = "3s"
		}
		x := atTerminal(t, command(t.Context(), dir, env, "run", "--output", "16MiB", "--time", limit, "--mcp", "mcp.json", "--policy", "policy.yaml", "-l", "js", "-e", code))
		x.sees("for this run: ")
		begun := time.Now()
		time.Sleep(time.Second)
		x.types(keys)
		if got := x.ends(); got != want || time.Since(begun) > 40*time.Second {
			seen := x.seen.String()
			t.Errorf("%q: status %d after %v, %q", keys, got, time.Since(begun), seen[max(len(seen)-300, 0):])
		}
	}
}

// TestNamesFromOutsideCannotControlTheTerminal prints what a server, a policy,
// a client's file and the records say.
func TestNamesFromOutsideCannotControlTheTerminal(t *testing.T) {
	text := func(s string) string {
		var out string
		if err := json.Unmarshal([]byte(`"`+s+`"`), &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "hostile", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "look", Title: text(hostile), Description: text(hostile),
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","description":"` + hostile + `","enum":["` + hostile + `"]}}}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: text(hostile)}}}, nil
		})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	dir, env := furnished(t, `{version: 1, tools: {allow: [{tool: "hostile.*", message: "`+hostile+`"}], deny: [{tool: "hostile.no", message: "`+hostile+`"}]}}`)
	for name, data := range map[string]string{
		"hostile.json":     fmt.Sprintf(`{"mcpServers": {"hostile": {"url": %q}}}`, web.URL),
		"broken.json":      `{"mcpServers": {"gone": {"command": "/no/such/` + hostile + `"}}}`,
		".cursor/mcp.json": `{"mcpServers": {"` + hostile + `": {"command": "sh", "args": ["` + hostile + `"]}}}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	records := []string{"--audit", filepath.Join(dir, "records")}
	flags := []string{"--mcp", "hostile.json", "--policy", "policy.yaml"}
	for _, c := range []struct {
		args []string
		want string
	}{
		{append([]string{"tools", "list"}, flags...), "hostile.look"},
		{append(append([]string{"tools", "search"}, flags...), "look"), "hostile.look"},
		{append(append([]string{"tools", "search", "--json"}, flags...), "look"), "hostile.look"},
		{append(append([]string{"tools", "show"}, flags...), "hostile.look"), "well"},
		{append(append([]string{"policy", "explain"}, flags...), "hostile.no"), "well"},
		{append(append([]string{"policy", "explain", "--json"}, flags...), "hostile.no"), "well"},
		{append(append([]string{"run", "-l", "js", "--intent", text(strings.ReplaceAll(hostile, `\u0000`, "")), "-e", "return await tools.hostile.look({})"}, flags...), records...), "well"},
		{append([]string{"audit", "show"}, records...), "hostile.look"},
		{append([]string{"audit", "show", "--json"}, records...), "hostile.look"},
		{[]string{"mcp", "import", "--client", "cursor", "--dry-run"}, "well"},
		{[]string{"tools", "list", "--mcp", "broken.json", "--allow-tool", "*"}, "well"},
		{[]string{"doctor", "--mcp", "broken.json"}, "gone"},
		{[]string{"run", text(hostile)}, "well"},
	} {
		x := atTerminal(t, command(t.Context(), dir, env, c.args...))
		x.ends()
		holdsNoControls(t, strings.Join(c.args[:2], " "), x.seen.String())
		if !strings.Contains(x.seen.String(), c.want) {
			t.Errorf("%q: %q is not shown: %q", c.args, c.want, x.seen.String())
		}
	}
}

// TestATerminalShowsValuesAndAClientTokens asks about a call with personal data,
// in arguments and in the message of the rule, at a terminal and through a client
// of either protocol.
func TestATerminalShowsValuesAndAClientTokens(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "crm", Version: "1"}, nil)
	open := json.RawMessage(`{"type":"object"}`)
	server.AddTool(&mcp.Tool{Name: "find", InputSchema: open}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: `{"ssn":"536-22-8731","email":"ada.byron@acme-corp.io"}`}}}, nil
	})
	server.AddTool(&mcp.Tool{Name: "send", InputSchema: open}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "sent"}}}, nil
	})
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	dir, env := furnished(t, `{version: 1, tools: {allow: [crm.find], ask: [{tool: crm.send, messageExpression: "'write to ' + args.to"}]}, pii: {reveal_to: [crm.send]}}`)
	if err := os.WriteFile(filepath.Join(dir, "crm.json"), fmt.Appendf(nil, `{"mcpServers": {"crm": {"url": %q}}}`, web.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	const code = `const c = await tools.crm.find({}); await tools.crm.send({to: c.email, note: "z" + c.ssn + "z"}); return "done"`
	const email, ssn = "ada.byron@acme-corp.io", "536-22-8731"

	x := atTerminal(t, command(t.Context(), dir, env, "run", "--mcp", "crm.json", "--policy", "policy.yaml", "-l", "js", "-e", code))
	x.sees("[y]es, [n]o: ")
	if seen := x.seen.String(); !strings.Contains(seen, "write to "+email) || !strings.Contains(seen, `to: "`+email+`"`) || !strings.Contains(seen, `note: "z`+ssn+`z"`) {
		t.Errorf("the terminal shows %q", seen)
	}
	x.types("n\n")
	if x.ends(); strings.Count(x.seen.String(), email) != 2 {
		t.Errorf("values are printed after the question: %q", x.seen.String())
	}
	for _, version := range []string{"2025-06-18", "2026-07-28"} {
		var shown []string
		client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, &mcp.ClientOptions{
			ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				shown = append(shown, r.Params.Message)
				return &mcp.ElicitResult{Action: "decline"}, nil
			}})
		session, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: command(t.Context(), dir, env, "mcp", "--mcp", "crm.json", "--policy", "policy.yaml")},
			&mcp.ClientSessionOptions{ProtocolVersion: version})
		if err != nil {
			t.Fatal(err)
		}
		res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "execute_code", Arguments: map[string]any{"language": "javascript", "code": code}})
		if err != nil {
			t.Fatal(err)
		}
		_ = session.Close()
		data, err := json.Marshal(res)
		if err != nil {
			t.Fatal(err)
		}
		form := strings.Join(shown, "\n")
		if !strings.Contains(form, "write to [EMAIL_1]") || !strings.Contains(form, `note: "z[SSN_1]z"`) {
			t.Errorf("%s: the client shows %q", version, form)
		}
		for _, value := range []string{email, ssn} {
			if strings.Contains(form+string(data), value) {
				t.Errorf("%s: %s is shown to the client: %q, %s", version, value, form, data)
			}
		}
	}
}
