package httpd

import (
	"regexp"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// TestTheDocumentDescribesEverything reads the document as a person or a generator of
// clients does.
func TestTheDocumentDescribesEverything(t *testing.T) {
	data, err := openAPI("test", routes())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(data)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := openapi3.NewLoader().LoadFromData(withoutReferences(t, data))
	if err == nil {
		err = whole.Validate(t.Context(), openapi3.EnableExamplesValidation())
	}
	if err != nil {
		t.Error(err)
	}
	words, err := readDescriptions()
	if err != nil {
		t.Fatal(err)
	}
	method := regexp.MustCompile(`^[a-z]+([A-Z][a-z]+)+$`)
	seen := map[string]bool{}
	for path, item := range doc.Paths.Map() {
		for verb, op := range item.Operations() {
			id := op.OperationID
			if !method.MatchString(id) || seen[id] {
				t.Errorf("%s %s is the operation %s, which is taken or no name of a method: use as", verb, path, id)
			}
			seen[id] = true
			if len(op.Description) < len("Needs a token with the scope approve.")+10 && words.Operations[id] == nil {
				t.Errorf("%s %s has no description: add %s to descriptions.json", verb, path, id)
			}
			for _, p := range op.Parameters {
				if p.Value.Description == "" {
					t.Errorf("%s %s: the parameter %s has no tag doc", verb, path, p.Value.Name)
				}
			}
			bodies := map[string]openapi3.Content{}
			if op.RequestBody != nil {
				bodies["request"] = op.RequestBody.Value.Content
			}
			for status, answer := range op.Responses.Map() {
				bodies[status] = answer.Value.Content
			}
			for which, content := range bodies {
				for media, body := range content {
					if media != "*/*" && body.Example == nil {
						t.Errorf("%s %s has no example: add %s of %s to descriptions.json", verb, path, which, id)
					}
				}
			}
		}
	}
	for name, schema := range doc.Components.Schemas {
		for field, property := range schema.Value.Properties {
			if property.Ref == "" && property.Value.Description == "" {
				t.Errorf("%s.%s has no description: set the tag jsonschema or add it to descriptions.json", name, field)
			}
		}
	}
	for id := range words.Operations {
		if !seen[id] {
			t.Errorf("descriptions.json describes the operation %s, which does not exist", id)
		}
	}
	for name, fields := range words.Types {
		for field, text := range fields {
			schema := doc.Components.Schemas[name]
			switch {
			case name == "*":
			case schema == nil:
				t.Errorf("descriptions.json describes the type %s, which does not exist", name)
			case field == "" && schema.Value.Description != text, field != "" && (schema.Value.Properties[field] == nil || schema.Value.Properties[field].Value.Description != text):
				t.Errorf("descriptions.json describes %s.%s, which does not exist or has a tag", name, field)
			}
		}
	}
}
