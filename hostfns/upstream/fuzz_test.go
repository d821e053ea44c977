package upstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/internal/scrub"
)

// FuzzAnswers reads what a server answers: it is an answer whose data is what
// its kind says, or a fault with a code.
func FuzzAnswers(f *testing.F) {
	for _, s := range []string{
		`{"content":[{"type":"text","text":"[1]"}]}`, `{"content":[{"type":"text","text":"{"}],"isError":true}`,
		`{"structuredContent":{"a":1},"content":[]}`, `{"structuredContent":"\ud800"}`, `{"resultType":"input_required"}`, `null`, `[]`, `{"content":null}`,
		`{"content":[{"type":"image","data":"AAAA","mimeType":"image/png"},{"type":"resource","resource":{"uri":"x","blob":"AA=="}}]}`,
		`{"content":[{"type":"resource","resource":7},{"type":"text"},{}]}`, `{"content":[{"data":{"$bytes":"x"}}]}`, `{"content":[7]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			return // the connection has read it as JSON
		}
		a, err := unwrap("shop", "get", raw)
		if err != nil {
			if fault.CodeOf(err) != fault.ToolFailed {
				t.Errorf("%v", err)
			}
			return
		}
		switch a.Kind {
		case hostfns.JSON, hostfns.Content:
			if !json.Valid(a.Data) {
				t.Errorf("kind %d with %q", a.Kind, a.Data)
			}
		case hostfns.Text:
			if !utf8.Valid(a.Data) {
				t.Errorf("text %q", a.Data)
			}
		default:
			t.Errorf("kind %d", a.Kind)
		}
	})
}

// FuzzLines reads what a process writes: nothing is lost or made up between
// lines, and other lines are noise.
func FuzzLines(f *testing.F) {
	for _, s := range []string{"", "\n\n", "{}\n", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n" + `{"jsonrpc":"2.0","id":1`, "Traceback\r\n {\n", "[]\n{\"method\":7}\n", "\x00\xff\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(data), 16)
		c := &lineConn{p: &process{stderr: newTail(&scrub.Scrubber{})}, answers: &answers{}}
		var got []string
		for {
			m := &arrival{of: c.answers}
			line, err := m.readLine(r)
			line = bytes.TrimSpace(line)
			if len(line) > 0 {
				got = append(got, string(line))
				c.message(line, m)
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatal(err)
				}
				break
			}
		}
		var want []string
		for line := range strings.SplitSeq(string(data), "\n") {
			if line = string(bytes.TrimSpace([]byte(line))); line != "" {
				want = append(want, line)
			}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// FuzzListedTools takes up what a server lists: a tool that is taken has a
// schema that is an object, and words without what moves a terminal's cursor.
func FuzzListedTools(f *testing.F) {
	f.Add("get", "words\x1b[2J\u202e", `{"type":"object"}`)
	f.Add("", "", `{"properties":{"a":{"$ref":"#"}}}`)
	f.Add("../x", "*/", `true`)
	f.Fuzz(func(t *testing.T, name, words, schema string) {
		var s any
		if json.Unmarshal([]byte(schema), &s) != nil {
			return
		}
		tool, err := (&live{}).cleanTool("shop", "1", &mcp.Tool{Name: name, Description: words, InputSchema: s})
		if err != nil {
			return
		}
		if strings.ContainsAny(tool.Description, "\x1b\u202e\x00") {
			t.Errorf("words %q", tool.Description)
		}
		if len(tool.InputSchema) > 0 && !json.Valid(tool.InputSchema) {
			t.Errorf("schema %q", tool.InputSchema)
		}
		_ = catalogue.New([]catalogue.Tool{tool}).Digest()
	})
}
