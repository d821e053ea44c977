package apiclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

func (c *Client) get(ctx context.Context, path string, query url.Values, out any) error {
	return c.call(ctx, request{method: http.MethodGet, path: path, query: query, again: true}, out)
}

// Submit asks for a run and returns it as it is accepted. A request that was cut off
// is sent again with its key, so that the program runs once.
func (c *Client) Submit(ctx context.Context, p service.Program, key string) (*service.Run, error) {
	var run service.Run
	return &run, c.call(ctx, request{method: "POST", path: "/v1/runs", query: url.Values{"wait": {"0"}}, body: p, key: key}, &run)
}

// Run returns a run.
func (c *Client) Run(ctx context.Context, id string) (*service.Run, error) {
	var run service.Run
	return &run, c.get(ctx, "/v1/runs/"+url.PathEscape(id), nil, &run)
}

// Runs returns the newest runs that a filter selects, and the cursor of the next page.
func (c *Client) Runs(ctx context.Context, f store.Filter) (runs []*service.Run, next string, err error) {
	var page struct {
		Runs []*service.Run
		Next string
	}
	err = c.get(ctx, "/v1/runs", queryOf(map[string]string{
		"state": string(f.State), "status": f.Status, "tool": f.Tool, "skill": f.Skill, "actor": f.Actor, "language": f.Language, "q": f.Words,
		"since": timeText(f.Since), "until": timeText(f.Until), "cursor": f.Before, "limit": strconv.Itoa(f.Limit)}), &page)
	return page.Runs, page.Next, err
}

// queryOf leaves out parameters that are empty.
func queryOf(all map[string]string) url.Values {
	out := url.Values{}
	for name, value := range all {
		if value != "" && value != "0" {
			out.Set(name, value)
		}
	}
	return out
}

func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Cancel ends a run. It reports whether the run had not ended yet.
func (c *Client) Cancel(ctx context.Context, id string) (bool, error) {
	var out struct{ Cancelled bool }
	err := c.call(ctx, request{method: "POST", path: "/v1/runs/" + url.PathEscape(id) + "/cancel", again: true}, &out)
	return out.Cancelled, err
}

// Approvals returns the questions that wait for a person.
func (c *Client) Approvals(ctx context.Context) ([]service.Approval, error) {
	var page struct{ Approvals []service.Approval }
	return page.Approvals, c.get(ctx, "/v1/approvals", url.Values{"limit": {"1000"}}, &page)
}

// Questions returns what waits for a person, as the terminal shows it.
func (c *Client) Questions(ctx context.Context) (all []hostfns.Question, err error) {
	waiting, err := c.Approvals(ctx)
	for _, a := range waiting {
		all = append(all, questionOf(a))
	}
	return all, err
}

func questionOf(a service.Approval) hostfns.Question {
	return hostfns.Question{ID: a.ID, Run: a.Run, Tool: a.Tool, Message: a.Message, Rule: a.Rule, Actor: a.Actor,
		Intent: a.Intent, Args: a.Args, Since: a.Since, Expires: a.Expires}
}

// Decide answers a question.
func (c *Client) Decide(ctx context.Context, id string, reply hostfns.Reply) error {
	body := map[string]any{"decision": "deny"}
	if reply.Approved {
		body["decision"] = "approve"
	}
	if reply.Reason != "" {
		body["reason"] = reply.Reason
	}
	if reply.Always {
		body["always"] = true
	}
	var out service.Approval
	return c.call(ctx, request{method: "POST", path: "/v1/approvals/" + url.PathEscape(id), body: body}, &out)
}

// Tokens returns the tokens of the tenant.
func (c *Client) Tokens(ctx context.Context) ([]store.Token, error) {
	var page struct{ Tokens []store.Token }
	return page.Tokens, c.get(ctx, "/v1/tokens", nil, &page)
}

// CreateToken makes a token and returns it with its id. Tenant may be empty.
func (c *Client) CreateToken(ctx context.Context, t store.Token) (secret, id string, err error) {
	body := map[string]any{"name": t.Name, "scopes": t.Scopes, "type": t.Type}
	if t.Tenant != "" {
		body["tenant"] = t.Tenant
	}
	if len(t.Tools) > 0 {
		body["tools"] = t.Tools
	}
	if !t.Expires.IsZero() {
		body["expires"] = t.Expires
	}
	if t.Quotas != (store.Quotas{}) {
		body["quotas"] = t.Quotas
	}
	if t.Model != "" {
		body["model"] = t.Model
	}
	var out struct{ ID, Token string }
	err = c.call(ctx, request{method: "POST", path: "/v1/tokens", body: body}, &out)
	return out.Token, out.ID, err
}

// RevokeToken removes a token of the tenant, whose name the server does not tell.
func (c *Client) RevokeToken(ctx context.Context, id string) (tenant string, err error) {
	var out struct{}
	return "", c.call(ctx, request{method: http.MethodDelete, path: "/v1/tokens/" + url.PathEscape(id)}, &out)
}

// Used is what runs, calls or skills used. Key is a day, an actor or a name.
type Used struct {
	Key    string  `json:"key"`
	Count  int64   `json:"count"`
	Failed int64   `json:"failed"`
	Fuel   int64   `json:"fuel"`
	Tokens int64   `json:"tokens"`
	Money  float64 `json:"money"`
	MS     int64   `json:"ms"`
}

// Usage sums what runs used by day, actor, tool, skill or model.
func (c *Client) Usage(ctx context.Context, by string, since, until time.Time) ([]Used, error) {
	var page struct{ Usage []Used }
	return page.Usage, c.get(ctx, "/v1/usage", queryOf(map[string]string{"by": by, "since": timeText(since), "until": timeText(until)}), &page)
}
