package tests

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/wexec/wexec/audit"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/hostfns"
	"github.com/wexec/wexec/internal/tools/testenv"
	"github.com/wexec/wexec/policy"
)

// mistake is a program that misuses the conventions as models do.
type mistake struct {
	name, language, code string
	value                string // the result, if the program is accepted
	hint                 string // part of the error otherwise
}

// mistakes has each mistake in every language in which it is possible.
var mistakes = []mistake{
	{name: "fences", language: "javascript", code: "```js\nreturn 1\n```", value: "1"},
	{name: "fences", language: "typescript", code: "```typescript\nconst a: number = 1\nreturn a\n```\n", value: "1"},
	{name: "fences", language: "python", code: "```python\nreturn 1\n```", value: "1"},
	{name: "words around fences", language: "javascript", code: "Here it is:\n```js\nreturn 1\n```", hint: "fences"},
	{name: "words around fences", language: "typescript", code: "```ts\nreturn 1\n```\nThat does it.", hint: "fences"},
	{name: "words around fences", language: "python", code: "Here it is:\n```python\nreturn 1\n```", hint: "fences"},

	{name: ".call", language: "javascript", code: "return (await tools.shop.find.call({ id: 'a' })).id", value: `"a"`},
	{name: ".call", language: "typescript", code: "const x: any = await tools.shop.find.call({ id: 'a' }); return x.id", value: `"a"`},
	{name: ".call", language: "python", code: "from tools import shop\nreturn shop.find.call(id='a')['id']", value: `"a"`},

	{name: "a positional argument", language: "javascript", code: "return (await tools.shop.find('a')).id", value: `"a"`},
	{name: "a positional argument", language: "typescript", code: "return (await tools.shop.find('a')).id as string", value: `"a"`},
	{name: "a positional argument", language: "python", code: "from tools import shop\nreturn shop.find('a')['id']", value: `"a"`},
	{name: "positional arguments of a tool that has several", language: "javascript", code: "return await tools.shop.order('a', 2)", value: "2"},
	{name: "positional arguments of a tool that has several", language: "python", code: "from tools import shop\nreturn shop.order('a', 2)", value: "2"},

	{name: "parsed twice", language: "javascript", code: "return JSON.parse(await tools.shop.find({ id: 'a' })).id", value: `"a"`},
	{name: "parsed twice", language: "typescript", code: "const x = JSON.parse(await tools.shop.find({ id: 'a' })) as any; return x.id", value: `"a"`},
	{name: "no await", language: "javascript", code: "return tools.shop.find_many({ ids: ['a'] }).map(x => x)", hint: "await"},
	{name: "no await", language: "typescript", code: "const list: any = tools.shop.find_many({ ids: ['a'] }); return list.map((x: string) => x)", hint: "await"},
	{name: "parsed twice", language: "python", code: "import json\nfrom tools import shop\nreturn json.loads(shop.find(id='a'))['id']", value: `"a"`},

	{name: "a name that is nearly right", language: "javascript", code: "return await tools.shop.fnd({ id: 'a' })", hint: "shop.find"},
	{name: "a name that is nearly right", language: "python", code: "from tools import shop\nreturn shop.fnd(id='a')", hint: "shop.find"},
	{name: "an argument that is nearly right", language: "javascript", code: "return await tools.shop.find({ idd: 'a' })", hint: "id"},
	{name: "an argument that is nearly right", language: "python", code: "from tools import shop\nreturn shop.find(idd='a')", hint: "id"},
	{name: "arguments as one object", language: "python", code: "from tools import shop\nreturn shop.find({'id': 'a'})['id']", value: `"a"`},
	{name: "camelCase", language: "python", code: "from tools import shop\nreturn shop.findMany(ids=['a'])", value: `["a"]`},
	{name: "snake_case", language: "javascript", code: "return await tools.shop.find_many({ ids: ['a'] })", value: `["a"]`},
}

func TestMistakesOfModelsAreAcceptedOrMended(t *testing.T) {
	e, table := mistaken(t)
	for _, m := range mistakes {
		t.Run(m.name+" in "+m.language, func(t *testing.T) {
			res, err := e.Run(t.Context(), engine.Request{Language: m.language, Code: m.code, Table: table})
			if m.value != "" {
				if err != nil || string(res.Value) != m.value {
					t.Errorf("gives %s, %v", res.Value, err)
				}
				return
			}
			if err == nil || res.Error == nil {
				t.Fatalf("gives %s", res.Value)
			}
			if !strings.Contains(res.Error.Message+" "+res.Error.Hint, m.hint) {
				t.Errorf("says %s; hint: %s", res.Error.Message, res.Error.Hint)
			}
		})
	}
}

// mistaken returns a shop with tools of one argument, two arguments and a list.
func mistaken(t *testing.T) (*engine.Engine, *hostfns.Table) {
	t.Helper()
	p, err := policy.Parse("policy.yaml", []byte("version: 1\ntools:\n  allow: ['*']\npii: {mode: off}\n"))
	if err != nil {
		t.Fatal(err)
	}
	type one struct {
		ID string `json:"id"`
	}
	type two struct {
		ID     string `json:"id"`
		Amount int    `json:"amount"`
	}
	type many struct {
		IDs []string `json:"ids"`
	}
	table, err := hostfns.NewTable(p, audit.None(),
		hostfns.Func("shop.find", func(_ context.Context, in one) (map[string]string, error) {
			if in.ID == "" {
				return nil, errors.New("no id")
			}
			return map[string]string{"id": in.ID}, nil
		}),
		hostfns.Func("shop.order", func(_ context.Context, in two) (int, error) { return in.Amount, nil }),
		hostfns.Func("shop.find_many", func(_ context.Context, in many) (json.RawMessage, error) { return json.Marshal(in.IDs) }))
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(t.Context(), engine.Config{Cache: testenv.Cache(), Table: table})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(e.Close(), table.Close()) })
	return e, table
}
