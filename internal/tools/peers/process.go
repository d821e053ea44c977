package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/internal/tools/peers/drive"
)

// openDirect opens a peer that this program drives directly.
func openDirect(spec drive.Spec) (drive.Peer, error) {
	name, language, _ := strings.Cut(spec.Peer, "/")
	work := filepath.Dir(filepath.Dir(spec.Answers["echo"]))
	module := func(p string) string { return filepath.Join(work, "node_modules", filepath.FromSlash(p)) }
	child := filepath.Join(work, "child.mjs")
	switch name {
	case "wexec":
		return openLibrary(spec, language)
	case "wexec run":
		return commandPeer{filepath.Join(work, "wexec"), language}, nil
	case "wexec mcp":
		return openServer([]string{filepath.Join(work, "wexec"), "mcp"}, "execute_code", func(code string) map[string]any {
			return map[string]any{"language": language, "code": code}
		}, func(r *mcp.CallToolResult) (string, error) {
			var res struct{ Value json.RawMessage }
			data, err := json.Marshal(r.StructuredContent)
			if err != nil {
				return "", err
			}
			err = json.Unmarshal(data, &res)
			return plain(res.Value), err
		})
	case "mcp-run-python":
		return openServer([]string{"node", module("@pydantic/mcp-run-python/cli.js"), "stdio"}, "run_python_code", func(code string) map[string]any {
			return map[string]any{"python_code": code}
		}, returned)
	case "node process":
		return newProcesses(spec, "node", child)
	case "deno process":
		return newProcesses(spec, module("deno/deno"), "run", "--no-prompt", "--allow-read="+work+","+os.TempDir(), child)
	case "bun process":
		return newProcesses(spec, module("bun/bin/bun.exe"), child)
	case "python3 process":
		return newProcesses(spec, python(), "-I", filepath.Join(work, "child.py"))
	}
	return nil, fmt.Errorf("unknown peer %s", name)
}

// python returns the interpreter of the system. One from a version manager would
// start slower.
func python() string {
	if _, err := os.Stat("/usr/bin/python3"); err == nil {
		return "/usr/bin/python3"
	}
	return "python3"
}

// processes starts a process for each run.
type processes struct {
	args    []string
	answers map[string][]byte
	dir     string
}

func newProcesses(spec drive.Spec, args ...string) (processes, error) {
	p := processes{args: args, answers: map[string][]byte{}}
	for name, file := range spec.Answers {
		data, err := os.ReadFile(file)
		if err != nil {
			return p, err
		}
		p.answers[name] = append(data, '\n')
	}
	var err error
	p.dir, err = os.MkdirTemp("", "wexec-peers-")
	return p, err
}

func (p processes) Close() error { return os.RemoveAll(p.dir) }

func (p processes) Fresh(bool) (drive.Sandbox, error) {
	f, err := os.CreateTemp(p.dir, "program")
	if err != nil {
		return nil, err
	}
	return &process{of: p, file: f.Name()}, f.Close()
}

type process struct {
	of   processes
	file string
	cmd  *exec.Cmd
	in   io.WriteCloser
}

func (p *process) PID() int { return p.cmd.Process.Pid }

func (p *process) Run(program string) (string, time.Duration, error) {
	if err := os.WriteFile(p.file, []byte(program), 0o600); err != nil {
		return "", 0, err
	}
	p.cmd = exec.Command(p.of.args[0], append(p.of.args[1:len(p.of.args):len(p.of.args)], p.file)...)
	var stderr strings.Builder
	p.cmd.Stderr = &stderr
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return "", 0, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return "", 0, err
	}
	if err := p.cmd.Start(); err != nil {
		return "", 0, err
	}
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return "", 0, fmt.Errorf("the process exited: %.300s", stderr.String())
		}
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
		if f[0] == "=" && len(f) == 3 {
			ms, err := strconv.ParseFloat(f[1], 64)
			return f[2], time.Duration(ms * float64(time.Millisecond)), err
		}
		if _, err := p.in.Write(p.of.answers[f[0]]); err != nil {
			return "", 0, err
		}
	}
}

func (p *process) Close() error {
	if p.cmd == nil || p.cmd.Process == nil {
		return nil
	}
	return errors.Join(p.in.Close(), p.cmd.Wait(), os.Remove(p.file))
}

// commandPeer starts the command wexec for each run.
type commandPeer struct{ path, language string }

func (p commandPeer) Fresh(bool) (drive.Sandbox, error) { return p, nil }
func (commandPeer) Close() error                        { return nil }

func (p commandPeer) Run(program string) (string, time.Duration, error) {
	out, err := exec.Command(p.path, "run", "-l", p.language, "-e", program).Output()
	return strings.TrimSpace(string(out)), 0, err
}

// server is an MCP server over stdio.
type server struct {
	session *mcp.ClientSession
	tool    string
	args    func(code string) map[string]any
	read    func(*mcp.CallToolResult) (string, error)
}

func openServer(args []string, tool string, in func(string) map[string]any, read func(*mcp.CallToolResult) (string, error)) (drive.Peer, error) {
	session, err := mcp.NewClient(&mcp.Implementation{Name: "peers", Version: "1"}, nil).
		Connect(context.Background(), &mcp.CommandTransport{Command: exec.Command(args[0], args[1:]...)}, nil)
	if err != nil {
		return nil, err
	}
	return server{session, tool, in, read}, nil
}

func (s server) Fresh(bool) (drive.Sandbox, error) { return runIn{s}, nil }
func (s server) Close() error                      { return s.session.Close() }

type runIn struct{ server }

func (runIn) Close() error { return nil }

func (s runIn) Run(program string) (string, time.Duration, error) {
	res, err := s.session.CallTool(context.Background(), &mcp.CallToolParams{Name: s.tool, Arguments: s.args(program)})
	if err != nil {
		return "", 0, err
	}
	if res.IsError {
		return "", 0, errors.New(complaint(res))
	}
	out, err := s.read(res)
	return out, 0, err
}

// complaint returns the line of an answer with the error.
func complaint(r *mcp.CallToolResult) string {
	for _, c := range r.Content {
		t, ok := c.(*mcp.TextContent)
		if !ok {
			continue
		}
		for line := range strings.Lines(t.Text) {
			if strings.Contains(line, "Error: ") {
				return strings.TrimSpace(line)
			}
		}
	}
	return "an error without words"
}

var returnValue = regexp.MustCompile(`(?s)<return_value>\s*(.*?)\s*</return_value>`)

// returned extracts the value from an answer of mcp-run-python.
func returned(r *mcp.CallToolResult) (string, error) {
	for _, c := range r.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			if m := returnValue.FindStringSubmatch(t.Text); m != nil {
				return plain(json.RawMessage(m[1])), nil
			}
			return "", fmt.Errorf("unexpected answer %.200s", t.Text)
		}
	}
	return "", errors.New("empty answer")
}
