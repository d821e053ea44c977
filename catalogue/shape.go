package catalogue

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is what a schema describes, as far as types in code can say it.
type kind uint8

const (
	anything kind = iota
	nothing       // no value fits
	null
	boolean
	integer
	number
	text
	literal  // one JSON value: shape.value
	array    // shape.items
	tuple    // shape.parts, then shape.items where more may follow
	object   // shape.fields, and shape.items for further keys
	union    // shape.parts
	named    // shape.name, defined in shapes.defs
	combined // all of shape.parts at once
)

// shape is a schema reduced to a type.
type shape struct {
	kind   kind
	value  string // a literal's JSON
	name   string
	parts  []*shape
	items  *shape
	fields []property
	note   string // format, bounds, pattern: what the type cannot say
}

// property is one key of an object.
type property struct {
	name     string
	shape    *shape
	doc      string
	required bool
	fallback string // JSON of the default
}

// shapes is a reader of one schema document: references become named shapes.
type shapes struct {
	root  any
	defs  map[string]*shape // by name
	names map[string]string // reference to name
	nodes int
}

// Bounds that keep a hostile schema from making an endless type.
const (
	maxShapeDepth = 24
	maxShapeNodes = 4000
	maxLiterals   = 60
)

// readShape reads a schema. What is no schema becomes anything.
func readShape(schema json.RawMessage) (*shape, map[string]*shape) {
	var root any
	if len(schema) == 0 || json.Unmarshal(schema, &root) != nil {
		return &shape{kind: anything}, nil
	}
	r := &shapes{root: root, defs: map[string]*shape{}, names: map[string]string{}}
	return r.read(root, 0), r.defs
}

func (r *shapes) read(v any, depth int) *shape {
	r.nodes++
	if depth > maxShapeDepth || r.nodes > maxShapeNodes {
		return &shape{kind: anything}
	}
	switch v := v.(type) {
	case bool:
		if !v {
			return &shape{kind: nothing}
		}
	case map[string]any:
		return r.readObject(v, depth)
	}
	return &shape{kind: anything}
}

func (r *shapes) readObject(m map[string]any, depth int) *shape {
	if ref, ok := m["$ref"].(string); ok {
		return r.reference(ref, depth)
	}
	s := r.readPlain(m, depth)
	if nullable, _ := m["nullable"].(bool); nullable {
		s = &shape{kind: union, parts: []*shape{s, {kind: null}}}
	}
	return s
}

func (r *shapes) readPlain(m map[string]any, depth int) *shape {
	if c, ok := m["const"]; ok {
		return literalOf(c)
	}
	if enum, ok := m["enum"].([]any); ok && len(enum) > 0 {
		if len(enum) > maxLiterals {
			enum = append(slices.Clone(enum[:maxLiterals]), nil)
			s := r.plainTypes(m, depth)
			s.note = "one of " + strconv.Itoa(len(enum)) + " values"
			return s
		}
		u := &shape{kind: union}
		for _, e := range enum {
			u.parts = append(u.parts, literalOf(e))
		}
		return simplify(u)
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if list, ok := m[key].([]any); ok && len(list) > 0 {
			u := &shape{kind: union}
			for _, e := range list {
				u.parts = append(u.parts, r.read(e, depth+1))
			}
			if _, has := m["properties"]; has {
				return simplify(&shape{kind: combined, parts: []*shape{r.plainTypes(m, depth), simplify(u)}})
			}
			return simplify(u)
		}
	}
	if list, ok := m["allOf"].([]any); ok && len(list) > 0 {
		c := &shape{kind: combined}
		for _, e := range list {
			c.parts = append(c.parts, r.read(e, depth+1))
		}
		if _, has := m["properties"]; has {
			c.parts = append(c.parts, r.plainTypes(m, depth))
		}
		return simplify(c)
	}
	return r.plainTypes(m, depth)
}

// plainTypes follows the keyword "type", or what the other keywords imply.
func (r *shapes) plainTypes(m map[string]any, depth int) *shape {
	switch t := m["type"].(type) {
	case string:
		return r.ofType(t, m, depth)
	case []any:
		u := &shape{kind: union}
		for _, e := range t {
			if name, ok := e.(string); ok {
				u.parts = append(u.parts, r.ofType(name, m, depth))
			}
		}
		return simplify(u)
	}
	switch {
	case m["properties"] != nil || m["additionalProperties"] != nil || m["required"] != nil:
		return r.ofType("object", m, depth)
	case m["items"] != nil || m["prefixItems"] != nil:
		return r.ofType("array", m, depth)
	}
	return &shape{kind: anything}
}

func (r *shapes) ofType(t string, m map[string]any, depth int) *shape {
	switch t {
	case "null":
		return &shape{kind: null}
	case "boolean":
		return &shape{kind: boolean}
	case "integer":
		return &shape{kind: integer, note: bounds(m)}
	case "number":
		return &shape{kind: number, note: bounds(m)}
	case "string":
		return &shape{kind: text, note: textNote(m)}
	case "array":
		return r.readArray(m, depth)
	case "object":
		return r.readFields(m, depth)
	}
	return &shape{kind: anything}
}

func (r *shapes) readArray(m map[string]any, depth int) *shape {
	fixed, ok := m["prefixItems"].([]any)
	rest, hasRest := m["items"]
	if list, old := m["items"].([]any); !ok && old { // draft 7
		fixed, ok = list, true
		rest, hasRest = m["additionalItems"]
	}
	if !ok || len(fixed) > 32 {
		s := &shape{kind: array, items: &shape{kind: anything}}
		if hasRest && !ok {
			s.items = r.read(rest, depth+1)
		}
		return s
	}
	s := &shape{kind: tuple}
	for _, e := range fixed {
		s.parts = append(s.parts, r.read(e, depth+1))
	}
	if closed, is := rest.(bool); !hasRest || !is || closed {
		s.items = &shape{kind: anything}
		if hasRest {
			s.items = r.read(rest, depth+1)
		}
	}
	return s
}

func (r *shapes) readFields(m map[string]any, depth int) *shape {
	s := &shape{kind: object}
	props, _ := m["properties"].(map[string]any)
	required := map[string]bool{}
	var order []string
	if list, ok := m["required"].([]any); ok {
		for _, e := range list {
			if name, ok := e.(string); ok && !required[name] {
				required[name] = true
				if _, has := props[name]; has {
					order = append(order, name)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(props)) {
		if !required[name] {
			order = append(order, name)
		}
	}
	for _, name := range order {
		p := property{name: name, shape: r.read(props[name], depth+1), required: required[name]}
		if d, ok := props[name].(map[string]any); ok {
			p.doc, _ = d["description"].(string)
			if def, ok := d["default"]; ok {
				if b, err := json.Marshal(def); err == nil && len(b) <= 80 {
					p.fallback = string(b)
				}
			}
		}
		s.fields = append(s.fields, p)
	}
	switch more := m["additionalProperties"].(type) {
	case bool:
		if more {
			s.items = &shape{kind: anything}
		}
	case map[string]any:
		s.items = r.read(more, depth+1)
	default:
		if len(s.fields) == 0 {
			s.items = &shape{kind: anything}
		}
	}
	if patterns, ok := m["patternProperties"].(map[string]any); ok && s.items == nil && len(patterns) > 0 {
		s.items = &shape{kind: anything}
	}
	return s
}

// reference turns a local $ref into a named shape, read once.
func (r *shapes) reference(ref string, depth int) *shape {
	if name, ok := r.names[ref]; ok {
		return &shape{kind: named, name: name}
	}
	target, ok := r.resolve(ref)
	if !ok || len(r.names) >= 200 {
		return &shape{kind: anything}
	}
	last := ref[strings.LastIndexByte(ref, '/')+1:]
	base := pascal(last)
	if base == "" || ref == "#" {
		base = "Self"
	}
	name := base
	for i := 2; r.defs[name] != nil; i++ {
		name = base + strconv.Itoa(i)
	}
	r.names[ref] = name
	placeholder := &shape{kind: anything}
	r.defs[name] = placeholder
	*placeholder = *r.read(target, depth+1)
	if placeholder.kind == named && placeholder.name == name {
		*placeholder = shape{kind: anything} // a reference to itself and nothing else
	}
	return &shape{kind: named, name: name}
}

// resolve follows a JSON pointer within the document.
func (r *shapes) resolve(ref string) (any, bool) {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	at := r.root
	for _, part := range strings.Split(pointer, "/")[1:] {
		part = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
		switch v := at.(type) {
		case map[string]any:
			if at, ok = v[part]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(part)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			at = v[i]
		default:
			return nil, false
		}
	}
	return at, true
}

func literalOf(v any) *shape {
	if v == nil {
		return &shape{kind: null}
	}
	switch v.(type) {
	case map[string]any, []any:
		return &shape{kind: anything}
	}
	b, err := json.Marshal(v)
	if err != nil || len(b) > 200 {
		return &shape{kind: text}
	}
	return &shape{kind: literal, value: string(b)}
}

// simplify flattens unions and combinations, drops doubles, and lets a part
// that allows anything stand for all.
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
		case null, boolean, integer, number, text:
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

func bounds(m map[string]any) string {
	var out []string
	for _, b := range []struct{ key, op string }{{"minimum", "≥"}, {"exclusiveMinimum", ">"}, {"maximum", "≤"}, {"exclusiveMaximum", "<"}} {
		if f, ok := m[b.key].(float64); ok {
			out = append(out, b.op+" "+strconv.FormatFloat(f, 'g', -1, 64))
		}
	}
	return strings.Join(out, ", ")
}

func textNote(m map[string]any) string {
	if f, ok := m["format"].(string); ok && len(f) <= 40 {
		return oneLine(f)
	}
	if p, ok := m["pattern"].(string); ok && len(p) <= 60 {
		return "matches " + oneLine(p)
	}
	return ""
}

// pascal is a name of a type: the words of a name, each capitalised.
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

// oneLine makes a foreign text fit for a comment: one line, no end of comment,
// no control characters, of which Python's parser refuses NUL.
func oneLine(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	return strings.ReplaceAll(strings.ReplaceAll(s, "*/", "* /"), `"""`, `'''`)
}
