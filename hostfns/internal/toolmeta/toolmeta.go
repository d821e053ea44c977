// Package toolmeta cleans and bounds what servers say about their tools, before
// people, models or declarations show it.
package toolmeta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/internal/text"
)

// Bounds of the texts of a tool, in bytes.
const (
	MaxName        = 128
	maxTitle       = 200
	maxDescription = 4 << 10
	maxSchema      = 256 << 10
)

// markup matches tags and hidden comments.
var markup = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)<!--.*?-->|</?[A-Za-z][^<>]{0,200}>`)
})

// Clean returns a tool whose title, description and texts in schemas are bounded
// and have no control characters, tags or hidden comments. A tool without a
// usable name is an error. A clean tool is returned unchanged.
func Clean(t catalogue.Tool) (catalogue.Tool, error) {
	switch {
	case t.Name == "":
		return catalogue.Tool{}, errors.New("tool without a name")
	case len(t.Name) > MaxName:
		return catalogue.Tool{}, fmt.Errorf("tool name has %d bytes, more than %d", len(t.Name), MaxName)
	case !CleanName(t.Name):
		return catalogue.Tool{}, fmt.Errorf("tool name %s has markup, characters that a person cannot see, or is not in Unicode normal form NFKC", strconv.QuoteToASCII(t.Name))
	}
	t.Title, t.Description = Text(t.Title, maxTitle), Text(t.Description, maxDescription)
	t.Version, t.Warning = Text(t.Version, maxTitle), Text(t.Warning, maxDescription)
	var warning string
	if t.InputSchema, warning = cleanSchema(t.InputSchema); warning != "" {
		t.Warning = "input schema: " + warning
	}
	if t.OutputSchema, warning = cleanSchema(t.OutputSchema); warning != "" && t.Warning == "" {
		t.Warning = "output schema: " + warning
	}
	return t, nil
}

// CleanName reports whether a name of a tool or server can be used. No two such
// names look the same because of characters that a person cannot see, or because
// they write a character in several forms. Letters of different scripts may look the
// same.
func CleanName(name string) bool {
	return len(name) <= MaxName && Text(name, MaxName) == name && text.Visible(name) == name &&
		strings.Join(strings.Fields(name), " ") == name && norm.NFKC.IsNormalString(name)
}

// Text returns foreign text of at most n bytes, without control and format
// characters, tags and hidden comments.
func Text(s string, n int) string {
	if len(s) <= n && isPlain(s) {
		return s
	}
	s = text.Valid(s[:min(len(s), 4*n)])
	for round := 0; strings.Contains(s, "<") && markup().MatchString(s); round++ {
		if s = markup().ReplaceAllString(s, ""); round == 10 { // each removal has made new tags
			s = strings.ReplaceAll(s, "<", "")
		}
	}
	return text.Prefix(text.Clean(s), n)
}

// isPlain reports whether there is nothing to clean in s.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 0x20 && c != '\n' && c != '\t') || c > 0x7e || c == '<' {
			return false
		}
	}
	return true
}

// cleanSchema returns a schema with clean texts, or none and a warning if it is
// too large. Invalid JSON is returned unchanged: compiling it gives the error.
func cleanSchema(schema json.RawMessage) (json.RawMessage, string) {
	if len(schema) <= 4*maxSchema {
		if len(schema) == 0 || (len(schema) <= maxDescription && isPlain(string(schema)) && !bytes.Contains(schema, []byte(`\u`))) {
			return schema, ""
		}
		b, err := cleanTexts(schema)
		if err != nil {
			return schema, ""
		}
		if len(b) <= maxSchema {
			return b, ""
		}
		schema = b
	}
	return nil, fmt.Sprintf("it has %d bytes, more than %d", len(schema), maxSchema)
}

// cleanTexts cleans the titles and descriptions in a schema. Names, values and
// their order stay. What is nested too deeply becomes the schema that allows
// everything.
func cleanTexts(schema json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var out bytes.Buffer
	if err := cleanValue(dec, &out, "", 0); err != nil {
		return nil, err
	}
	if _, err := dec.Token(); err != io.EOF {
		return nil, errors.New("more than one value")
	}
	return out.Bytes(), nil
}

func cleanValue(dec *json.Decoder, out *bytes.Buffer, key string, depth int) error {
	const deepest = 64
	token, err := dec.Token()
	if err != nil {
		return err
	}
	if s, ok := token.(string); ok && (key == "description" || key == "title") {
		token = Text(s, maxDescription)
	}
	open, ok := token.(json.Delim)
	if !ok {
		return encode(out, token)
	}
	start := out.Len()
	out.WriteRune(rune(open))
	for n := 0; dec.More(); n++ {
		if n > 0 {
			out.WriteByte(',')
		}
		name := ""
		if open == '{' {
			if token, err = dec.Token(); err != nil {
				return err
			}
			name, _ = token.(string)
			if err := encode(out, name); err != nil {
				return err
			}
			out.WriteByte(':')
		}
		if err := cleanValue(dec, out, name, depth+1); err != nil {
			return err
		}
	}
	if token, err = dec.Token(); err != nil {
		return err
	}
	out.WriteRune(rune(token.(json.Delim)))
	if depth > deepest {
		out.Truncate(start)
		out.WriteString("true")
	}
	return nil
}

func encode(out *bytes.Buffer, v any) error {
	b, err := json.Marshal(v)
	out.Write(b)
	return err
}
