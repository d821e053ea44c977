package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/wexec/wexec/config"
	"github.com/wexec/wexec/fault"
)

// Secret is a value that a client keeps in the definition of a server.
type Secret struct {
	Server, Name string // of the variable or header
	As           string // as in a secret of a policy
	Value        string
}

// Portable returns the server without its secrets, which do not belong in a file of
// a project. A server that cannot be written without a secret, or that refers to
// something that only its client knows, is an error.
func (s Server) Portable() (Server, []Secret, error) {
	refuse := func(format string, args ...any) (Server, []Secret, error) {
		return s, nil, fault.New(fault.UsageConfig, "import server %q: %w", s.Name, fmt.Errorf(format, args...))
	}
	if name := config.ClientVariable(string(s.JSON)); name != "" {
		return refuse("only its client knows the value of %s: write ${NAME} instead, and set that variable", name)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(s.JSON, &all); err != nil {
		return refuse("its definition is not an object")
	}
	var args []string
	var address string
	_ = json.Unmarshal(all["args"], &args)
	flag := ""
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		if !joined {
			name, value = flag, arg
		}
		if flag = ""; strings.HasPrefix(arg, "-") && !joined {
			flag = arg
			continue
		}
		if config.IsSecret(name, value) {
			return refuse("args[%d] is a secret: write ${NAME} instead, and set that variable", i)
		}
	}
	for _, key := range []string{"url", "serverUrl", "httpUrl"} {
		if json.Unmarshal(all[key], &address) == nil && config.HasSecret(address) {
			return refuse("%s has a secret: write ${NAME} instead, and set that variable", key)
		}
	}
	var found []Secret
	for _, key := range []string{"env", "headers"} {
		var values map[string]string
		if json.Unmarshal(all[key], &values) != nil {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(values)) {
			if !config.IsSecret(name, values[name]) {
				continue
			}
			secret := Secret{Server: s.Name, Name: name, As: "env:" + name, Value: values[name]}
			if key == "headers" {
				scheme := ""
				if before, rest, ok := strings.Cut(secret.Value, " "); ok && strings.Trim(before, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") == "" {
					scheme, secret.Value = before+" ", rest
				}
				secret.As = "header:" + name + ": " + scheme + "{}"
			}
			if len(secret.Value) < 6 || strings.ContainsAny(secret.Value, "\r\n\x00") {
				return refuse("%s.%s is a secret in a form that wexec cannot remove from answers", key, name)
			}
			found = append(found, secret)
			delete(values, name)
		}
		if len(values) == 0 {
			delete(all, key)
			continue
		}
		data, err := json.Marshal(values)
		if err != nil {
			return refuse("%w", err)
		}
		all[key] = data
	}
	if len(found) == 0 {
		return s, nil, nil
	}
	data, err := json.Marshal(all)
	return Server{s.Name, data}, found, err
}

// Merge adds servers to a file with mcpServers that wexec reads. Those that the file
// has as they are stay; different is the names of those that it has in another form,
// which stay too.
func Merge(text string, servers []Server) (merged string, different []string, err error) {
	const key = "mcpServers"
	if strings.TrimSpace(text) == "" {
		data, err := File(servers)
		return string(data), nil, err
	}
	for _, s := range servers {
		d, err := parseJSON(text)
		if err != nil {
			return "", nil, err
		}
		top, section, v, err := d.section(key)
		switch {
		case err != nil:
			return "", nil, err
		case section == nil:
			err = d.set(&d.root, top, key, map[string]json.RawMessage{s.Name: s.JSON})
		default:
			if at := find(section, s.Name); at >= 0 {
				has := section.Members[at].Value.Clone()
				has.Minimize()
				if !sameJSON(has.Pack(), s.JSON) {
					different = append(different, s.Name)
				}
				continue
			}
			err = d.set(v, section, s.Name, s.JSON)
		}
		if err != nil {
			return "", nil, err
		}
		text = d.String()
	}
	return text, different, nil
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y) || bytes.Equal(a, b)
}

// Restore returns the text of a client's file with servers that were moved out of
// it, as they were in the text before. Wexec is removed if it was not there. A file
// that nobody changed since gets its old text.
func Restore(c config.Client, text string, m config.Moved) (string, error) {
	if text == m.After {
		return m.Before, nil
	}
	if isTOML(c) {
		return "", fault.New(fault.UsageFile, "undo the import: %s was changed since", c.Path).WithHint("take the servers from its copy, %s.bak", c.Path)
	}
	before, err := parseJSON(m.Before)
	if err != nil {
		return "", err
	}
	_, old, _, err := before.section(c.Key)
	if err != nil || old == nil {
		return text, err
	}
	for _, name := range m.Servers {
		d, err := parseJSON(text)
		if err != nil {
			return "", err
		}
		top, section, v, err := d.section(c.Key)
		if err != nil {
			return "", err
		}
		at := find(old, name)
		if at < 0 || section != nil && find(section, name) >= 0 {
			continue
		}
		value := old.Members[at].Value.Clone()
		value.Minimize()
		if raw := json.RawMessage(value.Pack()); section == nil {
			err = d.set(&d.root, top, c.Key, map[string]json.RawMessage{name: raw})
		} else {
			err = d.set(v, section, name, raw)
		}
		if err != nil {
			return "", err
		}
		text = d.String()
	}
	if !Has(c, m.Before) {
		return Remove(c, text, Self)
	}
	return text, nil
}

// Without returns a file with mcpServers without some servers.
func Without(text string, names ...string) (string, error) {
	return Remove(config.Client{Path: "mcp.json", Key: "mcpServers"}, text, names...)
}
