package mcpd

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/fault"
)

// TestASearchOfAClientWaitsForACore takes every core, as runs would.
func TestASearchOfAClientWaitsForACore(t *testing.T) {
	s := newServer(t, "version: 1\ntools: {allow: ['shop.*'], deny: ['shop.delete_*']}\n", nil, (&shop{}).providers()...)
	c := connect(t, s, "", nil)
	var leave []func()
	for range runtime.GOMAXPROCS(0) {
		one, err := s.o.Engine.Core(t.Context(), "other")
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, one)
	}
	asks := []*mcp.CallToolParams{
		{Name: "search_tools", Arguments: map[string]any{"query": "item", "detail": "full"}},
		{Name: "describe_tools", Arguments: map[string]any{"names": []string{"shop.get_item"}}},
	}
	for _, ask := range asks {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		begun := time.Now()
		_, err := c.CallTool(ctx, ask)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) > 30*time.Second {
			t.Errorf("%s is answered without a core after %v: %v", ask.Name, time.Since(begun), err)
		}
	}
	for _, one := range leave {
		one()
	}
	for _, ask := range asks {
		if res, err := c.CallTool(t.Context(), ask); err != nil || res.IsError && ask.Name == "search_tools" {
			t.Errorf("%s: %v", ask.Name, err)
		}
	}
	// Nobody keeps a core: the caller of a search that waited has gone.
	for range runtime.GOMAXPROCS(0) {
		one, err := s.o.Engine.Core(t.Context(), "other")
		if err != nil {
			t.Fatal(fault.CodeOf(err), err)
		}
		defer one()
	}
}
