// Package schema checks values against the JSON Schemas that tools come with.
//
// A schema is hostile text: it may refer to itself, name a foreign draft or
// take for ever to check. What cannot be used costs its own check, with a
// warning, and never the tool. A value that does not fit is answered with its
// path, what was expected there and what the schema allows, so that the next
// try is right; the value itself is never repeated.
package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const (
	maxSize  = 1 << 20 // bytes of a schema
	maxNodes = 20_000  // schemas within a schema
	maxDepth = 100     // nesting of a schema, of a value, and of references without a step into the value
	maxSteps = 200_000 // visits of one check
)

// Schema is a compiled schema. It does not change and is safe for concurrent
// use. The nil Schema accepts everything.
type Schema struct {
	root     *node
	names    []string
	warnings []string
}

// node is one schema within a schema; a zero field does not restrict.
type node struct {
	never    bool
	ref      *node
	types    kind
	enum     []any
	constant *any

	min, max, above, below, multiple *float64
	minLen, maxLen                   *float64
	pattern                          *regexp.Regexp

	props          map[string]*node
	names          []string // sorted keys of props
	patterns       []patternNode
	additional     *node
	required       []string
	minProps       *float64
	maxProps       *float64
	propertyNames  *node
	dependent      map[string]*node
	dependentNames map[string][]string

	prefix                   []*node
	items                    *node
	contains                 *node
	minContains, maxContains *float64
	minItems, maxItems       *float64
	unique                   bool

	all, any, one []*node
	not           *node
	when          *node
	then, other   *node

	preset *any // the default
}

type patternNode struct {
	re *regexp.Regexp
	n  *node
}

// kind is a set of JSON types.
type kind uint8

const (
	kindNull kind = 1 << iota
	kindBool
	kindInteger
	kindNumber
	kindString
	kindArray
	kindObject
)

var kindNames = [...]struct {
	k    kind
	name string
}{
	{kindNull, "null"}, {kindBool, "boolean"}, {kindInteger, "integer"}, {kindNumber, "number"},
	{kindString, "string"}, {kindArray, "array"}, {kindObject, "object"},
}

// Compile reads a schema. An error means that nothing of it can be used;
// parts that cannot be used are among the warnings of the result. An empty
// document gives the nil Schema.
func Compile(doc []byte) (*Schema, error) {
	if len(bytes.TrimSpace(doc)) == 0 {
		return nil, nil
	}
	if len(doc) > maxSize {
		return nil, fmt.Errorf("the schema has %d bytes, more than %d", len(doc), maxSize)
	}
	var root any
	if err := json.Unmarshal(doc, &root); err != nil {
		return nil, fmt.Errorf("the schema is no JSON: %w", err)
	}
	c := &compiler{root: root, at: map[string]*node{}, anchors: map[string]string{}, warned: map[string]bool{}}
	if top, ok := root.(map[string]any); ok {
		if draft, ok := top["$schema"].(string); ok && !knownDraft(draft) {
			return nil, fmt.Errorf("the schema follows a draft that is not known here: %s", clip(draft))
		}
		c.base, _ = top["$id"].(string)
	}
	c.findAnchors(root, "", 0)
	n, err := c.compile(root, "", 0)
	if err != nil {
		return nil, err
	}
	return &Schema{root: n, names: propertyOrder(doc), warnings: c.warnings}, nil
}

// Warnings say which parts of the schema are not checked.
func (s *Schema) Warnings() []string {
	if s == nil {
		return nil
	}
	return s.warnings
}

// Properties lists the names of the top object's properties in the order in
// which the schema has them.
func (s *Schema) Properties() []string {
	if s == nil {
		return nil
	}
	return s.names
}

// Positions lists the same names in the order in which arguments without names
// are taken: what must be given first, in the order in which the schema
// requires it, then the rest. Servers' libraries sort the properties of a
// schema, and leave the order of what is required as its writer had it.
func (s *Schema) Positions() []string {
	if s == nil {
		return nil
	}
	out := make([]string, 0, len(s.names))
	for _, name := range s.object().required {
		if slices.Contains(s.names, name) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	for _, name := range s.names {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Required lists the names of the top object's properties that must be given.
func (s *Schema) Required() []string {
	if s == nil {
		return nil
	}
	return s.object().required
}

// Closed reports whether the top object allows no other properties than those
// it names.
func (s *Schema) Closed() bool {
	if s == nil {
		return false
	}
	n := s.object()
	return n.additional != nil && n.additional.never && len(n.patterns) == 0
}

// Open reports whether the schema says that the top object takes properties of
// other names; saying nothing is not saying so.
func (s *Schema) Open() bool {
	if s == nil {
		return true
	}
	n := s.object()
	return len(n.patterns) > 0 || (n.additional != nil && !n.additional.never)
}

// object is the schema of the top object, behind references.
func (s *Schema) object() *node {
	n := s.root
	for range maxDepth {
		if n.ref == nil || len(n.props) > 0 {
			break
		}
		n = n.ref
	}
	return n
}

// Defaults gives the properties that object lacks and the schema has defaults
// for. The values are the schema's own: read them only.
func (s *Schema) Defaults(object map[string]any) map[string]any {
	if s == nil {
		return nil
	}
	var out map[string]any
	n := s.object()
	for _, name := range n.names {
		p := n.props[name]
		for range maxDepth {
			if p.preset != nil || p.ref == nil {
				break
			}
			p = p.ref
		}
		if p.preset == nil {
			continue
		}
		if _, ok := object[name]; ok {
			continue
		}
		if out == nil {
			out = map[string]any{}
		}
		out[name] = *p.preset
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

// propertyOrder reads the names under the top "properties" as they stand.
func propertyOrder(doc []byte) []string {
	dec := json.NewDecoder(bytes.NewReader(doc))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var skip json.RawMessage
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil
		}
		if key != "properties" {
			if dec.Decode(&skip) != nil {
				return nil
			}
			continue
		}
		if t, err := dec.Token(); err != nil || t != json.Delim('{') {
			return nil
		}
		var names []string
		for dec.More() {
			name, err := dec.Token()
			if err != nil || dec.Decode(&skip) != nil {
				return nil
			}
			if s, ok := name.(string); ok && !slices.Contains(names, s) {
				names = append(names, s)
			}
			if len(names) > 1000 {
				break
			}
		}
		return names
	}
	return nil
}
