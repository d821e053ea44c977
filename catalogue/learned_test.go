package catalogue

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func learned(t testing.TB, answers ...string) *LearnedType {
	t.Helper()
	o := &LearnedType{}
	for _, a := range answers {
		o.Add([]byte(a))
	}
	return o
}

func TestTypesOfAnswersAreLearned(t *testing.T) {
	for name, c := range map[string]struct {
		answers []string
		want    string
	}{
		"an object":           {[]string{`{"id":1,"title":"x","open":true}`}, `{"properties":{"id":{"type":"integer"},"open":{"type":"boolean"},"title":{"type":"string"}},"required":["id","open","title"],"type":"object"}`},
		"a field goes":        {[]string{`{"id":1,"b":2}`, `{"id":3}`}, `{"properties":{"b":{"type":"integer"},"id":{"type":"integer"}},"required":["id"],"type":"object"}`},
		"a field comes":       {[]string{`{"id":1}`, `{"id":3,"b":2}`}, `{"properties":{"b":{"type":"integer"},"id":{"type":"integer"}},"required":["id"],"type":"object"}`},
		"after an empty one":  {[]string{`{}`, `{"b":2}`}, `{"properties":{"b":{"type":"integer"}},"type":"object"}`},
		"within a list":       {[]string{`[{"a":1,"b":"x"},{"a":2}]`}, `{"items":{"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a"],"type":"object"},"type":"array"}`},
		"an empty list":       {[]string{`[]`}, `{"items":{},"type":"array"}`},
		"numbers":             {[]string{`1`, `2.5`}, `{"type":"number"}`},
		"null or text":        {[]string{`{"a":null}`, `{"a":"x"}`}, `{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["a"],"type":"object"}`},
		"a union":             {[]string{`"x"`, `[1]`}, `{"anyOf":[{"type":"string"},{"items":{"type":"integer"},"type":"array"}]}`},
		"behind a long list":  {[]string{`{"items":[` + strings.Repeat(`{"a":"]}{["},`, 5000) + `{"a":"x"}],"total":7}`}, `{"properties":{"items":{"items":{"properties":{"a":{"type":"string"}},"required":["a"],"type":"object"},"type":"array"},"total":{"type":"integer"}},"required":["items","total"],"type":"object"}`},
		"cut short":           {[]string{`{"a":1,"b":2}`, `{"a":1,"b`}, `{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"type":"object"}`},
		"cut within":          {[]string{`{"l":[{"a":1,"b":2}]}`, `{"l":[{"a":1`}, `{"properties":{"l":{"items":{"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"required":["a","b"],"type":"object"},"type":"array"}},"required":["l"],"type":"object"}`},
		"a quote in a string": {[]string{`{"a":"say \"{\" \\","b":1}`}, `{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"],"type":"object"}`},
	} {
		if got := string(learned(t, c.answers...).Schema()); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, c.want)
		}
	}
	o := &LearnedType{}
	if o.Schema() != nil {
		t.Error("a type of nothing")
	}
	if !o.AddText() || o.AddText() || string(o.Schema()) != `{"type":"string"}` {
		t.Errorf("text: %s", o.Schema())
	}
}

// dataNames are keys that are data and must not be kept.
var dataNames = []string{
	"bob@example.org", "2026-11-21", "4711", "user_4711123", "c0ffee42", "550e8400-e29b-41d4-a716-446655440000", "Jane Doe", "+49 30 901820",
	"[EMAIL_1]", "10.0.0.1", "https://example.org/x", "a/b.go", "", "ünïcode", "d41d8cd98f00b204e9800998ecf8427e", strings.Repeat("x", 60), "DE89370400440532013000",
}

func TestNamesThatAreDataBecomeMaps(t *testing.T) {
	for _, name := range dataNames {
		key, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		o := learned(t, `{"plain":{"n":1},`+string(key)+`:{"n":2}}`)
		want := `{"additionalProperties":{"properties":{"n":{"type":"integer"}},"required":["n"],"type":"object"},"type":"object"}`
		if got := string(o.Schema()); got != want {
			t.Errorf("%q: %s", name, got)
		}
		kept, err := json.Marshal(o)
		if err != nil || len(name) > 3 && strings.Contains(string(kept), name) {
			t.Errorf("%q is kept: %s, %v", name, kept, err)
		}
	}
	for _, name := range []string{"id", "created_at", "htmlUrl", "x-total", "@type", "$ref", "line2", "sha256", "deadbeef", "utf8", "_links", "added", "facade"} {
		if !fieldName(name) {
			t.Errorf("%s counts as data", name)
		}
	}
	var many []string
	for i := range 30 {
		many = append(many, fmt.Sprintf(`"%c%c":%d`, 'a'+i%26, 'a'+i/26, i))
	}
	if got := string(learned(t, "{"+strings.Join(many, ",")+"}").Schema()); got != `{"additionalProperties":{"type":"integer"},"type":"object"}` {
		t.Errorf("many names of one type: %s", got)
	}
}

func TestValuesAreNotKept(t *testing.T) {
	o := learned(t, `{"name":"Jane Miller","n":4711,"list":["secret one",{"deep":"secret two"}],"ok":true}`)
	kept, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(kept), string(o.Schema())} {
		for _, value := range []string{"Jane", "4711", "secret", "true"} {
			if strings.Contains(text, value) {
				t.Errorf("%s holds %s", text, value)
			}
		}
	}
}

func TestLearnedTypesAreBounded(t *testing.T) {
	var b strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&b, `{"f%s":{"g%s":[{"h%s":1}]}}`+"\n", word(i), word(i*7), word(i*13))
	}
	o := &LearnedType{}
	for line := range strings.Lines(b.String()) {
		o.Add([]byte(line))
	}
	if o.nodes > maxLearnedNodes {
		t.Errorf("%d nodes", o.nodes)
	}
	if n := len(o.Schema()); n > 400_000 {
		t.Errorf("%d bytes", n)
	}
	deep := learned(t, strings.Repeat(`{"a":`, 500)+"1"+strings.Repeat("}", 500))
	if n := len(deep.Schema()); n > 2000 {
		t.Errorf("%d bytes of a deep answer", n)
	}
}

// word writes a number in letters.
func word(i int) string {
	var b []byte
	for range 4 {
		b = append(b, byte('g'+i%16))
		i /= 16
	}
	return string(b)
}

func TestAKnownTypeIsCheapToCheck(t *testing.T) {
	long := []byte(`[` + strings.Repeat(`{"a":1},`, 200_000) + `{"a":1}]`)
	o := &LearnedType{}
	for range settledAfter + 1 {
		o.Add(long)
	}
	if o.known != settledAfter {
		t.Fatalf("settled %d", o.known)
	}
	took := func(f func()) int64 {
		return testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				f()
			}
		}).NsPerOp()
	}
	settled := took(func() { o.Add(long) })
	first := took(func() { (&LearnedType{}).Add(long) })
	if settled > first/8 {
		t.Errorf("%d ns for an answer of %d bytes, and %d ns for the first of its kind", settled, len(long), first)
	}
}

func TestTheOrderOfAnswersDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		answers := rapid.SliceOfN(rapid.Custom(anyAnswer), 1, 6).Draw(t, "answers")
		forth, back, halves, others := &LearnedType{}, &LearnedType{}, &LearnedType{}, &LearnedType{}
		for i, a := range answers {
			doc, err := json.Marshal(a)
			if err != nil {
				t.Fatal(err)
			}
			other, err := json.Marshal(answers[len(answers)-1-i])
			if err != nil {
				t.Fatal(err)
			}
			forth.Add(doc)
			back.Add(other)
			if i%2 == 0 {
				halves.Add(doc)
			} else {
				others.Add(doc)
			}
		}
		halves.Merge(others)
		if string(forth.Schema()) != string(back.Schema()) || string(forth.Schema()) != string(halves.Schema()) {
			t.Fatalf("%s\n%s\n%s", forth.Schema(), back.Schema(), halves.Schema())
		}
		kept, err := json.Marshal(forth)
		if err != nil {
			t.Fatal(err)
		}
		var read LearnedType
		if err := json.Unmarshal(kept, &read); err != nil || string(read.Schema()) != string(forth.Schema()) {
			t.Fatalf("%v: %s became %s", err, forth.Schema(), read.Schema())
		}
		c := New([]Tool{{Server: "s", Name: "t"}}).WithLearned(func(Tool) json.RawMessage { return forth.Schema() })
		tool, _ := c.Lookup("s.t")
		if !strings.Contains(c.TypeScript(tool), "observed") || !strings.Contains(c.Python(tool), "observed") {
			t.Fatalf("%s%s", c.TypeScript(tool), c.Python(tool))
		}
	})
}

// anyAnswer is some JSON value with a few names, so that they meet.
func anyAnswer(t *rapid.T) any {
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		return nil
	case 1:
		return rapid.Bool().Draw(t, "bool")
	case 2:
		return rapid.IntRange(-5, 5).Draw(t, "int")
	case 3:
		return rapid.Float64Range(0.1, 0.9).Draw(t, "float")
	case 4:
		return rapid.String().Draw(t, "text")
	case 5:
		return rapid.SliceOfN(rapid.Custom(anyAnswer), 0, 3).Draw(t, "list")
	}
	return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "2026-01-01"}), rapid.Custom(anyAnswer), 0, 3).Draw(t, "object")
}

func TestLearnedTypesAreMarkedAndNotPartOfTheDigest(t *testing.T) {
	tools := []Tool{{Server: "jira", Name: "search", Description: "Finds issues."},
		{Server: "jira", Name: "declared", OutputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}}
	plain := New(tools)
	asked := 0
	o := learned(t, `{"total":1,"issues":[{"key":"A-1"}]}`)
	c := plain.WithLearned(func(t Tool) json.RawMessage { asked++; return o.Schema() })
	if plain.Digest() != c.Digest() || asked != 0 {
		t.Error("the digest depends on learned types")
	}
	search, _ := c.Lookup("jira.search")
	declared, _ := c.Lookup("jira.declared")
	for _, view := range []*Catalogue{c, c.Keep(func(Tool) bool { return true })} {
		ts, py := view.TypeScript(search), view.Python(search)
		if !strings.Contains(ts, "(answer: observed, not declared)") || !strings.Contains(ts, "total: number") || !strings.Contains(ts, "key: string") {
			t.Errorf("%s", ts)
		}
		if !strings.Contains(py, "(answer: observed, not declared)") || !strings.Contains(py, `"total": int`) || !strings.Contains(py, "-> SearchResult:") {
			t.Errorf("%s", py)
		}
		if strings.Contains(view.TypeScript(declared), "observed") {
			t.Error("a declared type is marked")
		}
		if d := view.Declarations("javascript")["tools.d.ts"]; !strings.Contains(d, "total: number") || strings.Count(d, "observed") != 1 {
			t.Errorf("%s", d)
		}
	}
	if strings.Contains(plain.TypeScript(search), "observed") || strings.Contains(c.WithLearned(nil).TypeScript(search), "observed") {
		t.Error("marked without a learned type")
	}
	// A later answer shows in the next declaration.
	o.Add([]byte(`{"total":1}`))
	if ts := c.TypeScript(search); !strings.Contains(ts, "issues?:") {
		t.Errorf("%s", ts)
	}
}

func FuzzLearnedType(f *testing.F) {
	for _, s := range []string{`{"a":[1,{"b":null}]}`, `{"a":`, `[[[`, `"\u00`, `{"a":1,}`, `nul`, `{"x":{"2026":1}}`} {
		f.Add([]byte(s), []byte(`{"a":2}`))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		o := &LearnedType{}
		o.Add(a)
		o.Add(b)
		if s := o.Schema(); s != nil && !json.Valid(s) {
			t.Fatalf("%s", s)
		}
		kept, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var read LearnedType
		if err := json.Unmarshal(kept, &read); err != nil || string(read.Schema()) != string(o.Schema()) {
			t.Fatalf("%v: %s became %s", err, o.Schema(), read.Schema())
		}
	})
}
