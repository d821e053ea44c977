package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// call is one plain call.
type call struct {
	server, tool string
	args         map[string]any
}

// name returns the tool name that MCP clients show to a model.
func (c call) name() string { return shown(c.server, c.tool) }

func shown(server, tool string) string { return "mcp__" + server + "__" + tool }

// plainRun runs a job with plain calls.
type plainRun struct {
	c        *compare
	sessions map[string]*mcp.ClientSession
	side     side
	answers  map[string][]string // texts by tool, in call order
}

// launch returns the command of a server.
func (c *compare) launch(server string) (string, []string, error) {
	for _, name := range extraServers {
		if name == server {
			self, err := os.Executable()
			return self, []string{"serve", name}, err
		}
	}
	return c.demo(), []string{server}, nil
}

// plain runs a job with plain calls.
func (c *compare) plain(j job) (*plainRun, error) {
	p := &plainRun{c: c, sessions: map[string]*mcp.ClientSession{}, answers: map[string][]string{}}
	defer func() {
		for _, s := range p.sessions {
			_ = s.Close()
		}
	}()
	for _, server := range j.servers {
		path, args, err := c.launch(server)
		if err != nil {
			return nil, err
		}
		client := mcp.NewClient(&mcp.Implementation{Name: "plain", Version: "1"}, nil)
		s, err := client.Connect(c.ctx, &mcp.CommandTransport{Command: exec.CommandContext(c.ctx, path, args...)}, nil)
		if err != nil {
			return nil, fmt.Errorf("start %s: %w", server, err)
		}
		p.sessions[server] = s
		n, err := c.definitions(s, server)
		if err != nil {
			return nil, err
		}
		p.side.definitions += n
	}
	if err := j.plain(p); err != nil {
		return nil, err
	}
	p.side.turns++ // the final message
	p.side.wall = p.side.tools + time.Duration(p.side.turns)*c.trip
	return p, nil
}

// definitions counts the tokens of the tools of a server: name, description and
// input schema.
func (c *compare) definitions(s *mcp.ClientSession, server string) (int, error) {
	sum := 0
	for t, err := range s.Tools(c.ctx, nil) {
		if err != nil {
			return 0, err
		}
		name := t.Name
		if server != "" {
			name = shown(server, t.Name)
		}
		text, err := json.Marshal(map[string]any{"name": name, "description": t.Description, "input_schema": t.InputSchema})
		if err != nil {
			return 0, err
		}
		n, err := c.count(string(text))
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// turn makes independent calls concurrently and returns their texts.
func (p *plainRun) turn(calls ...call) ([]string, error) {
	texts, faults := make([]string, len(calls)), make([]error, len(calls))
	begun := time.Now()
	var all sync.WaitGroup
	for i, k := range calls {
		all.Go(func() { texts[i], faults[i] = textOf(p.c.ctx, p.sessions[k.server], k.tool, k.args) })
	}
	all.Wait()
	p.side.tools += time.Since(begun)
	p.side.turns++
	p.side.calls += len(calls)
	for i, k := range calls {
		if faults[i] != nil {
			return nil, fmt.Errorf("%s: %w", k.name(), faults[i])
		}
		id := k.server + "." + k.tool
		p.answers[id] = append(p.answers[id], texts[i])
		written, err := json.Marshal(map[string]any{"name": k.name(), "input": k.args})
		if err != nil {
			return nil, err
		}
		n, err := p.c.count(string(written))
		if err != nil {
			return nil, err
		}
		p.side.written += n
		if n, err = p.c.count(texts[i]); err != nil {
			return nil, err
		}
		p.side.read += n
	}
	return texts, nil
}

// textOf calls a tool and returns the text that a model reads.
func textOf(ctx context.Context, s *mcp.ClientSession, tool string, args any) (string, error) {
	res, err := s.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		return "", err
	}
	return resultText(res)
}

func resultText(res *mcp.CallToolResult) (string, error) {
	var b strings.Builder
	for _, c := range res.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	if res.IsError {
		return "", fmt.Errorf("it failed: %s", b.String())
	}
	return b.String(), nil
}
