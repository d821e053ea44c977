package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wexec/wexec/internal/tools/timing"
)

func parse(t *testing.T, doc string) *Document {
	t.Helper()
	d, err := Parse([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestReferencesAreResolvedAndMayBeCircular(t *testing.T) {
	d := parse(t, `{"$id":"https://example.org/s","properties":{
		"a":{"$ref":"#/$defs/tree"},"b":{"$ref":"#leaf"},"c":{"$ref":"https://example.org/s#/$defs/a~1b%25"},
		"d":{"$ref":"#/allOf/0"},"e":{"$ref":"#/$defs/none"},"f":{"$ref":"other.json"},"g":{"$ref":"#/properties/g"}},
		"allOf":[{"type":"null"}],
		"$defs":{"tree":{"properties":{"next":{"$ref":"#/$defs/tree"},"top":{"$ref":"#"}}},
			"leaf":{"$anchor":"leaf","type":"string"},"a/b%":{"type":"integer"}}}`)
	p := d.Root.Properties
	tree := p["a"].Target()
	if tree == nil || tree.Properties["next"].Target() != tree || tree.Properties["top"].Target() != d.Root {
		t.Error("the circular references are not resolved")
	}
	if p["b"].Target().Types != String || p["c"].Target().Types != Integer || p["d"].Target() != d.Root.AllOf[0] {
		t.Errorf("%+v", p)
	}
	for _, name := range []string{"e", "f", "g"} {
		if p[name].Target() != nil {
			t.Errorf("%s has a target", name)
		}
	}
	want := []string{"the reference at /properties/e leads nowhere and is not checked", "the reference at /properties/f leads out of the schema and is not checked"}
	if !slices.Equal(d.Warnings, want) {
		t.Errorf("%q", d.Warnings)
	}
}

// What drafts write differently has one form.
func TestDraftsGiveTheSameTree(t *testing.T) {
	for _, docs := range [][2]string{
		{`{"items":[{"type":"null"}],"additionalItems":false}`, `{"prefixItems":[{"type":"null"}],"items":false}`},
		{`{"minimum":1,"exclusiveMinimum":true,"maximum":2,"exclusiveMaximum":true}`, `{"exclusiveMinimum":1,"exclusiveMaximum":2}`},
		{`{"dependencies":{"a":["b"],"c":{"type":"null"}}}`, `{"dependentRequired":{"a":["b"]},"dependentSchemas":{"c":{"type":"null"}}}`},
	} {
		var trees [2]string
		for i, doc := range docs {
			data, err := json.Marshal(parse(t, doc).Root)
			if err != nil {
				t.Fatal(err)
			}
			trees[i] = string(data)
		}
		if trees[0] != trees[1] {
			t.Errorf("%s:\n%s\n%s:\n%s", docs[0], trees[0], docs[1], trees[1])
		}
	}
}

func TestAHostileSchemaIsBounded(t *testing.T) {
	many := `{"anyOf":[{}` + strings.Repeat(`,{}`, MaxNodes) + `]}`
	for name, doc := range map[string]string{
		"deep": strings.Repeat(`{"not":`, MaxDepth+10) + "{}" + strings.Repeat("}", MaxDepth+10),
		"wide": many,
	} {
		d, err := Parse([]byte(doc))
		if !errors.Is(err, ErrTooBig) || d == nil || d.Root == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, doc := range map[string]string{"large": `"` + strings.Repeat("x", MaxSize) + `"`, "not JSON": "{"} {
		if _, err := Parse([]byte(doc)); err == nil || errors.Is(err, ErrTooBig) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var wrong strings.Builder
	for i := range 100 {
		fmt.Fprintf(&wrong, `"p%d":{"type":"t%d","pattern":"(?=x)"},`, i, i)
	}
	if d := parse(t, `{"properties":{`+wrong.String()+`"z":1}}`); len(d.Warnings) != maxWarnings {
		t.Errorf("%d warnings", len(d.Warnings))
	}
}

// A schema may be small and take much to read: long names above many schemas, many
// references to a deep place, patterns that stand for large programs.
func TestReadingAHostileSchemaTakesLittle(t *testing.T) {
	deep, below := "{}", ""
	for range 90 {
		deep = `{"not":` + deep + `}`
		below += "/not"
	}
	many := func(n int, each string) string { return `{"allOf":[` + strings.Repeat(each+",", n) + "{}]" }
	long := strings.Repeat("n", MaxSize/4)
	for name, doc := range map[string]string{
		"long names":         `{"properties":{"` + long + `":` + many(19_000, "{}") + "}}}",
		"long names, anchor": `{"$anchor":"a","properties":{"` + long + `":` + many(19_000, `{"$ref":"#a"}`) + "}}}",
		"deep reference":     many(1900, `{"$ref":"#/$defs/d`+below+`"}`) + `,"$defs":{"d":` + deep + "}}",
		"deep anchor":        many(19_000, `{"$ref":"#a"}`) + `,"$defs":{"` + long + `":{"$anchor":"a"}}}`,
		"repeats":            many(3000, `{"pattern":"^(.{1000})$"}`) + "}",
		"nested repeats":     many(3000, `{"pattern":"((a{10}){10}){10}"}`) + "}",
		"classes":            many(150, `{"pattern":"[`+strings.Repeat(`\\pL`, 1000)+`]"}`) + "}",
		"folding":            many(150, `{"pattern":"(?i)`+strings.Repeat(`[\\x{42}-\\x{10ffff}]`, 180)+`"}`) + "}",
		"warnings":           many(15_000, `{"type":"t"}`) + "}",
		"many patterns":      many(15_000, `{"pattern":"^a[^b]{3}$"}`) + "}",
	} {
		var m0, m1 runtime.MemStats
		timing.Within(t, time.Second, name, func() time.Duration {
			runtime.ReadMemStats(&m0)
			defer runtime.ReadMemStats(&m1)
			return timing.Of(func() {
				if _, err := Compile([]byte(doc)); err != nil && !errors.Is(err, ErrTooBig) {
					t.Errorf("%s: %v", name, err)
				}
			})
		})
		if used := (m1.TotalAlloc - m0.TotalAlloc) >> 20; used > 64 {
			t.Errorf("%s took %d MiB", name, used)
		}
	}
}

func TestPatternsAreCompiledOnRequest(t *testing.T) {
	doc := `{"pattern":"^a","patternProperties":{"^b":{}},"additionalProperties":false}`
	if s := parse(t, doc).Root; s.Pattern != nil || s.Patterns[0].Pattern != nil || s.PatternText != "^a" {
		t.Errorf("%+v", s)
	}
	d, err := Compile([]byte(doc))
	if err != nil || !d.Root.Pattern.MatchString("ab") || !d.Root.Patterns[0].Pattern.MatchString("b") {
		t.Errorf("%+v %v", d, err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(`{"$ref":"#/properties/a","properties":{"a":{"$ref":"#"}},"patternProperties":{"(":{}}}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		d, err := Parse(doc)
		if err == nil && d.Root == nil {
			t.Fatal("no tree")
		}
		if d != nil {
			d.Root.Target()
		}
	})
}
