package mcpd

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
)

const (
	maxInline   = 24 << 10 // bytes of a value or an output in an answer
	previewSize = 2000     // bytes of a larger one that are shown
)

// textResult is a tool result with the Result as structured content and text.
func textResult(res *engine.Result, text string, failed bool) (*mcp.CallToolResult, error) {
	return toolResult(res, []mcp.Content{&mcp.TextContent{Text: text}}, failed)
}

// shown is what a model reads of a Result. The rest is in about.
type shown struct {
	RunID   string           `json:"run_id,omitempty"` // if it is needed for wait_run
	Status  engine.Status    `json:"status"`
	Value   json.RawMessage  `json:"value"`
	Stdout  string           `json:"stdout,omitempty"`
	Stderr  string           `json:"stderr,omitempty"`
	Error   *engine.Error    `json:"error,omitempty"`
	Waiting []engine.Waiting `json:"waiting,omitempty"`
}

// aboutKey is the key in _meta of what a host, and not its model, may want to
// know of a run.
const aboutKey = "wexec/run"

type about struct {
	RunID      string            `json:"run_id"`
	Started    time.Time         `json:"started"`
	Usage      engine.Usage      `json:"usage"`
	Calls      []engine.Call     `json:"calls,omitempty"`
	Privacy    *engine.Privacy   `json:"privacy,omitempty"`
	Provenance engine.Provenance `json:"provenance"`
	Cache      string            `json:"cache"`
}

func toolResult(res *engine.Result, content []mcp.Content, failed bool) (*mcp.CallToolResult, error) {
	s := shown{Status: res.Status, Value: res.Value, Stdout: res.Stdout, Stderr: res.Stderr, Error: res.Error, Waiting: res.Waiting}
	switch {
	case res.Status == engine.StatusWaiting:
		s.RunID = res.RunID
	case failed: // the text has the output
		s.Stdout = ""
	}
	structured, err := json.Marshal(s)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "encode the result: " + err.Error()}
	}
	return &mcp.CallToolResult{
		Meta:    mcp.Meta{aboutKey: about{res.RunID, res.Started, res.Usage, res.Calls, res.Privacy, res.Provenance, res.Cache}},
		Content: content, StructuredContent: json.RawMessage(structured), IsError: failed,
	}, nil
}

// ResultOf returns the Result in an answer of execute_code or wait_run, as a
// client has it. Output that is in the text of the answer is missing.
func ResultOf(answer *mcp.CallToolResult) (*engine.Result, error) {
	res := &engine.Result{}
	for _, part := range []any{answer.Meta[aboutKey], answer.StructuredContent} {
		data, err := json.Marshal(part)
		if err == nil {
			err = json.Unmarshal(data, res)
		}
		if err != nil {
			return nil, fmt.Errorf("unexpected form of the result: %w", err)
		}
	}
	return res, nil
}

// shorten replaces large outputs by the start of each and returns links to them.
func (s *Server) shorten(r *run, res *engine.Result) (links []mcp.Content) {
	for _, out := range []struct {
		name string
		text *string
	}{{"stdout", &res.Stdout}, {"stderr", &res.Stderr}} {
		if len(*out.text) > maxInline {
			links = append(links, s.values.put(r, out.name, "text/plain", []byte(*out.text)))
			*out.text = clip(*out.text, previewSize)
		}
	}
	return links
}

// success is the tool result of a run that succeeded: images as images, a value
// or output that is too large as a preview with a link, and the rest as text.
// Output is in the text if the program has no value, so that it is the answer.
func (s *Server) success(r *run) (*mcp.CallToolResult, error) {
	res := *r.res
	links := s.shorten(r, &res)
	var content []mcp.Content
	if len(res.Value) == 0 || string(res.Value) == "null" {
		for _, out := range []string{res.Stdout, res.Stderr} {
			if out != "" {
				content = append(content, &mcp.TextContent{Text: strings.TrimRight(out, "\n")})
			}
		}
	}
	content = append(content, links...)
	if media, description := mediaOf(res.Value); len(media) > 0 {
		res.Value = description
		return toolResult(&res, append(content, media...), false)
	}
	switch value, mime := valueText(res.Value); {
	case value == "" && len(content) == 0:
		content = append(content, &mcp.TextContent{Text: "the program returned no value: return one"})
	case value == "":
	case len(value) <= maxInline:
		content = append(content, &mcp.TextContent{Text: value})
	default:
		link := s.values.put(r, "value", mime, []byte(value))
		preview := clip(value, previewSize)
		description, err := json.Marshal(map[string]any{"resource": link.URI, "bytes": len(value), "preview": preview})
		if err != nil {
			return nil, err
		}
		res.Value = description
		content = append(content, &mcp.TextContent{Text: fmt.Sprintf("%s\nthe value has %d bytes; read it from the resource within %d minutes, or return less of it",
			preview, len(value), int(keepFor.Minutes()))}, link)
	}
	return toolResult(&res, content, false)
}

// failure is the text for a model about a run that failed.
func failure(res *engine.Result, err error) string {
	var b strings.Builder
	var e *engine.Error
	fmt.Fprintf(&b, "%s [%s]", err, fault.CodeOf(err))
	hint := fault.HintOf(err)
	if errors.As(err, &e) {
		if e.File != "" && e.Line > 0 {
			fmt.Fprintf(&b, "\n at %s:%d:%d", e.File, e.Line, e.Column)
		}
		if e.Excerpt != "" {
			b.WriteString("\n" + strings.TrimRight(e.Excerpt, "\n"))
		}
		if e.Rule != "" {
			b.WriteString("\nrule: " + e.Rule)
		}
		hint = e.Hint
	}
	if hint != "" {
		b.WriteString("\nhint: " + hint)
	}
	if res != nil && res.Stdout != "" {
		b.WriteString("\n\noutput before the error:\n" + strings.TrimRight(res.Stdout, "\n"))
	}
	return b.String()
}

// valueText is a value as text: a string as it is, anything else as JSON, and ""
// for null.
func valueText(v json.RawMessage) (value, mime string) {
	if len(v) == 0 || string(v) == "null" {
		return "", ""
	}
	if v[0] == '"' && json.Unmarshal(v, &value) == nil {
		return value, "text/plain"
	}
	return string(v), "application/json"
}

// mediaOf returns the images and sound in a value and a description of the value
// without their data, or nil if there are none. A value has media if it is an MCP
// content block, a list of them, a data URL, or the bytes of an image.
func mediaOf(value json.RawMessage) ([]mcp.Content, json.RawMessage) {
	if len(value) == 0 {
		return nil, nil
	}
	blocks := []json.RawMessage{value}
	if value[0] == '[' {
		blocks = nil
		if json.Unmarshal(value, &blocks) != nil || len(blocks) > 100 {
			return nil, nil
		}
	}
	var out []mcp.Content
	found := false
	descriptions := []any{}
	for _, raw := range blocks {
		content, description, isMedia := parseBlock(raw)
		if content == nil {
			return nil, nil // some other list
		}
		found = found || isMedia
		out, descriptions = append(out, content), append(descriptions, description)
	}
	if !found {
		return nil, nil
	}
	var whole any = descriptions
	if value[0] != '[' {
		whole = descriptions[0]
	}
	description, err := json.Marshal(whole)
	if err != nil {
		return nil, nil
	}
	return out, description
}

// contentBlock is a content block of MCP.
type contentBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Data     binary `json:"data"`
	MIMEType string `json:"mimeType"`
}

// parseBlock returns content and its description, or nil for anything else.
func parseBlock(raw json.RawMessage) (content mcp.Content, description any, isMedia bool) {
	var b contentBlock
	var url string
	switch {
	case json.Unmarshal(raw, &url) == nil:
		mime, data, ok := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
		if !ok || !strings.HasPrefix(url, "data:") {
			return nil, nil, false
		}
		b.Data, b.MIMEType = binary(data), mime
		b.Type, _, _ = strings.Cut(mime, "/")
	case json.Unmarshal(raw, &b.Data) == nil:
		data, err := base64.StdEncoding.DecodeString(string(b.Data))
		b.MIMEType = http.DetectContentType(data)
		if err != nil || !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, b.MIMEType) {
			return nil, nil, false
		}
		b.Type = "image"
	case json.Unmarshal(raw, &b) != nil:
		return nil, nil, false
	}
	if b.Type == "text" {
		return &mcp.TextContent{Text: b.Text}, map[string]any{"type": "text", "text": b.Text}, false
	}
	data, err := base64.StdEncoding.DecodeString(string(b.Data))
	if err != nil || len(data) == 0 || !strings.HasPrefix(b.MIMEType, b.Type+"/") {
		return nil, nil, false
	}
	description = map[string]any{"type": b.Type, "mimeType": b.MIMEType, "bytes": len(data)}
	switch b.Type {
	case "image":
		return &mcp.ImageContent{Data: data, MIMEType: b.MIMEType}, description, true
	case "audio":
		return &mcp.AudioContent{Data: data, MIMEType: b.MIMEType}, description, true
	}
	return nil, nil, false
}

// binary is data in base64. It is decoded from a string or from the form that
// bytes of a program have in JSON.
type binary string

// UnmarshalJSON implements json.Unmarshaler.
func (b *binary) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(b))
	}
	var bytes struct {
		Base64 *string `json:"$bytes"`
	}
	if err := json.Unmarshal(data, &bytes); err != nil {
		return err
	}
	if bytes.Base64 == nil {
		return errors.New("no $bytes")
	}
	*b = binary(*bytes.Base64)
	return nil
}

// answer is the tool result of a run that has ended.
func (s *Server) answer(ctx context.Context, c client, run *run) (*mcp.CallToolResult, error) {
	if run.err == nil {
		return s.success(run)
	}
	code := fault.CodeOf(run.err)
	switch code.Class() {
	case fault.ClassUsage:
		return nil, invalid(withHint(run.err))
	case fault.ClassInternal:
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: withHint(run.err)}
	}
	res := *run.res
	links := s.shorten(run, &res)
	message := failure(&res, run.err)
	if tools := s.suggestTools(ctx, s.core(c.session, c.extra), code, run.res, run.params); tools != "" {
		message += "\n\n" + tools
	}
	if notice := s.notice(); notice != "" {
		message += "\n\n" + notice
	}
	return toolResult(&res, append([]mcp.Content{&mcp.TextContent{Text: message}}, links...), true)
}

// suggestTools returns declarations for the next attempt: that of a tool that was
// misused, or those nearest to the intent if no call succeeded.
func (s *Server) suggestTools(ctx context.Context, core hostfns.Core, code fault.Code, res *engine.Result, p executeParams) string {
	misused := code == fault.ToolUnknown || code == fault.ToolInvalidArgs
	succeeded := res != nil && slices.ContainsFunc(res.Calls, func(c engine.Call) bool { return c.OK })
	if !misused && (code.Class() != fault.ClassGuest || p.Intent == "" || succeeded) {
		return ""
	}
	cat, _ := s.table().Known()
	lang := "javascript"
	if p.Language == engine.Python {
		lang = "python"
	}
	tool := ""
	if res != nil && res.Error != nil {
		tool = res.Error.Tool
	}
	var entries []catalogue.Match
	if t, ok := cat.Lookup(tool); ok && tool != "" && s.decision(t) != "" {
		if e, ok := cat.Describe(tool, "full", lang); ok {
			entries = append(entries, e)
		}
	}
	if query := strings.TrimSpace(p.Intent + " " + tool); len(entries) == 0 && query != "" {
		found, err := s.table().Search(ctx, cat, catalogue.Query{Text: query, Limit: 3, Detail: "full", Lang: lang, Keep: s.decision}, core)
		if err != nil {
			return ""
		}
		entries = found.Tools
	}
	if len(entries) == 0 {
		return ""
	}
	message := "tools that may fit:"
	for _, e := range entries {
		message += "\n" + e.Call + "\n" + e.Declaration
	}
	return message
}
