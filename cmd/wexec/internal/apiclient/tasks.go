package apiclient

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/wexec/wexec/service"
	"github.com/wexec/wexec/store"
)

// AddTask adds a task. A request that was cut off is sent again with its key, so that
// there is one task.
func (c *Client) AddTask(ctx context.Context, n service.NewTask, key string) (t service.Task, err error) {
	return t, c.call(ctx, request{method: http.MethodPost, path: "/v1/tasks", body: n, key: key}, &t)
}

// Task returns a task with its newest attempts.
func (c *Client) Task(ctx context.Context, id string) (t service.Task, err error) {
	return t, c.get(ctx, "/v1/tasks/"+url.PathEscape(id), nil, &t)
}

// Tasks returns the newest tasks that a filter selects, and the cursor of the next page.
func (c *Client) Tasks(ctx context.Context, f store.TaskFilter) (tasks []service.Task, next string, err error) {
	var page struct {
		Tasks []service.Task
		Next  string
	}
	err = c.get(ctx, "/v1/tasks", queryOf(map[string]string{"state": string(f.State), "actor": f.Actor, "name": f.Name, "cursor": f.Before, "limit": strconv.Itoa(f.Limit)}), &page)
	return page.Tasks, page.Next, err
}

// CancelTask ends a task. It reports whether the task had not ended yet.
func (c *Client) CancelTask(ctx context.Context, id string) (bool, error) {
	var out struct{ Cancelled bool }
	err := c.call(ctx, request{method: http.MethodPost, path: "/v1/tasks/" + url.PathEscape(id) + "/cancel", again: true}, &out)
	return out.Cancelled, err
}

// RetryTask makes a new attempt of a task that failed or was cancelled.
func (c *Client) RetryTask(ctx context.Context, id string) (t service.Task, err error) {
	return t, c.call(ctx, request{method: http.MethodPost, path: "/v1/tasks/" + url.PathEscape(id) + "/retry"}, &t)
}

// DecideTask accepts or rejects what a task in review changed.
func (c *Client) DecideTask(ctx context.Context, id string, accept bool) (t service.Task, err error) {
	how := "/reject"
	if accept {
		how = "/accept"
	}
	return t, c.call(ctx, request{method: http.MethodPost, path: "/v1/tasks/" + url.PathEscape(id) + how}, &t)
}
