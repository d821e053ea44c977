// Package schema checks values against the JSON Schemas that tools come with.
//
// A schema may be hostile: it may refer to itself, name an unknown draft or be
// expensive to check. A part that cannot be used is not checked, with a warning;
// the tool stays available. A [Fault] has the path, what was expected there and
// what the schema allows, so that the next attempt can be right. It never repeats
// the value.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/wexec/wexec/internal/jsonschema"
)

// Schema is a compiled schema. It is immutable and safe for concurrent use. The
// nil Schema accepts everything.
type Schema struct {
	root     *jsonschema.Schema
	names    []string
	known    map[string]bool // names
	warnings []string
}

// Compile reads a schema. It fails if nothing of the schema can be used; parts
// that cannot be used are in the warnings of the result. An empty document gives
// the nil Schema.
func Compile(doc []byte) (*Schema, error) {
	if len(bytes.TrimSpace(doc)) == 0 {
		return nil, nil
	}
	d, err := jsonschema.Compile(doc)
	if err != nil {
		return nil, err
	}
	if d.Draft != "" && !knownDraft(d.Draft) {
		return nil, fmt.Errorf("unsupported draft %s", clip(d.Draft))
	}
	s := &Schema{root: d.Root, warnings: d.Warnings}
	s.names, s.known = propertyOrder(doc)
	return s, nil
}

// Warnings lists the parts of the schema that are not checked.
func (s *Schema) Warnings() []string {
	if s == nil {
		return nil
	}
	return s.warnings
}

// Properties lists the properties of the top object in the order of the schema.
func (s *Schema) Properties() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// Has reports whether the top object has a property of a name.
func (s *Schema) Has(name string) bool { return s != nil && s.known[name] }

// Positions lists the same properties in the order of positional arguments:
// first the required ones, in the order of the schema's required list, then the
// rest. Libraries of servers sort properties, but keep the order of required.
func (s *Schema) Positions() []string {
	if s == nil {
		return nil
	}
	out := make([]string, 0, len(s.names))
	listed := make(map[string]bool, len(s.names))
	for _, names := range [][]string{s.object().Required, s.names} {
		for _, name := range names {
			if s.known[name] && !listed[name] {
				listed[name] = true
				out = append(out, name)
			}
		}
	}
	return out
}

// Required lists the required properties of the top object.
func (s *Schema) Required() []string {
	if s == nil {
		return nil
	}
	return s.object().Required
}

// Closed reports whether the top object allows only the properties that it names.
func (s *Schema) Closed() bool {
	if s == nil {
		return false
	}
	n := s.object()
	return n.Additional != nil && n.Additional.Never && len(n.Patterns) == 0
}

// Open reports whether the schema explicitly allows other properties in the top
// object.
func (s *Schema) Open() bool {
	if s == nil {
		return true
	}
	n := s.object()
	return len(n.Patterns) > 0 || (n.Additional != nil && !n.Additional.Never)
}

// object returns the schema of the top object, behind references.
func (s *Schema) object() *jsonschema.Schema {
	n := s.root
	for range jsonschema.MaxDepth {
		if n.Ref == nil || len(n.Properties) > 0 {
			break
		}
		n = n.Ref
	}
	return n
}

// Defaults returns the properties that are missing in object and have a default.
// The values belong to the schema and must not be modified.
func (s *Schema) Defaults(object map[string]any) map[string]any {
	if s == nil {
		return nil
	}
	var out map[string]any
	n := s.object()
	for _, name := range n.Names {
		if _, ok := object[name]; ok {
			continue
		}
		p := n.Properties[name]
		for range jsonschema.MaxDepth {
			if p.Default != nil || p.Ref == nil {
				break
			}
			p = p.Ref
		}
		if p.Default == nil {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[name] = *p.Default
	}
	return out
}

func knownDraft(uri string) bool {
	uri = strings.TrimSuffix(strings.TrimSuffix(uri, "#"), "/")
	_, rest, ok := strings.Cut(uri, "://json-schema.org/")
	if !ok {
		return false
	}
	switch rest {
	case "schema", "draft-04/schema", "draft-06/schema", "draft-07/schema", "draft/2019-09/schema", "draft/2020-12/schema":
		return true
	}
	return false
}

// propertyOrder returns the names of the top properties in the order of the
// document, and as a set.
func propertyOrder(doc []byte) ([]string, map[string]bool) {
	var top struct {
		Properties json.RawMessage `json:"properties"`
	}
	if json.Unmarshal(doc, &top) != nil {
		return nil, nil
	}
	dec := json.NewDecoder(bytes.NewReader(top.Properties))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, nil
	}
	var names []string
	known := map[string]bool{}
	var skip json.RawMessage
	for dec.More() && len(names) <= 1000 {
		t, err := dec.Token()
		name, ok := t.(string)
		if err != nil || !ok || dec.Decode(&skip) != nil {
			return nil, nil
		}
		if !known[name] {
			known[name] = true
			names = append(names, name)
		}
	}
	return names, known
}
