package clients

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlServers reads the servers of Codex, whose keys differ from those of other
// clients.
func tomlServers(text, key string) ([]Server, error) {
	file, err := parseTOML(text)
	if err != nil {
		return nil, err
	}
	tables, _ := file[key].(map[string]any)
	var out []Server
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		table, ok := tables[name].(map[string]any)
		if !ok || name == Self {
			continue
		}
		renameKeys(table)
		data, err := json.Marshal(table)
		if err != nil {
			return nil, err
		}
		out = append(out, Server{name, data})
	}
	return out, nil
}

// renameKeys replaces the keys that only Codex has.
func renameKeys(table map[string]any) {
	take := func(key string) any {
		v := table[key]
		delete(table, key)
		return v
	}
	put := func(key, name string, value any) {
		into, ok := table[key].(map[string]any)
		if !ok {
			into = map[string]any{}
			table[key] = into
		}
		into[name] = value
	}
	if headers, ok := take("http_headers").(map[string]any); ok {
		for name, value := range headers {
			put("headers", name, value)
		}
	}
	if headers, ok := take("env_http_headers").(map[string]any); ok {
		for name, variable := range headers {
			put("headers", name, fmt.Sprintf("${%v}", variable))
		}
	}
	if variable, ok := take("bearer_token_env_var").(string); ok {
		put("headers", "Authorization", "Bearer ${"+variable+"}")
	}
	if variables, ok := take("env_vars").([]any); ok {
		for _, variable := range variables {
			put("env", fmt.Sprint(variable), fmt.Sprintf("${%v}", variable))
		}
	}
}

// setTOML replaces the table of wexec, or adds it at the end.
func setTOML(text, key string, l Launch) (string, error) {
	rest, at, err := cutTOML(text, key, Self)
	if err != nil {
		return "", err
	}
	var args []string
	for _, a := range l.Args {
		args = append(args, quoteTOML(a))
	}
	table := fmt.Sprintf("[%s.%s]\ncommand = %s\nargs = [%s]\n", key, Self, quoteTOML(l.Command), strings.Join(args, ", "))
	switch {
	case at < 0 && rest == "":
		text = table
	case at < 0:
		text = strings.TrimRight(rest, "\n") + "\n\n" + table
	case at == len(rest):
		text = rest + table
	default:
		text = rest[:at] + table + "\n" + rest[at:]
	}
	_, err = parseTOML(text)
	return text, err
}

func removeTOML(text, key, name string) (string, error) {
	rest, at, err := cutTOML(text, key, name)
	if at >= 0 && strings.TrimSpace(rest[at:]) == "" { // the empty lines before it go too
		body := strings.TrimRight(rest, "\r\n")
		line, _, _ := strings.Cut(rest[len(body):]+"\n", "\n")
		rest = rest[:min(len(body)+len(line)+1, len(rest))]
	}
	return rest, err
}

// quoteTOML returns a basic string of TOML, whose escapes include those of JSON.
func quoteTOML(s string) string {
	data, _ := json.Marshal(s) // a string has no error
	return string(data)
}

// cutTOML takes the tables and keys of a server out of a file. It returns the
// rest and where the server's first table was, or -1 if it had none.
func cutTOML(text, key, name string) (rest string, at int, err error) {
	all, err := expressions(text)
	if err != nil {
		return "", -1, err
	}
	ofServer := func(e expression) bool { return len(e.path) >= 2 && e.path[0] == key && e.path[1] == name }
	var kept strings.Builder
	at = -1
	end := 0 // of what has been copied or cut
	for i := 0; i < len(all); {
		if !ofServer(all[i]) {
			i++
			continue
		}
		first, stop := all[i], len(text)
		for i < len(all) && ofServer(all[i]) {
			i++
		}
		if i < len(all) {
			stop = all[i].start - len(commentsAtEnd(text[first.start:all[i].start]))
		}
		kept.WriteString(text[end:first.start])
		if first.header && at < 0 {
			at = kept.Len()
		}
		end = stop
	}
	kept.WriteString(text[end:])
	return kept.String(), at, nil
}

// expression is the header of a table, or a key with its value.
type expression struct {
	path   []string // names, the table's first
	header bool
	start  int // of its first line
}

func expressions(text string) ([]expression, error) {
	if _, err := parseTOML(text); err != nil {
		return nil, err
	}
	var p unstable.Parser
	p.Reset([]byte(text))
	var out []expression
	var table []string
	for p.NextExpression() {
		node := p.Expression()
		if node.Kind == unstable.Comment {
			continue
		}
		e := expression{header: node.Kind != unstable.KeyValue, start: -1}
		for key := node.Key(); key.Next(); {
			if e.start < 0 {
				e.start = strings.LastIndexByte(text[:key.Node().Raw.Offset], '\n') + 1
			}
			e.path = append(e.path, string(key.Node().Data))
		}
		if e.header {
			table = e.path
		} else {
			e.path = slices.Concat(table, e.path)
		}
		out = append(out, e)
	}
	return out, p.Error()
}

// commentsAtEnd returns the comments at the end of a text and what is between
// them. They describe what follows.
func commentsAtEnd(text string) string {
	at := len(text)
	for before := text; before != ""; {
		line := strings.LastIndexByte(strings.TrimSuffix(before, "\n"), '\n') + 1
		switch plain := strings.TrimSpace(before[line:]); {
		case strings.HasPrefix(plain, "#"):
			at = line
		case plain != "":
			return text[at:]
		}
		before = before[:line]
	}
	return text[at:]
}

// parseTOML parses a whole file.
func parseTOML(text string) (map[string]any, error) {
	var file map[string]any
	err := toml.Unmarshal([]byte(text), &file)
	var wrong *toml.DecodeError
	if errors.As(err, &wrong) {
		line, column := wrong.Position()
		return nil, &SyntaxError{line, column, strings.TrimPrefix(wrong.Error(), "toml: ")}
	}
	if err == nil && nestedDeeper(file, maxDepth) {
		err = &SyntaxError{1, 1, "values are nested too deep"}
	}
	return file, err
}

// maxDepth is how deep values may be nested. Dotted keys nest without end.
const maxDepth = 64

func nestedDeeper(v any, depth int) bool {
	deeper := func(v any) bool { return depth == 0 || nestedDeeper(v, depth-1) }
	switch v := v.(type) {
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), deeper)
	case []any:
		return slices.ContainsFunc(v, deeper)
	}
	return false
}
