package firsttries

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

//go:embed testdata/data.json
var data []byte

// dataset is what the servers answer from.
type dataset struct {
	Commits []struct {
		SHA       string            `json:"sha"`
		Message   string            `json:"message"`
		Author    map[string]string `json:"author"`
		Date      string            `json:"date"`
		Additions int               `json:"additions"`
		Deletions int               `json:"deletions"`
	} `json:"commits"`
	Issues []struct {
		Number    int               `json:"number"`
		Title     string            `json:"title"`
		State     string            `json:"state"`
		Labels    []string          `json:"labels"`
		Comments  int               `json:"comments"`
		CreatedAt string            `json:"created_at"`
		User      map[string]string `json:"user"`
	} `json:"issues"`
	Files     map[string]string `json:"files"`
	Customers []struct {
		ID      int    `json:"id"`
		Name    string `json:"name"`
		Email   string `json:"email"`
		Country string `json:"country"`
		Plan    string `json:"plan"`
		MRR     int    `json:"mrr"`
	} `json:"customers"`
	Orders []struct {
		ID         string  `json:"id"`
		CustomerID int     `json:"customer_id"`
		Amount     float64 `json:"amount"`
		Currency   string  `json:"currency"`
		Date       string  `json:"date"`
		Status     string  `json:"status"`
	} `json:"orders"`
	Forecasts map[string]json.RawMessage `json:"forecasts"`
}

// serve runs one of the servers that the programs use over standard input and
// output. github and weather answer with text, as most servers do; crm and orders
// with structured content.
func serve(name string) error {
	var d dataset
	if err := json.Unmarshal(data, &d); err != nil {
		return err
	}
	s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
	switch name {
	case "github":
		offerGitHub(s, d)
	case "slack":
		offerSlack(s)
	case "crm":
		offerCRM(s, d)
		offerEvents(s)
	case "weather":
		offerWeather(s, d)
	default:
		return fmt.Errorf("no server %q", name)
	}
	return s.Run(context.Background(), &mcp.StdioTransport{})
}

// text adds a tool whose answer is text. What is not a string is written as JSON.
func text[In any](s *mcp.Server, name, description string, writes bool, f func(In) (any, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: !writes}},
		func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, any, error) {
			out, err := f(in)
			if err != nil {
				return nil, nil, err
			}
			text, ok := out.(string)
			if !ok {
				data, err := json.MarshalIndent(out, "", "  ")
				if err != nil {
					return nil, nil, err
				}
				text = string(data)
			}
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
}

// structured adds a tool with an output schema.
func structured[In, Out any](s *mcp.Server, name, description string, writes bool, f func(In) (Out, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: !writes}},
		func(_ context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			out, err := f(in)
			return nil, out, err
		})
}

func offerGitHub(s *mcp.Server, d dataset) {
	type commitArgs struct {
		Owner  string `json:"owner" jsonschema:"owner of the repository"`
		Repo   string `json:"repo" jsonschema:"name of the repository"`
		Author string `json:"author,omitempty" jsonschema:"only commits of this login"`
	}
	text(s, "list_commits", "List commits of a repository, oldest first.", false, func(in commitArgs) (any, error) {
		out := slices.Clone(d.Commits)
		for i := len(out) - 1; i >= 0; i-- {
			if in.Author != "" && out[i].Author["login"] != in.Author {
				out = slices.Delete(out, i, i+1)
			}
		}
		return out, nil
	})
	type issueArgs struct {
		Owner string `json:"owner" jsonschema:"owner of the repository"`
		Repo  string `json:"repo" jsonschema:"name of the repository"`
		State string `json:"state,omitempty" jsonschema:"open, closed or all; open when absent"`
	}
	text(s, "list_issues", "List issues of a repository.", false, func(in issueArgs) (any, error) {
		out := slices.Clone(d.Issues)
		for i := len(out) - 1; i >= 0; i-- {
			if state := in.State; state != "all" && out[i].State != orOpen(state) {
				out = slices.Delete(out, i, i+1)
			}
		}
		return out, nil
	})
	type fileArgs struct {
		Owner string `json:"owner"`
		Repo  string `json:"repo"`
		Path  string `json:"path" jsonschema:"path of the file in the repository"`
	}
	text(s, "get_file_contents", "Get the text of a file in a repository.", false, func(in fileArgs) (any, error) {
		if content, ok := d.Files[in.Path]; ok {
			return content, nil
		}
		return nil, fmt.Errorf("Not Found: %s", in.Path)
	})
	type newIssue struct {
		Owner  string   `json:"owner"`
		Repo   string   `json:"repo"`
		Title  string   `json:"title"`
		Body   string   `json:"body,omitempty"`
		Labels []string `json:"labels,omitempty"`
	}
	text(s, "create_issue", "Open an issue.", true, func(in newIssue) (any, error) {
		return map[string]any{"number": 101, "title": in.Title, "state": "open", "labels": in.Labels, "html_url": "https://github.example/acme/shop/issues/101"}, nil
	})
}

func orOpen(state string) string {
	if state == "" {
		return "open"
	}
	return state
}

func offerSlack(s *mcp.Server) {
	text(s, "list_channels", "List channels.", false, func(struct{}) (any, error) {
		return map[string]any{"ok": true, "channels": []map[string]any{{"id": "C1", "name": "general"}, {"id": "C2", "name": "alerts"}}}, nil
	})
	type message struct {
		Channel string `json:"channel" jsonschema:"id or name of the channel"`
		Text    string `json:"text"`
	}
	text(s, "post_message", "Post a message to a channel.", true, func(in message) (any, error) {
		return map[string]any{"ok": true, "channel": strings.TrimPrefix(in.Channel, "#"), "ts": "1767225600.000100", "length": len(in.Text)}, nil
	})
}

func offerCRM(s *mcp.Server, d dataset) {
	type listArgs struct {
		Limit  int `json:"limit,omitempty" jsonschema:"how many customers; 3 when absent"`
		Offset int `json:"offset,omitempty"`
	}
	type listed struct {
		Customers any  `json:"customers"`
		Total     int  `json:"total"`
		Next      *int `json:"next_offset"`
	}
	structured(s, "list_customers", "List customers by page.", false, func(in listArgs) (listed, error) {
		if in.Limit <= 0 {
			in.Limit = 3
		}
		from := min(max(in.Offset, 0), len(d.Customers))
		to := min(from+in.Limit, len(d.Customers))
		out := listed{Customers: d.Customers[from:to], Total: len(d.Customers)}
		if to < len(d.Customers) {
			out.Next = &to
		}
		return out, nil
	})
	type getArgs struct {
		ID int `json:"id" jsonschema:"id of the customer"`
	}
	structured(s, "get_customer", "Get one customer.", false, func(in getArgs) (any, error) {
		for _, c := range d.Customers {
			if c.ID == in.ID {
				return c, nil
			}
		}
		return nil, fmt.Errorf("customer %d does not exist", in.ID)
	})
	type orderArgs struct {
		CustomerID int    `json:"customer_id,omitempty" jsonschema:"only orders of this customer"`
		Status     string `json:"status,omitempty" jsonschema:"paid, pending or refunded"`
	}
	structured(s, "list_orders", "List orders.", false, func(in orderArgs) (map[string]any, error) {
		out := slices.Clone(d.Orders)
		for i := len(out) - 1; i >= 0; i-- {
			if in.CustomerID != 0 && out[i].CustomerID != in.CustomerID || in.Status != "" && out[i].Status != in.Status {
				out = slices.Delete(out, i, i+1)
			}
		}
		return map[string]any{"orders": out}, nil
	})
}

// offerEvents adds a tool with a long answer.
func offerEvents(s *mcp.Server) {
	type event struct {
		ID         int    `json:"id"`
		CustomerID int    `json:"customer_id"`
		Kind       string `json:"kind"`
		Page       string `json:"page"`
	}
	structured(s, "list_events", "List what customers did.", false, func(struct{}) (map[string]any, error) {
		var out []event
		for i := range 1000 {
			out = append(out, event{i + 1, i%7 + 1, []string{"login", "view", "view", "purchase"}[i%4], fmt.Sprintf("/products/%d", i%50)})
		}
		return map[string]any{"events": out}, nil
	})
}

func offerWeather(s *mcp.Server, d dataset) {
	type cityArgs struct {
		City string `json:"city"`
	}
	text(s, "get_forecast", "Get the forecast of the next days for a city.", false, func(in cityArgs) (any, error) {
		if f, ok := d.Forecasts[in.City]; ok {
			return string(f), nil
		}
		return nil, fmt.Errorf("unknown city: %s", in.City)
	})
}
