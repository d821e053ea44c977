package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/cmd/wexec/mcpd"
	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/policy"
)

// program runs a job through the MCP server of wexec and returns the value of the
// program.
func (c *compare) program(j job, o *outcome) (json.RawMessage, error) {
	dir, err := os.MkdirTemp(c.work, "job-")
	if err != nil {
		return nil, err
	}
	host, settings, env, err := c.open(j, dir)
	if err != nil {
		return nil, err
	}
	defer host.Close()
	server := mcpd.New(mcpd.Options{Engine: host.Engine, Table: host.Table, Limits: settings.Limits, Env: env.Map(), Dir: dir, Version: "compare"})
	near, far := mcp.NewInMemoryTransports()
	go func() { _ = server.Serve(c.ctx, far) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, nil).Connect(c.ctx, near, nil)
	if err != nil {
		return nil, err
	}
	defer session.Close()

	s := &o.program
	if s.definitions, err = c.definitions(session, ""); err != nil {
		return nil, err
	}
	// Connecting servers and compiling the guest are not measured, as with plain
	// calls.
	if _, faults := host.Table.Catalogue(c.ctx); len(faults) > 0 {
		return nil, errors.Join(faults...)
	}
	if _, err := host.Engine.Run(c.ctx, engine.Request{Language: engine.JavaScript, Code: "1"}); err != nil {
		return nil, err
	}
	if len(j.find) > 0 {
		if err := c.find(session, j, s); err != nil {
			return nil, err
		}
	}
	code, err := j.code()
	if err != nil {
		return nil, err
	}
	args := map[string]any{"language": engine.JavaScript, "code": code}
	begun := time.Now()
	res, err := session.CallTool(c.ctx, &mcp.CallToolParams{Name: "execute_code", Arguments: args})
	if err != nil {
		return nil, err
	}
	s.tools += time.Since(begun)
	text, err := resultText(res)
	if err != nil {
		return nil, err
	}
	if err := c.note(s, "execute_code", args, text); err != nil {
		return nil, err
	}
	s.turns += 2 // the message with the program, and the final one
	s.wall = s.tools + time.Duration(s.turns)*c.trip
	result, err := resultOf(res)
	if err != nil {
		return nil, err
	}
	if err := host.Close(); err != nil {
		return nil, err
	}
	if o.estimate, err = c.exact(settings.Audit.Dir, result); err != nil {
		return nil, err
	}
	return result.Value, nil
}

// open opens a host with the servers of the job and a policy that allows its tools.
func (c *compare) open(j job, dir string) (*config.Host, *config.Settings, *config.Environment, error) {
	type started struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}
	servers := map[string]started{}
	for _, name := range j.servers {
		path, args, err := c.launch(name)
		if err != nil {
			return nil, nil, nil, err
		}
		servers[name] = started{path, args}
	}
	list, err := json.Marshal(map[string]any{"mcpServers": servers})
	if err != nil {
		return nil, nil, nil, err
	}
	mcpFile, policyFile := filepath.Join(dir, "mcp.json"), filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(mcpFile, list, 0o600); err != nil {
		return nil, nil, nil, err
	}
	if err := os.WriteFile(policyFile, []byte(policyText), 0o600); err != nil {
		return nil, nil, nil, err
	}
	cache := filepath.Join(c.work, "cache")
	if base, err := os.UserCacheDir(); err == nil {
		cache = filepath.Join(base, "wexec-tests")
	}
	env := &config.Environment{Dir: dir, Home: dir, OS: runtime.GOOS, Vars: []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "XDG_CONFIG_HOME=" + filepath.Join(dir, "config"),
		"XDG_STATE_HOME=" + filepath.Join(dir, "state"), "XDG_CACHE_HOME=" + cache,
		"XDG_RUNTIME_DIR=" + filepath.Join(dir, "run"), "SYSTEMROOT=" + os.Getenv("SYSTEMROOT")}}
	settings, err := config.Load(env, config.Flags{MCP: []string{mcpFile}, Policy: []string{policyFile},
		Limits: policy.Limits{Time: 5 * time.Minute, ToolCalls: 600}})
	if err != nil {
		return nil, nil, nil, err
	}
	host, err := settings.Open(c.ctx, config.Options{Env: env, Version: "compare"})
	return host, settings, env, err
}

// policyText records answers in the audit log, to count them exactly.
const policyText = `version: 1
name: compare
tools:
  allow: ["*"]
pii:
  mode: tokenize
  reveal_to: [mail.send]
audit:
  code: full
  inputs: full
  outputs: full
`

// find makes the searches of a job in one turn and checks that they find the tools
// of the program.
func (c *compare) find(session *mcp.ClientSession, j job, s *side) error {
	for _, f := range j.find {
		args := map[string]any{"query": f.query, "limit": 3, "detail": "full"}
		begun := time.Now()
		text, err := textOf(c.ctx, session, "search_tools", args)
		if err != nil {
			return err
		}
		s.tools += time.Since(begun)
		if err := c.note(s, "search_tools", args, text); err != nil {
			return err
		}
		if !strings.Contains(text, "tools."+f.want) {
			return fmt.Errorf("%q did not find %s in the first three: %s", f.query, f.want, text)
		}
	}
	s.turns++
	return nil
}

// note counts a call and its answer.
func (c *compare) note(s *side, tool string, args map[string]any, answer string) error {
	written, err := json.Marshal(map[string]any{"name": tool, "input": args})
	if err != nil {
		return err
	}
	n, err := c.count(string(written))
	if err != nil {
		return err
	}
	s.written += n
	if n, err = c.count(answer); err != nil {
		return err
	}
	s.read += n
	s.calls++
	return nil
}

func resultOf(res *mcp.CallToolResult) (*engine.Result, error) {
	result, err := mcpd.ResultOf(res)
	if err != nil {
		return nil, err
	}
	if result.Status != "ok" {
		return nil, fmt.Errorf("the program ended with status %s", result.Status)
	}
	return result, nil
}

// exact counts what the engine estimates: the answers that the guest saw, from the
// audit log, and the result.
func (c *compare) exact(dir string, result *engine.Result) (estimate, error) {
	e := estimate{in: int(result.Usage.TokensInTools), out: int(result.Usage.TokensOut)}
	rec, err := audit.LoadRecording(dir, result.RunID)
	if err != nil {
		return e, err
	}
	for _, k := range rec.Calls {
		if k.AnswerKind == int(hostfns.Bytes) {
			continue
		}
		n, err := c.count(string(k.Answer))
		if err != nil {
			return e, err
		}
		e.exactIn += n
	}
	e.exactOut, err = c.count(string(result.Value), result.Stdout, result.Stderr)
	return e, err
}
