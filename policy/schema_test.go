package policy

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
)

func resolved(t testing.TB) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func asJSON(t testing.TB, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestSchemaAcceptsTheExample(t *testing.T) {
	text := example(t).layers[0].source
	if err := resolved(t).Validate(asJSON(t, text)); err != nil {
		t.Error(err)
	}
}

// The schema and the parser accept and reject the same shapes.
func TestSchemaAgreesWithTheParser(t *testing.T) {
	schema := resolved(t)
	agree := func(text string) {
		t.Helper()
		_, parsed := Parse("p.yaml", []byte(text))
		validated := schema.Validate(asJSON(t, text))
		if (parsed == nil) != (validated == nil) {
			t.Errorf("%s\nparser: %v\nschema: %v", text, parsed, validated)
		}
	}
	const v = "version: 1\n"
	for _, text := range []string{
		v, "{}", "version: 2\n", v + "name: x\n", v + "foo: 1\n", v + "default: maybe\n", v + "default: ask\n",
		v + "tools: {}\n", v + "tools:\n", v + "tools: {allow: [a.b]}\n", v + "tools: {allow: a.b}\n", v + "tools: {allow: [{tool: a.b}]}\n",
		v + "tools: {allow: [{}]}\n", v + "tools: {allow: [{tool: a.b, wen: x}]}\n", v + "tools: {allow: [{tool: a.b, when: true}]}\n",
		v + "tools: {allow: [{tool: a.b, limits: {calls: 0}}]}\n", v + "tools: {allow: [{tool: a.b, limits: {rate: 5/min, result: 1KiB, timeout: 1m30s}}]}\n",
		v + "tools: {allow: [{tool: a.b, limits: {rate: 5}}]}\n", v + "tools: {allow: [[a.b]]}\n", v + "limits: {time: 30}\n", v + "limits: {time: 30s, memory: 1.5GiB, fuel: 5}\n",
		v + "limits: {memory: 5x}\n", v + "limits: {memory: -1}\n", v + "limits: {parallel: many}\n", v + "languages: [python]\n", v + "languages: [perl]\n", v + "languages: python\n",
		v + "files: {read: [x], write: [], deny: [y]}\n", v + "files: [x]\n", v + "network: {allow: [a.b, {host: x, methods: [GET], ports: [1]}]}\n",
		v + "network: {allow: [{hots: x}]}\n", v + "network: {allow: [{host: x, ports: [a]}]}\n", v + "env: {allow: [A]}\n", v + "env: {deny: [A]}\n",
		v + "secrets: [{name: A, from: 'env:A', to: ['server:a'], as: 'env:A'}]\n", v + "secrets: [{name: A}]\n",
		v + "pii: {mode: partial, detect: [email], modes: {a: off}, tools: {a.b: block}, lists: {name: [x]}, patterns: {own: 'x+'}}\n",
		v + "pii: {mode: on}\n", v + "pii: {lists: {name: x}}\n", v + "pii: {fields: {never: [a], sometimes: [b]}}\n", v + "approvals: {via: [mcp], timeout: 1m, remember: run}\n",
		v + "approvals: {via: [fax]}\n", v + "approvals: {timeout: 5}\n", v + "audit: {code: full}\n", v + "audit: {code: some}\n",
		v + "tests: [{tool: a.b, args: {x: 1}, expect: allow}]\n", v + "tests: [{tool: a.b}]\n", v + "tests: [{tool: a.b, args: 1, expect: deny}]\n", v + "vars: {a: 'true'}\n", v + "vars: [a]\n",
	} {
		agree(text)
	}
	// And files made of the example by breaking one thing.
	lines := strings.Split(example(t).layers[0].source, "\n")
	r := rand.New(rand.NewPCG(3, 4))
	for range 100 {
		n := r.IntN(len(lines))
		at := strings.IndexByte(lines[n], ':')
		if at < 1 || strings.Contains(lines[n][:at], "#") || strings.HasPrefix(strings.TrimSpace(lines[n]), "-") {
			continue
		}
		broken := append([]string{}, lines...)
		if key := strings.TrimSpace(lines[n][:at]); key == "internal" || key == "office_hours" {
			continue
		}
		broken[n] = lines[n][:at] + "x" + lines[n][at:]
		text := strings.Join(broken, "\n")
		if _, err := yaml.YAMLToJSON([]byte(text)); err == nil {
			agree(text)
		}
	}
}

func TestEveryKeyIsDescribed(t *testing.T) {
	type object struct {
		Properties map[string]struct{ Description string }
	}
	var schema struct {
		object
		Defs map[string]object `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	schema.Defs["file"] = schema.object
	for name, block := range schema.Defs {
		if len(block.Properties) == 0 {
			t.Errorf("%s has no keys", name)
		}
		for key, property := range block.Properties {
			if property.Description == "" {
				t.Errorf("%s.%s has no description", name, key)
			}
		}
	}
	if len(schema.Defs) < 14 {
		t.Errorf("only %d blocks were checked", len(schema.Defs))
	}
}
