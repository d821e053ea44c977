package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/upstream"
	"github.com/wexec/wexec/internal/jsonc"
)

// Servers are the MCP servers of a file, with warnings for its reader.
type Servers struct {
	Servers  []upstream.Server
	Warnings []string
}

// readServers reads an MCP file of any client: with mcpServers (Claude, Cursor,
// Copilot, Gemini) or servers (VS Code), comments and trailing commas.
func readServers(path string, x expander, read reader) (Servers, error) {
	data, err := read(path)
	if err != nil {
		return Servers{}, err
	}
	return parseServers(path, data, x)
}

func parseServers(name string, data []byte, x expander) (Servers, error) {
	const shape = `write {"mcpServers": {"name": {"command": "…"}}}`
	stripped, err := jsonc.Strip(data)
	if err != nil {
		return Servers{}, fault.New(fault.UsageConfig, "%s: %v", name, err)
	}
	if len(bytes.TrimSpace(stripped)) == 0 {
		return Servers{}, fault.New(fault.UsageConfig, "%s is empty", name).WithHint("%s", shape)
	}
	type definitions map[string]json.RawMessage
	var file struct {
		MCPServers definitions `json:"mcpServers"`
		Servers    definitions `json:"servers"`
		MCP        struct {
			Servers definitions `json:"servers"`
		} `json:"mcp"`
	}
	if err := json.Unmarshal(stripped, &file); err != nil {
		return Servers{}, fault.New(fault.UsageConfig, "%s:%s: %s", name, jsonc.Position(stripped, err), jsonProblem(err)).WithHint("%s", shape)
	}
	all := definitions{}
	for _, list := range []definitions{file.MCP.Servers, file.Servers, file.MCPServers} {
		maps.Copy(all, list)
	}
	if file.MCPServers == nil && len(all) == 0 {
		return Servers{}, fault.New(fault.UsageConfig, "%s has neither mcpServers nor servers", name).WithHint("%s", shape)
	}
	var entries []serverEntry
	for _, server := range slices.Sorted(maps.Keys(all)) {
		entries = append(entries, serverEntry{file: name, name: server, line: lineOf(data, server), definition: all[server]})
	}
	return readEntries(entries, x), nil
}

// lineOf returns the line on which a key of a JSON text first occurs.
func lineOf(data []byte, key string) int {
	quoted, _ := json.Marshal(key) // a string always has a JSON form
	before, _, found := bytes.Cut(data, quoted)
	if !found {
		return 1
	}
	return 1 + bytes.Count(before, []byte("\n"))
}

// jsonProblem returns the message of an error of encoding/json in the terms of
// the file.
func jsonProblem(err error) string {
	var e *json.UnmarshalTypeError
	if !errors.As(err, &e) {
		return err.Error()
	}
	want := cmp.Or(map[reflect.Kind]string{reflect.String: "a string", reflect.Bool: "a boolean", reflect.Slice: "a list"}[e.Type.Kind()], "an object")
	got := cmp.Or(map[string]string{"array": "a list", "bool": "a boolean", "object": "an object"}[e.Value], "a "+e.Value)
	if e.Field == "" {
		return fmt.Sprintf("must be %s, not %s", want, got)
	}
	return fmt.Sprintf("%s: must be %s, not %s", e.Field, want, got)
}

// serverEntry is one server of a file that is not read yet.
type serverEntry struct {
	file       string
	name       string
	line       int
	definition json.RawMessage
}

// place is file:line.
func (e serverEntry) place() string { return fmt.Sprintf("%s:%d", e.file, e.line) }

func (e serverEntry) problem(format string, args ...any) *fault.Error {
	return fault.New(fault.UsageConfig, "%s: server %q: %w", e.place(), e.name, fmt.Errorf(format, args...))
}

// readEntries reads servers. Disabled ones are left out. A definition that cannot
// be used makes a server that cannot be started, and concerns no other.
func readEntries(entries []serverEntry, x expander) Servers {
	var out Servers
	for _, e := range entries {
		s, warnings, err := e.server(x)
		if err != nil {
			s = &upstream.Server{Name: e.name, Origin: e.place(), Fault: err}
		}
		out.Warnings = append(out.Warnings, warnings...)
		if s != nil {
			out.Servers = append(out.Servers, *s)
		}
	}
	return out
}

// definition is what any client writes for a server.
type definition struct {
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

// isWexec reports whether a server is wexec itself, which would start itself
// without end.
func (d definition) isWexec() bool {
	name := strings.TrimSuffix(path.Base(strings.ReplaceAll(d.Command, `\`, "/")), ".exe")
	return name == "wexec" && len(d.Args) > 0 && d.Args[0] == "mcp"
}

// server reads a server; nil if it is disabled.
func (e serverEntry) server(x expander) (*upstream.Server, []string, error) {
	var d definition
	if err := json.Unmarshal(e.definition, &d); err != nil {
		return nil, nil, e.problem("%s", jsonProblem(err))
	}
	if d.Disabled || (d.Enabled != nil && !*d.Enabled) || d.isWexec() {
		return nil, nil, nil
	}
	in := expansion{expander: x}
	s := &upstream.Server{
		Name: e.name, Origin: e.place(), Command: in.expand("command", d.Command), Dir: in.expand("cwd", d.Cwd),
		URL: in.expand("url", cmp.Or(d.URL, d.ServerURL, d.HTTPURL)), Env: map[string]string{}, Headers: map[string]string{},
	}
	for i, a := range d.Args {
		s.Args = append(s.Args, in.expand(fmt.Sprintf("args[%d]", i), a))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Env)) {
		s.Env[name] = in.expand("env."+name, d.Env[name])
	}
	for _, name := range slices.Sorted(maps.Keys(d.Headers)) {
		s.Headers[name] = in.expand("headers."+name, d.Headers[name])
	}
	if in.err != nil {
		return nil, nil, e.problem("%w", in.err).WithHint("set the variable, or write ${NAME:-default}")
	}
	var err error
	if s.Transport, err = d.transport(s); err != nil {
		return nil, nil, e.problem("%w", err).WithHint("%s", e.misspelledKey())
	}
	s.Secrets = secretsIn(in.texts)
	return s, e.ignoredGrants(d), nil
}

// ignoredGrants returns a warning for each setting with which a client allows
// tools: only the policy allows tools.
func (e serverEntry) ignoredGrants(d definition) []string {
	var out []string
	for _, grant := range []struct {
		key   string
		value json.RawMessage
	}{{"alwaysAllow", d.AlwaysAllow}, {"autoApprove", d.AutoApprove}, {"trust", d.Trust}} {
		switch string(grant.value) {
		case "", "[]", "false", "null":
		default:
			out = append(out, fmt.Sprintf("%s: %s of server %q is ignored: only the policy allows tools (to import it, run: wexec policy import %s)", e.file, grant.key, e.name, e.file))
		}
	}
	return out
}

// transport returns the transport of a server, or why it has none.
func (d definition) transport(s *upstream.Server) (string, error) {
	missing := func(value, problem string) error {
		if value == "" {
			return errors.New(problem)
		}
		return nil
	}
	switch kind := strings.ToLower(cmp.Or(d.Type, d.Transport)); kind {
	case "", "local":
		switch {
		case s.Command != "" && s.URL != "":
			return "", errors.New("must not have both command and url")
		case s.Command != "":
			return upstream.Stdio, nil
		}
		return upstream.HTTP, missing(s.URL, "must have command or url")
	case "stdio":
		return upstream.Stdio, missing(s.Command, "a stdio server must have command")
	case "http", "streamable-http", "streamablehttp", "streamable_http", "remote":
		return upstream.HTTP, missing(s.URL, "an http server must have url")
	case "sse":
		return upstream.SSE, missing(s.URL, "an sse server must have url")
	default:
		return "", fmt.Errorf("type: must be stdio, http or sse, not %q", kind)
	}
}

// misspelledKey returns a hint if a key of the definition is probably meant to
// be command or url.
func (e serverEntry) misspelledKey() string {
	var keys map[string]json.RawMessage
	if json.Unmarshal(e.definition, &keys) != nil {
		return ""
	}
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		if near := catalogue.NearestOf(k, []string{"command", "url", "type", "transport"}); near != "" && near != k {
			return fmt.Sprintf("unknown key %s: did you mean %s?", k, near)
		}
	}
	return ""
}

// expander fills in ${…} in the texts of a file.
type expander struct {
	lookup    func(string) (string, bool)
	workspace string
}

// expansion expands the texts of one server and notes what went into them.
type expansion struct {
	expander
	texts []expandedText
	err   error // the first
}

var variable = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$\{(env:)?([A-Za-z_][A-Za-z0-9_]*)(:-([^}]*))?\}`)
})

// ClientVariable returns the first variable in a text that only an MCP client can
// fill in, such as ${input:token} of VS Code, or "".
func ClientVariable(text string) string {
	for rest := text; ; {
		_, after, ok := strings.Cut(rest, "${")
		if !ok {
			return ""
		}
		name, _, ok := strings.Cut(after, "}")
		if kind, _, has := strings.Cut(name, ":"); ok && has && slices.Contains([]string{"input", "command", "config"}, kind) {
			return "${" + name + "}"
		}
		rest = after
	}
}

// expand fills in ${VAR}, ${VAR:-default}, ${env:VAR} and ${workspaceFolder} in
// the text of a key.
func (in *expansion) expand(key, text string) string {
	if name := ClientVariable(text); name != "" && in.err == nil {
		in.err = fmt.Errorf("%s: only an MCP client knows the value of %s", key, name)
	}
	var missing []string
	used := map[string]string{}
	out := variable().ReplaceAllStringFunc(text, func(m string) string {
		part := variable().FindStringSubmatch(m)
		name, hasDefault, standard := part[2], part[3] != "", part[4]
		if name == "workspaceFolder" && part[1] == "" {
			return in.workspace
		}
		if v, ok := in.lookup(name); ok && (v != "" || !hasDefault) {
			used[name] = v
			return v
		}
		if !hasDefault {
			missing = append(missing, name)
		}
		return standard
	})
	if len(missing) > 0 && in.err == nil {
		in.err = fmt.Errorf("%s: variable %s is not set", key, strings.Join(missing, ", "))
	}
	_, name, _ := strings.Cut(key, ".")
	in.texts = append(in.texts, expandedText{name, out, used})
	return out
}
