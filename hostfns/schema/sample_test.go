package schema

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestASampleIsWhatItsSchemaDescribes(t *testing.T) {
	for doc, want := range map[string]string{
		`{"type": "object", "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/item"}}, "next": {"type": ["null", "string"]}},
			"$defs": {"item": {"type": "object", "properties": {"id": {"type": "integer"}, "at": {"type": "string", "format": "date"}}}}}`: `{"items":[{"at":"2026-01-01","id":1}],"next":"sample"}`,
		`{"enum": ["open", "closed"]}`:                                                               `"open"`,
		`{"anyOf": [{"type": "null"}, {"type": "array", "items": {}}]}`:                              `[null]`,
		`{"allOf": [{"properties": {"a": {"const": 5}}}], "properties": {"b": {"type": "boolean"}}}`: `{"a":5,"b":true}`,
		`{"type": "number", "minimum": 7}`:                                                           `7`,
		`{"type": "string", "minLength": 8}`:                                                         `"samplexx"`,
		`{"type": "array", "prefixItems": [{"type": "string"}, {}]}`:                                 `["sample",null]`,
		`{"$ref": "#"}`:                    `null`,
		`{"$ref": "http://example.com/x"}`: `null`,
		`true`:                             `null`,
		`{`:                                `null`,
	} {
		if got := string(Sample(json.RawMessage(doc))); got != want {
			t.Errorf("%s gives %s, want %s", doc, got, want)
		}
	}
}

// TestASampleOfAHostileSchemaIsBounded has a schema that doubles at each level.
func TestASampleOfAHostileSchemaIsBounded(t *testing.T) {
	doc := `{"$ref": "#/$defs/0", "$defs": {` + `"0": {"properties": {"a": {"$ref": "#/$defs/0"}, "b": {"$ref": "#/$defs/0"}, "c": {"$ref": "#/$defs/0"}}}` + `}}`
	if got := Sample(json.RawMessage(doc)); len(got) > 64<<10 || !strings.HasPrefix(string(got), `{"a":{`) {
		t.Errorf("a sample of %d bytes", len(got))
	}
	long, repeated := strings.Repeat("x", 10<<10), strings.Repeat(`{"$ref": "#/$defs/0"},`, 1000)
	doc = `{"prefixItems": [` + repeated + `{}], "$defs": {"0": {"default": "` + long + `"}}}`
	if got := Sample(json.RawMessage(doc)); len(got) > 128<<10 || !strings.HasPrefix(string(got), `["xxx`) {
		t.Errorf("a sample of %d bytes", len(got))
	}
}
