package catalogue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

// Catalogue is a set of tools with the names code gives them. It does not
// change; a server that changes its tools makes for a new catalogue. The order
// in which servers were connected plays no part.
type Catalogue struct {
	tools   []Tool               // sorted by server, then name
	servers []Server             // sorted by name
	byID    map[string]int       // "server.tool" in original names
	byCall  map[string]int       // "server.tool" in identifiers
	byFold  map[string][]int     // the same folded
	server  map[string]string    // any accepted spelling of a server to its original name
	idents  map[[2]string]string // server and tool to the tool's identifier
	words   func() *index        // made when first searched

	learned func(Tool) json.RawMessage // types of answers that no server declares; nil: none
}

// Server is one server of a catalogue.
type Server struct {
	Name  string `json:"name"`  // as configured, and as the policy follows it
	Call  string `json:"call"`  // as code writes it
	Tools int    `json:"tools"` // how many tools it has here
}

// New makes a catalogue. A tool that stands twice is taken once, the first.
func New(tools []Tool) *Catalogue {
	c := &Catalogue{
		byID: map[string]int{}, byCall: map[string]int{}, byFold: map[string][]int{},
		server: map[string]string{}, idents: map[[2]string]string{},
	}
	c.tools = slices.Clone(tools)
	slices.SortStableFunc(c.tools, func(a, b Tool) int {
		return cmp.Or(strings.Compare(a.Server, b.Server), strings.Compare(a.Name, b.Name))
	})
	c.tools = slices.CompactFunc(c.tools, func(a, b Tool) bool { return a.Server == b.Server && a.Name == b.Name })

	names := map[string][]string{}
	for _, t := range c.tools {
		names[t.Server] = append(names[t.Server], t.Name)
	}
	servers := make([]string, 0, len(names))
	for s := range names {
		servers = append(servers, s)
	}
	slices.Sort(servers)
	calls := ServerNames(servers)
	for _, s := range servers {
		c.servers = append(c.servers, Server{Name: s, Call: calls[s], Tools: len(names[s])})
		for tool, ident := range assign(names[s]) {
			c.idents[[2]string{s, tool}] = ident
		}
	}
	c.spellServers()
	for i, t := range c.tools {
		ident := c.idents[[2]string{t.Server, t.Name}]
		call := calls[t.Server] + "." + ident
		c.byID[t.ID()] = i
		c.byCall[call] = i
		key := fold(t.Server) + "." + fold(t.Name)
		c.byFold[key] = append(c.byFold[key], i)
	}
	c.words = sync.OnceValue(func() *index { return newIndex(c.tools) })
	return c
}

// ServerNames gives each server the identifier under which code reaches it.
// Connecting nothing, it serves where only the configured names are known.
func ServerNames(servers []string) map[string]string { return assign(servers) }

func (c *Catalogue) spellServers() {
	folds := map[string][]string{}
	for _, s := range c.servers {
		key := fold(s.Name)
		folds[key] = append(folds[key], s.Name)
	}
	for key, group := range folds {
		if len(group) == 1 {
			c.server[key] = group[0]
		}
	}
	for _, s := range c.servers {
		c.server[s.Call] = s.Name
	}
	for _, s := range c.servers {
		c.server[s.Name] = s.Name
	}
}

// Tools lists every tool, sorted by server and name. The slice is the
// catalogue's own: read it only.
func (c *Catalogue) Tools() []Tool { return c.tools }

// Servers lists every server, sorted by name.
func (c *Catalogue) Servers() []Server { return c.servers }

// Server finds a server by any accepted spelling and gives its own name.
func (c *Catalogue) Server(spelling string) (string, bool) {
	if len(spelling) > maxSpelling {
		return "", false
	}
	if s, ok := c.server[spelling]; ok {
		return s, true
	}
	s, ok := c.server[fold(spelling)]
	return s, ok
}

// ServerTools lists the tools of one server by its own name.
func (c *Catalogue) ServerTools(server string) []Tool {
	lo, _ := slices.BinarySearchFunc(c.tools, server, func(t Tool, s string) int { return strings.Compare(t.Server, s) })
	hi := lo
	for hi < len(c.tools) && c.tools[hi].Server == server {
		hi++
	}
	return c.tools[lo:hi]
}

// Name is the identifier under which code reaches a tool within its server.
func (c *Catalogue) Name(t Tool) string {
	if ident, ok := c.idents[[2]string{t.Server, t.Name}]; ok {
		return ident
	}
	return Identifier(t.Name)
}

// Call is a tool as a program of a language writes it:
// "tools.github.list_commits".
func (c *Catalogue) Call(t Tool, language string) string {
	server, ok := t.Server, false
	for _, s := range c.servers {
		if s.Name == t.Server {
			server, ok = s.Call, true
			break
		}
	}
	if !ok {
		server = Identifier(t.Server)
	}
	tool := c.Name(t)
	if language == "python" {
		server, tool = PythonName(server), PythonName(tool)
	}
	return "tools." + server + "." + tool
}

// Lookup finds a tool by any spelling a program, a policy or a person may use:
// its own name, its identifier, camelCase or snake_case, Python's trailing
// underscore, mcp__server__tool, with or without "tools." before it. An
// inexact spelling that fits two tools finds none.
func (c *Catalogue) Lookup(name string) (Tool, bool) {
	if len(name) > maxSpelling {
		return Tool{}, false
	}
	for _, n := range spellings(name) {
		if i, ok := c.byID[n]; ok {
			return c.tools[i], true
		}
		if i, ok := c.byCall[n]; ok {
			return c.tools[i], true
		}
	}
	for _, n := range spellings(name) {
		server, tool, ok := strings.Cut(n, ".")
		if !ok {
			continue
		}
		own, ok := c.Server(server)
		if !ok {
			continue
		}
		for _, spelled := range []string{tool, strings.TrimSuffix(tool, "_")} {
			if i, ok := c.byID[own+"."+spelled]; ok {
				return c.tools[i], true
			}
			if i, ok := c.byCall[c.serverCall(own)+"."+spelled]; ok {
				return c.tools[i], true
			}
		}
		if found := c.byFold[fold(own)+"."+fold(tool)]; len(found) > 0 {
			of := slices.DeleteFunc(slices.Clone(found), func(i int) bool { return c.tools[i].Server != own })
			if len(of) == 1 {
				return c.tools[of[0]], true
			}
		}
	}
	return Tool{}, false
}

func (c *Catalogue) serverCall(own string) string {
	for _, s := range c.servers {
		if s.Name == own {
			return s.Call
		}
	}
	return Identifier(own)
}

// spellings undoes the ways in which a name may be dressed.
func spellings(name string) []string {
	out := []string{name}
	if rest, ok := strings.CutPrefix(name, "tools."); ok {
		out = append(out, rest)
	}
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		for i := 0; i+2 <= len(rest); i++ {
			if rest[i:i+2] == "__" {
				out = append(out, rest[:i]+"."+rest[i+2:])
			}
		}
	}
	return out
}

// Keep is a view with the tools for which f says yes. Every tool keeps the
// name it has in the whole catalogue.
func (c *Catalogue) Keep(f func(Tool) bool) *Catalogue {
	var kept []Tool
	for _, t := range c.tools {
		if f(t) {
			kept = append(kept, t)
		}
	}
	view := New(kept)
	for i, s := range view.servers {
		view.servers[i].Call = c.serverCall(s.Name)
	}
	clear(view.byCall)
	for i, t := range view.tools {
		ident := c.Name(t)
		view.idents[[2]string{t.Server, t.Name}] = ident
		view.byCall[c.serverCall(t.Server)+"."+ident] = i
	}
	clear(view.server)
	view.spellServers()
	view.learned = c.learned
	return view
}

// Digest is a SHA-256 over everything the catalogue says, in hex. Equal tools
// give equal digests, whatever order they came in.
func (c *Catalogue) Digest() string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	for _, t := range c.tools {
		t.InputSchema, t.OutputSchema = canonical(t.InputSchema), canonical(t.OutputSchema)
		if err := enc.Encode(t); err != nil {
			h.Write([]byte(t.ID()))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// canonical is a schema with sorted keys; what is no JSON is kept as a string.
func canonical(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return nil
	}
	var v any
	if json.Unmarshal(schema, &v) != nil {
		v = string(schema)
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return b
}
