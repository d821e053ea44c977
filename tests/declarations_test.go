package tests

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/evanw/esbuild/pkg/api"
	"pgregory.net/rapid"

	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/engine"
	"github.com/wexec/wexec/internal/tools/testenv"
)

// anySchema generates JSON for places where a schema is expected: both drafts, with
// references, cycles, hostile names and invalid values.
func anySchema(depth int) *rapid.Generator[any] {
	names := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"id", "class", "größe", "名前", "a-b", "with space", "*/", `"""`, "`", "\\", "\u2028", "", "from", "None", "constructor", "__proto__", "x'y", "$ref", "1st", "a\nb", "\x00", "\x1b[2J", "\ufeff", "\u202e", "\\u0000", "\ud7ff", "\u0085"}))
	return rapid.Custom(func(t *rapid.T) any {
		if depth <= 0 || rapid.IntRange(0, 9).Draw(t, "leaf") < 2 {
			return rapid.SampledFrom([]any{true, false, nil, "text", 3.5, map[string]any{}, map[string]any{"type": "string"}, map[string]any{"$ref": "#"},
				map[string]any{"$ref": "#/$defs/a"}, map[string]any{"$ref": "https://example.org/x"}, map[string]any{"type": []any{"string", "null"}}, []any{1.0}}).Draw(t, "plain")
		}
		m := map[string]any{}
		inner := func(label string) any { return anySchema(depth-1).Draw(t, label) }
		for range rapid.IntRange(1, 4).Draw(t, "keywords") {
			switch rapid.IntRange(0, 12).Draw(t, "keyword") {
			case 0:
				m["type"] = rapid.SampledFrom([]any{"object", "array", "string", "integer", "number", "boolean", "null", "nonsense", []any{"object", "null"}, 7.0}).Draw(t, "type")
			case 1:
				props := map[string]any{}
				for range rapid.IntRange(0, 4).Draw(t, "properties") {
					props[names.Draw(t, "name")] = inner("property")
				}
				m["properties"] = props
			case 2:
				m["items"] = inner("items")
			case 3:
				m["prefixItems"] = []any{inner("first"), inner("second")}
			case 4:
				m["additionalProperties"] = inner("more")
			case 5:
				m["enum"] = []any{names.Draw(t, "enum"), 1.0, nil, true, 1.5, map[string]any{}}
			case 6:
				m["const"] = names.Draw(t, "const")
			case 7:
				m[rapid.SampledFrom([]string{"anyOf", "oneOf", "allOf"}).Draw(t, "of")] = []any{inner("one"), inner("other")}
			case 8:
				m["description"] = names.Draw(t, "description") + " */ \"\"\" \\ ${x} " + rapid.String().Draw(t, "words")
			case 9:
				m["required"] = []any{names.Draw(t, "required"), 4.0}
			case 10:
				m["default"] = rapid.SampledFrom([]any{"*/", `"""`, 1.0, nil, []any{"x"}}).Draw(t, "default")
			case 11:
				m["$defs"] = map[string]any{"a": inner("def"), names.Draw(t, "defs"): inner("other def")}
			case 12:
				m["items"] = []any{inner("old tuple")}
				m["nullable"] = true
				m["pattern"] = names.Draw(t, "pattern")
				m["format"] = names.Draw(t, "format")
			}
		}
		return m
	})
}

// TestAnySchemaGivesDeclarationsThatParse uses the compiler of TypeScript and the
// parser of Python.
func TestAnySchemaGivesDeclarationsThatParse(t *testing.T) {
	var stubs []string
	rapid.Check(t, func(t *rapid.T) {
		var tools []catalogue.Tool
		for i := range 3 {
			in, err := json.Marshal(anySchema(4).Draw(t, "in"))
			if err != nil {
				t.Fatal(err)
			}
			out, err := json.Marshal(anySchema(4).Draw(t, "out"))
			if err != nil {
				t.Fatal(err)
			}
			name := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"find", "class", "def", "größe", "a b", "delete", "constructor", "名前", "*/"})).Draw(t, "tool")
			tools = append(tools, catalogue.Tool{Server: "shop", Name: fmt.Sprint(name, i), Description: `says */ """ \ and more` + rapid.String().Draw(t, "description"), InputSchema: in, OutputSchema: out})
		}
		c := catalogue.New(tools)
		var ts strings.Builder
		for _, tool := range c.Tools() {
			ts.WriteString(c.TypeScript(tool) + "\n")
		}
		for _, text := range []string{ts.String(), c.Declarations("javascript")["tools.d.ts"]} {
			if r := api.Transform(text, api.TransformOptions{Loader: api.LoaderTS}); len(r.Errors) > 0 {
				t.Fatalf("%s\n%s", r.Errors[0].Text, text)
			}
		}
		for _, tool := range c.Tools() {
			stubs = append(stubs, c.Python(tool))
		}
	})
	for some := range slices.Chunk(stubs, 300) {
		none(t, engine.Python, some, `import ast
def fault(text):
    try:
        ast.parse(text)
    except (SyntaxError, ValueError) as e:
        return str(e) + "\n" + text
return [f for f in map(fault, args) if f][:3]`)
	}
}

// TestEveryCharacterGivesIdentifiersOfBothLanguages asks QuickJS and CPython, which
// have different Unicode tables.
func TestEveryCharacterGivesIdentifiersOfBothLanguages(t *testing.T) {
	given := map[string]bool{}
	for r := range rune(unicode.MaxRune + 1) {
		if r < 0xd800 || r > 0xdfff && (r%97 == 0 || !unicode.In(r, unicode.Han, unicode.Hangul)) {
			given[catalogue.Identifier(string(r))] = true
			given[catalogue.Identifier("a"+string(r))] = true
		}
	}
	delete(given, "as") // keywords
	delete(given, "in")
	all := slices.Sorted(maps.Keys(given))
	none(t, engine.Python, all, `import unicodedata
return [n for n in args if not n.isidentifier() or unicodedata.normalize("NFKC", n) != n][:20]`)
	none(t, engine.JavaScript, all, "return args.filter((n) => !/^[\\p{ID_Start}_][\\p{ID_Continue}]*$/u.test(n)).slice(0, 20)")
	// The parsers can differ from the tables.
	for some := range slices.Chunk(all, 10_000) {
		none(t, engine.Python, []string{strings.Join(some, " = ") + " = 0"}, "import ast\nast.parse(args[0])\nreturn []")
		text := "var " + strings.Join(some, ", ") + ";"
		none(t, engine.JavaScript, []string{"-"}, text+"\nreturn []")
		if r := api.Transform(text, api.TransformOptions{Loader: api.LoaderTS}); len(r.Errors) > 0 {
			t.Errorf("%s in column %d of %.60s", r.Errors[0].Text, r.Errors[0].Location.Column, text)
		}
	}
}

// none runs a program that must find no invalid argument.
func none(t *testing.T, language string, args []string, code string) {
	t.Helper()
	e, err := engine.New(t.Context(), engine.Config{Cache: testenv.Cache()})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	doc, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	res, err := e.Run(t.Context(), engine.Request{Language: language, Args: doc, Code: code, Limits: engine.Limits{Time: time.Minute}})
	if err != nil || string(res.Value) != "[]" {
		t.Fatalf("of %d: %.2000v\n%s", len(args), err, res.Value)
	}
}
