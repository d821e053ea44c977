package schema

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// Bounds of a sample. The size is in bytes, with the work to find its parts.
const (
	maxSampleDepth = 12
	maxSampleSize  = 64 << 10
	partCost       = 16
)

// Sample returns a value that a JSON Schema describes, such as a list of one item
// for a list, or null for a schema that describes nothing. It is for programs that
// are tried without their tools, so it has every property and the simplest values.
func Sample(doc json.RawMessage) json.RawMessage {
	var root any
	if json.Unmarshal(doc, &root) != nil {
		return json.RawMessage("null")
	}
	s := sampler{root: root, left: maxSampleSize}
	data, err := json.Marshal(s.value(root, 0))
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

type sampler struct {
	root any
	left int // of the size; what comes after it is null
}

// literal returns a value that the schema has.
func (s *sampler) literal(v any) any {
	data, err := json.Marshal(v)
	if s.left -= len(data); err != nil || s.left < 0 {
		return nil
	}
	return v
}

func (s *sampler) value(schema any, depth int) any {
	m, _ := schema.(map[string]any)
	if s.left -= partCost; m == nil || depth > maxSampleDepth || s.left < 0 {
		return nil
	}
	if ref, ok := m["$ref"].(string); ok {
		s.left -= len(ref)
		return s.value(s.lookup(ref), depth+1)
	}
	for _, key := range []string{"const", "default"} {
		if v, ok := m[key]; ok && v != nil {
			return s.literal(v)
		}
	}
	for _, key := range []string{"examples", "enum"} {
		if list, _ := m[key].([]any); len(list) > 0 {
			return s.literal(list[0])
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, _ := m[key].([]any); len(list) > 0 && m["properties"] == nil {
			s.left -= len(list)
			return s.value(richest(list), depth+1)
		}
	}
	switch kind(m) {
	case "object":
		return s.object(m, depth)
	case "array":
		items := m["items"]
		if list, _ := m["prefixItems"].([]any); len(list) > 0 {
			out := []any{}
			for _, item := range list {
				if s.left < 0 {
					break
				}
				out = append(out, s.value(item, depth+1))
			}
			return out
		}
		return []any{s.value(items, depth+1)}
	case "string":
		return s.literal(word(m))
	case "integer", "number":
		for _, key := range []string{"minimum", "maximum"} {
			if v, ok := m[key].(float64); ok {
				return v
			}
		}
		return 1
	case "boolean":
		return true
	}
	return nil
}

// object has every property of a schema and of the schemas that it combines.
func (s *sampler) object(m map[string]any, depth int) map[string]any {
	out := map[string]any{}
	all, _ := m["allOf"].([]any)
	for _, part := range all {
		if s.left < 0 {
			break
		}
		if more, ok := s.value(part, depth+1).(map[string]any); ok {
			maps.Copy(out, more)
		}
	}
	properties, _ := m["properties"].(map[string]any)
	s.left -= len(properties)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if s.left -= len(name); s.left < 0 {
			break
		}
		out[name] = s.value(properties[name], depth+1)
	}
	return out
}

// lookup returns the part of the schema that a local reference names.
func (s *sampler) lookup(ref string) any {
	path, ok := strings.CutPrefix(ref, "#")
	at := s.root
	for name := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		m, isObject := at.(map[string]any)
		switch {
		case !ok || name != "" && !isObject:
			return nil
		case name != "":
			at = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(name)]
		}
	}
	return at
}

// richest returns the alternative that says most: an object or a list before a
// plain value, and null last.
func richest(list []any) any {
	order := []string{"object", "array", "string", "number", "integer", "boolean", ""}
	return slices.MinFunc(list, func(a, b any) int {
		rank := func(v any) int {
			m, _ := v.(map[string]any)
			if _, ok := m["$ref"]; ok {
				return 0
			}
			return slices.Index(order, kind(m))
		}
		return rank(a) - rank(b)
	})
}

// kind returns the type that a sample has, or "" for null and unknown ones.
func kind(m map[string]any) string {
	types, _ := m["type"].([]any)
	if name, ok := m["type"].(string); ok {
		types = []any{name}
	}
	for _, name := range []string{"object", "array", "string", "number", "integer", "boolean"} {
		if slices.Contains(types, any(name)) {
			return name
		}
	}
	switch {
	case m["properties"] != nil || m["allOf"] != nil:
		return "object"
	case m["items"] != nil || m["prefixItems"] != nil:
		return "array"
	}
	return ""
}

// word returns a string of a schema's format.
func word(m map[string]any) string {
	format, _ := m["format"].(string)
	switch format {
	case "date-time":
		return "2026-01-01T00:00:00Z"
	case "date":
		return "2026-01-01"
	case "time":
		return "00:00:00Z"
	case "uri", "url":
		return "https://example.com/"
	case "email":
		return "someone@example.com"
	case "uuid":
		return "00000000-0000-4000-8000-000000000000"
	}
	n, _ := m["minLength"].(float64)
	return "sample" + strings.Repeat("x", max(0, int(min(n, 1000))-len("sample")))
}
