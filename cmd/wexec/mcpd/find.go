package mcpd

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/policy"
)

// treeScheme begins the addresses of the catalogue's files.
const treeScheme = "wexec://mcp-servers/"

// visible is the decision of the policy whatever the arguments; "" leaves a
// tool out.
func (s *Server) visible(t catalogue.Tool) string {
	switch s.o.Table.Outlook(t) {
	case policy.Allow:
		return "allow"
	case policy.Ask:
		return "ask"
	}
	return ""
}

func (s *Server) searchTools(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var p struct {
		Query  string `json:"query"`
		Limit  int    `json:"limit"`
		Detail string `json:"detail"`
	}
	if err := strictly(r.Params.Arguments, &p); err != nil {
		return nil, err
	}
	if p.Detail != "" && !slices.Contains([]string{"name", "summary", "full"}, p.Detail) {
		return nil, invalid(fmt.Sprintf("detail cannot be %q: one of name, summary, full", shortened(p.Detail, 64)))
	}
	cat, failed := s.o.Table.Catalogue(ctx)
	found := s.o.Table.Search(ctx, cat, catalogue.Query{Text: p.Query, Limit: min(p.Limit, 100), Detail: p.Detail, Keep: s.visible})
	return foundTools(found, failed)
}

func (s *Server) describeTools(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var p struct {
		Names    []string `json:"names"`
		Language string   `json:"language"`
	}
	if err := strictly(r.Params.Arguments, &p); err != nil {
		return nil, err
	}
	if len(p.Names) == 0 || len(p.Names) > 20 {
		return nil, invalid("names holds 1 to 20 names")
	}
	lang := "javascript"
	switch p.Language {
	case "", "javascript", "js", "typescript", "ts":
	case "python", "py":
		lang = "python"
	default:
		return nil, invalid(fmt.Sprintf("there are no declarations in %q: one of typescript, python", shortened(p.Language, 64)))
	}
	cat, failed := s.o.Table.Catalogue(ctx)
	view := cat.Keep(func(t catalogue.Tool) bool { return s.visible(t) != "" })
	found := catalogue.Found{Tools: []catalogue.Entry{}}
	var unknown []string
	for _, name := range p.Names {
		if e, ok := view.Describe(name, "full", lang); ok {
			if t, ok := view.Lookup(name); ok {
				e.Decision = s.visible(t)
			}
			found.Tools = append(found.Tools, e)
			continue
		}
		line := fmt.Sprintf("there is no tool %q", name)
		if near := view.Nearest(name, 3); len(near) > 0 {
			line += ": did you mean " + strings.Join(near, " or ") + "?"
		}
		unknown = append(unknown, line)
	}
	found.Total = len(found.Tools)
	res, err := foundTools(found, failed)
	if err == nil && len(unknown) > 0 {
		if res.IsError = len(found.Tools) == 0; res.IsError {
			res.Content = res.Content[1:] // which says that nothing was found
		}
		res.Content = append(res.Content, &mcp.TextContent{Text: strings.Join(unknown, "\n")})
	}
	return res, err
}

// foundTools answers with the documented shape, with words for models that read
// no shapes, and with what kept servers out.
func foundTools(found catalogue.Found, failed []error) (*mcp.CallToolResult, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(found); err != nil {
		return nil, err
	}
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: foundText(found)}}, StructuredContent: json.RawMessage(b.Bytes())}
	for _, f := range failed {
		res.Content = append(res.Content, &mcp.TextContent{Text: "left out: " + f.Error()})
	}
	return res, nil
}

// foundText lists tools by how they are called, a line or a declaration each.
func foundText(found catalogue.Found) string {
	if len(found.Tools) == 0 {
		return "nothing was found: try other words, or an empty query, which lists every tool"
	}
	var lines []string
	for _, e := range found.Tools {
		line := e.Call
		if e.Decision == "ask" {
			line += " (asks a person)"
		}
		if e.Declaration != "" {
			lines = append(lines, line+"\n"+e.Declaration)
			continue
		}
		if e.Summary != "" {
			line += ": " + e.Summary
		}
		lines = append(lines, line)
	}
	if more := found.Total - len(found.Tools); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more: raise limit, or say more", more))
	}
	return strings.Join(lines, "\n")
}

// offerResources offers the catalogue's tree.
func (s *Server) offerResources() {
	s.mcp.AddResource(&mcp.Resource{URI: treeScheme + "README.md", Name: "tools", MIMEType: "text/markdown",
		Description: "How programs call tools, and the servers there are."}, s.readTree)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: treeScheme + "{+path}", Name: "tool declarations", MIMEType: "text/plain",
		Description: "Declarations of tools, as <server>/<tool>.ts or .pyi."}, s.readTree)
	s.mcp.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: valuesRoot + "{run}/{name}", Name: "values of runs",
		Description: "Values and outputs that were too big for an answer, for ten minutes."},
		func(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			return s.readValue(r)
		})
}

func (s *Server) readTree(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	name, ok := strings.CutPrefix(r.Params.URI, treeScheme)
	if !ok || !fs.ValidPath(name) {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	cat, _ := s.o.Table.Catalogue(ctx)
	tree := cat.Keep(func(t catalogue.Tool) bool { return s.visible(t) != "" }).Tree()
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		entries, derr := fs.ReadDir(tree, name)
		if derr != nil {
			return nil, mcp.ResourceNotFoundError(r.Params.URI)
		}
		var names []string
		for _, e := range entries {
			names = append(names, path.Join(name, e.Name()))
		}
		data = []byte(strings.Join(names, "\n"))
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: r.Params.URI, MIMEType: "text/plain", Text: string(data)}}}, nil
}
