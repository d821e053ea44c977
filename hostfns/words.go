package hostfns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/catalogue"
)

// What is taken of the words of whoever offers a tool.
const (
	maxToolName    = 128
	maxTitle       = 200
	maxDescription = 4 << 10
	maxSchema      = 256 << 10
)

// markup is what makes foreign text do something where it is shown: tags and
// hidden comments.
var markup = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)<!--.*?-->|</?[A-Za-z][^<>]{0,200}>`)
})

// CleanTool bounds and cleans what is said of a tool: its title, description
// and the texts in its schemas lose control and direction characters, tags and
// hidden comments. A tool whose name is not usable as it is, is refused with
// the reason. A clean tool comes back as it is.
func CleanTool(t catalogue.Tool) (catalogue.Tool, error) {
	switch {
	case t.Name == "":
		return catalogue.Tool{}, fmt.Errorf("a tool without a name")
	case len(t.Name) > maxToolName:
		return catalogue.Tool{}, fmt.Errorf("a tool whose name has %d bytes", len(t.Name))
	case CleanText(t.Name, maxToolName) != t.Name || strings.ContainsAny(t.Name, "\n\t"):
		return catalogue.Tool{}, fmt.Errorf("a tool whose name has control characters or markup: %q", CleanText(t.Name, maxToolName))
	}
	t.Title, t.Description = CleanText(t.Title, maxTitle), CleanText(t.Description, maxDescription)
	t.Version, t.Warning = CleanText(t.Version, maxTitle), CleanText(t.Warning, maxDescription)
	var warn string
	if t.InputSchema, warn = cleanSchema(t.InputSchema); warn != "" {
		t.Warning = "input schema: " + warn
	}
	if t.OutputSchema, warn = cleanSchema(t.OutputSchema); warn != "" && t.Warning == "" {
		t.Warning = "output schema: " + warn
	}
	return t, nil
}

// cleanSchema is a schema with its texts cleaned. One that is too large is left
// out; one that is no JSON is left as it is, for whoever compiles it to say.
func cleanSchema(schema json.RawMessage) (json.RawMessage, string) {
	if len(schema) > 4*maxSchema {
		return nil, fmt.Sprintf("it has %d bytes, more than %d", len(schema), maxSchema)
	}
	if len(schema) == 0 || (len(schema) <= maxDescription && isPlain(string(schema)) && !bytes.Contains(schema, []byte(`\u`))) {
		return schema, ""
	}
	b, err := cleanTexts(schema)
	if err != nil {
		return schema, ""
	}
	if len(b) > maxSchema {
		return nil, fmt.Sprintf("it has %d bytes, more than %d", len(b), maxSchema)
	}
	return b, ""
}

// isPlain reports whether a text has nothing in it that could be cleaned.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < 0x20 && c != '\n' && c != '\t') || c > 0x7e || c == '<' {
			return false
		}
	}
	return true
}

// cleanTexts cleans the titles and descriptions in a schema, and leaves names,
// values and their order as they are. What is nested too deep becomes the
// schema that allows anything.
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
		token = CleanText(s, maxDescription)
	}
	open, ok := token.(json.Delim)
	if !ok {
		b, err := json.Marshal(token)
		out.Write(b)
		return err
	}
	from := out.Len()
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
			b, err := json.Marshal(name)
			if err != nil {
				return err
			}
			out.Write(append(b, ':'))
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
		out.Truncate(from)
		out.WriteString("true")
	}
	return nil
}

// CleanText makes foreign words fit to be shown to people and models: valid,
// without control and direction characters, tags or hidden comments, bounded.
func CleanText(s string, most int) string {
	if len(s) <= most && isPlain(s) {
		return s
	}
	if len(s) > 4*most {
		s = s[:4*most]
	}
	s = strings.ToValidUTF8(s, "�")
	for n := 0; strings.Contains(s, "<") && markup().MatchString(s); n++ {
		if s = markup().ReplaceAllString(s, ""); n == 10 { // tags that taking tags away made
			s = strings.ReplaceAll(s, "<", "")
		}
	}
	s = strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || (r >= 0xE0000 && r <= 0xE007F) {
			return -1
		}
		return r
	}, s)
	if len(s) > most {
		s = s[:most]
		for !utf8.ValidString(s) {
			s = s[:len(s)-1]
		}
	}
	return s
}
