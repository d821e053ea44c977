package catalogue

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"sync/atomic"
)

// Catalogue is an immutable set of tools with their names in code. It does not
// depend on the order of the tools. It is safe for concurrent use.
type Catalogue struct {
	tools   []Tool                 // sorted by server and name
	servers []Server               // sorted by name
	byID    map[string]int         // by "server.tool", original names
	byCall  map[string]int         // by "server.tool", identifiers
	byFold  map[string][]int       // by "server.tool", folded
	folds   []string               // names of tools, folded
	server  map[string]string      // original names of servers by spelling
	idents  map[[2]string]string   // identifiers of tools by server and tool
	parts   []*part                // of the index, by server
	indexed *atomic.Pointer[index] // set by the first search

	learned func(Tool) json.RawMessage // schemas of undeclared answers; may be nil
}

// Server is a server of a catalogue.
type Server struct {
	Name  string `json:"name"`  // as configured, and in policies
	Call  string `json:"call"`  // in code
	Tools int    `json:"tools"` // number of tools
}

// maxSpelling is the length of a name that is looked up, in bytes.
const maxSpelling = 1 << 10

// New returns a catalogue of tools. Of tools with the same server and name it
// takes the first.
func New(tools []Tool) *Catalogue {
	c := &Catalogue{
		byID: map[string]int{}, byCall: map[string]int{}, byFold: map[string][]int{},
		server: map[string]string{}, idents: map[[2]string]string{}, indexed: &atomic.Pointer[index]{},
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
		c.parts = append(c.parts, newPart(s, c.ServerTools(s)))
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
		c.folds = append(c.folds, fold(t.Name))
		key := fold(t.Server) + "." + c.folds[i]
		c.byFold[key] = append(c.byFold[key], i)
	}
	return c
}

// Join returns the catalogue of the tools of several, each of other servers. It
// uses their indexes.
func Join(catalogues ...*Catalogue) *Catalogue {
	var tools []Tool
	for _, one := range catalogues {
		tools = append(tools, one.tools...)
	}
	c := New(tools)
	for _, one := range catalogues {
		c.share(one)
	}
	return c
}

// share makes c use the index of another catalogue for the servers of which both
// have the same tools: those of which both have equally many, since the tools of one
// are among those of the other.
func (c *Catalogue) share(other *Catalogue) {
	for i, s := range c.servers {
		at, ok := other.serverAt(s.Name)
		if ok && other.servers[at].Tools == s.Tools {
			c.parts[i] = other.parts[at]
		}
	}
}

// ServerNames returns the identifier of each server in code. It needs only the
// configured names, not the tools.
func ServerNames(servers []string) map[string]string { return assign(servers) }

// spellServers fills in the accepted spellings of servers. Exact names take
// precedence.
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

// Tools returns every tool, sorted by server and name. The slice must not be
// modified.
func (c *Catalogue) Tools() []Tool { return c.tools }

// Servers returns every server, sorted by name.
func (c *Catalogue) Servers() []Server { return c.servers }

// Server returns the name of a server by any accepted spelling.
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

// ServerTools returns the tools of a server by its name.
func (c *Catalogue) ServerTools(server string) []Tool {
	from, to := c.rangeOf(server)
	return c.tools[from:to]
}

// rangeOf returns the numbers of the tools of a server.
func (c *Catalogue) rangeOf(server string) (from, to int) {
	from, _ = slices.BinarySearchFunc(c.tools, server, func(t Tool, s string) int { return strings.Compare(t.Server, s) })
	for to = from; to < len(c.tools) && c.tools[to].Server == server; {
		to++
	}
	return from, to
}

// Name returns the identifier of a tool in its server.
func (c *Catalogue) Name(t Tool) string {
	if ident, ok := c.idents[[2]string{t.Server, t.Name}]; ok {
		return ident
	}
	return Identifier(t.Name)
}

// Call returns a tool as a program in a language refers to it, such as
// "tools.github.list_commits".
func (c *Catalogue) Call(t Tool, language string) string {
	server, tool := c.serverCall(t.Server), c.Name(t)
	if language == "python" {
		server, tool = PythonName(server), PythonName(tool)
	}
	return "tools." + server + "." + tool
}

// Lookup finds a tool by any spelling: original name, identifier, camelCase or
// snake_case, with Python's trailing underscore, as mcp__server__tool, with or
// without the prefix "tools.". An inexact spelling that matches two tools finds
// none.
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
		if server, ok = c.Server(server); !ok {
			continue
		}
		for _, spelled := range []string{tool, strings.TrimSuffix(tool, "_")} {
			if i, ok := c.byID[server+"."+spelled]; ok {
				return c.tools[i], true
			}
			if i, ok := c.byCall[c.serverCall(server)+"."+spelled]; ok {
				return c.tools[i], true
			}
		}
		found := slices.DeleteFunc(slices.Clone(c.byFold[fold(server)+"."+fold(tool)]), func(i int) bool { return c.tools[i].Server != server })
		if len(found) == 1 {
			return c.tools[found[0]], true
		}
	}
	return Tool{}, false
}

// serverCall returns the identifier of a server.
func (c *Catalogue) serverCall(server string) string {
	if at, ok := c.serverAt(server); ok {
		return c.servers[at].Call
	}
	return Identifier(server)
}

// serverAt returns the position of a server in the list of servers.
func (c *Catalogue) serverAt(server string) (int, bool) {
	return slices.BinarySearchFunc(c.servers, server, func(s Server, name string) int { return strings.Compare(s.Name, name) })
}

// spellings returns a name without its prefixes.
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

// Keep returns a catalogue of the tools for which f returns true. Every tool
// keeps its name in code.
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
	view.share(c)
	return view
}

// Digest returns a SHA-256 of all tools in hex. Equal tools have equal digests.
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
