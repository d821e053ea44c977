package upstream

import (
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/hostfns/internal/toolmeta"
)

// Bounds of what is kept of one server: its tools, and the bytes of their
// schemas.
const (
	maxTools   = 5000
	maxSchemas = 32 << 20
)

// cleanTool is what a server says of a tool, cleaned and bounded. A tool
// without a usable name is refused with the reason.
func cleanTool(server, version string, t *mcp.Tool) (catalogue.Tool, error) {
	if t == nil {
		return catalogue.Tool{}, fmt.Errorf("a tool without a name")
	}
	out := catalogue.Tool{Server: server, Name: t.Name, Version: version, Title: t.Title, Description: t.Description}
	if a := t.Annotations; a != nil {
		if out.Title == "" {
			out.Title = a.Title
		}
		// The library cannot tell false from absent for these two; false is
		// what absent means.
		if a.ReadOnlyHint {
			out.Annotations.ReadOnly = &a.ReadOnlyHint
		}
		if a.IdempotentHint {
			out.Annotations.Idempotent = &a.IdempotentHint
		}
		out.Annotations.Destructive = a.DestructiveHint
		out.Annotations.OpenWorld = a.OpenWorldHint
	}
	out.InputSchema, out.OutputSchema = schemaOf(t.InputSchema), schemaOf(t.OutputSchema)
	return toolmeta.Clean(out)
}

// schemaOf is a schema as JSON.
func schemaOf(schema any) json.RawMessage {
	if schema == nil {
		return nil
	}
	b, err := json.Marshal(schema)
	if err != nil {
		return nil // it was read from JSON
	}
	return b
}

func cleanText(s string, most int) string { return toolmeta.Text(s, most) }
