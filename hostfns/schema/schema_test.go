package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	oracle "github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/wexec/wexec/internal/jsonnum"
	"github.com/wexec/wexec/internal/jsonschema"
	"github.com/wexec/wexec/internal/tools/timing"
)

// spendFunc is a Spender.
type spendFunc func(units int) error

func (f spendFunc) Spend(units int) error { return f(units) }

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
	v, err := jsonnum.Decode([]byte(doc))
	if err != nil {
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
		f, err := s.Check("args", value(t, c.args), Work{})
		if f == nil || err != nil || f.Error() != c.want {
			t.Errorf("%s:\n got %v\nwant %s", c.args, f, c.want)
		}
	}
	if f, _ := s.Check("args", value(t, `{"state":"open","limit":7,"labels":["x"],"who":{"name":"bob"}}`), Work{}); f != nil {
		t.Error(f)
	}
}

func TestAFaultNeverRepeatsTheValue(t *testing.T) {
	s := compile(t, `{"properties":{"a":{"type":"integer"},"b":{"pattern":"^x"},"c":{"enum":["q"]},"d":{"const":1},"e":{"maxLength":2}}}`)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		f, _ := s.Check("args", map[string]any{name: "hunter2"}, Work{})
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
		if f, _ := s.Check("args", value(t, args), Work{}); f == nil || f.Error() != want {
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
		timing.Within(t, 2*time.Second, name, func() time.Duration {
			return timing.Of(func() {
				if f, err := s.Check("args", deep, Work{}); err == nil && f == nil && name != "by if" {
					t.Errorf("%s: the check says it is complete", name)
				}
			})
		})
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
		if f, err := s.Check("args", map[string]any{"a": "y"}, Work{}); f != nil || err != nil {
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
	if f, _ := s.Check("args", value(t, `{"id":1}`), Work{}, "tenant"); f != nil {
		t.Error(f)
	}
	if f, _ := s.Check("args", value(t, `{"id":1,"in":{}}`), Work{}, "tenant"); f == nil {
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
			s["const"] = rapid.SampledFrom([]any{"a", 1.0, false, json.Number("9007199254740992"), json.Number("9007199254740993")}).Draw(t, "constant")
		}
		for _, k := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"} {
			if rapid.IntRange(0, 9).Draw(t, k) == 0 {
				s[k] = float64(rapid.IntRange(0, 3).Draw(t, "bound"))
				if strings.Contains(k, "inimum") || strings.Contains(k, "aximum") {
					s[k] = rapid.SampledFrom([]any{s[k], json.Number("9007199254740992"), json.Number("9007199254740993")}).Draw(t, "large")
				}
			}
		}
		if pick("multiple") {
			s["multipleOf"] = rapid.SampledFrom([]any{0.5, 2.0, 3.0, json.Number("9007199254740993")}).Draw(t, "of")
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
	leaf := rapid.SampledFrom([]any{json.Number("9007199254740993"), json.Number("-18446744073709551617"), nil, true, false, 0.0, 1.0, 2.0, 1.5, -3.0, "", "a", "ab", "b1", "äö"})
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
		raw, err := oracle.UnmarshalJSON(bytes.NewReader(doc))
		if err != nil {
			t.Fatal(err)
		}
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
			plain, err := jsonnum.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			f, err := s.Check("v", plain, Work{})
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := oracle.UnmarshalJSON(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if want := o.Validate(theirs); (f != nil) != (want != nil) || err != nil {
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
		v, err := jsonnum.Decode(val)
		if err != nil {
			return
		}
		if f, _ := s.Check("args", v, Work{}); f != nil && f.Error() == "" {
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

// hostile are checks that would take minutes or gigabytes.
func hostile() map[string][2]string {
	list := func(n int, each string) string { return "[" + strings.Repeat(each+",", n) + each + "]" }
	numbers, keys := make([]string, 200_000), make([]string, 50_000)
	for i := range numbers {
		numbers[i] = strconv.Itoa(i)
	}
	for i := range keys {
		keys[i] = fmt.Sprintf(`"%s%d":1`, strings.Repeat("k", 50), i)
	}
	array, object := "["+strings.Join(numbers, ",")+"]", "{"+strings.Join(keys, ",")+"}"
	text := `"` + strings.Repeat("ab", 500_000) + `"`
	return map[string][2]string{
		"uniqueItems":       {`{"allOf":` + list(8000, `{"uniqueItems":true}`) + `}`, array},
		"patterns":          {`{"allOf":` + list(3000, `{"pattern":"^(a|b|ab)*$"}`) + `}`, text},
		"a costly pattern":  {`{"pattern":"(a?b?){300}(ab){300}$"}`, text},
		"contains":          {`{"allOf":` + list(8000, `{"contains":{"type":"integer"}}`) + `}`, array},
		"alternatives":      {`{"contains":{"anyOf":` + list(5000, `{"const":"`+strings.Repeat("x", 100)+`"}`) + `}}`, array},
		"large constants":   {`{"contains":{"anyOf":` + list(5, `{"enum":["`+strings.Repeat("x", 100_000)+`"]}`) + `}}`, array},
		"equal constants":   {`{"contains":{"oneOf":` + list(9, `{"const":`+list(10_000, "1")+`}`) + `}}`, list(100, list(10_000, "1"))},
		"patternProperties": {`{"patternProperties":{"` + strings.Repeat("k?", 100) + `[^1]$":{},"` + strings.Repeat("k?", 100) + `[^2]$":{}}}`, object},
		"sorted names":      {`{"allOf":` + list(8000, `{"properties":{"a":{}}}`) + `}`, object},
		"propertyNames":     {`{"allOf":` + list(8000, `{"propertyNames":{"maxLength":100}}`) + `}`, object},
		"dependentSchemas":  {`{"allOf":` + list(8000, `{"dependentSchemas":{"a":{}}}`) + `}`, object},
		"required":          {`{"contains":{"anyOf":` + list(20, `{"required":`+list(9000, `"a"`)+`}`) + `}}`, list(10_000, "{}")},
		"itself":            {`{"anyOf":[{"items":{"$ref":"#"}},{"items":{"$ref":"#"}},{"items":{"$ref":"#"}}],"not":{"type":"number"}}`, strings.Repeat("[", 90) + "1" + strings.Repeat("]", 90)},
		"large numbers":     {`{"contains":{"allOf":` + list(9000, `{"multipleOf":3.3e300}`) + `}}`, list(10_000, strings.Repeat("9", 300))},
	}
}

func TestAHostileCheckIsBounded(t *testing.T) {
	for name, c := range hostile() {
		if testing.Short() && !slices.Contains([]string{"uniqueItems", "patterns", "sorted names", "itself"}, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s, v := compile(t, c[0]), value(t, c[1])
			var units [2]int
			for i := range units {
				start := time.Now()
				_, _ = s.Check("args", v, Work{Spender: spendFunc(func(n int) error { units[i] += n; return nil })})
				if took := time.Since(start); took > 20*time.Second {
					t.Errorf("it took %s", took)
				}
			}
			if units[0] != units[1] || units[0] > maxWork {
				t.Errorf("it took %d units, and %d again, of %d", units[0], units[1], maxWork)
			}
		})
	}
}

// A check that has to end does so at once, wherever it is.
func TestAHostileCheckEndsWhenItHasTo(t *testing.T) {
	stop := errors.New("stop")
	for name, c := range hostile() {
		t.Run(name, func(t *testing.T) {
			s, v := compile(t, c[0]), value(t, c[1])
			for _, after := range []int{0, 20} {
				timing.Within(t, 50*time.Millisecond, "it ended after the last call", func() time.Duration {
					calls := 0
					last := time.Now()
					_, err := s.Check("args", v, Work{Size: len(c[1]), Spender: spendFunc(func(int) error {
						if calls++; calls > after {
							return stop
						}
						last = time.Now()
						return nil
					})})
					if err != stop {
						t.Fatalf("after %d calls: %v", calls, err)
					}
					return time.Since(last)
				})
			}
		})
	}
}

func TestLargeIntegersAreCheckedAsTheyAre(t *testing.T) {
	for _, c := range []struct {
		schema, value string
		ok            bool
	}{
		{`{"const":9007199254740992}`, `9007199254740993`, false},
		{`{"const":9007199254740993}`, `9007199254740993.0`, true},
		{`{"enum":[9007199254740992,9007199254740994]}`, `9007199254740993`, false},
		{`{"maximum":9007199254740992}`, `9007199254740993`, false},
		{`{"maximum":9223372036854775807}`, `9223372036854775808`, false},
		{`{"exclusiveMinimum":9007199254740992}`, `9007199254740993`, true},
		{`{"minimum":-9007199254740992}`, `-9007199254740993`, false},
		{`{"multipleOf":2}`, `9007199254740993`, false},
		{`{"multipleOf":9007199254740993}`, `18014398509481986`, true},
		{`{"multipleOf":0.5}`, `9007199254740993`, true},
		{`{"type":"integer"}`, `1e300`, true},
		{`{"uniqueItems":true}`, `[9007199254740992,9007199254740993]`, true},
		{`{"uniqueItems":true}`, `[9007199254740993,9007199254740993.0]`, false},
		{`{"uniqueItems":true}`, `[0,-0]`, false},
		{`{"uniqueItems":true}`, `[{"a":1,"b":[2]},{"b":[2.0],"a":1}]`, false},
		{`{"uniqueItems":true}`, `[{"a":1},{"a":"1"},[1],"1",1,[[1]],true,null]`, true},
	} {
		if f, err := compile(t, c.schema).Check("v", value(t, c.value), Work{}); (f == nil) != c.ok || err != nil {
			t.Errorf("%s, %s: %v %v", c.schema, c.value, f, err)
		}
	}
}
