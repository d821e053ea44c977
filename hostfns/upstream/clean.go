package upstream

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
)

// What is taken of a server's own words.
const (
	maxTools       = 5000
	maxName        = 128
	maxTitle       = 200
	maxDescription = 4 << 10
	maxSchema      = 256 << 10
)

// markup is what makes foreign text do something where it is shown: tags and
// hidden comments.
var markup = regexp.MustCompile(`(?s)<!--.*?-->|</?[A-Za-z][^<>]{0,200}>`)

// cleanTool bounds and cleans what a server says of a tool. A tool without a
// usable name is refused with the reason.
func cleanTool(server, version string, t *mcp.Tool) (catalogue.Tool, error) {
	if t == nil || t.Name == "" {
		return catalogue.Tool{}, fmt.Errorf("a tool without a name")
	}
	if len(t.Name) > maxName {
		return catalogue.Tool{}, fmt.Errorf("a tool whose name has %d bytes", len(t.Name))
	}
	if cleanText(t.Name, maxName) != t.Name || strings.ContainsAny(t.Name, "\n\t") {
		return catalogue.Tool{}, fmt.Errorf("a tool whose name has control characters or markup: %q", cleanText(t.Name, maxName))
	}
	out := catalogue.Tool{
		Server: server, Name: t.Name, Version: version,
		Title:       cleanText(t.Title, maxTitle),
		Description: cleanText(t.Description, maxDescription),
	}
	if a := t.Annotations; a != nil {
		if out.Title == "" {
			out.Title = cleanText(a.Title, maxTitle)
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
	var warn string
	if out.InputSchema, warn = cleanSchema(t.InputSchema); warn != "" {
		out.Warning = "input schema: " + warn
	}
	if out.OutputSchema, warn = cleanSchema(t.OutputSchema); warn != "" && out.Warning == "" {
		out.Warning = "output schema: " + warn
	}
	return out, nil
}

// cleanSchema is a schema as JSON, its texts cleaned. One that is too large is
// left out.
func cleanSchema(schema any) (json.RawMessage, string) {
	if schema == nil {
		return nil, ""
	}
	b, err := json.Marshal(cleanTexts(schema, 0))
	if err != nil {
		return nil, "it is no JSON"
	}
	if len(b) > maxSchema {
		return nil, fmt.Sprintf("it has %d bytes, more than %d", len(b), maxSchema)
	}
	return b, ""
}

// cleanTexts cleans the descriptions in a schema and leaves names as they are.
func cleanTexts(v any, depth int) any {
	if depth > 64 {
		return true // the schema that allows anything
	}
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			if s, ok := e.(string); ok && (k == "description" || k == "title") {
				out[k] = cleanText(s, maxDescription)
				continue
			}
			out[k] = cleanTexts(e, depth+1)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = cleanTexts(e, depth+1)
		}
		return out
	}
	return v
}

// cleanText makes a server's words fit to be shown to people and models: valid,
// without control and direction characters, tags or hidden comments, bounded.
func cleanText(s string, most int) string {
	if len(s) > 4*most {
		s = s[:4*most]
	}
	s = strings.ToValidUTF8(s, "�")
	s = markup.ReplaceAllString(s, "")
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || (r >= 0xE0000 && r <= 0xE007F) {
			return -1
		}
		return r
	}, s)
	if len(s) > most {
		s = s[:most]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	return s
}
