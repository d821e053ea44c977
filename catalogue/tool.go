// Package catalogue knows the tools: how they are named in code, what they
// look like as types, how they are found, and the file tree agents browse. It
// is pure: tools in, text out.
package catalogue

import "encoding/json"

// Tool is one tool of one server, as the server described it. Names and texts
// have been cleaned of control characters and bounded before they come here.
type Tool struct {
	Server       string          `json:"server"`
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  Annotations     `json:"annotations,omitzero"`
	Version      string          `json:"version,omitempty"` // of the server
	Warning      string          `json:"warning,omitempty"` // why a part of the definition is not used
}

// Annotations are what a server says of its own tool. Nil: it does not say.
// They may tighten a decision and never loosen one unnoticed.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// ID is the name the policy follows: server and tool with a dot between.
func (t Tool) ID() string { return t.Server + "." + t.Name }
