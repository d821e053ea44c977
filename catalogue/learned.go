package catalogue

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/wexec/wexec/internal/jsonscan"
)

// LearnedType is the type of a tool's answers, learned from the answers: names
// of fields, their types, and which are optional. Use it for tools that declare
// no output schema. It keeps no value and no name that looks like one: an object
// whose names are ids, dates or addresses becomes a map of its values.
//
// The zero value knows nothing. A LearnedType is not safe for concurrent use.
type LearnedType struct {
	root  *learnedNode
	nodes int
	known int // consecutive answers that added nothing
}

// Bounds of a learned type and of the answers that it is learned from.
const (
	maxLearnedNodes  = 2000
	maxLearnedFields = 120
	maxLearnedDepth  = 12
	maxLearnedName   = 48
	leastMapNames    = 20       // names of one object with values of one type: data
	itemsRead        = 40       // of a list
	nodesRead        = 50_000   // of an answer
	bytesRead        = 64 << 10 // of an answer, once the type is settled
	settledAfter     = 8        // answers that add nothing
)

// learnedNode is the union of all values at one place.
type learnedNode struct {
	Types  uint8          `json:"t"`
	Items  *learnedNode   `json:"i,omitempty"` // of lists
	Fields []learnedField `json:"f,omitempty"` // of objects, sorted by name
	Values *learnedNode   `json:"v,omitempty"` // of maps

	partial bool // the object was not read to its end
}

type learnedField struct {
	Name     string       `json:"n"`
	Optional bool         `json:"o,omitempty"`
	Node     *learnedNode `json:"s"`
}

const (
	learnedNull uint8 = 1 << iota
	learnedBool
	learnedInteger
	learnedNumber
	learnedText
	learnedList
	learnedObject

	learnedNumbers = learnedInteger | learnedNumber
)

func (n *learnedNode) find(name string) (int, bool) {
	return slices.BinarySearchFunc(n.Fields, name, func(f learnedField, name string) int { return strings.Compare(f.Name, name) })
}

// Add learns from an answer, a JSON document or as much of it as is valid. It
// reports whether the type changed.
func (l *LearnedType) Add(answer []byte) bool {
	r := answerReader{doc: answer, merger: merger{limit: nodesRead}}
	if l.known >= settledAfter && len(answer) > bytesRead {
		r.doc, r.cut = answer[:bytesRead], true
	}
	r.scan = jsonscan.New(r.doc)
	if !r.next() {
		return l.learned(false)
	}
	return l.learned(l.merge(r.value(0)))
}

// AddText learns from an answer that is text and not JSON. It reports whether
// the type changed.
func (l *LearnedType) AddText() bool { return l.learned(l.merge(&learnedNode{Types: learnedText})) }

func (l *LearnedType) learned(changed bool) bool {
	if changed {
		l.known = 0
	} else if l.known < settledAfter {
		l.known++
	}
	return changed
}

// Merge adds what another LearnedType of the same tool knows.
func (l *LearnedType) Merge(other *LearnedType) { l.merge(other.root) }

func (l *LearnedType) merge(n *learnedNode) (changed bool) {
	if n == nil {
		return false
	}
	if l.root == nil {
		l.root = &learnedNode{}
	}
	m := merger{nodes: l.nodes, limit: maxLearnedNodes}
	m.merge(l.root, n, 0)
	l.nodes = m.nodes
	return m.changed
}

// MarshalJSON implements [json.Marshaler].
func (l *LearnedType) MarshalJSON() ([]byte, error) { return json.Marshal(l.root) }

// UnmarshalJSON implements [json.Unmarshaler]. The text is not trusted: the same
// bounds apply to it as to answers.
func (l *LearnedType) UnmarshalJSON(data []byte) error {
	var root *learnedNode
	if err := json.Unmarshal(data, &root); err != nil {
		return err
	}
	*l = LearnedType{}
	if root != nil {
		l.merge(root)
		l.known = settledAfter
	}
	return nil
}

// merger merges nodes.
type merger struct {
	nodes, limit int
	changed      bool
}

// node returns a new node, or nil if there are too many.
func (m *merger) node() *learnedNode {
	if m.nodes >= m.limit {
		return nil
	}
	m.nodes++
	m.changed = true
	return &learnedNode{}
}

// merge adds to n what other has at the same place.
func (m *merger) merge(n, other *learnedNode, depth int) {
	if other == nil || depth > maxLearnedDepth {
		return
	}
	had := n.Types
	if n.Types |= other.Types & (1<<7 - 1); n.Types != had {
		m.changed = true
	}
	if other.Items != nil {
		if n.Items == nil {
			n.Items = m.node()
		}
		if n.Items != nil {
			m.merge(n.Items, other.Items, depth+1)
		}
	}
	if other.Types&learnedObject != 0 {
		m.mergeObject(n, other, depth, had&learnedObject == 0)
	}
}

// mergeObject merges the names of objects. first reports that n has none yet.
func (m *merger) mergeObject(n, other *learnedNode, depth int, first bool) {
	if other.Values != nil || n.Values != nil {
		if n.Values == nil {
			m.changed = true
			if n.Values = m.node(); n.Values == nil {
				return
			}
			m.toMap(n, depth)
		}
		m.merge(n.Values, other.Values, depth+1)
		for _, f := range other.Fields {
			m.merge(n.Values, f.Node, depth+1)
		}
		return
	}
	if !other.partial {
		for i := range n.Fields {
			f := &n.Fields[i]
			if _, ok := other.find(f.Name); !ok && !f.Optional {
				f.Optional, m.changed = true, true
			}
		}
	}
	for _, f := range other.Fields {
		m.mergeField(n, f, !first || f.Optional, depth)
	}
	if n.isMap() {
		m.changed = true
		m.toMap(n, depth)
	}
}

func (m *merger) mergeField(n *learnedNode, f learnedField, optional bool, depth int) {
	if n.Values != nil || !fieldName(f.Name) || len(n.Fields) >= maxLearnedFields {
		m.toMap(n, depth)
		m.merge(n.Values, f.Node, depth+1)
		return
	}
	at, ok := n.find(f.Name)
	if !ok {
		node := m.node()
		if node == nil {
			return
		}
		n.Fields = slices.Insert(n.Fields, at, learnedField{Name: f.Name, Optional: optional, Node: node})
	} else if f.Optional && !n.Fields[at].Optional {
		n.Fields[at].Optional, m.changed = true, true
	}
	m.merge(n.Fields[at].Node, f.Node, depth+1)
}

// toMap turns an object whose names are data into a map.
func (m *merger) toMap(n *learnedNode, depth int) {
	if n.Values == nil {
		n.Values = &learnedNode{}
	}
	fields := n.Fields
	n.Fields = nil
	for _, f := range fields {
		m.merge(n.Values, f.Node, depth+1)
	}
}

// isMap reports whether an object has many names with values of one type, such
// as counts by person or prices by product.
func (n *learnedNode) isMap() bool {
	if len(n.Fields) < leastMapNames {
		return false
	}
	first := n.Fields[0].Node
	return !slices.ContainsFunc(n.Fields[1:], func(f learnedField) bool { return !alike(f.Node, first) })
}

// alike reports whether two values have the same types and names.
func alike(a, b *learnedNode) bool {
	x, y := a.Types&^learnedNull, b.Types&^learnedNull
	numbers := x != 0 && y != 0 && (x|y)&^learnedNumbers == 0
	return (x == y || numbers) && (a.Values == nil) == (b.Values == nil) &&
		slices.EqualFunc(a.Fields, b.Fields, func(x, y learnedField) bool { return x.Name == y.Name })
}

// answerReader reads an answer into a node.
type answerReader struct {
	merger
	scan jsonscan.Scanner
	doc  []byte
	cut  bool // doc is not the whole answer
	end  bool
}

func (r *answerReader) next() bool {
	// A scalar at the end of an answer that was cut may be incomplete.
	if !r.scan.Next() || r.cut && r.scan.End == len(r.doc) {
		r.end = true
	}
	return !r.end
}

// value reads the value at the current token.
func (r *answerReader) value(depth int) *learnedNode {
	n := &learnedNode{}
	if r.nodes++; depth > maxLearnedDepth || r.nodes > r.limit {
		r.skip()
		return n
	}
	switch r.scan.Kind {
	case jsonscan.Object:
		n.Types = learnedObject
		r.object(n, depth)
	case jsonscan.Array:
		n.Types = learnedList
		r.list(n, depth)
	case jsonscan.String:
		n.Types = learnedText
	case jsonscan.True, jsonscan.False:
		n.Types = learnedBool
	case jsonscan.Null:
		n.Types = learnedNull
	case jsonscan.Number:
		n.Types = learnedInteger
		if bytes.ContainsAny(r.doc[r.scan.Start:r.scan.End], ".eE") {
			n.Types = learnedNumber
		}
	}
	return n
}

// skip moves to the last token of the current value.
func (r *answerReader) skip() {
	for depth := 0; ; {
		switch r.scan.Kind {
		case jsonscan.Object, jsonscan.Array:
			depth++
		case jsonscan.ObjectEnd, jsonscan.ArrayEnd:
			depth--
		}
		if depth == 0 || !r.next() {
			return
		}
	}
}

func (r *answerReader) list(n *learnedNode, depth int) {
	for i := 0; r.next() && r.scan.Kind != jsonscan.ArrayEnd; i++ {
		switch {
		case i >= itemsRead:
			r.skip()
		case i == 0:
			n.Items = r.value(depth + 1)
		default:
			r.merge(n.Items, r.value(depth+1), depth+1)
		}
	}
}

func (r *answerReader) object(n *learnedNode, depth int) {
	for r.next() && r.scan.Kind == jsonscan.Name {
		name := string(r.doc[r.scan.Start:r.scan.End])
		if !r.next() {
			break
		}
		value := r.value(depth + 1)
		if n.Values == nil && (!fieldName(name) || len(n.Fields) >= maxLearnedFields) {
			r.toMap(n, depth)
		}
		if n.Values != nil {
			r.merge(n.Values, value, depth+1)
		} else if at, ok := n.find(name); ok {
			r.merge(n.Fields[at].Node, value, depth+1)
		} else {
			n.Fields = slices.Insert(n.Fields, at, learnedField{Name: name, Node: value})
		}
	}
	n.partial = r.end
}

// fieldName reports whether a name is that of a field: letters, with few digits.
// Ids, dates, addresses, hashes and anything with spaces are data.
func fieldName(name string) bool {
	if name == "" || len(name) > maxLearnedName || !utf8.ValidString(name) {
		return false
	}
	digits, run, longest, hex, letters := 0, 0, 0, 0, 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= '0' && c <= '9':
			if i == 0 {
				return false
			}
			digits++
			run++
			longest = max(longest, run)
			continue
		case c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z':
			letters++
			if c|0x20 <= 'f' {
				hex++
			}
		case c == '_' || c == '-':
			if i == len(name)-1 && c == '-' {
				return false
			}
		case (c == '@' || c == '$') && i == 0:
		default:
			return false
		}
		run = 0
	}
	if digits > 4 || longest > 3 || letters == 0 {
		return false
	}
	// Eight or more hexadecimal digits, with decimal ones among them, are a hash.
	return !(digits > 1 && hex == letters && len(name) >= 8)
}

// Schema returns the type as a JSON Schema, or nil if nothing is known.
func (l *LearnedType) Schema() json.RawMessage {
	if l == nil || l.root == nil || l.root.Types == 0 {
		return nil
	}
	b, err := json.Marshal(l.root.schema())
	if err != nil {
		return nil
	}
	return b
}

func (n *learnedNode) schema() map[string]any {
	if n == nil {
		return map[string]any{}
	}
	var parts []map[string]any
	for _, t := range []struct {
		bit  uint8
		name string
	}{{learnedText, "string"}, {learnedInteger, "integer"}, {learnedNumber, "number"}, {learnedBool, "boolean"}} {
		if n.Types&t.bit != 0 && !(t.bit == learnedInteger && n.Types&learnedNumber != 0) {
			parts = append(parts, map[string]any{"type": t.name})
		}
	}
	if n.Types&learnedList != 0 {
		parts = append(parts, map[string]any{"type": "array", "items": n.Items.schema()})
	}
	if n.Types&learnedObject != 0 {
		parts = append(parts, n.objectSchema())
	}
	if n.Types&learnedNull != 0 {
		parts = append(parts, map[string]any{"type": "null"})
	}
	switch len(parts) {
	case 0:
		return map[string]any{}
	case 1:
		return parts[0]
	}
	return map[string]any{"anyOf": parts}
}

func (n *learnedNode) objectSchema() map[string]any {
	if n.Values != nil {
		return map[string]any{"type": "object", "additionalProperties": n.Values.schema()}
	}
	out := map[string]any{"type": "object"}
	if len(n.Fields) == 0 {
		return out
	}
	props, required := map[string]any{}, []string{}
	for _, f := range n.Fields {
		props[f.Name] = f.Node.schema()
		if !f.Optional {
			required = append(required, f.Name)
		}
	}
	out["properties"] = props
	if len(required) > 0 {
		out["required"] = required
	}
	return out
}

// WithLearned returns the catalogue with learned types for the tools that declare
// no output schema. of returns the type of a tool; it is called whenever a
// declaration is written, so what it learns later is in later declarations. Nil
// removes the learned types. They are not part of the digest.
func (c *Catalogue) WithLearned(of func(Tool) json.RawMessage) *Catalogue {
	if c.learned == nil && of == nil {
		return c
	}
	view := *c
	view.learned = of
	return &view
}

// output returns the schema of a tool's answers and whether it is learned, or nil
// if it is not known.
func (c *Catalogue) output(t Tool) (schema json.RawMessage, learned bool) {
	if len(t.OutputSchema) > 0 || c.learned == nil {
		return t.OutputSchema, false
	}
	schema = c.learned(t)
	return schema, len(schema) > 0
}
