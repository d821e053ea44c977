package policy

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/wexec/wexec/internal/units"
)

// Schema is the JSON Schema (2020-12) of a policy file, for editors. It is made
// from the types that the parser reads.
func Schema() []byte {
	s := schemaWriter{defs: map[string]any{}}
	root := s.object(reflect.TypeFor[document]())
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "wexec policy"
	root["$defs"] = s.defs
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil // maps of texts, numbers and lists always have a JSON form
	}
	return append(data, '\n')
}

type schemaWriter struct{ defs map[string]any }

// object is the schema of a struct.
func (s *schemaWriter) object(t reflect.Type) map[string]any {
	props := map[string]any{}
	var need []string
	for i := range t.NumField() {
		f := fieldOf(t.Field(i))
		if f.name == "" {
			continue
		}
		prop := s.typ(t.Field(i).Type, f)
		prop["description"] = t.Field(i).Tag.Get("doc")
		props[f.name] = prop
		if f.need {
			need = append(need, f.name)
		}
	}
	out := map[string]any{"type": "object", "properties": props, "additionalProperties": false}
	if need != nil {
		slices.Sort(need)
		out["required"] = need
	}
	return out
}

// typ is the schema of a field's type.
func (s *schemaWriter) typ(t reflect.Type, f field) map[string]any {
	switch {
	case t == typeObject:
		return map[string]any{"type": "object"}
	case isAt(t):
		v, _ := t.FieldByName("V")
		return s.typ(v.Type, f)
	case isNamed(t):
		v, _ := t.Elem().FieldByName("V")
		out := map[string]any{"type": "object", "additionalProperties": s.typ(v.Type, f)}
		return out
	case t.Kind() == reflect.Pointer:
		// A block whose keys are all commented out is empty.
		return map[string]any{"anyOf": []any{s.block(t.Elem()), map[string]any{"type": "null"}}}
	case t.Kind() == reflect.Slice:
		return map[string]any{"type": []any{"array", "null"}, "items": s.typ(t.Elem(), f)}
	case t.Kind() == reflect.Struct && t != typeExpr && t != typeGlob && t != typeRate:
		return s.block(t)
	}
	return scalarSchema(t, f)
}

// block refers to the schema of a struct, and lets a text stand for it where
// the struct has a short form.
func (s *schemaWriter) block(t reflect.Type) map[string]any {
	name := strings.TrimSuffix(t.Name(), "Block")
	if _, ok := s.defs[name]; !ok {
		s.defs[name] = nil // blocks do not contain themselves
		s.defs[name] = s.object(t)
	}
	ref := map[string]any{"$ref": "#/$defs/" + name}
	for i := range t.NumField() {
		if t.Field(i).Tag.Get("short") != "" {
			return map[string]any{"anyOf": []any{s.typ(t.Field(i).Type, fieldOf(t.Field(i))), ref}}
		}
	}
	return ref
}

// scalarSchema is the schema of a text or a number as files write it.
func scalarSchema(t reflect.Type, f field) map[string]any {
	text := map[string]any{"type": "string"}
	number := map[string]any{"type": "integer", "minimum": f.min}
	either := func(pattern string) map[string]any {
		text["pattern"] = pattern
		return map[string]any{"anyOf": []any{number, text}}
	}
	if f.enum != nil {
		if t == reflect.TypeFor[units.Count]() {
			return map[string]any{"const": 1}
		}
		words := make([]any, len(f.enum))
		for i, w := range f.enum {
			words[i] = w
		}
		return map[string]any{"enum": words}
	}
	switch t {
	case reflect.TypeFor[units.Count]():
		return either(`^[0-9](_?[0-9])*(\.0+)?([eE]\+?[0-9]+)?$`)
	case reflect.TypeFor[units.Size]():
		return either(`^[0-9](_?[0-9])*(\.[0-9]+)? ?([kKmMgGtT]([iI]?[bB])?|[bB])?$`)
	case reflect.TypeFor[units.Duration]():
		text["pattern"] = `^([0-9]+(\.[0-9]+)?d|0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)$`
		return text
	case typeRate:
		text["pattern"] = `^ *[0-9](_?[0-9])* */ *(s|sec|second|m|min|minute|h|hour|d|day|[0-9]+(\.[0-9]+)?d|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+) *$`
		return text
	case typeGlob:
		text["minLength"] = 1
		text["maxLength"] = maxGlob
		return text
	case typeExpr:
		// A condition may be the word true, which YAML does not read as a text.
		text["maxLength"] = maxExpression
		return map[string]any{"type": []any{"string", "boolean", "number"}, "maxLength": maxExpression}
	}
	return map[string]any{"type": []any{"string", "number", "boolean"}}
}
