package catalogue

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/internal/jsonschema"
)

// kind is the kind of a type in code.
type kind uint8

const (
	anything kind = iota
	nothing       // no value is allowed
	null
	boolean
	integer
	number
	str
	literal      // one JSON value: shape.value
	array        // shape.items
	tuple        // shape.parts, then shape.items if it is set
	object       // shape.fields, and shape.items for other keys
	union        // shape.parts
	named        // shape.name, a definition
	intersection // shape.parts
)

// shape is a schema reduced to a type.
type shape struct {
	kind   kind
	value  string // a literal's JSON
	name   string
	parts  []*shape
	items  *shape
	fields []property
	note   string // format, bounds or pattern, which types in code lack
}

// property is a key of an object.
type property struct {
	name     string
	shape    *shape
	doc      string
	required bool
	fallback string // JSON of the default
}

// shapeReader reduces a schema to shapes. References become named shapes.
type shapeReader struct {
	defs  map[string]*shape             // by name
	names map[*jsonschema.Schema]string // of the targets of references
	nodes int
}

// Bounds of a type that is made from a hostile schema.
const (
	maxShapeDepth = 24
	maxShapeNodes = 4000
	maxLiterals   = 60
	maxNamed      = 200
)

// readShape returns the shape of a schema and those that it refers to, by name.
// A document that is not a schema allows anything.
func readShape(schema json.RawMessage) (*shape, map[string]*shape) {
	doc, _ := jsonschema.Parse(schema)
	if doc == nil {
		return &shape{kind: anything}, nil
	}
	r := &shapeReader{defs: map[string]*shape{}, names: map[*jsonschema.Schema]string{}}
	return r.read(doc.Root, 0), r.defs
}

func (r *shapeReader) read(n *jsonschema.Schema, depth int) *shape {
	r.nodes++
	switch {
	case depth > maxShapeDepth || r.nodes > maxShapeNodes:
		return &shape{kind: anything}
	case n.Never:
		return &shape{kind: nothing}
	case n.RefText != "":
		return r.reference(n, depth)
	}
	s := r.readPlain(n, depth)
	if n.Nullable {
		s = &shape{kind: union, parts: []*shape{s, {kind: null}}}
	}
	return s
}

func (r *shapeReader) readPlain(n *jsonschema.Schema, depth int) *shape {
	if n.Const != nil {
		return literalOf(*n.Const)
	}
	if len(n.Enum) > maxLiterals {
		s := r.ofTypes(n, depth)
		s.note = "one of " + strconv.Itoa(len(n.Enum)) + " values"
		return s
	}
	if len(n.Enum) > 0 {
		u := &shape{kind: union}
		for _, v := range n.Enum {
			u.parts = append(u.parts, literalOf(v))
		}
		return simplify(u)
	}
	list := n.AnyOf
	if len(list) == 0 {
		list = n.OneOf
	}
	if len(list) > 0 {
		u := simplify(r.all(union, list, depth))
		if n.Properties != nil {
			return simplify(&shape{kind: intersection, parts: []*shape{r.ofTypes(n, depth), u}})
		}
		return u
	}
	if len(n.AllOf) > 0 {
		c := r.all(intersection, n.AllOf, depth)
		if n.Properties != nil {
			c.parts = append(c.parts, r.ofTypes(n, depth))
		}
		return simplify(c)
	}
	return r.ofTypes(n, depth)
}

// all reads a list of schemas into one shape.
func (r *shapeReader) all(k kind, list []*jsonschema.Schema, depth int) *shape {
	s := &shape{kind: k}
	for _, n := range list {
		s.parts = append(s.parts, r.read(n, depth+1))
	}
	return s
}

// ofTypes follows the keyword "type", or what the other keywords imply.
func (r *shapeReader) ofTypes(n *jsonschema.Schema, depth int) *shape {
	switch {
	case len(n.TypeNames) == 1:
		return r.ofType(n.TypeNames[0], n, depth)
	case len(n.TypeNames) > 1:
		u := &shape{kind: union}
		for _, name := range n.TypeNames {
			u.parts = append(u.parts, r.ofType(name, n, depth))
		}
		return simplify(u)
	case n.Properties != nil || n.Additional != nil || n.Required != nil:
		return r.readObject(n, depth)
	case n.Items != nil || n.Prefix != nil:
		return r.readArray(n, depth)
	}
	return &shape{kind: anything}
}

func (r *shapeReader) ofType(name string, n *jsonschema.Schema, depth int) *shape {
	switch name {
	case "null":
		return &shape{kind: null}
	case "boolean":
		return &shape{kind: boolean}
	case "integer":
		return &shape{kind: integer, note: bounds(n)}
	case "number":
		return &shape{kind: number, note: bounds(n)}
	case "string":
		return &shape{kind: str, note: textNote(n)}
	case "array":
		return r.readArray(n, depth)
	case "object":
		return r.readObject(n, depth)
	}
	return &shape{kind: anything}
}

func (r *shapeReader) readArray(n *jsonschema.Schema, depth int) *shape {
	rest := &shape{kind: anything}
	if n.Items != nil {
		rest = r.read(n.Items, depth+1)
	}
	if n.Prefix == nil {
		return &shape{kind: array, items: rest}
	}
	if len(n.Prefix) > 32 {
		return &shape{kind: array, items: &shape{kind: anything}}
	}
	s := r.all(tuple, n.Prefix, depth)
	if rest.kind != nothing {
		s.items = rest
	}
	return s
}

func (r *shapeReader) readObject(n *jsonschema.Schema, depth int) *shape {
	s := &shape{kind: object}
	seen := map[string]bool{}
	for i, name := range slices.Concat(n.Required, n.Names) {
		of := n.Properties[name]
		if of == nil || seen[name] {
			continue
		}
		seen[name] = true
		p := property{name: name, shape: r.read(of, depth+1), required: i < len(n.Required), doc: of.Description}
		if of.Default != nil {
			if b, err := json.Marshal(*of.Default); err == nil && len(b) <= 80 {
				p.fallback = string(b)
			}
		}
		s.fields = append(s.fields, p)
	}
	switch {
	case n.Additional != nil && !n.Additional.Never:
		s.items = r.read(n.Additional, depth+1)
	case n.Additional == nil && len(s.fields) == 0, len(n.Patterns) > 0:
		s.items = &shape{kind: anything}
	}
	return s
}

// reference returns a named shape for the target of a reference, which it reads
// once.
func (r *shapeReader) reference(n *jsonschema.Schema, depth int) *shape {
	if name, ok := r.names[n.Ref]; ok {
		return &shape{kind: named, name: name}
	}
	if n.Ref == nil || len(r.names) >= maxNamed {
		return &shape{kind: anything}
	}
	base := pascal(n.RefText[strings.LastIndexByte(n.RefText, '/')+1:])
	if base == "" || n.RefText == "#" {
		base = "Self"
	}
	name := base
	for i := 2; r.defs[name] != nil; i++ {
		name = base + strconv.Itoa(i)
	}
	r.names[n.Ref] = name
	def := &shape{kind: anything}
	r.defs[name] = def
	*def = *r.read(n.Ref, depth+1)
	if def.kind == named && def.name == name {
		*def = shape{kind: anything} // a reference to itself and nothing else
	}
	return &shape{kind: named, name: name}
}

func literalOf(v any) *shape {
	switch v.(type) {
	case nil:
		return &shape{kind: null}
	case map[string]any, []any:
		return &shape{kind: anything}
	}
	b, err := json.Marshal(v)
	if err != nil || len(b) > 200 {
		return &shape{kind: str}
	}
	return &shape{kind: literal, value: string(b)}
}

// simplify flattens unions and intersections and removes duplicates. A union with
// a part that allows anything becomes that part.
func simplify(s *shape) *shape {
	var parts []*shape
	seen := map[string]bool{}
	for _, p := range s.parts {
		if p.kind == s.kind {
			parts = append(parts, p.parts...)
			continue
		}
		if p.kind == anything {
			if s.kind == union {
				return p
			}
			continue
		}
		if p.kind == nothing && s.kind == union {
			continue
		}
		parts = append(parts, p)
	}
	s.parts = s.parts[:0:0]
	for _, p := range parts {
		key := ""
		switch p.kind {
		case null, boolean, integer, number, str:
			key = strconv.Itoa(int(p.kind))
		case literal:
			key = "=" + p.value
		case named:
			key = "@" + p.name
		}
		if key != "" && seen[key] {
			continue
		}
		seen[key] = true
		s.parts = append(s.parts, p)
	}
	switch len(s.parts) {
	case 0:
		return &shape{kind: anything}
	case 1:
		return s.parts[0]
	}
	return s
}

func bounds(n *jsonschema.Schema) string {
	var out []string
	for _, b := range []struct {
		value any
		op    string
	}{{n.Minimum, "≥"}, {n.ExclusiveMinimum, ">"}, {n.Maximum, "≤"}, {n.ExclusiveMaximum, "<"}} {
		switch n := b.value.(type) {
		case float64:
			out = append(out, b.op+" "+strconv.FormatFloat(n, 'g', -1, 64))
		case json.Number:
			out = append(out, b.op+" "+string(n))
		}
	}
	return strings.Join(out, ", ")
}

func textNote(n *jsonschema.Schema) string {
	switch {
	case n.Format != "" && len(n.Format) <= 40:
		return oneLine(n.Format)
	case n.PatternText != "" && len(n.PatternText) <= 60:
		return "matches " + oneLine(n.PatternText)
	}
	return ""
}

// pascal returns the name of a type: the words of a name, capitalized.
func pascal(name string) string {
	var b strings.Builder
	for _, w := range Words(Identifier(name)) {
		rs := []rune(w)
		b.WriteString(strings.ToUpper(string(rs[:1])))
		b.WriteString(string(rs[1:]))
	}
	out := b.String()
	if first, _ := utf8.DecodeRuneInString(out); out != "" && !opens(first) {
		out = "_" + out
	}
	return out
}
