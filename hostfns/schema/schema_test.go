package schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	oracle "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/wexec/wexec/internal/jsonschema"
)

func compile(t *testing.T, doc string) *Schema {
	t.Helper()
	s, err := Compile([]byte(doc))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func value(t *testing.T, doc string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAFaultNamesPathExpectationAndWhatIsAllowed(t *testing.T) {
	s := compile(t, `{"type":"object","properties":{
		"labels":{"type":"array","items":{"type":"string"}},
		"state":{"enum":["open","closed"]},
		"limit":{"type":"integer","minimum":1,"maximum":100},
		"who":{"$ref":"#/$defs/person"}},
		"required":["state"],"additionalProperties":false,
		"$defs":{"person":{"type":"object","required":["name"],"properties":{"name":{"type":"string","pattern":"^[a-z]+$"}}}}}`)
	for _, c := range []struct{ args, want string }{
		{`{"state":"open","labels":["a",1]}`, `args.labels[1]: expected a string, got an integer`},
		{`{"state":"opn"}`, `args.state: must be one of 2 values; allowed: "open", "closed"`},
		{`{}`, `args: "state" is missing; allowed: "labels", "limit", "state", "who"`},
		{`{"state":"open","limit":0}`, `args.limit: expected at least 1`},
		{`{"state":"open","limit":1.5}`, `args.limit: expected an integer, got a number`},
		{`{"state":"open","who":{"name":"Bob"}}`, `args.who.name: does not match the pattern ^[a-z]+$`},
		{`{"state":"open","who":{}}`, `args.who: "name" is missing; allowed: "name"`},
		{`{"state":"open","lables":[]}`, `args: unknown property "lables"; allowed: "labels", "limit", "state", "who"`},
	} {
		f, complete := s.Check("args", value(t, c.args))
		if f == nil || !complete || f.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.args, f, c.want)
		}
	}
	if f, _ := s.Check("args", value(t, `{"state":"open","limit":7,"labels":["x"],"who":{"name":"bob"}}`)); f != nil {
		t.Error(f)
	}
}

func TestAFaultNeverRepeatsTheValue(t *testing.T) {
	s := compile(t, `{"properties":{"a":{"type":"integer"},"b":{"pattern":"^x"},"c":{"enum":["q"]},"d":{"const":1},"e":{"maxLength":2}}}`)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		f, _ := s.Check("args", map[string]any{name: "hunter2"})
		if f == nil || strings.Contains(f.Error(), "hunter2") {
			t.Errorf("%s: %v", name, f)
		}
	}
}

func TestOfSeveralFormsTheNearestIsExplained(t *testing.T) {
	s := compile(t, `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},
		"b":{"oneOf":[{"type":"object","properties":{"kind":{"const":"x"},"n":{"type":"integer"}},"required":["kind","n"]},{"type":"string"}]}}}`)
	for args, want := range map[string]string{
		`{"a":1}`:                      "args.a: expected null or a string, got an integer",
		`{"b":{"kind":"x","n":"one"}}`: "args.b.n: expected an integer, got a string",
	} {
		if f, _ := s.Check("args", value(t, args)); f == nil || f.Error() != want {
			t.Errorf("%s: %v", args, f)
		}
	}
}

func TestAHostileSchemaCostsItsCheckOnly(t *testing.T) {
	doubling := `{"$defs":{"d0":{"type":"object"}`
	for i := 1; i < 25; i++ {
		doubling += fmt.Sprintf(`,"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i-1, i-1)
	}
	doubling += `},"$ref":"#/$defs/d24"}`
	for name, doc := range map[string]string{
		"refers to itself":       `{"$ref":"#"}`,
		"in a circle":            `{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}},"$ref":"#/$defs/a"}`,
		"by anyOf":               `{"anyOf":[{"$ref":"#"},{"$ref":"#"}]}`,
		"by not":                 `{"not":{"$ref":"#"}}`,
		"by if":                  `{"if":{"$ref":"#"},"then":false}`,
		"doubling":               doubling,
		"doubling by properties": `{"properties":{"a":{"$ref":"#"}},"patternProperties":{"a":{"$ref":"#"}}}`,
	} {
		s, err := Compile([]byte(doc))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		deep := any(map[string]any{})
		for range 90 {
			deep = map[string]any{"a": deep}
		}
		best := time.Hour
		for try := 0; try < 5 && best > 2*time.Second; try++ { // a busy machine is slow now and then
			start := time.Now()
			if f, complete := s.Check("args", deep); complete && f == nil && name != "by if" {
				t.Errorf("%s: the check says it is complete", name)
			}
			best = min(best, time.Since(start))
		}
		if best > 2*time.Second {
			t.Errorf("%s took %s", name, best)
		}
	}
}

func TestWhatCannotBeCheckedIsAWarning(t *testing.T) {
	for doc, want := range map[string]string{
		`{"properties":{"a":{"type":"string","pattern":"^(?!x)"}}}`:       "the pattern at /properties/a is not supported and is not checked",
		`{"properties":{"a":{"$ref":"https://example.org/s.json"}}}`:      "the reference at /properties/a leads out of the schema and is not checked",
		`{"properties":{"a":{"$ref":"#/$defs/none"}}}`:                    "the reference at /properties/a leads nowhere and is not checked",
		`{"properties":{"a":{"type":"file"}}}`:                            `type "file" at /properties/a is not known and not checked`,
		`{"properties":{"a":7}}`:                                          "/properties/a is not a schema and is not checked",
		`{"unevaluatedProperties":false,"properties":{"a":{}}}`:           "unevaluatedProperties at the top is not checked",
		`{"patternProperties":{"(?=x)":{}},"additionalProperties":false}`: "the pattern at the top is not supported and is not checked",
	} {
		s := compile(t, doc)
		if !slices.Contains(s.Warnings(), want) {
			t.Errorf("%s: warnings are %q", doc, s.Warnings())
		}
		if f, complete := s.Check("args", map[string]any{"a": "y"}); f != nil || !complete {
			t.Errorf("%s: %v", doc, f)
		}
	}
	for _, doc := range []string{`{"$schema":"http://json-schema.org/draft-03/schema#"}`, `{"$schema":"urn:mine"}`, `{`, `"x"` + strings.Repeat(" ", jsonschema.MaxSize)} {
		if _, err := Compile([]byte(doc)); err == nil {
			t.Errorf("%.40s compiled", doc)
		}
	}
}

func TestDefaultsAndOrderComeFromTheDocument(t *testing.T) {
	s := compile(t, `{"type":"object","properties":{"zeta":{"default":1},"alpha":{"type":"string"},"mid":{"$ref":"#/$defs/m"}},"$defs":{"m":{"default":{"k":[1]}}}}`)
	if got := s.Properties(); !slices.Equal(got, []string{"zeta", "alpha", "mid"}) {
		t.Errorf("order %v", got)
	}
	b, _ := json.Marshal(s.Defaults(map[string]any{"zeta": 9.0}))
	if string(b) != `{"mid":{"k":[1]}}` {
		t.Errorf("defaults %s", b)
	}
}

func TestPropertiesFilledInLaterMayBeMissing(t *testing.T) {
	s := compile(t, `{"required":["tenant","id"],"properties":{"in":{"required":["tenant"]}}}`)
	if f, _ := s.Check("args", value(t, `{"id":1}`), "tenant"); f != nil {
		t.Error(f)
	}
	if f, _ := s.Check("args", value(t, `{"id":1,"in":{}}`), "tenant"); f == nil {
		t.Error("a nested property of the same name was accepted")
	}
}

// genSchema makes schemas from the keywords that both implementations check.
func genSchema(depth int) *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		s := map[string]any{}
		pick := func(label string) bool { return rapid.IntRange(0, 3).Draw(t, label) == 0 }
		if pick("type") {
			s["type"] = rapid.SampledFrom([]any{"string", "integer", "number", "boolean", "null", "object", "array", []any{"string", "null"}, []any{"integer", "array"}}).Draw(t, "types")
		}
		if pick("enum") {
			s["enum"] = []any{"a", 1.0, nil, []any{1.0}, map[string]any{"a": "b"}}[:rapid.IntRange(1, 5).Draw(t, "n")]
		}
		if pick("const") {
			s["const"] = rapid.SampledFrom([]any{"a", 1.0, false}).Draw(t, "constant")
		}
		for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"} {
			if rapid.IntRange(0, 9).Draw(t, k) == 0 {
				s[k] = float64(rapid.IntRange(0, 3).Draw(t, "bound"))
			}
		}
		if pick("multiple") {
			s["multipleOf"] = rapid.SampledFrom([]any{0.5, 2.0, 3.0}).Draw(t, "of")
		}
		if pick("pattern") {
			s["pattern"] = rapid.SampledFrom([]any{"^a", "b$", "[0-9]+"}).Draw(t, "expr")
		}
		if pick("unique") {
			s["uniqueItems"] = true
		}
		if pick("required") {
			s["required"] = []any{rapid.SampledFrom([]any{"a", "b"}).Draw(t, "need")}
		}
		if depth == 0 {
			return s
		}
		sub := genSchema(depth - 1)
		for _, k := range []string{"items", "additionalProperties", "contains", "not", "propertyNames", "if", "then", "else"} {
			if rapid.IntRange(0, 7).Draw(t, k) == 0 {
				s[k] = sub.Draw(t, "sub")
			}
		}
		for _, k := range []string{"allOf", "anyOf", "oneOf", "prefixItems"} {
			if rapid.IntRange(0, 7).Draw(t, k) == 0 {
				s[k] = []any{sub.Draw(t, "one"), sub.Draw(t, "two")}
			}
		}
		if pick("properties") {
			s["properties"] = map[string]any{"a": sub.Draw(t, "a"), "b": sub.Draw(t, "b")}
		}
		if pick("patternProperties") {
			s["patternProperties"] = map[string]any{"^[ab]$": sub.Draw(t, "p")}
		}
		if pick("dependent") {
			s["dependentRequired"] = map[string]any{"a": []any{"b"}}
		}
		return s
	})
}

func genValue(depth int) *rapid.Generator[any] {
	leaf := rapid.SampledFrom([]any{nil, true, false, 0.0, 1.0, 2.0, 1.5, -3.0, "", "a", "ab", "b1", "äö"})
	if depth == 0 {
		return leaf
	}
	return rapid.Custom(func(t *rapid.T) any {
		sub := genValue(depth - 1)
		switch rapid.IntRange(0, 3).Draw(t, "shape") {
		case 0:
			return rapid.SliceOfN(sub, 0, 3).Draw(t, "list")
		case 1:
			return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c"}), sub, 0, 3).Draw(t, "object")
		}
		return leaf.Draw(t, "leaf")
	})
}

func TestTheCheckAgreesWithAnotherImplementation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		def := genSchema(2).Draw(t, "schema")
		doc, err := json.Marshal(def)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Compile(doc)
		if err != nil {
			t.Fatal(err)
		}
		c := oracle.NewCompiler()
		var raw any
		_ = json.Unmarshal(doc, &raw)
		if err := c.AddResource("mem:/s.json", raw); err != nil {
			t.Fatal(err)
		}
		o, err := c.Compile("mem:/s.json")
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			v := genValue(2).Draw(t, "value")
			b, _ := json.Marshal(v)
			var plain any
			_ = json.Unmarshal(b, &plain)
			f, complete := s.Check("v", plain)
			if want := o.Validate(plain); (f != nil) != (want != nil) || !complete {
				t.Fatalf("schema %s value %s: ours %v, theirs %v", doc, b, f, want)
			}
		}
	})
}

func FuzzCompileAndCheck(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`), []byte(`{"a":1}`))
	f.Add([]byte(`{"$defs":{"x":{"$anchor":"y"}},"$ref":"#y"}`), []byte(`[]`))
	f.Fuzz(func(t *testing.T, doc, val []byte) {
		s, err := Compile(doc)
		if err != nil {
			return
		}
		var v any
		if json.Unmarshal(val, &v) != nil {
			return
		}
		if f, _ := s.Check("args", v); f != nil && f.Error() == "" {
			t.Fatal("an empty fault")
		}
		if m, ok := v.(map[string]any); ok {
			s.Defaults(m)
		}
	})
}

func TestPositionsAreTheRequiredOnesInTheirOrderThenTheRest(t *testing.T) {
	for doc, want := range map[string][]string{
		`{"properties":{"branch":{},"owner":{},"repo":{},"body":{}},"required":["owner","repo","missing","owner"]}`: {"owner", "repo", "branch", "body"},
		`{"properties":{"b":{},"a":{}}}`:                                              {"b", "a"},
		`{"$ref":"#/$defs/x","$defs":{"x":{"properties":{"a":{}}}},"required":["a"]}`: {},
		``: nil,
	} {
		s, err := Compile([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Positions(); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", doc, got, want)
		}
	}
}
