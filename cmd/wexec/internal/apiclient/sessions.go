package apiclient

import (
	"context"
	"net/http"

	"github.com/wexec/wexec/engine"
)

// Sessions returns the sessions of the token's actor.
func (c *Client) Sessions(ctx context.Context) ([]engine.SessionInfo, error) {
	var page struct{ Sessions []engine.SessionInfo }
	return page.Sessions, c.get(ctx, "/v1/sessions", nil, &page)
}

// Sleep puts a session to sleep.
func (c *Client) Sleep(ctx context.Context, name string) (engine.SessionInfo, error) {
	return c.move(ctx, name, "/sleep", nil, true)
}

// Wake wakes a session.
func (c *Client) Wake(ctx context.Context, name string) (engine.SessionInfo, error) {
	return c.move(ctx, name, "/wake", nil, true)
}

// Fork makes a session that goes on with what another one has.
func (c *Client) Fork(ctx context.Context, name, child string) (engine.SessionInfo, error) {
	return c.move(ctx, name, "/fork", map[string]string{"name": child}, false)
}

func (c *Client) move(ctx context.Context, name, how string, body any, again bool) (engine.SessionInfo, error) {
	var info engine.SessionInfo
	err := c.call(ctx, request{method: http.MethodPost, path: sessionPath(name) + how, body: body, again: again}, &info)
	return info, err
}

// End ends a session.
func (c *Client) End(ctx context.Context, name string) error {
	var out struct{ Name string }
	return c.call(ctx, request{method: http.MethodDelete, path: sessionPath(name)}, &out)
}

// sessionPath is not escaped yet. The name of a session has no slash.
func sessionPath(name string) string { return "/v1/sessions/" + name }
