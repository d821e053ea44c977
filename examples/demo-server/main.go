// Demo-server is an MCP server over stdio with generated data, which is the same on
// every machine: demo-server github, jira, slack, crm, mail or logs. The examples and
// the end-to-end tests use it.
package main

import (
	"context"
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
