package yamldoc

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/wexec/wexec/internal/units"
)

// Schema returns the JSON Schema (2020-12) of the files that decode into a
// struct, for editors.
func Schema(format reflect.Type, title string) []byte {
	s := schemaWriter{defs: map[string]any{}}
	root := s.object(format)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = title
	root["$defs"] = s.defs
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil // cannot happen: strings, numbers, maps and lists
	}
	return append(data, '\n')
}

type schemaWriter struct{ defs map[string]any }

// object returns the schema of a struct or a [Keyed].
func (s *schemaWriter) object(t reflect.Type) map[string]any {
	props := map[string]any{}
	var need []string
	if keyed, ok := reflect.New(t).Interface().(Keyed); ok {
		for _, k := range keyed.YAMLKeys() {
			prop := s.typ(reflect.TypeOf(k.Value), field{min: k.Min})
			prop["description"] = k.Doc
			props[k.Name] = prop
		}
	} else {
		for i := range t.NumField() {
			f := fieldOf(t.Field(i))
			if f.name == "" {
				continue
			}
			prop := s.typ(t.Field(i).Type, f)
			prop["description"] = f.doc
			props[f.name] = prop
			if f.need {
				need = append(need, f.name)
			}
		}
	}
	out := map[string]any{"type": "object", "properties": props, "additionalProperties": false}
	if need != nil {
		slices.Sort(need)
		out["required"] = need
	}
	return out
}

// typ returns the schema of the type of a field.
func (s *schemaWriter) typ(t reflect.Type, f field) map[string]any {
	switch {
	case t == objectType:
		return map[string]any{"type": "object"}
	case t.Implements(valueType):
		return s.typ(fieldType(t, "V"), f)
	case t.Implements(mapType):
		return map[string]any{"type": "object", "additionalProperties": s.typ(fieldType(t.Elem(), "V"), f)}
	case t.Kind() == reflect.Pointer:
		// A block whose keys are all commented out is null.
		return map[string]any{"anyOf": []any{s.typ(t.Elem(), f), map[string]any{"type": "null"}}}
	case t.Kind() == reflect.Slice:
		item := s.typ(t.Elem(), f)
		list := map[string]any{"type": []any{"array", "null"}, "items": item}
		if f.single {
			return map[string]any{"anyOf": []any{list, item}}
		}
		return list
	case isBlock(t), reflect.PointerTo(t).Implements(keyedType):
		return s.block(t)
	}
	return scalarSchema(t, f)
}

func fieldType(t reflect.Type, name string) reflect.Type {
	f, _ := t.FieldByName(name)
	return f.Type
}

// block returns a reference to the schema of a struct. It also accepts a scalar
// if the struct has a short form.
func (s *schemaWriter) block(t reflect.Type) map[string]any {
	name, _, _ := strings.Cut(t.Name(), "[") // without type parameters
	name = strings.ToLower(name[:1]) + name[1:]
	if _, ok := s.defs[name]; !ok {
		s.defs[name] = nil // blocks do not contain themselves
		s.defs[name] = s.object(t)
	}
	ref := map[string]any{"$ref": "#/$defs/" + name}
	if i := shortField(t); i >= 0 {
		return map[string]any{"anyOf": []any{s.typ(t.Field(i).Type, fieldOf(t.Field(i))), ref}}
	}
	return ref
}

const durationPattern = `([0-9]+(\.[0-9]+)?d|0|([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+)`

// scalarSchema returns the schema of a scalar as files write it.
func scalarSchema(t reflect.Type, f field) map[string]any {
	pattern := func(p string) map[string]any { return map[string]any{"type": "string", "pattern": p} }
	numberOr := func(p string) map[string]any {
		return map[string]any{"anyOf": []any{map[string]any{"type": "integer", "minimum": f.min}, pattern(p)}}
	}
	if f.enum != nil && t != reflect.TypeFor[units.Count]() {
		words := make([]any, len(f.enum))
		for i, w := range f.enum {
			words[i] = w
		}
		return map[string]any{"enum": words}
	}
	switch t {
	case reflect.TypeFor[units.Count]():
		if f.enum != nil {
			return map[string]any{"const": json.Number(f.enum[0])}
		}
		return numberOr(`^[0-9](_?[0-9])*(\.0+)?([eE]\+?[0-9]+)?$`)
	case reflect.TypeFor[units.Money]():
		return map[string]any{"type": "number", "exclusiveMinimum": 0}
	case reflect.TypeFor[units.Size]():
		return numberOr(`^[0-9](_?[0-9])*(\.[0-9]+)? ?([kKmMgGtT]([iI]?[bB])?|[bB])?$`)
	case reflect.TypeFor[units.Share]():
		return map[string]any{"anyOf": []any{map[string]any{"type": "integer", "minimum": 1, "maximum": 100}, pattern(`^ *(100|[1-9][0-9]?) *%? *$`)}}
	case reflect.TypeFor[units.Duration]():
		return pattern("^" + durationPattern + "$")
	case reflect.TypeFor[units.Rate]():
		return pattern(`^ *[0-9](_?[0-9])* */ *(s|sec|second|m|min|minute|h|hour|d|day|` + durationPattern + `) *$`)
	case reflect.TypeFor[bool]():
		return map[string]any{"type": "boolean"}
	case codeType:
		// An expression may be the word true, which is a boolean in YAML.
		return map[string]any{"type": []any{"string", "boolean", "number"}, "maxLength": f.maxLen}
	}
	if f.maxLen > 0 {
		return map[string]any{"type": "string", "minLength": 1, "maxLength": f.maxLen}
	}
	return map[string]any{"type": []any{"string", "number", "boolean"}}
}
