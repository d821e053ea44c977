// Package catalogue describes a set of tools to programs and people: their names
// in code, their types as declarations, a search, and a file tree that agents can
// browse. It is pure: it takes tools and returns text. It calls no tool and
// decides nothing; see the packages hostfns and policy for that.
//
// Names and schemas come from servers and may be hostile. Every text that is
// returned is safe in a comment or a declaration, and bounded.
package catalogue

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Tool is a tool of a server, as the server describes it. Names and texts must be
// free of control characters and of bounded length.
type Tool struct {
	Server       string          `json:"server"`
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema,omitempty"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  Annotations     `json:"annotations,omitzero"`
	Version      string          `json:"version,omitempty"` // version of the server
	Warning      string          `json:"warning,omitempty"` // why part of the definition is not used
	// Method is the MCP method that the host calls for a tool that it made, such as
	// "resources/read". It is empty for a tool that the server lists.
	Method string `json:"-"`
}

// Annotations are hints that a server gives about its tool; nil if it gives none.
// They may make a decision stricter. A policy that relies on one gets a warning.
type Annotations struct {
	ReadOnly    *bool `json:"readOnlyHint,omitempty"`
	Destructive *bool `json:"destructiveHint,omitempty"`
	Idempotent  *bool `json:"idempotentHint,omitempty"`
	OpenWorld   *bool `json:"openWorldHint,omitempty"`
}

// ID returns the name that policies use: server.tool.
func (t Tool) ID() string { return t.Server + "." + t.Name }

// Definition returns the tool as canonical JSON: names, title, description,
// schemas and annotations. The order of keys in schemas and the version of the
// server do not affect it.
func (t Tool) Definition() json.RawMessage {
	t.Version, t.Warning = "", ""
	t.InputSchema, t.OutputSchema = canonical(t.InputSchema), canonical(t.OutputSchema)
	b, err := json.Marshal(t)
	if err != nil {
		return json.RawMessage("null") // unreachable: every field has a JSON form
	}
	return b
}

// DefinitionSHA256 returns the SHA-256 of [Tool.Definition] in hex.
func (t Tool) DefinitionSHA256() string {
	sum := sha256.Sum256(t.Definition())
	return hex.EncodeToString(sum[:])
}

// canonical returns a schema with sorted keys, or as a JSON string if it is not
// JSON.
func canonical(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return nil
	}
	var v any
	if json.Unmarshal(schema, &v) != nil {
		v = string(schema)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}
