package hostfns

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/hostfns/internal/toolmeta"
	"github.com/wexec/wexec/hostfns/schema"
)

// listing is the tools of one server, asked for once and kept until the server
// reports a change.
type listing struct {
	done  chan struct{}
	at    time.Time // of the end
	err   error
	tools []*resolvedTool
	cat   *catalogue.Catalogue

	digest func() string // of cat
}

func (l *listing) ready() bool {
	select {
	case <-l.done:
		return true
	default:
		return false
	}
}

// maxTools is the number of tools that one server may list.
const maxTools = 20_000

// add adds the tools of a provider, cleaned. It returns why tools are refused. A
// tool of another server, or with a name that is taken, is left out. servers are all
// names of servers: the ID of a tool may begin with no other.
func (l *listing) add(server string, p Provider, tools []catalogue.Tool, servers []string) (refused []error) {
	names := map[string]bool{}
	for _, t := range l.tools {
		names[t.Name] = true
	}
	for _, tool := range tools {
		if len(l.tools) >= maxTools {
			break
		}
		if (tool.Server != "" && tool.Server != server) || names[tool.Name] {
			continue
		}
		tool, err := toolmeta.Clean(tool)
		if err == nil {
			err = ambiguous(server, tool.Name, servers)
		}
		if err != nil {
			refused = append(refused, err)
			continue
		}
		tool.Server = server
		names[tool.Name] = true
		l.tools = append(l.tools, newResolvedTool(tool, p, l))
	}
	return refused
}

// ambiguous returns an error if the ID of a tool reads as that of a tool of another
// server: server corp has a tool jira.search, and there is a server corp.jira. This
// does not depend on what the other server lists, which may change.
func ambiguous(server, tool string, servers []string) error {
	id := server + "." + tool
	short, spelled := strings.CutPrefix(id, "tools.") // another spelling of short
	for _, other := range servers {
		if len(other) > len(server) && strings.HasPrefix(id, other+".") || spelled && strings.HasPrefix(short, other+".") {
			return fmt.Errorf("tool %q of server %s reads as a tool of server %s: rename one of the two servers in the configuration", tool, server, other)
		}
	}
	return nil
}

// find returns a tool by its original name, or nil.
func (l *listing) find(name string) *resolvedTool {
	for _, t := range l.tools {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// resolvedTool is a tool with its provider and compiled schemas.
type resolvedTool struct {
	catalogue.Tool
	provider Provider
	id       string
	listing  *listing
	keeps    bool // the provider is a [Keeper]

	definition func() string // the digest of its definition
	warnOnce   sync.Once     // that a pin no longer matches

	compileOnce   sync.Once
	input, output *schema.Schema
	warnings      []string
}

func newResolvedTool(t catalogue.Tool, p Provider, l *listing) *resolvedTool {
	_, keeps := p.(Keeper)
	return &resolvedTool{Tool: t, provider: p, id: t.ID(), listing: l, keeps: keeps, definition: sync.OnceValue(t.DefinitionSHA256)}
}

// compile compiles the schemas of the tool.
func (t *resolvedTool) compile() {
	t.compileOnce.Do(func() {
		var err error
		if t.input, err = schema.Compile(t.InputSchema); err != nil {
			t.warnings = append(t.warnings, "arguments are not checked: "+clean(err.Error(), 300))
		}
		for _, w := range t.input.Warnings() {
			t.warnings = append(t.warnings, clean(w, 300))
		}
		if t.output, err = schema.Compile(t.OutputSchema); err != nil {
			t.warnings = append(t.warnings, "answers are not checked: "+clean(err.Error(), 300))
		}
	})
}

func (t *resolvedTool) schema() *schema.Schema {
	t.compile()
	return t.input
}

// writes reports whether the tool may change something: its server does not say
// otherwise.
func (t *resolvedTool) writes() bool {
	readOnly := t.Annotations.ReadOnly
	return readOnly == nil || !*readOnly
}

// signature returns the arguments of the tool in one line, in the order of their
// positions.
func (t *resolvedTool) signature() string {
	names := t.schema().Positions()
	if len(names) == 0 {
		return ""
	}
	required := t.schema().Required()
	parts := make([]string, 0, len(names))
	for _, n := range firstOf(names, 30) {
		n = clean(n, 80)
		if !slices.Contains(required, n) && n != "…" {
			n += "?"
		}
		parts = append(parts, n)
	}
	return t.id + " takes " + strings.Join(parts, ", ")
}

// paging returns how to ask a tool for less, by the names of its arguments.
func (t *resolvedTool) paging() string {
	var found []string
	for _, name := range t.schema().Properties() {
		switch strings.ToLower(strings.ReplaceAll(name, "_", "")) {
		case "limit", "perpage", "pagesize", "maxresults", "first", "count", "top", "page", "cursor", "offset",
			"after", "pagetoken", "nextcursor", "fields", "select", "since", "query", "head", "maxlength", "startindex":
			found = append(found, clean(name, 80))
		}
	}
	if len(found) == 0 {
		return "ask for less; " + t.signature()
	}
	return "ask for less at once with " + strings.Join(found, ", ")
}

func (t *resolvedTool) invalid(message, hint string) *Failure {
	return &Failure{Code: fault.ToolInvalidArgs, Tool: t.id, Message: clean(message, maxMessage), Hint: clean(hint, maxMessage)}
}

// firstOf returns at most n strings, and an ellipsis if there are more.
func firstOf(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	return append(list[:n:n], "…")
}

// repeatable reports whether the tool may be called again with the same arguments.
func (t *resolvedTool) repeatable() bool {
	a := t.Annotations
	return a.Idempotent != nil && *a.Idempotent || !t.writes()
}
