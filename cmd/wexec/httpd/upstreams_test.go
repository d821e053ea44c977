package httpd

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// pinger is an MCP server with the tool ping, and how often it was called.
func pinger(t *testing.T) (mcpFile string, called *atomic.Int64) {
	called = new(atomic.Int64)
	server := mcp.NewServer(&mcp.Implementation{Name: "pinger", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "ping"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		called.Add(1)
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "pong"}}}, nil, nil
	})
	return serveMCP(t, server), called
}

// holder is an MCP server with the tool hold, which answers after release, and entered,
// which is closed when it is called.
func holder(t *testing.T) (mcpFile string, entered <-chan struct{}, release func()) {
	called, gate := make(chan struct{}), make(chan struct{})
	server := mcp.NewServer(&mcp.Implementation{Name: "holder", Version: "1"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "hold"}, func(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (*mcp.CallToolResult, any, error) {
		close(called)
		select {
		case <-gate:
		case <-ctx.Done():
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "held"}}}, nil, nil
	})
	return serveMCP(t, server), called, sync.OnceFunc(func() { close(gate) })
}

// serveMCP serves an MCP server as p, and returns the file that names it.
func serveMCP(t *testing.T, server *mcp.Server) (mcpFile string) {
	web := httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil))
	t.Cleanup(web.Close)
	t.Cleanup(web.CloseClientConnections)
	return `{"mcpServers": {"p": {"type": "http", "url": "` + web.URL + `"}}}`
}
