package httpd

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"path"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/policy"
	"github.com/wexec/wexec/store"
)

// module is the beginning of the import paths of types that the document names.
const module = "github.com/wexec/wexec/"

// openAPI makes the OpenAPI 3.1 document of the routes.
func openAPI(version string, routes []route) ([]byte, error) {
	words, err := readDescriptions()
	if err != nil {
		return nil, err
	}
	types := newSchemas()
	if _, err := types.of(reflect.TypeFor[Problem]()); err != nil {
		return nil, err
	}
	paths := map[string]map[string]any{}
	for _, rt := range routes {
		op, err := types.operation(rt)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", rt.method, rt.path, err)
		}
		words.operation(operationID(rt), op)
		if paths[rt.path] == nil {
			paths[rt.path] = map[string]any{}
		}
		paths[rt.path][strings.ToLower(rt.method)] = op
	}
	for name, schema := range types.components {
		words.fields(name, schema)
	}
	return json.Marshal(map[string]any{
		"openapi": "3.1.0",
		"info": map[string]any{"title": "wexec", "version": version, "description": "Runs programs that agents wrote, in sandboxes, with the tools that a policy allows.",
			"license": map[string]any{"name": "Apache License 2.0", "identifier": "Apache-2.0"}},
		"servers": []any{map[string]any{"url": "/"}},
		"paths":   paths,
		"components": map[string]any{
			"schemas": types.components,
			"responses": map[string]any{"Problem": map[string]any{"description": "The request was refused or failed. There is no run.",
				"content": map[string]any{"application/problem+json": map[string]any{"schema": map[string]any{"$ref": componentsAt + "Problem"},
					"example": problemOf(fault.New(fault.DeniedScope, "the token does not have the scope %s", store.ScopeAdmin))}}}},
			"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer", "description": "A token of wexec token create or POST /v1/tokens."}},
		},
		"security": []any{map[string]any{"token": []string{}}},
	})
}

// operation describes a route.
func (x *schemas) operation(rt route) (map[string]any, error) {
	noun, _, _ := strings.Cut(rt.name(), "/")
	op := map[string]any{"summary": rt.summary, "operationId": operationID(rt), "tags": []string{noun}}
	if rt.scope != "" {
		op["description"] = "Needs a token with the scope " + string(rt.scope) + "."
	}
	var parameters []any
	for i := range numField(rt.in) {
		field := rt.in.Field(i)
		schema, err := x.of(field.Type)
		if err != nil {
			return nil, err
		}
		if field.Name == "Body" {
			required := field.Type != reflect.TypeFor[json.RawMessage]()
			op["requestBody"] = map[string]any{"required": required, "content": map[string]any{"application/json": map[string]any{"schema": schema}}}
			continue
		}
		for _, in := range []string{"path", "query", "header"} {
			name := field.Tag.Get(in)
			if name == "" {
				continue
			}
			if field.Type == reflect.TypeFor[*time.Duration]() {
				schema = &jsonschema.Schema{Type: "string", Pattern: `^[0-9]+(\.[0-9]+)?(ms|s|m|h)?$`}
			}
			if enum := field.Tag.Get("enum"); enum != "" {
				for v := range strings.SplitSeq(enum, "|") {
					schema.Enum = append(schema.Enum, v)
				}
			}
			if schema.Type == "integer" {
				schema.Minimum = jsonschema.Ptr(0.0)
			}
			p := map[string]any{"name": name, "in": in, "schema": schema}
			if in == "path" {
				p["required"] = true
			}
			if doc := field.Tag.Get("doc"); doc != "" {
				p["description"] = doc
			}
			parameters = append(parameters, p)
		}
	}
	if parameters != nil {
		op["parameters"] = parameters
	}
	if rt.streams {
		op["requestBody"] = map[string]any{"required": true, "content": map[string]any{"*/*": map[string]any{}}}
	}
	answers := map[string]any{}
	for _, status := range problemsOf(rt) {
		answers[status] = map[string]any{"$ref": "#/components/responses/Problem"}
	}
	for _, status := range append([]int{rt.status}, rt.also...) {
		content := map[string]any{"description": http.StatusText(status)}
		switch {
		case status == http.StatusNotModified:
		case rt.media == "*/*":
			content["content"] = map[string]any{rt.media: map[string]any{}}
		case rt.media != "":
			content["content"] = map[string]any{rt.media: map[string]any{"schema": map[string]any{"type": "string"}}}
		case rt.out != nil:
			schema, err := x.of(rt.out)
			if err != nil {
				return nil, err
			}
			content["content"] = map[string]any{"application/json": map[string]any{"schema": schema}}
		}
		answers[strconv.Itoa(status)] = content
	}
	op["responses"] = answers
	return op, nil
}

// problemsOf lists the statuses of the problems that a client of a route expects, and
// the default for the others.
func problemsOf(rt route) []string {
	all := []string{"401", "429", "default"}
	if rt.scope != "" {
		all = append(all, "403")
	}
	if numField(rt.in) > 0 {
		all = append(all, "400")
	}
	for i := range numField(rt.in) {
		switch tag := rt.in.Field(i).Tag; {
		case tag.Get("path") != "":
			all = append(all, "404")
		case tag.Get("header") == "Idempotency-Key":
			all = append(all, "409", "422")
		}
	}
	return all
}

func numField(t reflect.Type) int {
	if t == nil {
		return 0
	}
	return t.NumField()
}

// componentsAt is where references to components begin.
const componentsAt = "#/components/schemas/"

// schemas makes the JSON Schemas of types. Types of this module that have a name are
// components, which clients name as well.
type schemas struct {
	components map[string]*jsonschema.Schema
	known      map[reflect.Type]*jsonschema.Schema // with a reference for each component
}

func newSchemas() *schemas {
	x := &schemas{components: map[string]*jsonschema.Schema{}, known: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {Description: "any JSON value"},
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	}}
	limits := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, f := range policy.LimitFields() {
		limits.Properties[f.Key] = &jsonschema.Schema{Description: f.Doc, OneOf: []*jsonschema.Schema{{Type: "integer"}, {Type: "string"}}}
	}
	for t, schema := range map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[policy.Limits](): limits,
		reflect.TypeFor[fault.Code]():    enum(fault.Codes()...),
		reflect.TypeFor[store.Scope]():   enum(store.Scopes()...),
		reflect.TypeFor[store.State]():   enum(store.StateQueued, store.StateRunning, store.StateWaiting, store.StateParked, store.StateDone),
		reflect.TypeFor[store.Answer]():  enum(store.AnswerWaiting, store.AnswerApproved, store.AnswerDenied, store.AnswerExpired),
	} {
		x.components[x.name(t)] = schema
	}
	return x
}

// name makes a type a component and returns its name, with that of the package if
// another type has the name.
func (x *schemas) name(t reflect.Type) string {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if x.components[name] != nil {
		name = strings.ToUpper(path.Base(t.PkgPath())[:1]) + path.Base(t.PkgPath())[1:] + name
	}
	x.known[t] = &jsonschema.Schema{Ref: componentsAt + name}
	return name
}

// of is the schema of a type. Answers have no null where a list or an object is
// expected, so no schema allows it.
func (x *schemas) of(t reflect.Type) (*jsonschema.Schema, error) {
	if err := x.add(t); err != nil {
		return nil, err
	}
	return x.schema(only(t), x.known)
}

// only is the type that a struct wraps which has one field, an embedded one.
func only(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Struct && t.NumField() == 1 && t.Field(0).Anonymous {
		if t.Kind() == reflect.Pointer {
			t = t.Elem()
		} else {
			t = t.Field(0).Type
		}
	}
	return t
}

func (x *schemas) schema(t reflect.Type, known map[reflect.Type]*jsonschema.Schema) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
	if err == nil {
		withoutNull(s)
	}
	return s, err
}

// add makes components of the types with a name that a type refers to.
func (x *schemas) add(t reflect.Type) error {
	t = only(t)
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return x.add(t.Elem())
	case reflect.Struct:
	default:
		return nil
	}
	if x.known[t] != nil {
		return nil
	}
	name := ""
	if t.Name() != "" && strings.HasPrefix(t.PkgPath(), module) {
		name = x.name(t)
		x.components[name] = &jsonschema.Schema{} // the name is taken
	}
	known := map[reflect.Type]bool{t: true}
	for _, field := range reflect.VisibleFields(t) {
		switch {
		case field.Anonymous:
			known[field.Type] = true // its fields are those of t
		case field.IsExported() && field.Tag.Get("json") != "-":
			if err := x.add(field.Type); err != nil {
				return err
			}
		}
	}
	if name == "" {
		return nil
	}
	others := maps.Clone(x.known)
	maps.DeleteFunc(others, func(t reflect.Type, _ *jsonschema.Schema) bool { return known[t] })
	var err error
	x.components[name], err = x.schema(t, others)
	return err
}

// withoutNull removes null from the types of a schema and the schemas in it.
func withoutNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	s.Types = slices.DeleteFunc(s.Types, func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type = s.Types[0]
	}
	if len(s.Types) < 2 {
		s.Types = nil
	}
	withoutNull(s.Items)
	if s.AdditionalProperties != nil && s.AdditionalProperties.Not == nil {
		withoutNull(s.AdditionalProperties)
	}
	for _, p := range s.Properties {
		withoutNull(p)
	}
}

// enum is the schema of some words.
func enum[T ~string](words ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range slices.Clone(words) {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}
