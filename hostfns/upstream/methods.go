package upstream

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

// Methods of resources and prompts.
const (
	methodListResources = "resources/list"
	methodListTemplates = "resources/templates/list"
	methodReadResource  = "resources/read"
	methodListPrompts   = "prompts/list"
	methodGetPrompt     = "prompts/get"
)

// method is a method of a server that the host offers as a tool of the server, so
// that it takes the same way as a call: schema, policy, record, limits, redaction.
type method struct {
	tool, name, description string
	properties, required    string   // of the input schema
	fields                  []string // of the result that the program gets
	send                    func(ctx context.Context, s *mcp.ClientSession, meta mcp.Meta, args methodArgs) (any, error)
}

// methodArgs are the arguments of all methods.
type methodArgs struct {
	Cursor    string            `json:"cursor"`
	URI       string            `json:"uri"`
	Name      string            `json:"name"`
	Arguments map[string]string `json:"arguments"`
}

const cursorProperty = `"cursor":{"type":"string","maxLength":8192,"description":"nextCursor of the page before"}`

// methods returns all methods.
func methods() []method {
	return []method{
		{tool: "list_resources", name: methodListResources, description: "A page of the resources of the server.",
			properties: cursorProperty, fields: []string{"resources", "nextCursor"},
			send: func(ctx context.Context, s *mcp.ClientSession, meta mcp.Meta, args methodArgs) (any, error) {
				return s.ListResources(ctx, &mcp.ListResourcesParams{Meta: meta, Cursor: args.Cursor})
			}},
		{tool: "list_resource_templates", name: methodListTemplates, description: "A page of the patterns for URIs of resources of the server.",
			properties: cursorProperty, fields: []string{"resourceTemplates", "nextCursor"},
			send: func(ctx context.Context, s *mcp.ClientSession, meta mcp.Meta, args methodArgs) (any, error) {
				return s.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Meta: meta, Cursor: args.Cursor})
			}},
		{tool: "read_resource", name: methodReadResource, description: "Read a resource of the server by its URI, such as the uri of a resource_link: contents have uri, mimeType, and text or blob (bytes).",
			properties: `"uri":{"type":"string","maxLength":8192}`, required: "uri", fields: []string{"contents"},
			send: func(ctx context.Context, s *mcp.ClientSession, meta mcp.Meta, args methodArgs) (any, error) {
				return s.ReadResource(ctx, &mcp.ReadResourceParams{Meta: meta, URI: args.URI})
			}},
		{tool: "list_prompts", name: methodListPrompts, description: "A page of the prompts of the server.",
			properties: cursorProperty, fields: []string{"prompts", "nextCursor"},
			send: func(ctx context.Context, s *mcp.ClientSession, meta mcp.Meta, args methodArgs) (any, error) {
				return s.ListPrompts(ctx, &mcp.ListPromptsParams{Meta: meta, Cursor: args.Cursor})
			}},
		{tool: "get_prompt", name: methodGetPrompt, description: "The messages of a prompt of the server.",
			properties: `"name":{"type":"string","maxLength":1024},"arguments":{"type":"object","additionalProperties":{"type":"string"}}`,
			required:   "name", fields: []string{"description", "messages"},
			send: func(ctx context.Context, s *mcp.ClientSession, meta mcp.Meta, args methodArgs) (any, error) {
				return s.GetPrompt(ctx, &mcp.GetPromptParams{Meta: meta, Name: args.Name, Arguments: args.Arguments})
			}},
	}
}

// forgetKey marks the context of a request that is not sent. Before it sends one, the
// library removes the expired entry of its cache, which it keeps forever otherwise,
// by URI or cursor.
type forgetKey struct{}

var errForgotten = errors.New("not sent")

func forgetCached(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if ctx.Value(forgetKey{}) != nil {
			return nil, errForgotten
		}
		return next(ctx, method, req)
	}
}

// unwrap returns the fields of a result that the program gets, with blobs as bytes.
func (m *method) unwrap(call hostfns.Call, raw json.RawMessage) (hostfns.Answer, error) {
	bad := func(why error) (hostfns.Answer, error) {
		return hostfns.Answer{}, fault.New(fault.ToolFailed, "read the answer of %s.%s: %w", call.Server, call.Tool, why)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return bad(err)
	}
	var kind string
	if json.Unmarshal(all["resultType"], &kind) == nil && kind == inputRequired {
		return hostfns.Answer{}, needsMore(call.Server, call.Tool)
	}
	out := map[string]json.RawMessage{}
	for _, name := range m.fields {
		if v, ok := all[name]; ok && string(v) != "null" {
			out[name] = v
		}
	}
	answer := hostfns.Answer{Kind: hostfns.JSON, Checked: true}
	if list, ok := out["contents"]; ok {
		var items contentItems
		if err := items.UnmarshalJSON(list); err != nil {
			return bad(err)
		}
		for i, item := range items {
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(item, &fields); err != nil {
				return bad(errors.New("invalid contents"))
			}
			markBytes(fields, "blob")
			b, err := json.Marshal(fields)
			if err != nil {
				return bad(err)
			}
			items[i] = b
		}
		b, err := json.Marshal([]json.RawMessage(items))
		if err != nil {
			return bad(err)
		}
		out["contents"], answer.Kind = b, hostfns.Content
	}
	data, err := json.Marshal(out)
	if err != nil {
		return bad(err)
	}
	answer.Data = data
	return answer, nil
}
