package mcpd

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
)

const (
	inline     = 24 << 10 // bytes of a value or an output that go into the answer itself
	preview    = 2000     // bytes that are shown of a bigger one
	keptBytes  = 64 << 20 // kept of all clients together
	valuesRoot = "wexec://values/"
)

// success is the answer of a run that went well: images as images, a value
// that is too big to read as a link with a preview, anything else as text.
func (s *Server) success(run *waitingRun) (*mcp.CallToolResult, error) {
	res := *run.res
	var content []mcp.Content
	for _, out := range []struct {
		name string
		text *string
	}{{"stdout", &res.Stdout}, {"stderr", &res.Stderr}} {
		text := strings.TrimRight(*out.text, "\n")
		if text == "" {
			continue
		}
		if len(text) > inline {
			link := s.kept.put(run, out.name, "text/plain", []byte(*out.text))
			*out.text = shortened(text, preview)
			content = append(content, &mcp.TextContent{Text: *out.text}, link)
			continue
		}
		content = append(content, &mcp.TextContent{Text: text})
	}
	if pictures, described := media(res.Value); len(pictures) > 0 {
		res.Value = described
		return answerOf(&res, append(content, pictures...), false)
	}
	switch text, isText := valueText(res.Value); {
	case text == "" && len(content) == 0:
		content = append(content, &mcp.TextContent{Text: "the program gave no value: return one"})
	case text == "":
		if last := lastLine(res.Stdout); last != "" {
			content = append(content, &mcp.TextContent{Text: "hint: nothing was returned; to have it as the value, return what was printed last: " + last})
		}
	case len(text) > inline:
		mime := "application/json"
		if isText {
			mime = "text/plain"
		}
		link := s.kept.put(run, "value", mime, []byte(text))
		start := shortened(text, preview)
		described, err := json.Marshal(map[string]any{"resource": link.URI, "bytes": len(text), "preview": start})
		if err != nil {
			return nil, err
		}
		res.Value = described
		content = append(content, &mcp.TextContent{Text: fmt.Sprintf("%s\nthe value has %d bytes; it can be read whole for %d minutes, or return less of it",
			start, len(text), int(keepWaiting.Minutes()))}, link)
	default:
		content = append(content, &mcp.TextContent{Text: text})
	}
	return answerOf(&res, content, false)
}

// valueText is a value as a model reads it: text as it is, anything else as
// JSON.
func valueText(v json.RawMessage) (text string, isText bool) {
	if len(v) == 0 || string(v) == "null" {
		return "", false
	}
	if v[0] == '"' && json.Unmarshal(v, &text) == nil {
		return text, true
	}
	return string(v), false
}

// shortened is the start of a text, whole characters, and how much there is.
func shortened(text string, most int) string {
	if len(text) <= most {
		return text
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return fmt.Sprintf("%s… (%d bytes in all)", text[:cut], len(text))
}

// media takes images and sound out of a value: an MCP content block, a list of
// them, a data URL, or the bytes of a picture. The value that is left describes them.
func media(value json.RawMessage) ([]mcp.Content, json.RawMessage) {
	var blocks []json.RawMessage
	switch {
	case len(value) == 0:
		return nil, nil
	case value[0] == '[':
		if json.Unmarshal(value, &blocks) != nil || len(blocks) > 100 {
			return nil, nil
		}
	default:
		blocks = []json.RawMessage{value}
	}
	var out []mcp.Content
	found := false
	described := make([]any, 0, len(blocks))
	for _, b := range blocks {
		c, d, picture := block(b)
		if c == nil {
			return nil, nil // some other list
		}
		found = found || picture
		out, described = append(out, c), append(described, d)
	}
	if !found {
		return nil, nil
	}
	var one any = described
	if value[0] != '[' {
		one = described[0]
	}
	left, err := json.Marshal(one)
	if err != nil {
		return nil, nil
	}
	return out, left
}

// block reads one content block.
func block(raw json.RawMessage) (c mcp.Content, described any, picture bool) {
	var b struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Data     binary `json:"data"`
		MIMEType string `json:"mimeType"`
	}
	if len(raw) > 0 && raw[0] == '"' {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return nil, nil, false
		}
		head, data, ok := strings.Cut(strings.TrimPrefix(text, "data:"), ";base64,")
		if !ok || !strings.HasPrefix(text, "data:") {
			return nil, nil, false
		}
		b.Data, b.MIMEType = binary(data), head
		b.Type, _, _ = strings.Cut(head, "/")
	} else if json.Unmarshal(raw, &b.Data) == nil {
		plain, err := base64.StdEncoding.DecodeString(string(b.Data))
		if err != nil {
			return nil, nil, false
		}
		if b.MIMEType = http.DetectContentType(plain); !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, b.MIMEType) {
			return nil, nil, false
		}
		b.Type = "image"
	} else if json.Unmarshal(raw, &b) != nil {
		return nil, nil, false
	}
	switch b.Type {
	case "text":
		return &mcp.TextContent{Text: b.Text}, map[string]any{"type": "text", "text": b.Text}, false
	case "image", "audio":
		data, err := base64.StdEncoding.DecodeString(string(b.Data))
		if err != nil || len(data) == 0 || !strings.HasPrefix(b.MIMEType, b.Type+"/") {
			return nil, nil, false
		}
		described = map[string]any{"type": b.Type, "mimeType": b.MIMEType, "bytes": len(data)}
		if b.Type == "audio" {
			return &mcp.AudioContent{Data: data, MIMEType: b.MIMEType}, described, true
		}
		return &mcp.ImageContent{Data: data, MIMEType: b.MIMEType}, described, true
	}
	return nil, nil, false
}

// binary is data in base64: a text, or the bytes of a program as JSON has them.
type binary string

// UnmarshalJSON reads both forms.
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
		return errors.New("there are no bytes")
	}
	*b = binary(*bytes.Base64)
	return nil
}

// keptValues are big values, for the clients whose runs gave them.
type keptValues struct {
	mu   sync.Mutex
	list []keptValue // the oldest first
	size int
}

type keptValue struct {
	owner, uri, mime string
	data             []byte
	until            time.Time
}

// put keeps data and gives a link to it. The oldest make room.
func (k *keptValues) put(run *waitingRun, name, mime string, data []byte) *mcp.ResourceLink {
	uri := valuesRoot + run.id + "/" + name
	size := int64(len(data))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(func(v keptValue) bool { return time.Now().After(v.until) })
	k.list = append(k.list, keptValue{run.owner, uri, mime, data, time.Now().Add(keepWaiting)})
	k.size += len(data)
	for k.size > keptBytes && len(k.list) > 1 {
		k.size -= len(k.list[0].data)
		k.list = k.list[1:]
	}
	return &mcp.ResourceLink{URI: uri, Name: name, MIMEType: mime, Size: &size}
}

// take gives a value to the client whose run gave it.
func (k *keptValues) take(owner, uri string) (keptValue, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, v := range k.list {
		if v.uri == uri && v.owner == owner && time.Now().Before(v.until) {
			return v, true
		}
	}
	return keptValue{}, false
}

func (k *keptValues) leave(owner string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.drop(func(v keptValue) bool { return v.owner == owner })
}

// drop forgets values. The caller holds the lock.
func (k *keptValues) drop(which func(keptValue) bool) {
	k.list = slices.DeleteFunc(k.list, func(v keptValue) bool {
		if which(v) {
			k.size -= len(v.data)
			return true
		}
		return false
	})
}

// readValue answers a request for a kept value.
func (s *Server) readValue(r *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	v, ok := s.kept.take(s.owner(r.Session, r.Extra), r.Params.URI)
	if !ok {
		return nil, mcp.ResourceNotFoundError(r.Params.URI)
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: v.uri, MIMEType: v.mime, Text: string(v.data)}}}, nil
}

// lastLine is what was printed last, shortened to a few words.
func lastLine(stdout string) string {
	text := strings.TrimRight(stdout, "\n")
	return catalogue.Summary(text[strings.LastIndexByte(text, '\n')+1:], 80)
}
