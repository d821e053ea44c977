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
	"regexp"
	"slices"
	"strings"

	"github.com/wexec/wexec/internal/text"
)

// Bounds of a schema.
const (
	MaxSize  = 1 << 20 // bytes
	MaxNodes = 20_000  // schemas in a schema
	MaxDepth = 100     // nesting

	maxPattern  = 4096
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

	Minimum, Maximum                   *float64
	ExclusiveMinimum, ExclusiveMaximum *float64
	MultipleOf                         *float64

	MinLength, MaxLength *float64
	Pattern              *regexp.Regexp
	PatternText          string // set even if Pattern cannot be compiled
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
// be compiled.
type PatternSchema struct {
	Pattern *regexp.Regexp
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

// Parse reads a schema. With [ErrTooBig] it returns the document too: what lies
// beyond the bounds allows every value.
func Parse(doc []byte) (*Document, error) {
	if len(doc) > MaxSize {
		return nil, fmt.Errorf("the schema has %d bytes, more than %d", len(doc), MaxSize)
	}
	var root any
	if err := json.Unmarshal(doc, &root); err != nil {
		return nil, fmt.Errorf("invalid JSON: %w", err)
	}
	p := &parser{root: root, at: map[string]*Schema{}, anchors: map[string]string{}}
	d := &Document{}
	if top, ok := root.(map[string]any); ok {
		d.Draft, _ = top["$schema"].(string)
		p.base, _ = top["$id"].(string)
	}
	p.findAnchors(root, "", 0)
	d.Root = p.parse(root, "", 0)
	d.Warnings = p.warnings
	if p.tooBig {
		return d, ErrTooBig
	}
	return d, nil
}

type parser struct {
	root     any
	base     string             // $id
	at       map[string]*Schema // by JSON pointer
	anchors  map[string]string  // JSON pointers by anchor
	warnings []string
	tooBig   bool
}

func (p *parser) warn(format string, args ...any) {
	if w := fmt.Sprintf(format, args...); len(p.warnings) < maxWarnings && !slices.Contains(p.warnings, w) {
		p.warnings = append(p.warnings, w)
	}
}

// parse reads the schema at a JSON pointer.
func (p *parser) parse(v any, at string, depth int) *Schema {
	if s, ok := p.at[at]; ok {
		return s
	}
	s := &Schema{}
	if len(p.at) >= MaxNodes || depth > MaxDepth {
		p.tooBig = true
		return s
	}
	p.at[at] = s
	switch v := v.(type) {
	case bool:
		s.Never = !v
	case map[string]any:
		p.fill(s, fields{p, v, at, depth})
	default:
		p.warn("%s is not a schema and is not checked", place(at))
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
	if m := f.number("multipleOf"); m != nil && *m > 0 {
		s.MultipleOf = m
	}
	s.MinLength, s.MaxLength = f.number("minLength"), f.number("maxLength")
	s.PatternText = f.text("pattern")
	if _, ok := f.m["pattern"].(string); ok {
		s.Pattern = p.regexp(s.PatternText, f.at)
	}

	s.Properties = f.schemas("properties")
	s.Names = slices.Sorted(maps.Keys(s.Properties))
	s.Additional = f.schema("additionalProperties")
	for expr, sub := range f.schemas("patternProperties") {
		pattern := p.regexp(expr, f.at)
		if pattern == nil {
			s.Additional = nil // unknown, because the pattern may allow a property
		}
		s.Patterns = append(s.Patterns, PatternSchema{pattern, sub})
	}
	s.PropertyNames = f.schema("propertyNames")
	s.Required = texts(f.m["required"])
	s.MinProperties, s.MaxProperties = f.number("minProperties"), f.number("maxProperties")
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
	s.MinContains, s.MaxContains = f.number("minContains"), f.number("maxContains")
	s.MinItems, s.MaxItems = f.number("minItems"), f.number("maxItems")
	s.Unique = f.bool("uniqueItems")

	s.AllOf, s.AnyOf, s.OneOf = f.list("allOf"), f.list("anyOf"), f.list("oneOf")
	s.Not, s.If = f.schema("not"), f.schema("if")
	if s.If != nil {
		s.Then, s.Else = f.schema("then"), f.schema("else")
	}
	for _, key := range []string{"unevaluatedProperties", "unevaluatedItems"} {
		if _, ok := f.m[key]; ok {
			p.warn("%s at %s is not checked", key, place(f.at))
		}
	}
}

func (p *parser) types(names []string, at string) Types {
	var out Types
	for _, name := range names {
		i := slices.Index(TypeNames[:], name)
		if i < 0 {
			p.warn("type %q at %s is not known and not checked", text.ClipRunes(name, maxShown), place(at))
			return 0
		}
		out |= 1 << i
	}
	if out&Number != 0 {
		out |= Integer
	}
	return out
}

// regexp compiles a pattern, or returns nil with a warning. ECMAScript has
// constructs that cannot be matched in linear time.
func (p *parser) regexp(expr, at string) *regexp.Regexp {
	if len(expr) > maxPattern {
		p.warn("the pattern at %s is too long and is not checked", place(at))
		return nil
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		p.warn("the pattern at %s is not supported and is not checked", place(at))
		return nil
	}
	return re
}

// fields reads the members of one schema.
type fields struct {
	p     *parser
	m     map[string]any
	at    string
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

func (f fields) number(key string) *float64 {
	if n, ok := f.m[key].(float64); ok {
		return &n
	}
	return nil
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
	return f.p.parse(v, f.at+"/"+key, f.depth+1)
}

func (f fields) list(key string) []*Schema {
	items, ok := f.m[key].([]any)
	if !ok {
		return nil
	}
	out := make([]*Schema, len(items))
	for i, v := range items {
		out[i] = f.p.parse(v, fmt.Sprintf("%s/%s/%d", f.at, key, i), f.depth+1)
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
	out := make(map[string]*Schema, len(m))
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if _, list := m[name].([]any); !list {
			out[name] = f.p.parse(m[name], f.at+"/"+key+"/"+escape.Replace(name), f.depth+1)
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

func place(at string) string {
	if at == "" {
		return "the top"
	}
	return text.ClipRunes(at, maxShown)
}

var (
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
)
