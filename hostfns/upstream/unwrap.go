package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/jsonscan"
	"github.com/wexec/wexec/policy"
)

// result is the part of a tool's answer that unwrap reads.
type result struct {
	Content    contentItems    `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
	Type       string          `json:"resultType"`
}

// inputRequired is the type of an answer with requests for input.
const inputRequired = "input_required"

// maxItems bounds the content items of an answer.
const maxItems = 10_000

// contentItems are the content items of an answer as they are.
type contentItems []json.RawMessage

// UnmarshalJSON stops at the first item over the bound: a list of items takes
// many times the memory of its text.
func (c *contentItems) UnmarshalJSON(data []byte) error {
	switch data[0] {
	case '[':
	case 'n':
		return nil
	default:
		return errors.New("content is not a list")
	}
	items := jsonscan.New(data)
	items.Next()
	for items.Next() && items.Kind != jsonscan.ArrayEnd {
		if len(*c) == maxItems {
			return fmt.Errorf("the answer has more than %d content items", maxItems)
		}
		start := items.Start
		for items.Depth() > 1 && items.Next() { // to the end of the item
		}
		*c = append(*c, data[start:items.End]) // without a copy: the answer does not change
	}
	return nil
}

// item is the part of a content item that unwrap reads.
type item struct {
	Type string  `json:"type"`
	Text rawText `json:"text"`
}

// rawText is a JSON string as it was sent, without a copy; nil: none.
type rawText []byte

// UnmarshalJSON keeps the bytes: the answer does not change.
func (t *rawText) UnmarshalJSON(data []byte) error {
	if data[0] != '"' {
		return errors.New("text is not a string")
	}
	*t = data
	return nil
}

// decode returns the text, each run of bytes that are not UTF-8 as one U+FFFD.
func (t rawText) decode() []byte {
	if !utf8.Valid(t) { // encoding/json would replace each byte
		t = bytes.ToValidUTF8(t, []byte("�"))
	}
	if inner := t[1 : len(t)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	var s string
	if json.Unmarshal(t, &s) != nil {
		return nil
	}
	return []byte(s)
}

// unwrap converts an answer to the program's value: structured content, else
// text that is a JSON object or array, else text, else the list of
// content items with binary data as bytes.
func unwrap(server, tool string, raw json.RawMessage) (hostfns.Answer, error) {
	var r result
	if err := json.Unmarshal(raw, &r); err != nil {
		return hostfns.Answer{}, fault.New(fault.ToolFailed, "read the answer of %s.%s: %w", server, tool, err)
	}
	if r.Type == inputRequired {
		return hostfns.Answer{}, needsMore(server, tool)
	}
	if r.IsError {
		return hostfns.Answer{}, fault.New(fault.ToolFailed, "%s", errorText(r))
	}
	if s := bytes.TrimSpace(r.Structured); len(s) > 0 && !bytes.Equal(s, []byte("null")) {
		return hostfns.Answer{Kind: hostfns.JSON, Data: s, Checked: true}, nil
	}
	if text, ok := onlyText(r.Content); ok {
		if isDocument(text) {
			return hostfns.Answer{Kind: hostfns.JSON, Data: text, Checked: true}, nil
		}
		return hostfns.Answer{Kind: hostfns.Text, Data: text, Checked: true}, nil
	}
	if len(r.Content) == 0 {
		return hostfns.Answer{Kind: hostfns.JSON, Data: []byte("null"), Checked: true}, nil
	}
	list, err := contentList(r.Content)
	if err != nil {
		return hostfns.Answer{}, fault.New(fault.ToolFailed, "answer of %s.%s has invalid content", server, tool)
	}
	return hostfns.Answer{Kind: hostfns.Content, Data: list, Checked: true}, nil
}

// needsMore is the error of an answer that asks for input.
func needsMore(server, tool string) error {
	return fault.New(fault.ToolFailed, "%s.%s requires more input, which the policy does not let the server ask for", server, tool).
		WithHint("%s", policy.Elicitation.Hint(server))
}

// onlyText returns the text of an answer with a single text item.
func onlyText(content []json.RawMessage) ([]byte, bool) {
	if len(content) != 1 {
		return nil, false
	}
	var it item
	if json.Unmarshal(content[0], &it) != nil || it.Type != "text" || it.Text == nil {
		return nil, false
	}
	return it.Text.decode(), true
}

// isDocument reports whether a text is a JSON object or array.
func isDocument(text []byte) bool {
	t := bytes.TrimSpace(text)
	return len(t) > 0 && (t[0] == '{' || t[0] == '[') && jsonscan.Valid(t)
}

// contentList returns the items, with base64 data marked as bytes.
func contentList(content []json.RawMessage) ([]byte, error) {
	out := make([]map[string]json.RawMessage, 0, len(content))
	for _, raw := range content {
		var m map[string]json.RawMessage
		if err := json.Unmarshal(raw, &m); err != nil {
			return nil, err
		}
		markBytes(m, "data")
		if inner, ok := m["resource"]; ok {
			var res map[string]json.RawMessage
			if json.Unmarshal(inner, &res) == nil {
				markBytes(res, "blob")
				b, err := json.Marshal(res)
				if err != nil {
					return nil, err
				}
				m["resource"] = b
			}
		}
		out = append(out, m)
	}
	return json.Marshal(out)
}

func markBytes(m map[string]json.RawMessage, key string) {
	v, ok := m[key]
	if !ok || len(v) == 0 || v[0] != '"' {
		return
	}
	m[key] = append(append([]byte(`{"$bytes":`), v...), '}')
}

// errorText returns the error message of a server.
func errorText(r result) string {
	var parts []string
	for _, raw := range r.Content {
		var it item
		if json.Unmarshal(raw, &it) == nil && len(it.Text) > 2 {
			parts = append(parts, string(it.Text.decode()))
		}
	}
	if len(parts) == 0 && len(r.Structured) > 0 {
		parts = append(parts, string(r.Structured))
	}
	if len(parts) == 0 {
		return "the tool failed without a message"
	}
	return strings.Join(parts, "\n")
}
