package mcpd

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/internal/telemetry"
	"github.com/wexec/wexec/internal/text"
	"github.com/wexec/wexec/policy"
)

// resourcesRoot begins the URIs of resources of servers.
const resourcesRoot = "wexec://resources/"

// Bounds of what is listed of one server.
const (
	maxListed     = 500 // resources or prompts
	maxPages      = 10
	maxListedName = 128
	maxListedText = 1000
)

// passOn adds the resources and prompts of servers to those of wexec, where the policy
// allows it. Each request to a server is a run of a program with one call, so that
// every rule and limit of programs applies.
func (s *Server) passOn(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ctx = telemetry.WithParent(ctx, parentOf(req))
		switch r := req.(type) {
		case *mcp.ListPromptsRequest:
			res, err := next(ctx, method, req)
			if own, ok := res.(*mcp.ListPromptsResult); ok && err == nil && own.NextCursor == "" {
				more := *own
				more.Prompts = append(slices.Clone(own.Prompts), s.promptsOfServers(ctx, client{r.Session, r.Extra})...)
				return &more, nil
			}
			return res, err
		case *mcp.ListResourcesRequest:
			res, err := next(ctx, method, req)
			if own, ok := res.(*mcp.ListResourcesResult); ok && err == nil && own.NextCursor == "" {
				more := *own
				more.Resources = append(slices.Clone(own.Resources), s.resourcesOfServers(ctx, client{r.Session, r.Extra})...)
				return &more, nil
			}
			return res, err
		case *mcp.ListResourceTemplatesRequest:
			res, err := next(ctx, method, req)
			if own, ok := res.(*mcp.ListResourceTemplatesResult); ok && err == nil && own.NextCursor == "" {
				more := *own
				more.ResourceTemplates = append(slices.Clone(own.ResourceTemplates), s.templatesOfServers(ctx, client{r.Session, r.Extra})...)
				return &more, nil
			}
			return res, err
		case *mcp.GetPromptRequest:
			if server, name := s.splitPrompt(r.Params.Name); server != "" {
				return s.promptOfServer(ctx, client{r.Session, r.Extra}, server, name, r.Params.Arguments)
			}
		}
		return next(ctx, method, req)
	}
}

// parentOf returns the span in which a client makes a request: that in _meta, or that
// of the HTTP request.
func parentOf(req mcp.Request) string {
	var meta mcp.Meta
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		meta = r.Params.Meta
	case *mcp.ReadResourceRequest:
		meta = r.Params.Meta
	case *mcp.GetPromptRequest:
		meta = r.Params.Meta
	}
	if parent, ok := meta[telemetry.Header].(string); ok {
		return parent
	}
	if extra := req.GetExtra(); extra != nil {
		return extra.Header.Get(telemetry.Header)
	}
	return ""
}

// callPrograms call the tool in args.
var callPrograms = map[string]string{
	engine.JavaScript: "return await callTool(args.tool, args.arguments)",
	engine.Python:     `return call_tool(args["tool"], args["arguments"])`,
}

// call calls a tool for a client in a run, and returns its answer.
func (s *Server) call(ctx context.Context, c client, tool catalogue.Tool, arguments any, into any) error {
	args, err := json.Marshal(map[string]any{"tool": tool.ID(), "arguments": arguments})
	if err != nil {
		return err
	}
	language := engine.JavaScript
	if s.table().Policy().DecideLanguage(language).Effect == policy.Deny {
		language = engine.Python
	}
	// A client of the protocol without requests of servers gets them in results of
	// tools only.
	run := s.start(ctx, c.session, c.extra, executeParams{Language: language, Code: callPrograms[language], Args: args}, !usesRoundTrips(c.session))
	defer s.runs.remove(run)
	defer run.attach(&listener{ctx: ctx, session: c.session})()
	select {
	case <-run.done:
	case <-ctx.Done():
		return s.abandon(run, "the client cancelled the request")
	case <-s.requestDone(c.extra):
		return s.abandon(run, clientLeft)
	}
	switch {
	case run.err == nil:
		return json.Unmarshal(run.res.Value, into)
	case fault.CodeOf(run.err).Class() == fault.ClassInternal:
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: withHint(run.err)}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: failure(nil, run.err)}
}

// offered returns the tool that the host makes for a method of a server.
func (s *Server) offered(ctx context.Context, feature policy.Feature, server, method string) (catalogue.Tool, error) {
	if d := s.table().Policy().DecideFeature(server, feature); d.Effect == policy.Deny {
		return catalogue.Tool{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: feature.Refused(server) + ": " + d.Message}
	}
	for _, t := range s.table().FeatureTools(ctx, feature, server) {
		if t.Method == method {
			return t, nil
		}
	}
	return catalogue.Tool{}, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: feature.Refused(server) + ": the server does not have them, cannot be reached, or the policy denies the tool"}
}

// listed is an item of a list of a server.
type listed struct {
	URI         string                `json:"uri"`
	Template    string                `json:"uriTemplate"`
	Name        string                `json:"name"`
	Title       string                `json:"title"`
	Description string                `json:"description"`
	MIMEType    string                `json:"mimeType"`
	Arguments   []*mcp.PromptArgument `json:"arguments"`
}

// page is a page of a list of a server.
type page struct {
	Resources []listed `json:"resources"`
	Templates []listed `json:"resourceTemplates"`
	Prompts   []listed `json:"prompts"`
	Next      string   `json:"nextCursor"`
}

// lists returns what servers list with a method, by server, without what exceeds the
// bounds. A server whose listing a person has to approve is left out, and one that
// fails has what it listed before.
func (s *Server) lists(ctx context.Context, c client, feature policy.Feature, method string) map[string][]listed {
	var mu sync.Mutex
	var wg sync.WaitGroup
	all := map[string][]listed{}
	for _, tool := range s.table().FeatureTools(ctx, feature, s.table().Servers()...) {
		if tool.Method != method || s.table().BestEffect(tool) != policy.Allow {
			continue
		}
		wg.Go(func() {
			var items []listed
			for at, n := (page{}), 0; n < maxPages && len(items) < maxListed; n++ {
				arguments := map[string]any{}
				if at.Next != "" {
					arguments["cursor"] = at.Next
				}
				at = page{}
				if err := s.call(ctx, c, tool, arguments, &at); err != nil {
					s.o.Logger.Info("list for a client", "server", tool.Server, "method", method, "error", err)
					break
				}
				if items = slices.Concat(items, at.Resources, at.Templates, at.Prompts); at.Next == "" {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all[tool.Server] = items[:min(len(items), maxListed)]
		})
	}
	wg.Wait()
	return all
}

func (s *Server) promptsOfServers(ctx context.Context, c client) (out []*mcp.Prompt) {
	all := s.lists(ctx, c, policy.Prompts, "prompts/list")
	seen := map[string]bool{}
	for _, server := range s.table().Servers() {
		for _, p := range all[server] {
			name := server + "." + p.Name
			if to, _ := s.splitPrompt(name); to != server || seen[name] || !usableName(p.Name) {
				continue // the name would reach another prompt
			}
			seen[name] = true
			prompt := &mcp.Prompt{Name: name, Title: listedText(p.Title), Description: listedText(p.Description)}
			for _, a := range p.Arguments {
				if a != nil && usableName(a.Name) && len(prompt.Arguments) < 50 {
					prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: a.Name, Title: listedText(a.Title), Description: listedText(a.Description), Required: a.Required})
				}
			}
			out = append(out, prompt)
		}
	}
	return out
}

func (s *Server) resourcesOfServers(ctx context.Context, c client) (out []*mcp.Resource) {
	all := s.lists(ctx, c, policy.Resources, "resources/list")
	for _, server := range s.table().Servers() {
		for _, r := range all[server] {
			if usableURI(r.URI) {
				out = append(out, &mcp.Resource{URI: resourceURI(server, r.URI), Name: listedName(server, r), Title: listedText(r.Title),
					Description: listedText(r.Description), MIMEType: listedType(r.MIMEType)})
			}
		}
	}
	return out
}

func (s *Server) templatesOfServers(ctx context.Context, c client) (out []*mcp.ResourceTemplate) {
	all := s.lists(ctx, c, policy.Resources, "resources/templates/list")
	for _, server := range s.table().Servers() {
		for _, r := range all[server] {
			if usableURI(r.Template) {
				out = append(out, &mcp.ResourceTemplate{URITemplate: resourceURI(server, r.Template), Name: listedName(server, r), Title: listedText(r.Title),
					Description: listedText(r.Description), MIMEType: listedType(r.MIMEType)})
			}
		}
	}
	return out
}

// usableURI reports whether a URI or a template of one can be shown as it is.
func usableURI(uri string) bool {
	return uri != "" && len(uri) <= maxListedText && text.Visible(uri) == uri
}

func listedName(server string, r listed) string {
	return server + ": " + clip(listedText(r.Name), maxListedName)
}

func listedType(mimeType string) string { return clip(listedText(mimeType), maxListedName) }

// usableName reports whether a name can be shown as it is.
func usableName(name string) bool {
	return name != "" && len(name) <= maxListedName && text.Visible(name) == name
}

// listedText is a text of a list as a client is shown it.
func listedText(s string) string { return text.Clean(text.Clip(s, maxListedText)) }

func resourceURI(server, uri string) string {
	return resourcesRoot + url.PathEscape(server) + "/" + uri
}

// shownURI is the URI of a resource of a server as a client is shown it: no server
// names a resource of wexec or of another server. One that cannot be shown as it is
// becomes the other.
func shownURI(server, uri, other string) string {
	if !usableURI(uri) {
		return other
	}
	return resourceURI(server, uri)
}

// splitPrompt returns the server whose prompt a name means, and the prompt: names of
// servers may have dots, and the longest one goes first.
func (s *Server) splitPrompt(name string) (server, prompt string) {
	for _, one := range s.table().Servers() {
		if rest, ok := strings.CutPrefix(name, one+"."); ok && len(one) > len(server) {
			server, prompt = one, rest
		}
	}
	return server, prompt
}

func (s *Server) promptOfServer(ctx context.Context, c client, server, name string, arguments map[string]string) (*mcp.GetPromptResult, error) {
	tool, err := s.offered(ctx, policy.Prompts, server, "prompts/get")
	if err != nil {
		return nil, err
	}
	if arguments == nil {
		arguments = map[string]string{}
	}
	res := &mcp.GetPromptResult{}
	if err := s.call(ctx, c, tool, map[string]any{"name": name, "arguments": arguments}, res); err != nil {
		return nil, err
	}
	res.Meta = nil
	for _, m := range res.Messages {
		switch c := m.Content.(type) {
		case *mcp.ResourceLink:
			c.URI = shownURI(server, c.URI, resourceURI(server, ""))
		case *mcp.EmbeddedResource:
			if c.Resource != nil {
				c.Resource.URI = shownURI(server, c.Resource.URI, resourceURI(server, ""))
			}
		}
	}
	return res, nil
}

func (s *Server) readOfServer(ctx context.Context, r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	escaped, uri, _ := strings.Cut(strings.TrimPrefix(r.Params.URI, resourcesRoot), "/")
	server, err := url.PathUnescape(escaped)
	if err != nil || uri == "" || !slices.Contains(s.table().Servers(), server) {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	tool, err := s.offered(ctx, policy.Resources, server, "resources/read")
	if err != nil {
		return nil, err
	}
	var res struct {
		Contents []struct {
			URI      string  `json:"uri"`
			MIMEType string  `json:"mimeType"`
			Text     string  `json:"text"`
			Blob     *binary `json:"blob"`
		} `json:"contents"`
	}
	if err := s.call(ctx, client{r.Session, r.Extra}, tool, map[string]any{"uri": uri}, &res); err != nil {
		return nil, err
	}
	out := &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{}}
	for _, one := range res.Contents {
		contents := &mcp.ResourceContents{URI: shownURI(server, one.URI, r.Params.URI), MIMEType: listedType(one.MIMEType), Text: one.Text}
		if one.Blob != nil {
			if contents.Blob, err = base64.StdEncoding.DecodeString(string(*one.Blob)); err != nil {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "the resource has invalid base64"}
			}
		}
		out.Contents = append(out.Contents, contents)
	}
	return out, nil
}
