package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// extraServers are further servers of a company. With the 15 tools of the demo
// servers there are 2,000 tools.
var extraServers = []string{"billing", "people", "cloud", "support", "warehouse"}

const extraTools = 397 // per server

var (
	actions = []struct{ name, text string }{
		{"list", "List the %s of an account, newest first, with filters."},
		{"get", "Get one of the %s with all its fields."},
		{"create", "Create a new entry among the %s."},
		{"update", "Change fields of one of the %s; what is not named stays."},
		{"delete", "Remove one of the %s for good."},
		{"export", "Export the %s of a period as a file."},
		{"archive", "Archive one of the %s, so that lists no longer show it."},
		{"count", "Count the %s that fit a filter."},
	}
	subjects = map[string][]string{
		"billing":   strings.Fields("invoices refunds coupons taxes payouts disputes ledgers plans"),
		"people":    strings.Fields("employees contracts absences payslips reviews trainings candidates desks"),
		"cloud":     strings.Fields("instances volumes snapshots networks certificates clusters buckets alarms"),
		"support":   strings.Fields("tickets macros surveys articles queues escalations callbacks transcripts"),
		"warehouse": strings.Fields("parcels pallets shelves pickups returns carriers stocktakes labels"),
	}
	regions = strings.Fields("global north south east west coastal inland")
)

// serve runs an MCP server over stdio whose tools all fail.
func serve(ctx context.Context, name string) error {
	nouns, ok := subjects[name]
	if !ok {
		return fmt.Errorf("unknown server %q", name)
	}
	s := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1.0.0"}, nil)
	n := 0
	for _, region := range regions {
		for _, noun := range nouns {
			for _, a := range actions {
				if n++; n > extraTools {
					break
				}
				schema := fmt.Sprintf(`{"type":"object","properties":{"id":{"type":"string","description":"the identifier, as a list shows it"},`+
					`"filter":{"type":"string","description":"field and value, like status=open"},`+
					`"limit":{"type":"integer","minimum":1,"maximum":500,"default":50,"description":"how many %s at most"},`+
					`"fields":{"type":"object","additionalProperties":{"type":"string"},"description":"fields and their values"}}}`, noun)
				s.AddTool(&mcp.Tool{Name: a.name + "_" + region + "_" + noun, InputSchema: json.RawMessage(schema),
					Description: fmt.Sprintf(a.text, region+" "+noun)},
					func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
						return nil, fmt.Errorf("%s has no data", name)
					})
			}
		}
	}
	return s.Run(ctx, &mcp.StdioTransport{})
}
