package httpd

import (
	"encoding/json"
	"fmt"
	"net/http"
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

// openAPI makes the OpenAPI 3.1 document of the routes.
func openAPI(version string, routes []route) ([]byte, error) {
	paths := map[string]map[string]any{}
	problem, err := schemaOf(reflect.TypeFor[Problem]())
	if err != nil {
		return nil, err
	}
	for _, rt := range routes {
		op, err := operation(rt)
		if err != nil {
			return nil, fmt.Errorf("%s %s: %w", rt.method, rt.path, err)
		}
		if paths[rt.path] == nil {
			paths[rt.path] = map[string]any{}
		}
		paths[rt.path][strings.ToLower(rt.method)] = op
	}
	return json.Marshal(map[string]any{
		"openapi": "3.1.0",
		"info":    map[string]any{"title": "wexec", "version": version, "description": "Runs programs that agents wrote, in sandboxes, with the tools that a policy allows."},
		"paths":   paths,
		"components": map[string]any{
			"schemas":         map[string]any{"Problem": problem},
			"responses":       map[string]any{"Problem": map[string]any{"description": "No run came to be.", "content": map[string]any{"application/problem+json": map[string]any{"schema": map[string]any{"$ref": "#/components/schemas/Problem"}}}}},
			"securitySchemes": map[string]any{"token": map[string]any{"type": "http", "scheme": "bearer"}},
		},
		"security": []any{map[string]any{"token": []string{}}},
	})
}

// operation describes a route.
func operation(rt route) (map[string]any, error) {
	op := map[string]any{"summary": rt.summary, "operationId": operationID(rt)}
	if rt.scope != "" {
		op["description"] = "Needs a token with the scope " + string(rt.scope) + "."
	}
	var parameters []any
	for i := range numField(rt.in) {
		field := rt.in.Field(i)
		schema, err := schemaOf(field.Type)
		if err != nil {
			return nil, err
		}
		if field.Name == "Body" {
			op["requestBody"] = map[string]any{"required": true, "content": map[string]any{"application/json": map[string]any{"schema": schema}}}
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
	answers := map[string]any{"default": map[string]any{"$ref": "#/components/responses/Problem"}}
	for _, status := range append([]int{rt.status}, rt.also...) {
		content := map[string]any{"description": http.StatusText(status)}
		switch {
		case rt.media != "":
			content["content"] = map[string]any{rt.media: map[string]any{"schema": map[string]any{"type": "string"}}}
		case rt.out != nil:
			schema, err := schemaOf(rt.out)
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

func numField(t reflect.Type) int {
	if t == nil {
		return 0
	}
	return t.NumField()
}

// operationID names a route for generated clients, such as getRunsById.
func operationID(rt route) string {
	var b strings.Builder
	b.WriteString(strings.ToLower(rt.method))
	for part := range strings.SplitSeq(strings.TrimPrefix(rt.path, "/v1/"), "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			part = "by" + strings.ToUpper(name[:1]) + strings.TrimSuffix(name[1:], "}")
		}
		part = strings.Map(func(r rune) rune {
			if r == '.' {
				return -1
			}
			return r
		}, part)
		b.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return b.String()
}

// schemaOf is the JSON Schema of a type.
func schemaOf(t reflect.Type) (*jsonschema.Schema, error) {
	codes := &jsonschema.Schema{Type: "string"}
	for _, c := range fault.Codes() {
		codes.Enum = append(codes.Enum, string(c))
	}
	limits := &jsonschema.Schema{Type: "object", Properties: map[string]*jsonschema.Schema{}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}}}
	for _, f := range policy.LimitFields() {
		limits.Properties[f.Key] = &jsonschema.Schema{Types: []string{"integer", "string"}}
	}
	known := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[policy.Limits]():   limits,
		reflect.TypeFor[fault.Code]():      codes,
		reflect.TypeFor[store.Scope]():     enum(store.Scopes()...),
		reflect.TypeFor[store.State]():     enum(store.StateQueued, store.StateRunning, store.StateWaiting, store.StateParked, store.StateDone),
		reflect.TypeFor[store.Answer]():    enum(store.AnswerWaiting, store.AnswerApproved, store.AnswerDenied, store.AnswerExpired),
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
	}
	return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: known})
}

// enum is the schema of some words.
func enum[T ~string](words ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, w := range slices.Clone(words) {
		s.Enum = append(s.Enum, string(w))
	}
	return s
}
