// Package jsonschema reads JSON Schemas into a tree. Use it to check values
// against a schema or to describe the values that it allows.
//
// It reads draft-04 to 2020-12 alike: what earlier drafts write differently has
// one form in the tree. References are resolved within the document, so the
// tree may have cycles; a reader that follows [Schema.Ref] must bound its
// steps.
//
// A schema may be hostile. Reading takes bounded time and memory, follows no
// reference out of the document, and reports what it cannot use in
// [Document.Warnings]. Such a part allows every value.
package jsonschema

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/wexec/wexec/internal/jsonnum"
	"github.com/wexec/wexec/internal/text"
)

// Bounds of a schema.
const (
	MaxSize  = 1 << 20 // bytes
	MaxNodes = 20_000  // schemas in a schema
	MaxDepth = 100     // nesting

	maxWarnings = 20
)

// ErrTooBig is returned for a schema that exceeds MaxNodes or MaxDepth.
var ErrTooBig = errors.New("the schema is nested too deeply or has too many parts")

// Document is a schema that was read. It must not be modified.
type Document struct {
	Root     *Schema
	Draft    string   // the value of $schema
	Warnings []string // what could not be used, and where
}

// Schema is one schema in a document. A zero field does not restrict.
type Schema struct {
	Never   bool    // the schema false: no value is allowed
	Ref     *Schema // the target of RefText; nil if it is not in the document
	RefText string  // the value of $ref

	Types     Types    // 0: any, or a type that is not known
	TypeNames []string // the value of type, as written
	Enum      []any
	Const     *any
	Default   *any

	Minimum, Maximum                   any // numbers of package jsonnum, or nil
	ExclusiveMinimum, ExclusiveMaximum any
	MultipleOf                         any

	MinLength, MaxLength *float64
	Pattern              *Pattern // of Compile
	PatternText          string
	Format               string

	Properties                   map[string]*Schema
	Names                        []string // the keys of Properties, sorted
	Patterns                     []PatternSchema
	Additional                   *Schema // additionalProperties
	PropertyNames                *Schema
	Required                     []string
	MinProperties, MaxProperties *float64
	DependentSchemas             map[string]*Schema
	DependentRequired            map[string][]string

	Prefix                   []*Schema // prefixItems, or the list of items
	Items                    *Schema   // items after Prefix
	Contains                 *Schema
	MinContains, MaxContains *float64
	MinItems, MaxItems       *float64
	Unique                   bool

	AllOf, AnyOf, OneOf []*Schema
	Not                 *Schema
	If, Then, Else      *Schema

	Description string
	Nullable    bool // of OpenAPI
}

// PatternSchema is an entry of patternProperties. Pattern is nil if it cannot
// be compiled, or was not.
type PatternSchema struct {
	Pattern *Pattern
	Schema  *Schema
}

// Target returns s, or the schema that it refers to through any number of
// references. It returns nil if a reference leads nowhere or in a circle.
func (s *Schema) Target() *Schema {
	for range MaxDepth {
		if s == nil || s.RefText == "" {
			return s
		}
		s = s.Ref
	}
	return nil
}

// Types is a set of JSON types.
type Types uint8

// The types. A Number includes the integers.
const (
	Null Types = 1 << iota
	Boolean
	Integer
	Number
	String
	Array
	Object
)

// TypeNames are the names of the types, in the order of their bits.
var TypeNames = [...]string{"null", "boolean", "integer", "number", "string", "array", "object"}

// Parse reads a schema to describe what it allows. With [ErrTooBig] it returns
// the document too: what lies beyond the bounds allows every value.
func Parse(doc []byte) (*Document, error) { return read(doc, nil) }

// Compile reads a schema to check values: Parse with the patterns.
func Compile(doc []byte) (*Document, error) { return read(doc, &patterns{left: maxPatterns}) }

func read(doc []byte, re *patterns) (*Document, error) {
	if len(doc) > MaxSize {
		return nil, fmt.Errorf("the schema has %d bytes, more than %d", len(doc), MaxSize)
	}
	root, err := jsonnum.Decode(doc)
	if err != nil {
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	p := &parser{patterns: re, root: root, schemas: map[uintptr]*Schema{}, anchors: map[string]place{}}
	d := &Document{}
	if top, ok := root.(map[string]any); ok {
		d.Draft, _ = top["$schema"].(string)
		p.base, _ = top["$id"].(string)
	}
	p.findAnchors(root, nil, 0)
	d.Root = p.parse(root, nil, 0)
	d.Warnings = p.warnings
	if p.tooBig {
		return d, ErrTooBig
	}
	return d, nil
}

type parser struct {
	patterns *patterns // nil: not compiled
	root     any
	base     string              // $id
	schemas  map[uintptr]*Schema // by the address of the object
	nodes    int
	anchors  map[string]place
	warnings []string
	tooBig   bool
}

// place is a value in the document.
type place struct {
	value any
	at    *pointer
}

func (p *parser) warn(format string, args ...any) {
	if len(p.warnings) >= maxWarnings {
		return
	}
	if w := fmt.Sprintf(format, args...); !slices.Contains(p.warnings, w) {
		p.warnings = append(p.warnings, w)
	}
}

// parse reads the schema at a JSON pointer, once.
func (p *parser) parse(v any, at *pointer, depth int) *Schema {
	object, isObject := v.(map[string]any)
	var address uintptr
	if isObject {
		address = reflect.ValueOf(object).Pointer()
		if s, ok := p.schemas[address]; ok {
			return s
		}
	}
	s := &Schema{}
	if p.nodes >= MaxNodes || depth > MaxDepth {
		p.tooBig = true
		return s
	}
	p.nodes++
	switch v := v.(type) {
	case bool:
		s.Never = !v
	case map[string]any:
		p.schemas[address] = s
		p.fill(s, fields{p, v, at, depth})
	default:
		p.warn("%s is not a schema and is not checked", at)
	}
	return s
}

func (p *parser) fill(s *Schema, f fields) {
	s.RefText = f.text("$ref")
	if ref := s.RefText; ref != "" {
		s.Ref = p.refer(ref, f.at, f.depth)
	} else if ref := f.text("$dynamicRef"); ref != "" {
		s.Ref = p.refer(ref, f.at, f.depth)
	}
	s.Description, s.Format = f.text("description"), f.text("format")
	s.Nullable = f.bool("nullable")
	s.TypeNames = texts(f.m["type"])
	if name := f.text("type"); name != "" {
		s.TypeNames = []string{name}
	}
	s.Types = p.types(s.TypeNames, f.at)
	s.Enum, _ = f.m["enum"].([]any)
	s.Const, s.Default = f.value("const"), f.value("default")

	s.Minimum, s.Maximum = f.number("minimum"), f.number("maximum")
	s.ExclusiveMinimum, s.ExclusiveMaximum = f.number("exclusiveMinimum"), f.number("exclusiveMaximum")
	if f.bool("exclusiveMinimum") { // draft-04
		s.ExclusiveMinimum, s.Minimum = s.Minimum, nil
	}
	if f.bool("exclusiveMaximum") {
		s.ExclusiveMaximum, s.Maximum = s.Maximum, nil
	}
	if m := f.number("multipleOf"); m != nil && jsonnum.Compare(m, 0.0) > 0 {
		s.MultipleOf = m
	}
	s.MinLength, s.MaxLength = f.count("minLength"), f.count("maxLength")
	s.PatternText = f.text("pattern")
	if _, ok := f.m["pattern"].(string); ok {
		s.Pattern = p.pattern(s.PatternText, f.at)
	}

	s.Properties = f.schemas("properties")
	s.Names = slices.Sorted(maps.Keys(s.Properties))
	s.Additional = f.schema("additionalProperties")
	byPattern := f.schemas("patternProperties")
	for _, expr := range slices.Sorted(maps.Keys(byPattern)) {
		pattern := p.pattern(expr, f.at)
		if pattern == nil {
			s.Additional = nil // unknown, because the pattern may allow a property
		}
		s.Patterns = append(s.Patterns, PatternSchema{pattern, byPattern[expr]})
	}
	s.PropertyNames = f.schema("propertyNames")
	s.Required = texts(f.m["required"])
	s.MinProperties, s.MaxProperties = f.count("minProperties"), f.count("maxProperties")
	s.DependentSchemas = f.schemas("dependentSchemas")
	for name, sub := range f.schemas("dependencies") { // until draft-07
		if s.DependentSchemas == nil {
			s.DependentSchemas = map[string]*Schema{}
		}
		s.DependentSchemas[name] = sub
	}
	for _, key := range []string{"dependentRequired", "dependencies"} {
		names, _ := f.m[key].(map[string]any)
		for name, required := range names {
			if list := texts(required); len(list) > 0 {
				if s.DependentRequired == nil {
					s.DependentRequired = map[string][]string{}
				}
				s.DependentRequired[name] = list
			}
		}
	}

	s.Prefix, s.Items = f.list("prefixItems"), nil
	if _, tuple := f.m["items"].([]any); tuple { // until draft-07
		s.Prefix, s.Items = f.list("items"), f.schema("additionalItems")
	} else {
		s.Items = f.schema("items")
	}
	s.Contains = f.schema("contains")
	s.MinContains, s.MaxContains = f.count("minContains"), f.count("maxContains")
	s.MinItems, s.MaxItems = f.count("minItems"), f.count("maxItems")
	s.Unique = f.bool("uniqueItems")

	s.AllOf, s.AnyOf, s.OneOf = f.list("allOf"), f.list("anyOf"), f.list("oneOf")
	s.Not, s.If = f.schema("not"), f.schema("if")
	if s.If != nil {
		s.Then, s.Else = f.schema("then"), f.schema("else")
	}
	for _, key := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		if _, ok := f.m[key]; ok {
			p.warn("%s at %s is not checked", key, f.at)
		}
	}
}

func (p *parser) types(names []string, at *pointer) Types {
	var out Types
	for _, name := range names {
		i := slices.Index(TypeNames[:], name)
		if i < 0 {
			p.warn("type %q at %s is not known and not checked", text.ClipRunes(name, maxShown), at)
			return 0
		}
		out |= 1 << i
	}
	if out&Number != 0 {
		out |= Integer
	}
	return out
}

// pattern compiles a pattern, or returns nil with a warning.
func (p *parser) pattern(expr string, at *pointer) *Pattern {
	if p.patterns == nil {
		return nil
	}
	compiled, problem := p.patterns.compile(expr)
	if compiled == nil {
		p.warn("the pattern at %s %s and is not checked", at, problem)
	}
	return compiled
}

// fields reads the members of one schema.
type fields struct {
	p     *parser
	m     map[string]any
	at    *pointer
	depth int
}

func (f fields) text(key string) string {
	s, _ := f.m[key].(string)
	return s
}

func (f fields) bool(key string) bool {
	b, _ := f.m[key].(bool)
	return b
}

// number returns a number of package jsonnum, or nil.
func (f fields) number(key string) any {
	switch n := f.m[key].(type) {
	case float64, json.Number:
		return n
	}
	return nil
}

func (f fields) count(key string) *float64 {
	n := f.number(key)
	if n == nil {
		return nil
	}
	count := jsonnum.Float(n)
	return &count
}

func (f fields) value(key string) *any {
	if v, ok := f.m[key]; ok {
		return &v
	}
	return nil
}

func (f fields) schema(key string) *Schema {
	v, ok := f.m[key]
	if !ok {
		return nil
	}
	return f.p.parse(v, &pointer{f.at, key}, f.depth+1)
}

func (f fields) list(key string) []*Schema {
	items, ok := f.m[key].([]any)
	if !ok {
		return nil
	}
	out, at := make([]*Schema, len(items)), &pointer{f.at, key}
	for i, v := range items {
		out[i] = f.p.parse(v, &pointer{at, strconv.Itoa(i)}, f.depth+1)
	}
	return out
}

// schemas reads an object of schemas. The values of dependencies may also be
// lists of names, which it skips.
func (f fields) schemas(key string) map[string]*Schema {
	m, ok := f.m[key].(map[string]any)
	if !ok {
		return nil
	}
	out, at := make(map[string]*Schema, len(m)), &pointer{f.at, key}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, list := m[name].([]any); !list {
			out[name] = f.p.parse(m[name], &pointer{at, name}, f.depth+1)
		}
	}
	return out
}

func texts(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, e := range list {
		if s, ok := e.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

const maxShown = 80 // runes of a schema in a warning
