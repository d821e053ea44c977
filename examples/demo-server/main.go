// Demo-server is an MCP server over stdio with generated data, which is the same on
// every machine: demo-server github, jira, slack, crm, mail or logs. The examples and
// the end-to-end tests use it.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	seed := flag.Uint64("seed", 1, "the seed of the data")
	flag.Usage = func() {
		fmt.Fprintf(os.Stderr, "usage: demo-server [-seed N] %s\n", strings.Join(names(), "|"))
	}
	flag.Parse()
	offer, ok := offers[flag.Arg(0)]
	if !ok || flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "demo-" + flag.Arg(0), Version: "1.0.0"}, nil)
	offer(server, *seed)
	if err := server.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "demo-server:", err)
		os.Exit(1)
	}
}

// offers has the servers that this program can simulate.
var offers = map[string]func(*mcp.Server, uint64){
	"github": offerGitHub,
	"jira":   offerJira,
	"slack":  offerSlack,
	"crm":    offerCRM,
	"mail":   offerMail,
	"logs":   offerLogs,
}

func names() []string {
	var out []string
	for n := range offers {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

// tool adds a tool that answers with JSON as text, as most servers do.
func tool[In any](s *mcp.Server, name, description string, writes bool, f func(In) (any, error)) {
	readOnly := !writes
	destructive := writes && (strings.HasPrefix(name, "delete") || strings.HasPrefix(name, "update"))
	mcp.AddTool(s, &mcp.Tool{
		Name: name, Description: description,
		Annotations: &mcp.ToolAnnotations{ReadOnlyHint: readOnly, DestructiveHint: &destructive},
	}, func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
		v, err := f(in)
		if err != nil {
			return nil, nil, err
		}
		text, ok := v.(string)
		if !ok {
			b, err := json.Marshal(v)
			if err != nil {
				return nil, nil, err
			}
			text = string(b)
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
	})
}

// page returns one page of a list. Page numbers start at 1.
func page[T any](items []T, number, limit, most int) []T {
	if limit <= 0 {
		limit = 30
	}
	limit = min(limit, most)
	from := min(max(number-1, 0)*limit, len(items))
	return items[from:min(from+limit, len(items))]
}
