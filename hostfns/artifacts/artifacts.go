// Package artifacts gives programs content that lasts: artifacts.put keeps it, and
// artifacts.read reads and searches it in pages, in any run of the tenant. What is kept
// has tokens with their values sealed, and each reader gets tokens from its vault.
package artifacts

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/privacy"
)

// Server is the name of the server of the tools.
const Server = "artifacts"

// New is content that a run puts, and its description.
type New struct {
	Name, Type string
	Run        string
	Content    []byte
	Values     []privacy.Issued // of the tokens in Name and Content
}

// Store keeps the artifacts of a tenant.
type Store interface {
	Put(ctx context.Context, a New) (Artifact, error)
	// Open opens an artifact by its id without sha256:. The error of a missing one is
	// [fs.ErrNotExist].
	Open(ctx context.Context, id string) (*Content, error)
}

// Provider has the tools. It is a [hostfns.Keeper].
type Provider struct{ store Store }

// NewProvider makes the provider of a store.
func NewProvider(s Store) *Provider { return &Provider{s} }

// KeepsValues implements [hostfns.Keeper].
func (*Provider) KeepsValues() {}

// Servers returns [Server].
func (*Provider) Servers() []string { return []string{Server} }

// Watch does nothing: the tools do not change.
func (*Provider) Watch(func(string)) func() { return func() {} }

// Close does nothing: the store is closed by its owner.
func (*Provider) Close() error { return nil }

// Tools returns put and read.
func (*Provider) Tools(context.Context, string) ([]catalogue.Tool, error) {
	yes, no := true, false
	artifact := `"artifact":{"type":"string","description":"sha256: and 64 hexadecimal digits"},"name":{"type":"string"},"type":{"type":"string"},"bytes":{"type":"integer"}`
	return []catalogue.Tool{
		{
			Server: Server, Name: "put", Description: "Keep content as an artifact, which other runs and clients of the tenant read by its id until it expires. A text is kept as it is, bytes as bytes, any other value as JSON.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","description":"of the file; not a path"},"data":{"description":"text, bytes, or a value"},` +
				`"type":{"type":"string","description":"media type, such as text/csv"}},"required":["name","data"],"additionalProperties":false}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{` + artifact + `},"required":["artifact","name","type","bytes"]}`),
			Annotations:  catalogue.Annotations{ReadOnly: &no, Destructive: &no, Idempotent: &yes},
		},
		{
			Server: Server, Name: "read", Description: "Read lines of an artifact, or search them with a regular expression. A binary artifact is read whole, as bytes.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string","description":"artifact of put"},"from":{"type":"integer","minimum":1,"description":"the first line; 1 unless told"},` +
				`"lines":{"type":"integer","minimum":1,"description":"how many lines at most; 1,000 unless told, and 1 MiB"},"match":{"type":"string","description":"only lines that match this regular expression (RE2)"}},"required":["id"],"additionalProperties":false}`),
			OutputSchema: json.RawMessage(`{"type":"object","properties":{` + artifact + `,"lines":{"type":"integer","description":"of the whole text"},"from":{"type":"integer"},"text":{"type":"string"},` +
				`"matches":{"type":"array","items":{"type":"object","properties":{"line":{"type":"integer"},"text":{"type":"string"}},"required":["line","text"]}},` +
				`"next":{"type":"integer","description":"from of the next page; absent at the end"}},"required":["artifact","name","type","bytes"]}`),
			Annotations: catalogue.Annotations{ReadOnly: &yes},
		},
	}, nil
}

// Call implements [hostfns.Provider].
func (p *Provider) Call(ctx context.Context, call hostfns.Call) (hostfns.Answer, error) {
	switch call.Tool {
	case "put":
		return p.put(ctx, call)
	case "read":
		return p.read(ctx, call)
	}
	return hostfns.Answer{}, fault.New(fault.ToolUnknown, "there is no tool %s.%s", call.Server, call.Tool)
}

func (p *Provider) put(ctx context.Context, call hostfns.Call) (hostfns.Answer, error) {
	var in struct {
		Name, Type string
		Data       json.RawMessage
	}
	if err := decode(call.Args, &in); err != nil {
		return hostfns.Answer{}, err
	}
	content, media, err := contentOf(in.Data)
	if err == nil {
		err = call.Gate.Count(int64(len(content)))
	}
	if err != nil {
		return hostfns.Answer{}, err
	}
	a := New{Name: in.Name, Type: in.Type, Run: call.Run, Content: content}
	if a.Type == "" {
		a.Type = media
	}
	texts := [][]byte{[]byte(in.Name)}
	if utf8.Valid(content) {
		texts = append(texts, content)
	}
	a.Values = call.Values.Issued(texts...)
	kept, err := p.store.Put(ctx, a)
	if err != nil {
		return hostfns.Answer{}, failure(err, "")
	}
	return answer(kept, a.Values)
}

// contentOf returns the content of an argument and its usual type.
func contentOf(data json.RawMessage) (content []byte, media string, err error) {
	switch data = bytes.TrimSpace(data); {
	case len(data) > 0 && data[0] == '"':
		var text string
		err := json.Unmarshal(data, &text)
		return []byte(text), "text/plain; charset=utf-8", err
	case len(data) > 0 && data[0] == '{':
		var object map[string]json.RawMessage
		var digits string
		if json.Unmarshal(data, &object) == nil && len(object) == 1 && json.Unmarshal(object["$bytes"], &digits) == nil {
			if content, err = base64.StdEncoding.DecodeString(digits); err != nil {
				return nil, "", fault.New(fault.ToolInvalidArgs, "$bytes of data is not base64")
			}
			return content, "application/octet-stream", nil
		}
	}
	return data, "application/json", nil
}

// maxWhole bounds content that is read whole.
const maxWhole = 8 << 20

func (p *Provider) read(ctx context.Context, call hostfns.Call) (hostfns.Answer, error) {
	var in struct {
		ID string
		Query
	}
	if err := decode(call.Args, &in); err != nil {
		return hostfns.Answer{}, err
	}
	c, err := p.store.Open(ctx, strings.TrimPrefix(in.ID, "sha256:"))
	if err != nil {
		return hostfns.Answer{}, failure(err, in.ID)
	}
	defer c.Close()
	if !c.Text {
		return whole(c, call.Gate)
	}
	if err := call.Gate.Count(c.ValueBytes); err != nil {
		return hostfns.Answer{}, err
	}
	cover, err := CoverOf(c, call.Values.Cover)
	if err != nil {
		return hostfns.Answer{}, failure(err, in.ID)
	}
	page, err := c.Read(ctx, in.Query, cover, call.Gate.Count)
	if err != nil {
		return hostfns.Answer{}, failure(err, in.ID)
	}
	texts := [][]byte{[]byte(page.Name), []byte(page.Text)}
	for _, m := range page.Matches {
		texts = append(texts, []byte(m.Text))
	}
	return answer(page, cover.Issued(texts...))
}

// CoverOf returns what covers the pages of an artifact, and covers its name.
func CoverOf(c *Content, of func(values []privacy.Issued, kept bool) (*hostfns.Cover, error)) (*hostfns.Cover, error) {
	values, err := c.Values()
	if err != nil {
		return nil, err
	}
	cover, err := of(values, c.Kept)
	if err == nil {
		c.Name, err = cover.Text(context.Background(), c.Name)
	}
	return cover, err
}

// whole reads binary content.
func whole(c *Content, gate hostfns.Gate) (hostfns.Answer, error) {
	if c.Bytes > maxWhole {
		return hostfns.Answer{}, fault.New(fault.ToolTooLarge, "the artifact is binary and has %d bytes, more than the %d that are read at once", c.Bytes, maxWhole).
			WithHint("put it in parts, or read it over HTTP, with ranges")
	}
	if err := gate.Count(c.Bytes); err != nil {
		return hostfns.Answer{}, err
	}
	data := make([]byte, c.Bytes)
	if _, err := io.ReadFull(io.NewSectionReader(c, 0, c.Bytes), data); err != nil {
		return hostfns.Answer{}, failure(err, c.ID)
	}
	return hostfns.Answer{Kind: hostfns.Bytes, Data: data}, nil
}

func decode(args json.RawMessage, into any) error {
	if err := json.Unmarshal(args, into); err != nil {
		return fault.New(fault.ToolInvalidArgs, "decode the arguments: %w", err)
	}
	return nil
}

func answer(v any, values []privacy.Issued) (hostfns.Answer, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return hostfns.Answer{}, fmt.Errorf("encode the answer: %w", err)
	}
	return hostfns.Answer{Kind: hostfns.JSON, Data: data, Checked: true, Issued: values}, nil
}

// failure is an error of the store as programs see it.
func failure(err error, id string) error {
	switch code := fault.CodeOf(err); {
	case code == fault.StoreUnavailable:
		return fault.New(fault.UpstreamUnavailable, "the store of artifacts is not available").WithHint("try again later")
	case errors.Is(err, fs.ErrNotExist):
		return fault.New(fault.ToolInvalidArgs, "there is no artifact %.80q, or it has expired", id).WithHint("use artifact of an answer of artifacts.put")
	case code.Class() == fault.ClassUsage:
		return fault.New(fault.ToolInvalidArgs, "%s", err).WithHint("%s", fault.HintOf(err))
	}
	return err
}
