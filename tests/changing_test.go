package tests

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/hostfns/files"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/policy"
)

// growing is a server that adds tools while it is connected.
type growing struct {
	mu      sync.Mutex
	tools   []catalogue.Tool
	changed func(string)
}

func (g *growing) Servers() []string { return []string{"shop"} }
func (g *growing) Close() error      { return nil }
func (g *growing) Watch(changed func(string)) func() {
	g.changed = changed
	return func() {}
}

func (g *growing) Tools(context.Context, string) ([]catalogue.Tool, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.tools, nil
}

func (g *growing) Call(_ context.Context, c hostfns.Call) (hostfns.Answer, error) {
	return hostfns.Answer{Kind: hostfns.JSON, Data: []byte(`"` + c.Tool + `"`)}, nil
}

func (g *growing) grow(name string) {
	g.mu.Lock()
	g.tools = append(g.tools, catalogue.Tool{Server: "shop", Name: name})
	g.mu.Unlock()
	if g.changed != nil {
		g.changed("shop")
	}
}

// TestAnOpenSessionSeesToolsThatComeLater checks the tree, imports, search and calls
// of a session after a server announced a change of its tools.
func TestAnOpenSessionSeesToolsThatComeLater(t *testing.T) {
	p, err := policy.Parse("policy.yaml", []byte("version: 1\ntools:\n  allow: ['*']\npii: {mode: off}\n"))
	if err != nil {
		t.Fatal(err)
	}
	g := &growing{}
	g.grow("list_items")
	table, err := hostfns.NewTable(p, audit.None(), g, files.New())
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), engine.Config{Cache: testenv.Cache(), Table: table})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(e.Close(), table.Close()) })
	for language, step := range map[string]struct{ read, use string }{
		engine.JavaScript: {
			`const { readFile } = await import('fs/promises'); await import('/mcp-servers/shop'); return [await readFile('/mcp-servers/shop/index.ts', 'utf8'), (await searchTools('items')).total]`,
			`const { count_%s } = await import('/mcp-servers/shop'); return [await count_%s(), await tools.shop.count_%s()]`,
		},
		engine.Python: {
			"import mcp_servers.shop\nreturn [open('/mcp-servers/shop/__init__.pyi').read(), search_tools('items')['total']]",
			"from mcp_servers.shop import count_%s\nfrom tools import shop\nreturn [count_%s(), shop.count_%s()]",
		},
	} {
		t.Run(language, func(t *testing.T) {
			do := func(code string) string {
				t.Helper()
				res, err := e.Run(t.Context(), engine.Request{Language: language, Code: strings.ReplaceAll(code, "%s", language), Session: "s" + language})
				if err != nil {
					t.Fatalf("%v: %+v", err, res.Error)
				}
				return string(res.Value)
			}
			if before := do(step.read); !strings.Contains(before, "list_items") || strings.Contains(before, "count_"+language) {
				t.Fatalf("before: %s", before)
			}
			g.grow("count_" + language)
			if after := do(step.read); !strings.Contains(after, "count_"+language) {
				t.Errorf("the tree is the old one: %s", after)
			}
			if used := do(step.use); used != `["count_`+language+`","count_`+language+`"]` {
				t.Errorf("the new tool gives %s", used)
			}
		})
	}
}

// TestARunThatGoesOnSeesTheTreeAnew adds a tool while a program reads the tree twice.
func TestARunThatGoesOnSeesTheTreeAnew(t *testing.T) {
	p, err := policy.Parse("policy.yaml", []byte("version: 1\ntools:\n  allow: ['*']\npii: {mode: off}\n"))
	if err != nil {
		t.Fatal(err)
	}
	g := &growing{}
	g.grow("list_items")
	more := hostfns.Func("test.more", func(context.Context, struct{}) (bool, error) {
		g.grow("count_items")
		return true, nil
	})
	table, err := hostfns.NewTable(p, audit.None(), g, more, files.New())
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), engine.Config{Cache: testenv.Cache(), Table: table})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(e.Close(), table.Close()) })
	for _, c := range []struct {
		language, code, want string
		same                 bool
	}{
		{engine.Python, "import os\nfrom tools import test\nlook = lambda: sorted(n for n in os.listdir('/mcp-servers/shop') if n.endswith('items.ts'))\none = look()\ntest.more()\nreturn [one, look()]", `[["list_items.ts"],["count_items.ts","list_items.ts"]]`, false},
		{engine.JavaScript, "const { readdir } = await import('fs/promises');\nconst look = async () => (await readdir('/mcp-servers/shop')).filter(n => n.endsWith('items.ts')).length;\nconst one = await look();\nawait tools.test.more();\nreturn await look() - one", "0", true},
	} {
		res, err := e.Run(t.Context(), engine.Request{Language: c.language, Code: c.code, Deterministic: c.same})
		if err != nil || string(res.Value) != c.want {
			t.Errorf("%s: %v, %s", c.language, err, res.Value)
		}
	}
}
