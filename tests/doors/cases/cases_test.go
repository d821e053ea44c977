// Package cases runs each case of testdata over real MCP servers through the
// three doors, the command, the MCP server and the Go API, and holds their
// Results against the case and against each other.
package cases

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/tools/testenv"
)

// testCase is one file: programs that run one after the other in one place,
// each with what must come of it.
type testCase struct {
	What    string   `json:"what"`
	Servers []string `json:"servers"` // of the demo server
	Policy  []string `json:"policy"`  // lines of YAML
	Long    bool     `json:"long"`    // left out of short runs
	// Private says that nothing of the customers may be seen outside.
	Private  bool          `json:"private"`
	Programs []testProgram `json:"programs"`
}

type testProgram struct {
	Language string         `json:"language"`
	Code     []string       `json:"code"` // lines
	File     string         `json:"file"` // instead of code
	Args     map[string]any `json:"args"`
	Want     outcome        `json:"want"`
	// Value is the value, and ValueFile is a file with it.
	Value     json.RawMessage `json:"value"`
	ValueFile string          `json:"value_file"`
}

// outcome is what of a Result must be the same through every door.
type outcome struct {
	Status  string         `json:"status"`
	Code    string         `json:"code,omitempty"`
	Line    int            `json:"line,omitempty"`
	Cache   string         `json:"cache,omitempty"` // compared where the case names it
	Calls   map[string]int `json:"calls"`           // by "tool decision code"
	Privacy map[string]int `json:"privacy,omitempty"`
}

func outcomeOf(r *engine.Result) outcome {
	o := outcome{Status: string(r.Status), Calls: map[string]int{}, Cache: r.Cache}
	if r.Error != nil {
		o.Code, o.Line = string(r.Error.Code), r.Error.Line
	}
	for _, c := range r.Calls {
		o.Calls[strings.TrimSpace(c.Tool+" "+c.Decision+" "+string(c.Code))]++
	}
	if r.Privacy != nil {
		o.Privacy = r.Privacy.Counts
	}
	return o
}

// door runs one program and gives its Result, and everything that the agent
// or the terminal could see.
type door interface {
	run(t *testing.T, p testProgram, code string) (*engine.Result, []byte)
}

// flagged matches a flag of the command.
var flagged = regexp.MustCompile(`(^|[^\w-])--[a-z][a-z-]+`)

func TestMain(m *testing.M) { testenv.Main(m) }

// place is a separate machine for one case and one door.
type place struct {
	dir, mcp, policy, audit string
	env                     *config.Environment
}

func newPlace(t *testing.T, c testCase) place {
	t.Helper()
	dir := t.TempDir()
	p := place{dir: dir, mcp: filepath.Join(dir, "mcp.json"), policy: filepath.Join(dir, "policy.yaml"), audit: filepath.Join(dir, "audit")}
	servers := map[string]any{}
	for _, name := range c.Servers {
		servers[name] = map[string]any{"command": testenv.Program(t, "demo-server"), "args": []string{name}}
	}
	data, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(p.mcp, data, 0o600), os.WriteFile(p.policy, []byte(strings.Join(c.Policy, "\n")+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	p.env = testenv.Isolated(dir)
	return p
}

func (p place) flags() []string {
	return []string{"--mcp", p.mcp, "--policy", p.policy, "--audit", p.audit}
}

// command is the built binary, a process for each program.
type command struct{ place }

func (d command) run(t *testing.T, p testProgram, code string) (*engine.Result, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args := append([]string{"run", "--json", "-l", p.Language}, d.flags()...)
	if p.Args != nil {
		args = append(args, "--args", string(mustJSON(t, p.Args)))
	}
	cmd := exec.CommandContext(ctx, testenv.Program(t, "wexec"), append(args, "-e", code)...)
	cmd.Dir, cmd.Env = d.dir, d.env.Vars
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	var res engine.Result
	if jerr := json.Unmarshal(out.Bytes(), &res); jerr != nil {
		t.Fatalf("%v: %v\n%.2000s\n%.2000s", err, jerr, out.String(), errs.String())
	}
	want := 0
	if res.Error != nil {
		want = res.Error.Class.Exit()
	}
	if got := cmd.ProcessState.ExitCode(); got != want {
		t.Errorf("exit status %d, want %d", got, want)
	}
	return &res, append(out.Bytes(), errs.Bytes()...)
}

// server is wexec mcp over stdio, with a client of the MCP library.
type server struct {
	session *mcp.ClientSession
	traffic *traffic
}

type traffic struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *traffic) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(b)
}

func (w *traffic) seen() []byte {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Clone(w.buf.Bytes())
}

func newServer(t *testing.T, p place) server {
	t.Helper()
	cmd := exec.Command(testenv.Program(t, "wexec"), append([]string{"mcp"}, p.flags()...)...)
	cmd.Dir, cmd.Env = p.dir, p.env.Vars
	w := &traffic{}
	cmd.Stderr = w
	session, err := mcp.NewClient(&mcp.Implementation{Name: "doors", Version: "1"}, nil).
		Connect(t.Context(), &mcp.LoggingTransport{Transport: &mcp.CommandTransport{Command: cmd}, Writer: w}, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, w.seen())
	}
	t.Cleanup(func() { _ = session.Close() })
	return server{session, w}
}

func (d server) run(t *testing.T, p testProgram, code string) (*engine.Result, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	args := map[string]any{"language": p.Language, "code": code}
	if p.Args != nil {
		args["args"] = p.Args
	}
	got, err := d.session.CallTool(ctx, &mcp.CallToolParams{Name: "execute_code", Arguments: args})
	if err != nil {
		t.Fatalf("%v\n%.2000s", err, d.traffic.seen())
	}
	res, err := mcpd.ResultOf(got)
	if err != nil {
		t.Fatal(err)
	}
	if got.IsError != (res.Error != nil) {
		t.Errorf("isError is %v with error %v", got.IsError, res.Error)
	}
	return res, d.traffic.seen()
}

// library is the Go API.
type library struct {
	host *config.Host
}

func newLibrary(t *testing.T, p place) library {
	t.Helper()
	host := testenv.Open(t, p.env, config.Flags{MCP: []string{p.mcp}, Policy: []string{p.policy}, Audit: p.audit})
	return library{host}
}

func (d library) run(t *testing.T, p testProgram, code string) (*engine.Result, []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	req := engine.Request{Language: p.Language, Code: code}
	if p.Args != nil {
		req.Args = mustJSON(t, p.Args)
	}
	res, err := d.host.Engine.Run(ctx, req)
	if (err != nil) != (res.Error != nil) {
		t.Errorf("error %v with %v", err, res.Error)
	}
	return res, mustJSON(t, res)
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestEveryDoorGivesTheSameResult is the end to end proof.
func TestEveryDoorGivesTheSameResult(t *testing.T) {
	found, err := filepath.Glob("testdata/*.json")
	if err != nil || len(found) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range found {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var c testCase
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&c); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			if c.Long && testing.Short() {
				t.Skip("short: a long case")
			}
			c.throughAllDoors(t)
		})
	}
}

func (c testCase) throughAllDoors(t *testing.T) {
	var private []string
	if c.Private {
		private = customers(t)
	}
	values := map[int]map[string]any{}
	for _, name := range []string{"command", "mcp", "go"} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t, c)
			var d door
			switch name {
			case "command":
				d = command{p}
			case "mcp":
				d = newServer(t, p)
			default:
				d = newLibrary(t, p)
			}
			nonce := rand.Text()
			for i, prog := range c.Programs {
				code := strings.Join(prog.Code, "\n")
				if prog.File != "" {
					data, err := os.ReadFile(prog.File)
					if err != nil {
						t.Fatal(err)
					}
					code = string(data)
				}
				code = strings.ReplaceAll(code, "$NONCE", nonce)
				res, seen := d.run(t, prog, code)
				c.judge(t, name, prog, res)
				if flags := flagged.FindAll(mustJSON(t, res.Error), -1); name != "command" && flags != nil {
					t.Errorf("%q names flags, and there is no command line: %+v", flags, res.Error)
				}
				if values[i] == nil {
					values[i] = map[string]any{}
				}
				var v any
				if err := json.Unmarshal(mustJSON(t, res.Value), &v); err != nil {
					t.Fatal(err)
				}
				values[i][name] = v
				search(t, "what the agent sees of program "+res.RunID, seen, private)
				search(t, "the output", []byte(res.Stdout+res.Stderr), private)
			}
			searchFolder(t, p.audit, private)
		})
	}
	for i, by := range values {
		for name, v := range by {
			if diff := cmp.Diff(by["command"], v); diff != "" {
				t.Errorf("program %d: %s differs from the command:\n%s", i+1, name, diff)
			}
		}
	}
}

func (c testCase) judge(t *testing.T, door string, p testProgram, res *engine.Result) {
	t.Helper()
	got := outcomeOf(res)
	want := p.Want
	switch {
	case want.Cache == "":
		got.Cache = ""
	case door == "command": // each process begins without the tools of its servers
		want.Cache, want.Calls, got.Cache, got.Calls = "", nil, "", nil
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Result (-want +got):\n%s\nerror %+v", diff, res.Error)
	}
	value := p.Value
	if p.ValueFile != "" {
		data, err := os.ReadFile(p.ValueFile)
		if err != nil {
			t.Fatal(err)
		}
		value = data
	}
	if value == nil {
		return
	}
	var a, b any
	if err := errors.Join(json.Unmarshal(value, &a), json.Unmarshal(mustJSON(t, res.Value), &b)); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(a, b); diff != "" {
		t.Errorf("value (-want +got):\n%s", diff)
	}
}

// customers asks the CRM itself for everything that is to stay hidden.
func customers(t *testing.T) []string {
	t.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "doors", Version: "1"}, nil).
		Connect(t.Context(), &mcp.CommandTransport{Command: exec.Command(testenv.Program(t, "demo-server"), "crm")}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	got, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_customers", Arguments: map[string]any{"limit": 500}})
	if err != nil {
		t.Fatal(err)
	}
	var list []struct{ Name, Email, Phone, Card string }
	if err := json.Unmarshal([]byte(got.Content[0].(*mcp.TextContent).Text), &list); err != nil {
		t.Fatal(err)
	}
	if len(list) != 500 {
		t.Fatalf("%d customers", len(list))
	}
	var out []string
	for _, c := range list {
		out = append(out, c.Name, c.Email, c.Phone, strings.ReplaceAll(c.Phone, " ", ""), c.Card)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func search(t *testing.T, where string, text []byte, private []string) {
	t.Helper()
	found := 0
	for _, p := range private {
		if at := bytes.Index(text, []byte(p)); at >= 0 {
			if found++; found <= 3 {
				t.Errorf("%q is in %s: %.120s", p, where, text[max(0, at-40):])
			}
		}
	}
	if found > 3 {
		t.Errorf("%d private values are in %s", found, where)
	}
}

func searchFolder(t *testing.T, dir string, private []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		search(t, "the record "+d.Name(), data, private)
		return nil
	})
	if err != nil || files == 0 {
		t.Errorf("the record has %d files: %v", files, err)
	}
}
