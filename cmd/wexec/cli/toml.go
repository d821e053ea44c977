package cli

import (
	"fmt"
	"strconv"
	"strings"
)

// readTOML reads what clients keep their servers in: tables, dotted keys,
// strings of all four kinds, arrays and inline tables. Numbers and dates are
// given as they are written; nobody here needs them as anything else.
func readTOML(text string) (map[string]any, error) {
	r := &tomlReader{text: text, top: map[string]any{}}
	r.table = r.top
	for {
		r.blanks(true)
		if r.at >= len(r.text) {
			return r.top, nil
		}
		if err := r.line(); err != nil {
			return nil, fmt.Errorf("line %d: %w", 1+strings.Count(r.text[:min(r.at, len(r.text))], "\n"), err)
		}
	}
}

// maxTOML is how deep values may stand in each other.
const maxTOML = 64

type tomlReader struct {
	text  string
	at    int
	depth int
	top   map[string]any
	table map[string]any // that keys are put into
}

// blanks skips spaces and comments, and ends of lines too where lines says so.
func (r *tomlReader) blanks(lines bool) {
	for r.at < len(r.text) {
		switch c := r.text[r.at]; {
		case c == ' ' || c == '\t' || lines && (c == '\n' || c == '\r'):
			r.at++
		case c == '#':
			for r.at < len(r.text) && r.text[r.at] != '\n' {
				r.at++
			}
		default:
			return
		}
	}
}

func (r *tomlReader) takes(s string) bool {
	if !strings.HasPrefix(r.text[r.at:], s) {
		return false
	}
	r.at += len(s)
	return true
}

// line reads a header or a key with its value.
func (r *tomlReader) line() error {
	switch {
	case r.takes("[["):
		keys, err := r.keys()
		if err != nil || !r.takes("]]") {
			return fmt.Errorf("a header of tables is not closed")
		}
		parent, err := within(r.top, keys[:len(keys)-1])
		if err != nil {
			return err
		}
		last := keys[len(keys)-1]
		list, _ := parent[last].([]any)
		r.table = map[string]any{}
		parent[last] = append(list, r.table)
	case r.takes("["):
		keys, err := r.keys()
		if err != nil || !r.takes("]") {
			return fmt.Errorf("the header of a table is not closed")
		}
		if r.table, err = within(r.top, keys); err != nil {
			return err
		}
	default:
		if err := r.pair(r.table); err != nil {
			return err
		}
	}
	r.blanks(false)
	if r.at < len(r.text) && r.text[r.at] != '\n' && r.text[r.at] != '\r' {
		return fmt.Errorf("something stands behind the value")
	}
	return nil
}

// within goes into tables by their names, and makes those that are not there.
// Of a list of tables it is the last.
func within(t map[string]any, keys []string) (map[string]any, error) {
	for _, k := range keys {
		next, ok := t[k]
		if !ok {
			next = map[string]any{}
			t[k] = next
		}
		if list, ok := next.([]any); ok && len(list) > 0 {
			next = list[len(list)-1]
		}
		if t, ok = next.(map[string]any); !ok {
			return nil, fmt.Errorf("%s is no table", k)
		}
	}
	return t, nil
}

// pair reads key = value.
func (r *tomlReader) pair(into map[string]any) error {
	keys, err := r.keys()
	if err != nil {
		return err
	}
	if !r.takes("=") {
		return fmt.Errorf("%s has no value", strings.Join(keys, "."))
	}
	r.blanks(false)
	v, err := r.value()
	if err != nil {
		return err
	}
	if into, err = within(into, keys[:len(keys)-1]); err == nil {
		into[keys[len(keys)-1]] = v
	}
	return err
}

// keys reads names with dots between them, and the blanks around.
func (r *tomlReader) keys() ([]string, error) {
	var out []string
	for {
		r.blanks(false)
		var key string
		switch {
		case r.at < len(r.text) && (r.text[r.at] == '"' || r.text[r.at] == '\''):
			v, err := r.value()
			if err != nil {
				return nil, err
			}
			key, _ = v.(string)
		default:
			begin := r.at
			for r.at < len(r.text) && (r.text[r.at] == '_' || r.text[r.at] == '-' || isAlphanumeric(r.text[r.at])) {
				r.at++
			}
			if key = r.text[begin:r.at]; key == "" {
				return nil, fmt.Errorf("a name is missing")
			}
		}
		out = append(out, key)
		r.blanks(false)
		if !r.takes(".") {
			return out, nil
		}
		if len(out) > maxTOML {
			return nil, fmt.Errorf("a name has too many parts")
		}
	}
}

func isAlphanumeric(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

func (r *tomlReader) value() (any, error) {
	if r.depth++; r.depth > maxTOML {
		return nil, fmt.Errorf("values stand too deep in each other")
	}
	defer func() { r.depth-- }()
	switch {
	case r.takes(`"""`):
		return r.quoted(`"""`, true)
	case r.takes(`'''`):
		return r.quoted(`'''`, false)
	case r.takes(`"`):
		return r.quoted(`"`, true)
	case r.takes(`'`):
		return r.quoted(`'`, false)
	case r.takes("["):
		return r.list()
	case r.takes("{"):
		return r.inline()
	}
	begin := r.at
	for r.at < len(r.text) && !strings.ContainsRune(",]}#\n\r \t", rune(r.text[r.at])) {
		r.at++
	}
	switch word := r.text[begin:r.at]; word {
	case "":
		return nil, fmt.Errorf("a value is missing")
	case "true", "false":
		return word == "true", nil
	default:
		return word, nil
	}
}

// quoted reads a string up to its end. One of a single quote stays on its line.
func (r *tomlReader) quoted(end string, escapes bool) (string, error) {
	long := len(end) == 3
	if long && !r.takes("\r\n") {
		r.takes("\n")
	}
	var b strings.Builder
	for r.at < len(r.text) {
		c := r.text[r.at]
		switch {
		case r.takes(end):
			for long && r.at < len(r.text) && r.text[r.at] == end[0] { // quotes right before the end are its own
				b.WriteByte(end[0])
				r.at++
			}
			return b.String(), nil
		case c == '\n' && !long:
			return "", fmt.Errorf("a text is not closed")
		case c == '\\' && escapes:
			if err := r.escape(&b, long); err != nil {
				return "", err
			}
		default:
			b.WriteByte(c)
			r.at++
		}
	}
	return "", fmt.Errorf("a text is not closed")
}

// escape reads what stands behind a backslash.
func (r *tomlReader) escape(b *strings.Builder, long bool) error {
	rest := r.text[r.at+1:]
	if rest == "" {
		return fmt.Errorf("a text is not closed")
	}
	if long && strings.HasPrefix(strings.TrimLeft(rest, " \t\r"), "\n") { // the line goes on
		r.at = len(r.text) - len(strings.TrimLeft(rest, " \t\r\n"))
		return nil
	}
	size := map[byte]int{'u': 4, 'U': 8}[rest[0]]
	if size > 0 {
		if len(rest) < 1+size {
			return fmt.Errorf("a text is not closed")
		}
		n, err := strconv.ParseUint(rest[1:1+size], 16, 32)
		if err != nil {
			return fmt.Errorf("\\%s is no character", rest[:1+size])
		}
		b.WriteRune(rune(n))
		r.at += 2 + size
		return nil
	}
	plain, ok := map[byte]string{'b': "\b", 't': "\t", 'n': "\n", 'f': "\f", 'r': "\r", 'e': "\x1b", '"': `"`, '\\': `\`}[rest[0]]
	if !ok {
		return fmt.Errorf("\\%c is no character", rest[0])
	}
	b.WriteString(plain)
	r.at += 2
	return nil
}

func (r *tomlReader) list() (any, error) {
	list := []any{}
	for {
		r.blanks(true)
		if r.takes("]") {
			return list, nil
		}
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		r.blanks(true)
		if !r.takes(",") && !strings.HasPrefix(r.text[r.at:], "]") {
			return nil, fmt.Errorf("a list is not closed")
		}
	}
}

func (r *tomlReader) inline() (any, error) {
	table := map[string]any{}
	for {
		r.blanks(true)
		if r.takes("}") {
			return table, nil
		}
		if err := r.pair(table); err != nil {
			return nil, err
		}
		r.blanks(true)
		if !r.takes(",") && !strings.HasPrefix(r.text[r.at:], "}") {
			return nil, fmt.Errorf("a table is not closed")
		}
	}
}
