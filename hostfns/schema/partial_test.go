package schema

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/wexec/wexec/internal/jsonnum"
)

func partial(t *testing.T, form string) any {
	t.Helper()
	v, err := ReadPartial([]byte(form))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWhatIsKnownOfAValueIsChecked(t *testing.T) {
	s := compile(t, `{"type":"object","required":["owner","repo"],"additionalProperties":false,"properties":{
		"owner":{"type":"string"},"repo":{"type":"string"},"limit":{"type":"integer","maximum":100},
		"labels":{"type":"array","items":{"type":"string"},"maxItems":2,"uniqueItems":true},
		"state":{"enum":["open","closed"]},
		"who":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/who"}]}},
		"$defs":{"who":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}},"allOf":[{"properties":{"age":{"type":"integer"}}}]}}}`)
	for form, want := range map[string]string{
		`{}`:                                                              "",
		`{"fields":{},"open":true}`:                                       "",
		`{"fields":{"owner":{},"repo":{}}}`:                               "",
		`{"fields":{"owner":{}}}`:                                         `args: "repo" is missing`,
		`{"fields":{"limit":"5"},"open":true}`:                            `args.limit: expected an integer, got a string`,
		`{"fields":{"limit":101},"open":true}`:                            `args.limit: expected at most 100`,
		`{"fields":{"state":"opn"},"open":true}`:                          `args.state: must be one of 2 values`,
		`{"fields":{"lmit":{}},"open":true}`:                              `args: unknown property "lmit"`,
		`{"fields":{"labels":["a",{}]},"open":true}`:                      "",
		`{"fields":{"labels":[{},{}]},"open":true}`:                       "",
		`{"fields":{"labels":[{},1]},"open":true}`:                        `args.labels[1]: expected a string, got an integer`,
		`{"fields":{"labels":[{},"a","b"]},"open":true}`:                  `args.labels: expected at most 2 items, got 3`,
		`{"fields":{"labels":["a","a"]},"open":true}`:                     `args.labels: expected unique items, but items 0 and 1 are equal`,
		`{"fields":{"labels":{"fields":{"a":{}}}},"open":true}`:           `args.labels: expected an array, got an object`,
		`{"fields":{"who":{"fields":{"name":{}}}},"open":true}`:           "",
		`{"fields":{"who":{"fields":{"name":{},"age":"1"}}},"open":true}`: `args.who.age: expected an integer, got a string`,
		`{"fields":{"who":{"fields":{"nam":{}}}},"open":true}`:            `args.who: "name" is missing`,
		`{"fields":{"who":[{}]},"open":true}`:                             `args.who: expected null or an object, got an array`,
		`[{}]`:                                                            `args: expected an object, got an array`,
	} {
		f, err := s.Check("args", partial(t, form), Work{})
		got := ""
		if f != nil {
			got = f.Path + ": " + f.Problem
		}
		if err != nil || got != want {
			t.Errorf("%s gives %q, %v, want %q", form, got, err, want)
		}
	}
}

func TestFormsThatAreNoneAreRefused(t *testing.T) {
	for _, form := range []string{``, `{`, `{"a":1}`, `{"fields":1}`, `[{"open":true}]`, `{"fields":{"a":{"b":1}}}`, `1 2`} {
		if v, err := ReadPartial([]byte(form)); err == nil {
			t.Errorf("%s is %v", form, v)
		}
	}
}

// formOf draws a form of a value: some of it is not known.
func formOf(t *rapid.T, v any) any {
	if rapid.IntRange(0, 4).Draw(t, "computed") == 0 {
		return map[string]any{}
	}
	switch v := v.(type) {
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = formOf(t, e)
		}
		return list
	case map[string]any:
		fields, open := map[string]any{}, rapid.IntRange(0, 3).Draw(t, "open") == 0
		for name, e := range v {
			if !open || rapid.Bool().Draw(t, "written") {
				fields[name] = formOf(t, e)
			}
		}
		return map[string]any{"fields": fields, "open": open}
	}
	return v
}

func TestAFaultOfAPartIsAFaultOfTheWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc, _ := json.Marshal(genSchema(2).Draw(t, "schema"))
		s, err := Compile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for range 10 {
			whole, _ := json.Marshal(genValue(2).Draw(t, "value"))
			v, err := jsonnum.Decode(whole)
			if err != nil {
				t.Fatal(err)
			}
			form, _ := json.Marshal(formOf(t, v))
			p, err := ReadPartial(form)
			if err != nil {
				t.Fatal(err)
			}
			found, err := s.Check("v", p, Work{})
			if err != nil {
				t.Fatal(err)
			}
			if f, _ := s.Check("v", v, Work{}); found != nil && f == nil {
				t.Fatalf("schema %s value %s: its part %s has the fault %v", doc, whole, form, found)
			}
		}
	})
}

func FuzzReadPartial(f *testing.F) {
	f.Add([]byte(`{"type":"object","properties":{"a":{"anyOf":[{"enum":[1]},{"items":{"type":"string"}}]}}}`), []byte(`{"fields":{"a":[{},{"fields":{"b":1},"open":true}]}}`))
	f.Add([]byte(`{"not":{"required":["a"]},"uniqueItems":true,"contains":{"const":{}}}`), []byte(`[{},{},[1,{}]]`))
	f.Fuzz(func(t *testing.T, doc, form []byte) {
		s, err := Compile(doc)
		if err != nil {
			return
		}
		v, err := ReadPartial(form)
		if err != nil {
			return
		}
		if f, _ := s.Check("args", v, Work{Size: len(form)}); f != nil && f.Error() == "" {
			t.Fatal("an empty fault")
		}
	})
}
