// Package servers tests programs with MCP servers from npm, and type checkers with
// the declarations of their tools. tests/npm.sh installs them; without them, the
// tests are skipped.
package servers

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/policy"
)

// installed returns a program that npm.sh installed.
func installed(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(testenv.NPM(t), "node_modules", ".bin", name)
	if _, err := os.Stat(path); err != nil {
		t.Skipf("needs %s: run tests/npm.sh", name)
	}
	return path
}

// realServers connects to servers from npm. The file server serves folder.
func realServers(t *testing.T, folder string) *upstream.Provider {
	t.Helper()
	memory := filepath.Join(t.TempDir(), "memory.json")
	p, err := upstream.New([]upstream.Server{
		{Name: "filesystem", Command: installed(t, "mcp-server-filesystem"), Args: []string{folder}},
		{Name: "memory", Command: installed(t, "mcp-server-memory"), Env: map[string]string{"MEMORY_FILE_PATH": memory}},
		{Name: "everything", Command: installed(t, "mcp-server-everything")},
		{Name: "thinking", Command: installed(t, "mcp-server-sequential-thinking")},
		{Name: "fetch", Command: installed(t, "mcp-npx-fetch")},
		{Name: "github", Command: installed(t, "mcp-server-github"), Env: map[string]string{"GITHUB_PERSONAL_ACCESS_TOKEN": "none"}},
		{Name: "gitlab", Command: installed(t, "mcp-server-gitlab"), Env: map[string]string{"GITLAB_PERSONAL_ACCESS_TOKEN": "none"}},
		{Name: "slack", Command: installed(t, "mcp-server-slack"), Env: map[string]string{"SLACK_BOT_TOKEN": "none", "SLACK_TEAM_ID": "none"}},
		{Name: "maps", Command: installed(t, "mcp-server-google-maps"), Env: map[string]string{"GOOGLE_MAPS_API_KEY": "none"}},
		{Name: "puppeteer", Command: installed(t, "mcp-server-puppeteer")},
	}, upstream.Options{Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func table(t *testing.T, folder string) *hostfns.Table {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte("version: 1\ntools:\n  allow: [\"*\"]\npii: {mode: \"off\"}\n"))
	if err != nil {
		t.Fatal(err)
	}
	tab, err := hostfns.NewTable(p, new(audit.Memory), realServers(t, folder))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tab.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return tab
}

func newEngine(t *testing.T) *engine.Engine {
	t.Helper()
	cache := t.TempDir()
	if base, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(base, "wexec-tests")
	}
	e, err := engine.New(context.Background(), engine.Config{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return e
}

func TestProgramsCallRealServers(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "note.txt"), []byte("forty-two"), 0o600); err != nil {
		t.Fatal(err)
	}
	tab, eng := table(t, folder), newEngine(t)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte("<!doctype html><title>t</title><h1>Forty-two</h1><p>is the <b>answer</b></p>"))
	}))
	defer page.Close()
	for _, c := range []struct{ name, language, code, want string }{
		{"a file is read", "javascript", `const f = await tools.filesystem.read_text_file({ path: args.folder + "/note.txt" }); return JSON.stringify(f).includes("forty-two")`, "true"},
		{"a file is written and seen", "python", "from tools import filesystem\nfilesystem.write_file(path=args['folder'] + '/new.txt', content='hello')\nreturn 'new.txt' in str(filesystem.list_directory(path=args['folder']))", "true"},
		{"a path outside is refused by the server", "javascript", `try { await tools.filesystem.read_text_file({ path: "/etc/hostname" }); return "read" } catch (e) { return e.code }`, `"tool.failed"`},
		{"a graph is remembered", "typescript", `await tools.memory.create_entities({ entities: [{ name: "Ada", entityType: "person", observations: ["writes programs"] }] });
const g: any = await tools.memory.search_nodes({ query: "programs" }); return g.entities[0].name`, `"Ada"`},
		{"an echo", "python", "from tools import everything\nreturn 'hi there' in str(everything.echo(message='hi there'))", "true"},
		{"a wrong argument is told before the call", "javascript", `try { await tools.everything.echo({ mesage: "x" }) } catch (e) { return [e.code, (e.message + e.hint).includes("message")] }`, `["tool.invalid_args",true]`},
		{"a page is read", "python", "from tools import fetch\npage = fetch.fetch_markdown(url=args['page'])\nreturn ['Forty-two' in str(page), '**answer**' in str(page)]", "[true,true]"},
		{"thoughts in order", "javascript", `const t = await tools.thinking.sequentialthinking({ thought: "one", nextThoughtNeeded: false, thoughtNumber: 1, totalThoughts: 1 }); return t.thoughtNumber`, "1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			res, err := eng.Run(ctx, engine.Request{Language: c.language, Code: c.code, Table: tab, Args: []byte(`{"folder":"` + filepath.ToSlash(folder) + `","page":"` + page.URL + `"}`)})
			if err != nil || string(res.Value) != c.want {
				t.Errorf("value %s, %v; want %s", res.Value, err, c.want)
			}
		})
	}
}

func TestCheckersAcceptTheDeclarations(t *testing.T) {
	if testing.Short() {
		t.Skip("short: runs type checkers")
	}
	cat, errs := table(t, t.TempDir()).Catalogue(context.Background())
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	tools := append(cat.Tools(), catalogue.Tool{Server: "odd", Name: "class", Description: "ends a comment */ and a string \"\"\"",
		InputSchema: []byte(`{"type":"object","required":["from"],"properties":{"from":{"type":"string"},"a-b":{"$ref":"#/$defs/Tree"},"pair":{"type":"array","prefixItems":[{"type":"integer"},{"type":"string"}],"items":false},"kind":{"enum":["a","it's \"b\"",3,null]}},"$defs":{"Tree":{"type":"object","properties":{"left":{"$ref":"#/$defs/Tree"},"right":{"$ref":"#/$defs/Tree"},"value":{"type":["number","null"]}}}}}`)})
	c := catalogue.New(tools).WithLearned(answersOf(t, "odd.class",
		`[{"id": 1, "class": "a", "tags": ["x"], "by": {"login": "ann", "site": null}, "a-b": 1.5}]`,
		`[{"id": "2", "class": "b", "by": {"login": "bob", "site": "https://example.com"}}, {"id": 3, "class": "c", "deep": [[{"x": true}]]}]`))
	t.Logf("%d tools", len(c.Tools()))
	dir := t.TempDir()
	programs := map[string]string{
		"program.ts": `/// <reference path="tools.d.ts" />
async function main(): Promise<void> {
  await tools.filesystem.read_text_file({ path: "/x" });
  await tools.odd.class({ from: "x", pair: [1, "a"], kind: "a", "a-b": { left: { value: null } } });
  const all = await settle([tools.memory.read_graph()]);
  if (all[0].ok) console.log(all[0].value);
  const seen = await tools.odd.class({ from: "x" });
  const logins: string[] = seen.filter((one) => one.tags !== undefined).map((one) => one.by?.login ?? one.class);
  console.log(logins);
  // @ts-expect-error no answer had it
  console.log(seen[0].nothing);
  // @ts-expect-error the path is missing
  await tools.filesystem.read_text_file({});
  // @ts-expect-error there is no such kind
  await tools.odd.class({ from: "x", kind: "z" });
}
main();
`,
		"program.py": `import asyncio
from tools import filesystem, odd, memory
from tools.aio import slack

filesystem.read_text_file(path="/x")
odd.class_(pair=(1, "a"), kind="a", **{"from": "x"})
memory.read_graph()
seen = odd.class_(pair=(1, "a"), kind="a", **{"from": "x"})
names: list[str] = [one["class"] for one in seen]
print(seen[0]["nothing"])  # pyright: ignore[reportGeneralTypeIssues, reportTypedDictNotRequiredAccess]
filesystem.read_text_file()  # pyright: ignore[reportCallIssue]

async def main() -> None:
    await slack.slack_list_channels(limit=3)

asyncio.run(main())
`,
	}
	for _, lang := range []string{"typescript", "python"} {
		for name, text := range c.Declarations(lang) {
			programs[name] = text
		}
	}
	for name, text := range programs {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	tsc := exec.Command(installed(t, "tsc"), "--strict", "--noEmit", "--target", "es2022", "--lib", "es2022,dom", "program.ts")
	pyright := exec.Command(installed(t, "pyright"), "program.py", "tools")
	for _, cmd := range []*exec.Cmd{tsc, pyright} {
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", filepath.Base(cmd.Path), err, strings.ReplaceAll(string(out), dir, ""))
		}
	}
}

// answersOf adds a learned type to a tool.
func answersOf(t *testing.T, id string, answers ...string) func(catalogue.Tool) json.RawMessage {
	t.Helper()
	var seen catalogue.LearnedType
	for _, a := range answers {
		seen.Add([]byte(a))
	}
	return func(tool catalogue.Tool) json.RawMessage {
		if tool.ID() != id {
			return nil
		}
		return seen.Schema()
	}
}
