package tests

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/guests"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/tools/testenv"
)

// example is a copy of an example, which its programs can write to.
type example struct {
	name string
	dir  string
}

// examples returns the examples that have an expected.json.
func examples(t *testing.T) []example {
	t.Helper()
	found, err := filepath.Glob("../examples/*/expected.json")
	if err != nil || len(found) < 10 {
		t.Fatalf("%d examples found: %v", len(found), err)
	}
	var out []example
	for _, path := range found {
		e := example{name: filepath.Base(filepath.Dir(path)), dir: filepath.Join(t.TempDir(), "example")}
		if err := os.CopyFS(e.dir, os.DirFS(filepath.Dir(path))); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(e.dir, "out"), 0o755); err != nil {
			t.Fatal(err)
		}
		out = append(out, e)
	}
	return out
}

func (e example) read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(e.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func (e example) has(name string) bool {
	_, err := os.Stat(filepath.Join(e.dir, name))
	return err == nil
}

// programs returns the programs of an example.
func (e example) programs(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(e.dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, one := range entries {
		if _, ok := guests.LanguageOfFile(one.Name()); ok && !one.IsDir() && !strings.HasSuffix(one.Name(), ".json") {
			out = append(out, one.Name())
		}
	}
	return out
}

// host opens a host with the servers and the policy of an example.
func (e example) host(t *testing.T) *config.Host {
	env := machine(t)
	env.Dir = e.dir
	var flags config.Flags
	for name, to := range map[string]*[]string{"mcp.json": &flags.MCP, "policy.yaml": &flags.Policy} {
		if e.has(name) {
			*to = []string{name}
		}
	}
	return testenv.Open(t, env, flags)
}

// request returns the request for a program of an example.
func (e example) request(t *testing.T, program string) engine.Request {
	language, _ := guests.LanguageOfFile(program)
	req := engine.Request{Language: language, Code: string(e.read(t, program)), File: program, Root: e.dir, Dir: e.dir, Trigger: "cli"}
	if e.has("args.json") {
		req.Args = e.read(t, "args.json")
	}
	return req
}

// site serves the folder of the fetch example at the address in its policy.
func site(t *testing.T, e example) {
	t.Helper()
	if e.name != "fetch" {
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:47913")
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.FileServer(http.Dir(filepath.Join(e.dir, "site"))), ReadHeaderTimeout: time.Second}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
}

// TestExamplesGiveWhatTheySay runs every program of every example with its servers
// and policy.
func TestExamplesGiveWhatTheySay(t *testing.T) {
	for _, e := range examples(t) {
		if e.name == "session" || e.name == "plugin" {
			continue // they have other tests
		}
		t.Run(e.name, func(t *testing.T) {
			if testing.Short() && e.name == "big-file" {
				t.Skip("short: reads 44 MB twice")
			}
			site(t, e)
			programs := e.programs(t)
			if len(programs) < 2 {
				t.Errorf("no program in a second language: %q", programs)
			}
			for _, name := range programs {
				req := e.request(t, name)
				req.Asker = answering(true)
				res := run(t, e.host(t), req)
				sameJSON(t, name, res.Value, e.read(t, "expected.json"))
				if e.has("denied.json") {
					req.Asker = answering(false)
					res := run(t, e.host(t), req)
					sameJSON(t, name+", denied", res.Value, e.read(t, "denied.json"))
				}
			}
		})
	}
}

// answering gives the same answer to every question.
type answering bool

func (a answering) Ask(context.Context, hostfns.Question) (hostfns.Reply, error) {
	return hostfns.Reply{Approved: bool(a), By: "terminal"}, nil
}

// TestTheSessionOfTheExamplesLivesOn runs the programs of each language in a session.
func TestTheSessionOfTheExamplesLivesOn(t *testing.T) {
	for _, e := range examples(t) {
		if e.name != "session" {
			continue
		}
		host := e.host(t)
		values := map[string][]json.RawMessage{}
		for _, name := range e.programs(t) {
			req := e.request(t, name)
			req.Session = "orders in " + req.Language
			values[req.Language] = append(values[req.Language], run(t, host, req).Value)
		}
		if len(values) < 2 {
			t.Errorf("no session in a second language: %d", len(values))
		}
		for language, all := range values {
			sameJSON(t, "the last value in "+language, all[len(all)-1], e.read(t, "expected.json"))
			sameJSON(t, "the answer in "+language, all[1], values["python"][1])
		}
	}
}

// TestCommandsOfExamplesWork runs the commands in the READMEs of examples.
func TestCommandsOfExamplesWork(t *testing.T) {
	wexec := testenv.Program(t, "wexec")
	for _, e := range examples(t) {
		t.Run(e.name, func(t *testing.T) {
			if testing.Short() && e.name == "big-file" {
				t.Skip("short: reads 44 MB")
			}
			site(t, e)
			ran := 0
			for _, f := range fencesOf(t, "examples/"+e.name+"/README.md") {
				for line := range strings.Lines(f.text) {
					if !strings.HasPrefix(line, "wexec ") || f.info != "sh" {
						continue
					}
					ran++
					cmd := exec.Command("sh", "-c", line)
					cmd.Dir, cmd.Env = e.dir, append(machine(t).Vars, "PATH="+filepath.Dir(wexec)+string(filepath.ListSeparator)+os.Getenv("PATH"))
					var wrong bytes.Buffer
					cmd.Stderr = &wrong
					out, err := cmd.Output()
					if err != nil {
						t.Fatalf("%s: %v\n%s", line, err, wrong.String())
					}
					want := "expected.json"
					if e.has("denied.json") {
						want = "denied.json" // no terminal
					}
					sameJSON(t, line, out, e.read(t, want))
				}
			}
			if ran == 0 && e.name != "session" {
				t.Error("the README shows no command")
			}
		})
	}
}

// TestEveryExampleIsInTheIndex checks that the index lists every folder, every folder
// has a README, and every example with programs has a policy.
func TestEveryExampleIsInTheIndex(t *testing.T) {
	index := read(t, "examples/README.md")
	entries, err := os.ReadDir("../examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range entries {
		if !one.IsDir() {
			continue
		}
		if !strings.Contains(index, "("+one.Name()+"/README.md)") {
			t.Errorf("%s is not in the index", one.Name())
		}
		if text := read(t, "examples/"+one.Name()+"/README.md"); !strings.HasPrefix(text, "# ") {
			t.Errorf("the README of %s has no title", one.Name())
		}
	}
	for _, e := range examples(t) {
		if len(e.programs(t)) > 0 && !e.has("policy.yaml") {
			t.Errorf("%s has no policy", e.name)
		}
		if !json.Valid(e.read(t, "expected.json")) {
			t.Errorf("%s: invalid JSON in expected.json", e.name)
		}
	}
	for _, host := range []string{"tenants", "plugins", "harness"} {
		if tests, err := filepath.Glob("../examples/" + host + "/*_test.go"); err != nil || len(tests) == 0 {
			t.Errorf("%s has no test: %v", host, err)
		}
	}
}
