package mcpd

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/artifacts"
	"github.com/wexec/wexec/policy"
)

// declarationsRoot begins the URIs of declarations.
const declarationsRoot = "wexec://mcp-servers/"

// decision is what the policy decides about a tool whatever its arguments: allow,
// ask, or "" for a tool that is denied and not listed.
func (s *Server) decision(t catalogue.Tool) string {
	switch s.table().BestEffect(t) {
	case policy.Allow:
		return "allow"
	case policy.Ask:
		return "ask"
	}
	return ""
}

// core waits for a core for work for a client, as a run of the client would.
func (s *Server) core(session *mcp.ServerSession, extra *mcp.RequestExtra) hostfns.Core {
	return func(ctx context.Context) (leave func(), err error) {
		return s.o.Engine.Core(ctx, actorOf(session, extra).ID)
	}
}

// listed returns the catalogue of the tools that are not denied, and the errors of
// servers that are left out. The caller has a core until it calls leave.
func (s *Server) listed(ctx context.Context, core hostfns.Core) (cat *catalogue.Catalogue, failed []error, leave func(), err error) {
	whole, failed := s.table().Catalogue(ctx)
	if leave, err = core(ctx); err != nil {
		return nil, nil, nil, err
	}
	return s.table().Offered(whole), failed, leave, nil
}

func (s *Server) searchTools(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var p struct {
		Query  string `json:"query"`
		Limit  int    `json:"limit"`
		Detail string `json:"detail"`
	}
	if err := decodeParams(r.Params.Arguments, &p); err != nil {
		return nil, err
	}
	if p.Detail != "" && !slices.Contains([]string{"name", "summary", "full"}, p.Detail) {
		return nil, invalid(fmt.Sprintf("unknown detail %q: use name, summary or full", clip(p.Detail, 64)))
	}
	core := s.core(r.Session, r.Extra)
	cat, failed, leave, err := s.listed(ctx, core)
	if err != nil {
		return nil, err
	}
	leave()
	found, err := s.table().Search(ctx, cat, catalogue.Query{Text: p.Query, Limit: min(p.Limit, 100), Detail: p.Detail}, core)
	if err != nil {
		return nil, err
	}
	return s.foundTools(found, failed)
}

func (s *Server) describeTools(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var p struct {
		Names    []string `json:"names"`
		Language string   `json:"language"`
	}
	if err := decodeParams(r.Params.Arguments, &p); err != nil {
		return nil, err
	}
	if len(p.Names) == 0 || len(p.Names) > 20 {
		return nil, invalid("names must have 1 to 20 names")
	}
	lang := "javascript"
	switch p.Language {
	case "", "javascript", "js", "typescript", "ts":
	case "python", "py":
		lang = "python"
	default:
		return nil, invalid(fmt.Sprintf("unknown language %q: use typescript or python", clip(p.Language, 64)))
	}
	listed, failed, leave, err := s.listed(ctx, s.core(r.Session, r.Extra))
	if err != nil {
		return nil, err
	}
	defer leave()
	found := catalogue.Found{Tools: []catalogue.Match{}}
	var unknown []string
	for _, name := range p.Names {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if e, ok := listed.Describe(name, "full", lang); ok {
			if t, ok := listed.Lookup(name); ok {
				e.Decision = s.decision(t)
			}
			found.Tools = append(found.Tools, e)
			continue
		}
		line := fmt.Sprintf("unknown tool %q", name)
		if near := listed.Nearest(name, 3); len(near) > 0 {
			line += ": did you mean " + strings.Join(near, " or ") + "?"
		}
		unknown = append(unknown, line)
	}
	found.Total = len(found.Tools)
	res, err := s.foundTools(found, failed)
	if err == nil && len(unknown) > 0 {
		if res.IsError = len(found.Tools) == 0; res.IsError {
			res.Content = res.Content[1:] // without "no tools found"
		}
		res.Content = append(res.Content, &mcp.TextContent{Text: strings.Join(unknown, "\n")})
	}
	return res, err
}

// foundTools is a tool result with tools as structured content and as text, and
// the errors of servers.
func (s *Server) foundTools(found catalogue.Found, failed []error) (*mcp.CallToolResult, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(found); err != nil {
		return nil, err
	}
	res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: foundText(found)}}, StructuredContent: json.RawMessage(b.Bytes())}
	for _, err := range failed {
		res.Content = append(res.Content, &mcp.TextContent{Text: "left out: " + s.table().Redact(err.Error())})
	}
	if notice := s.notice(); notice != "" {
		res.Content = append(res.Content, &mcp.TextContent{Text: notice})
	}
	return res, nil
}

// notice tells the agent what people have to do before tools work as expected, or
// it is "".
func (s *Server) notice() string { return noticed(s.state.Load().Notice) }

func noticed(notice string) string {
	if notice == "" {
		return ""
	}
	return "Tell the person: " + notice
}

// foundText lists tools with how to call them, and their declarations if there
// are any.
func foundText(found catalogue.Found) string {
	if len(found.Tools) == 0 {
		return "no tools found: try other words, or an empty query to list all tools"
	}
	var lines []string
	for _, e := range found.Tools {
		line := e.Call
		if e.Decision == "ask" {
			line += " (asks a person)"
		}
		switch {
		case e.Declaration != "":
			line += "\n" + e.Declaration
		case e.Summary != "":
			line += ": " + e.Summary
		}
		lines = append(lines, line)
	}
	if more := found.Total - len(found.Tools); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more: raise limit, or use more words", more))
	}
	return strings.Join(lines, "\n")
}

func (s *Server) readDeclarations(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := r.Params.URI
	name, ok := strings.CutPrefix(uri, declarationsRoot)
	if !ok || !fs.ValidPath(name) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	listed, _, leave, err := s.listed(ctx, s.core(r.Session, r.Extra))
	if err != nil {
		return nil, err
	}
	defer leave()
	tree := listed.Tree(func(int64) error { return context.Cause(ctx) })
	data, err := fs.ReadFile(tree, name)
	if err != nil {
		entries, err := fs.ReadDir(tree, name)
		if err != nil {
			return nil, mcp.ResourceNotFoundError(uri)
		}
		var names []string
		for _, e := range entries {
			names = append(names, path.Join(name, e.Name()))
		}
		data = []byte(strings.Join(names, "\n"))
	}
	return readResult(uri, "text/plain", data), nil
}

func (s *Server) readValue(_ context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	v, ok := s.values.get(s.owner(r.Session, r.Extra), r.Params.URI)
	if !ok {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	return readResult(v.uri, v.mime, v.data), nil
}

func readResult(uri, mime string, data []byte) *mcp.ReadResourceResult {
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: mime, Text: string(data)}}}
}

// readArtifact answers read_artifact.
func (s *Server) readArtifact(ctx context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var p struct {
		Artifact string `json:"artifact"`
		artifacts.Query
	}
	if err := decodeParams(r.Params.Arguments, &p); err != nil {
		return nil, err
	}
	p.Lines, p.Most = cmp.Or(p.Lines, 100), maxInline
	page, err := s.o.ReadArtifact(ctx, userOf(r.Extra), strings.TrimPrefix(p.Artifact, "sha256:"), p.Query)
	if err != nil {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: withHint(err)}}}, nil
	}
	text, err := json.Marshal(page)
	if err != nil {
		return nil, err
	}
	return &mcp.CallToolResult{StructuredContent: json.RawMessage(text), Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}}, nil
}
