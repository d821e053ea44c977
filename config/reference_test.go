package config

import (
	"encoding/json"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"
)

// The schema and the parser accept and reject the same shapes.
func TestSchemaAgreesWithTheParser(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	schema, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"{}", "servers: {a: {command: x, args: [y]}}", "servers: {a: x}", "servers: [a]", "mcp: a.json", "mcp: [a.json, b.json]", "mcp: {a: b}", "mcp: [[a]]",
		"policy: p.yaml", "polcy: p.yaml", "limits: {fuel: 5e9, memory: 1GiB, time: 30s, output: 0}", "limits: {time: 30}", "limits: {fule: 1}", "limits: {memory: 5x}",
		"cache: /c", "cache: [a]", "audit: {dir: a, rotate: 64MiB, sync: never, key: k, anchor: /mnt/x}", "audit: {sync: sometimes}", "audit:", "audit: a",
		"audit: {anchor: {command: keep}}", "audit: {anchor: {command: [keep, it], every: 5s, records: 10, required: true}}", "audit: {anchor: {file: f, every: 5}}",
		"audit: {anchor: {file: f, required: maybe}}", "audit: {anchor: [f]}", "audit: {rotate: many}",
		"embeddings: {url: u, model: m, key: env:K}", "embeddings: {uri: u}", "learn_types: false", "learn_types: perhaps", "log: debug", "log: loud", "log: [debug]",
	} {
		data, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		var v any
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		_, parsed := parseFile("wexec.yaml", []byte(text))
		if validated := schema.Validate(v); (parsed == nil) != (validated == nil) {
			t.Errorf("%s\nparser: %v\nschema: %v", text, parsed, validated)
		}
	}
}
