package httpd

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// descriptions has what the OpenAPI document says about operations and types in
// addition to the route table and the tags of fields, with examples.
//
//go:embed descriptions.json
var descriptions []byte

// described is the content of descriptions.
type described struct {
	Operations map[string]*struct {
		Description string
		Request     json.RawMessage
		Answers     map[string]json.RawMessage // by status
	}
	Types map[string]map[string]string // by type and field; the type itself is "", any type is *
}

// readDescriptions reads descriptions.
func readDescriptions() (d described, err error) {
	if err = json.Unmarshal(descriptions, &d); err != nil {
		err = fmt.Errorf("read descriptions.json: %w", err)
	}
	return d, err
}

// operation adds the text of an operation and its examples.
func (d described) operation(id string, op map[string]any) {
	words := d.Operations[id]
	if words == nil {
		return
	}
	about, _ := op["description"].(string)
	op["description"] = strings.TrimSpace(words.Description + "\n\n" + about)
	if words.Request != nil {
		withExample(op["requestBody"], words.Request)
	}
	for status, example := range words.Answers {
		withExample(op["responses"].(map[string]any)[status], example)
	}
}

// withExample adds an example to a body that has one media type.
func withExample(body any, example json.RawMessage) {
	parts, _ := body.(map[string]any)
	content, _ := parts["content"].(map[string]any)
	for _, media := range content {
		media.(map[string]any)["example"] = example
	}
}

// fields adds texts to the schema of a type, where it has no others.
func (d described) fields(name string, s *jsonschema.Schema) {
	add := func(to *jsonschema.Schema, words string) {
		if to.Description == "" {
			to.Description = words
		}
	}
	add(s, d.Types[name][""])
	for field, schema := range s.Properties {
		words := d.Types[name][field]
		if words == "" {
			words = d.Types["*"][field]
		}
		add(schema, words)
	}
}

// as gives a route the name that generated clients use.
func (rt route) as(operation string) route {
	rt.operation = operation
	return rt
}

// name is the path of a route without what all have.
func (rt route) name() string {
	return strings.TrimPrefix(strings.TrimPrefix(rt.path, "/v1"), "/")
}

// operationID names a route for generated clients: as its table says, or else by what
// it does to what its path names, such as createRun, listRuns, getRun and cancelRun.
func operationID(rt route) string {
	if rt.operation != "" {
		return rt.operation
	}
	parts := strings.Split(rt.name(), "/")
	noun, last := title(parts[0]), parts[len(parts)-1]
	one := len(parts) > 1 && strings.HasPrefix(parts[1], "{")
	if one || len(parts) == 1 && rt.method == http.MethodPost {
		noun = strings.TrimSuffix(noun, "s")
	}
	switch {
	case len(parts) > 2 && rt.method == http.MethodGet:
		if strings.HasSuffix(last, "s") {
			return "list" + noun + title(last)
		}
		return "get" + noun + title(last)
	case len(parts) > 2 || len(parts) == 2 && !one:
		return last + noun
	case rt.method == http.MethodGet && !one && strings.HasSuffix(noun, "s"):
		return "list" + noun
	case rt.method == http.MethodPost && !one:
		return "create" + noun
	}
	return map[string]string{http.MethodGet: "get", http.MethodPost: "update", http.MethodPut: "replace", http.MethodDelete: "delete"}[rt.method] + noun
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }
