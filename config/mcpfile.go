package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/upstream"
)

// maxFile is the most that is read of a configuration file.
const maxFile = 4 << 20

// Servers are the MCP servers of one file, with what its reader should know.
type Servers struct {
	Servers  []upstream.Server
	Warnings []string
}

// expander fills in ${…} in the texts of a file.
type expander struct {
	lookup    func(string) (string, bool)
	workspace string
}

// readServers reads an MCP file of any dialect: mcpServers (Claude, Cursor,
// Copilot, Gemini) or servers (VS Code), with comments and trailing commas.
func readServers(path string, x expander, read reading) (Servers, error) {
	data, err := read(path)
	if err != nil {
		return Servers{}, err
	}
	return parseServers(path, data, x)
}

func parseServers(name string, data []byte, x expander) (Servers, error) {
	return parseServersIn(name, data, data, x)
}

// parseServersIn reads the document of an MCP file. Places are looked for in the
// text it came from, which may be of another kind.
func parseServersIn(name string, data, text []byte, x expander) (Servers, error) {
	clean, err := withoutComments(data)
	if err != nil {
		return Servers{}, fault.New(fault.UsageConfig, "%s: %v", name, err)
	}
	var file struct {
		MCPServers map[string]json.RawMessage `json:"mcpServers"`
		Servers    map[string]json.RawMessage `json:"servers"`
		MCP        struct {
			Servers map[string]json.RawMessage `json:"servers"`
		} `json:"mcp"`
	}
	shape := `write {"mcpServers": {"name": {"command": "…"}}}`
	if len(bytes.TrimSpace(clean)) == 0 {
		return Servers{}, fault.New(fault.UsageConfig, "%s is empty", name).WithHint("%s", shape)
	}
	if err := json.Unmarshal(clean, &file); err != nil {
		return Servers{}, fault.New(fault.UsageConfig, "%s:%s: %s", name, Position(clean, err), unfit(err)).WithHint("%s", shape)
	}
	all := file.MCPServers
	for _, more := range []map[string]json.RawMessage{file.Servers, file.MCP.Servers} {
		for k, v := range more {
			if all == nil {
				all = map[string]json.RawMessage{}
			}
			if _, twice := all[k]; !twice {
				all[k] = v
			}
		}
	}
	if all == nil {
		return Servers{}, fault.New(fault.UsageConfig, "%s has no mcpServers and no servers", name).
			WithHint("%s", shape)
	}
	names := make([]string, 0, len(all))
	for n := range all {
		names = append(names, n)
	}
	slices.Sort(names)
	var out Servers
	for _, n := range names {
		s, warnings, err := serverOf(fmt.Sprintf("%s:%d", name, lineOf(text, n)), name, n, all[n], x)
		if err != nil {
			return Servers{}, err
		}
		out.Warnings = append(out.Warnings, warnings...)
		if s != nil {
			s.Origin = fmt.Sprintf("%s:%d", name, lineOf(text, n))
			out.Servers = append(out.Servers, *s)
		}
	}
	return out, nil
}

// serverEntry is the union of what the dialects write for a server.
type serverEntry struct {
	Type      string            `json:"type"`
	Transport string            `json:"transport"`
	Command   string            `json:"command"`
	Args      []string          `json:"args"`
	Env       map[string]string `json:"env"`
	Cwd       string            `json:"cwd"`
	URL       string            `json:"url"`
	ServerURL string            `json:"serverUrl"`
	HTTPURL   string            `json:"httpUrl"`
	Headers   map[string]string `json:"headers"`
	Disabled  bool              `json:"disabled"`
	Enabled   *bool             `json:"enabled"`

	AutoApprove json.RawMessage `json:"autoApprove"`
	AlwaysAllow json.RawMessage `json:"alwaysAllow"`
	Trust       json.RawMessage `json:"trust"`
}

// isWexec reports whether a client's server is wexec itself, which would start
// itself without end.
func (e serverEntry) isWexec() bool {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(e.Command, `\`, "/")), ".exe")
	return name == "wexec" && len(e.Args) > 0 && e.Args[0] == "mcp"
}

func serverOf(place, file, name string, raw json.RawMessage, x expander) (*upstream.Server, []string, error) {
	var e serverEntry
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, nil, fault.New(fault.UsageConfig, "%s: server %q: %s", place, name, unfit(err))
	}
	if e.Disabled || (e.Enabled != nil && !*e.Enabled) || e.isWexec() {
		return nil, nil, nil
	}
	var warnings []string
	for key, v := range map[string]json.RawMessage{"autoApprove": e.AutoApprove, "alwaysAllow": e.AlwaysAllow, "trust": e.Trust} {
		if len(v) > 0 && string(v) != "[]" && string(v) != "false" && string(v) != "null" {
			warnings = append(warnings, fmt.Sprintf("%s: %s of server %q is not honoured: what may be called is for the policy to say (wexec policy import %s)", file, key, name, file))
		}
	}
	slices.Sort(warnings)
	s := &upstream.Server{Name: name, Env: map[string]string{}, Headers: map[string]string{}}
	var failed error
	var all []given
	expand := func(key, text string) string {
		out, used, err := x.expandUsing(text)
		_, of, _ := strings.Cut(key, ".")
		all = append(all, given{of, out, used})
		if err != nil && failed == nil {
			failed = fault.New(fault.UsageConfig, "%s: server %q: %s: %v", place, name, key, err).
				WithHint("set the variable, or write ${NAME:-fallback}")
		}
		return out
	}
	s.Command = expand("command", e.Command)
	for i, a := range e.Args {
		s.Args = append(s.Args, expand(fmt.Sprintf("args[%d]", i), a))
	}
	for k, v := range e.Env {
		s.Env[k] = expand("env."+k, v)
	}
	for k, v := range e.Headers {
		s.Headers[k] = expand("headers."+k, v)
	}
	s.Dir = expand("cwd", e.Cwd)
	for _, u := range []string{e.URL, e.ServerURL, e.HTTPURL} {
		if u != "" {
			s.URL = expand("url", u)
			break
		}
	}
	if failed != nil {
		return nil, nil, failed
	}
	transport, err := transportOf(e, s)
	if err != nil {
		return nil, nil, fault.New(fault.UsageConfig, "%s: server %q: %v", place, name, err).WithHint("%s", misspeltKey(raw))
	}
	s.Transport, s.Secrets = transport, secretsIn(all)
	return s, warnings, nil
}

func transportOf(e serverEntry, s *upstream.Server) (string, error) {
	said := strings.ToLower(e.Type)
	if said == "" {
		said = strings.ToLower(e.Transport)
	}
	switch said {
	case "", "local":
		switch {
		case s.Command != "" && s.URL != "":
			return "", fmt.Errorf("it has both a command and a url")
		case s.Command != "":
			return upstream.Stdio, nil
		case s.URL != "":
			return upstream.HTTP, nil
		}
		return "", fmt.Errorf("it has neither a command nor a url")
	case "stdio":
		if s.Command == "" {
			return "", fmt.Errorf("a stdio server needs a command")
		}
		return upstream.Stdio, nil
	case "http", "streamable-http", "streamablehttp", "streamable_http", "remote":
		if s.URL == "" {
			return "", fmt.Errorf("an http server needs a url")
		}
		return upstream.HTTP, nil
	case "sse":
		if s.URL == "" {
			return "", fmt.Errorf("an sse server needs a url")
		}
		return upstream.SSE, nil
	}
	return "", fmt.Errorf("the type %q is unknown (stdio, http or sse)", said)
}

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(env:)?([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)
})

// expandUsing fills in ${VAR}, ${VAR:-x}, ${env:VAR} and ${workspaceFolder}, and
// gives the variables of the machine that it used.
func (x expander) expandUsing(text string) (string, map[string]string, error) {
	var missing []string
	used := map[string]string{}
	out := variable().ReplaceAllStringFunc(text, func(m string) string {
		part := variable().FindStringSubmatch(m)
		name, hasFallback, fallback := part[2], part[3] != "", part[4]
		if name == "workspaceFolder" && part[1] == "" {
			return x.workspace
		}
		if v, ok := x.lookup(name); ok && (v != "" || !hasFallback) {
			used[name] = v
			return v
		}
		if hasFallback {
			return fallback
		}
		missing = append(missing, name)
		return ""
	})
	if len(missing) > 0 {
		return "", nil, fmt.Errorf("the variable %s is not set", strings.Join(missing, ", "))
	}
	return out, used, nil
}

// withoutComments blanks out // and /* */ comments and trailing commas and
// keeps every line where it was.
func withoutComments(data []byte) ([]byte, error) {
	out := slices.Clone(bytes.TrimPrefix(data, []byte("\ufeff")))
	blank := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' {
				out[i] = ' '
			}
		}
	}
	comma := -1 // the last comma with only white space behind it
	for i := 0; i < len(out); {
		switch c := out[i]; {
		case c == '"':
			end := i + 1
			for end < len(out) && out[end] != '"' {
				if out[end] == '\\' {
					end++
				}
				end++
			}
			i, comma = min(end+1, len(out)), -1
		case c == '/' && i+1 < len(out) && out[i+1] == '/':
			end := i
			for end < len(out) && out[end] != '\n' {
				end++
			}
			blank(i, end)
			i = end
		case c == '/' && i+1 < len(out) && out[i+1] == '*':
			end := bytes.Index(out[i+2:], []byte("*/"))
			if end < 0 {
				return nil, fmt.Errorf("a comment is not closed")
			}
			blank(i, i+2+end+2)
			i += 2 + end + 2
		case c == ',':
			comma = i
			i++
		case c == '}' || c == ']':
			if comma >= 0 {
				out[comma] = ' '
			}
			comma = -1
			i++
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		default:
			comma = -1
			i++
		}
	}
	return out, nil
}

// unfit says what is wrong with a JSON text in words of the file, not of Go.
func unfit(err error) string {
	var e *json.UnmarshalTypeError
	if !errors.As(err, &e) {
		return err.Error()
	}
	wanted := map[reflect.Kind]string{reflect.String: "a text", reflect.Bool: "true or false", reflect.Slice: "a list"}[e.Type.Kind()]
	if wanted == "" {
		wanted = "an object"
	}
	value := e.Value
	if value == "array" {
		value = "list"
	}
	if e.Field == "" {
		return fmt.Sprintf("%s is expected, not a %s", wanted, value)
	}
	return fmt.Sprintf("%s has to be %s, not a %s", e.Field, wanted, value)
}

// misspeltKey is a hint where a key of a server's entry looks like command or
// url and is not.
func misspeltKey(raw json.RawMessage) string {
	var keys map[string]json.RawMessage
	if json.Unmarshal(raw, &keys) != nil {
		return ""
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if near := catalogue.NearestOf(k, []string{"command", "url", "type", "transport"}); near != "" && near != k {
			return fmt.Sprintf("it has %q: did you mean %s?", k, near)
		}
	}
	return ""
}

// Position is line:column of an error in a JSON text.
func Position(data []byte, err error) string {
	offset := int64(0)
	switch e := err.(type) {
	case *json.SyntaxError:
		offset = e.Offset
	case *json.UnmarshalTypeError:
		offset = e.Offset
	}
	before := string(data[:min(max(offset-1, 0), int64(len(data)))])
	line := 1 + strings.Count(before, "\n")
	return fmt.Sprintf("%d:%d", line, len(before)-strings.LastIndexByte(before, '\n'))
}

// lineOf is the line on which a key first stands.
func lineOf(data []byte, key string) int {
	quoted, err := json.Marshal(key)
	if err != nil {
		return 1
	}
	before, _, found := bytes.Cut(data, quoted)
	if found {
		return 1 + bytes.Count(before, []byte("\n"))
	}
	for i, line := range bytes.Split(data, []byte("\n")) {
		if rest, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte(key)); ok && bytes.HasPrefix(bytes.TrimSpace(rest), []byte(":")) {
			return i + 1
		}
	}
	return 1
}

// reading is a way to read files.
type reading func(path string) ([]byte, error)

// readBounded reads a configuration file of a sensible size, whatever its name
// leads to: devices have no end.
func readBounded(path string) ([]byte, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, fault.New(fault.UsageFile, "read %s: %w", path, unwrapPath(err))
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fault.New(fault.UsageFile, "read %s: %w", path, unwrapPath(err))
	}
	if len(data) > maxFile {
		return nil, fault.New(fault.UsageConfig, "%s is larger than %d MiB", path, maxFile>>20)
	}
	return data, nil
}

// readStranger reads a file that nobody has vouched for: a plain one alone,
// since to open a pipe or a terminal can take forever.
func readStranger(path string) ([]byte, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fault.New(fault.UsageConfig, "%s is no plain file", path)
	}
	return readBounded(path)
}

// unwrapPath drops the operation and the path that a PathError repeats.
func unwrapPath(err error) error {
	var p *os.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
