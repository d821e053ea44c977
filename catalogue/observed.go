package catalogue

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// Observed is what is known of the answers of a tool that declares none, by
// those that were seen: the names of fields, their types, and what may be
// missing. It holds no value, and no name that looks like one: an object whose
// names are ids, dates or addresses is a record of whatever its values are.
// The zero value knows nothing. It is not safe for concurrent use.
type Observed struct {
	seen    *seen
	nodes   int
	settled int // answers in a row that said nothing new
}

// Bounds of what is kept of a tool's answers, and of what is looked at.
const (
	maxSeenNodes  = 2000
	maxSeenFields = 120
	maxSeenDepth  = 12
	maxSeenName   = 48
	leastRecord   = 20       // names of one object with values of one shape: data
	itemsLooked   = 40       // of a list
	bytesLooked   = 64 << 10 // of an answer, once it is settled
	settledAt     = 8
)

// seen is the union of everything that stood at one place.
type seen struct {
	Types  uint8       `json:"t"`
	Items  *seen       `json:"i,omitempty"` // of lists
	Fields []seenField `json:"f,omitempty"` // of objects, sorted by name
	Values *seen       `json:"v,omitempty"` // of objects that are records

	partial bool // the object was not read to its end
}

type seenField struct {
	Name     string `json:"n"`
	Optional bool   `json:"o,omitempty"`
	Shape    *seen  `json:"s"`
}

const (
	seenNull uint8 = 1 << iota
	seenBool
	seenInteger
	seenNumber
	seenText
	seenList
	seenObject
)

// Add takes an answer into account, a JSON document or what can be read of it,
// and reports whether it said anything new.
func (o *Observed) Add(answer []byte) bool {
	if o.seen == nil {
		o.seen = &seen{}
	}
	w := watcher{o: o, doc: answer, end: len(answer)}
	if o.settled >= settledAt {
		w.end = min(w.end, bytesLooked)
	}
	w.value(o.seen, 0)
	return o.noted(w.fresh)
}

// AddText takes into account that an answer was a text and no JSON.
func (o *Observed) AddText() bool {
	if o.seen == nil {
		o.seen = &seen{}
	}
	fresh := o.seen.Types&seenText == 0
	o.seen.Types |= seenText
	return o.noted(fresh)
}

func (o *Observed) noted(fresh bool) bool {
	if fresh {
		o.settled = 0
	} else if o.settled < settledAt {
		o.settled++
	}
	return fresh
}

// Merge takes in what others have observed of the same tool.
func (o *Observed) Merge(other *Observed) {
	if other.seen == nil {
		return
	}
	if o.seen == nil {
		o.seen = &seen{}
	}
	w := watcher{o: o}
	w.merge(o.seen, other.seen, 0)
}

// MarshalJSON writes what is known.
func (o *Observed) MarshalJSON() ([]byte, error) { return json.Marshal(o.seen) }

// UnmarshalJSON reads what MarshalJSON wrote. The text is not trusted: names
// and sizes are held to the same bounds.
func (o *Observed) UnmarshalJSON(data []byte) error {
	var read *seen
	if err := json.Unmarshal(data, &read); err != nil {
		return err
	}
	*o = Observed{seen: &seen{}}
	if read != nil {
		w := watcher{o: o}
		w.merge(o.seen, read, 0)
		o.settled = settledAt // who wrote it has looked closely
	}
	return nil
}

// watcher reads one answer.
type watcher struct {
	o     *Observed
	doc   []byte
	i     int
	end   int
	cut   bool // the rest was not looked at, or is no JSON
	fresh bool // something was new
	inner int  // how many objects it is inside of that are not merged yet
}

func (w *watcher) is(s *seen, t uint8) {
	if s.Types&t == 0 {
		s.Types |= t
		w.fresh = true
	}
}

// node makes a place, while there is room for one.
func (w *watcher) node() *seen {
	if w.inner > 0 {
		return &seen{}
	}
	if w.o.nodes >= maxSeenNodes {
		return nil
	}
	w.o.nodes++
	w.fresh = true
	return &seen{}
}

func (w *watcher) space() byte {
	for w.i < w.end {
		switch c := w.doc[w.i]; c {
		case ' ', '\n', '\r', '\t':
			w.i++
		default:
			return c
		}
	}
	w.cut = true
	return 0
}

// value reads a value into s; a nil s is passed over.
func (w *watcher) value(s *seen, depth int) {
	if s == nil || depth > maxSeenDepth {
		w.skip()
		return
	}
	switch c := w.space(); {
	case w.cut:
	case c == '{':
		first := s.Types&seenObject == 0
		w.is(s, seenObject)
		w.object(s, depth, first)
	case c == '[':
		w.is(s, seenList)
		w.list(s, depth)
	case c == '"':
		if w.text(); !w.cut {
			w.is(s, seenText)
		}
	case c == 't' || c == 'f':
		w.is(s, seenBool)
		w.scalar()
	case c == 'n':
		w.is(s, seenNull)
		w.scalar()
	default:
		from := w.i
		if w.scalar(); w.cut {
			return
		}
		t := seenInteger
		if bytes.ContainsAny(w.doc[from:w.i], ".eE") {
			t = seenNumber
		}
		w.is(s, t)
	}
}

// text reads a string and gives its inside.
func (w *watcher) text() []byte {
	from := w.i + 1
	for i := from; i < w.end; {
		n := bytes.IndexByte(w.doc[i:w.end], '"')
		if n < 0 {
			break
		}
		i += n
		slashes := 0
		for k := i - 1; k >= from && w.doc[k] == '\\'; k-- {
			slashes++
		}
		if slashes%2 == 0 {
			w.i = i + 1
			return w.doc[from:i]
		}
		i++
	}
	w.cut = true
	return nil
}

func (w *watcher) scalar() {
	from := w.i
	for w.i < w.end {
		switch w.doc[w.i] {
		case ',', ']', '}', ' ', '\n', '\r', '\t':
			w.cut = w.cut || w.i == from
			return
		}
		w.i++
	}
	// At the end of the answer it is whole, elsewhere it may go on.
	w.cut = w.cut || w.end < len(w.doc)
}

// skip passes over a value.
func (w *watcher) skip() {
	depth := 0
	for {
		switch c := w.space(); {
		case w.cut:
			return
		case c == '"':
			w.text()
		case c == '{' || c == '[':
			depth++
			w.i++
		case c == '}' || c == ']':
			depth--
			w.i++
		case c == ',' || c == ':':
			w.i++
		default:
			w.scalar()
		}
		if w.cut || depth <= 0 {
			return
		}
	}
}

func (w *watcher) list(s *seen, depth int) {
	w.i++
	for n := 0; ; n++ {
		c := w.space()
		if w.cut {
			return
		}
		if c == ']' {
			w.i++
			return
		}
		if s.Items == nil {
			s.Items = w.node()
		}
		if n < itemsLooked {
			w.value(s.Items, depth+1)
		} else {
			w.skip()
		}
		if c = w.space(); w.cut {
			return
		}
		if c == ',' {
			w.i++
		} else if c != ']' {
			w.cut = true
			return
		}
	}
}

func (w *watcher) object(s *seen, depth int, first bool) {
	w.i++
	here := &seen{Types: seenObject}
	for {
		c := w.space()
		if w.cut {
			break
		}
		if c == '}' {
			w.i++
			break
		}
		if c != '"' {
			w.cut = true
			break
		}
		raw := w.text()
		if w.cut || w.space() != ':' {
			w.cut = true
			break
		}
		w.i++
		w.member(here, raw, depth)
		if c = w.space(); w.cut {
			break
		}
		if c == ',' {
			w.i++
		} else if c != '}' {
			w.cut = true
		}
	}
	here.partial = w.cut
	s.partial = s.partial || w.cut && w.inner > 0
	w.mergeObject(s, here, depth, first)
}

// member reads one member of an object into what was seen of this object
// alone.
func (w *watcher) member(here *seen, raw []byte, depth int) {
	fresh := w.fresh
	w.inner++
	defer func() { w.inner--; w.fresh = fresh }() // whether it is new is told by the merge
	name := string(raw)
	if here.Values == nil && (!fieldName(name) || len(here.Fields) >= maxSeenFields) {
		w.record(here, depth)
	}
	if here.Values != nil {
		w.value(here.Values, depth+1)
		return
	}
	at, there := slices.BinarySearchFunc(here.Fields, name, func(f seenField, n string) int { return strings.Compare(f.Name, n) })
	if !there {
		n := &seen{}
		here.Fields = slices.Insert(here.Fields, at, seenField{Name: name, Shape: n})
	}
	w.value(here.Fields[at].Shape, depth+1)
}

// record makes an object one whose names are data.
func (w *watcher) record(s *seen, depth int) {
	if s.Values == nil {
		s.Values = &seen{}
	}
	fields := s.Fields
	s.Fields = nil
	for _, f := range fields {
		w.merge(s.Values, f.Shape, depth+1)
	}
}

// merge takes in what was seen elsewhere at the same place.
func (w *watcher) merge(s, other *seen, depth int) {
	if other == nil || depth > maxSeenDepth {
		return
	}
	had := s.Types
	if s.Types |= other.Types & (1<<7 - 1); s.Types != had {
		w.fresh = true
	}
	if other.Items != nil {
		if s.Items == nil {
			s.Items = w.node()
		}
		if s.Items != nil {
			w.merge(s.Items, other.Items, depth+1)
		}
	}
	if other.Types&seenObject != 0 {
		w.mergeObject(s, other, depth, had&seenObject == 0)
	}
}

// field adds a field or merges it with the one of its name.
func (w *watcher) field(s *seen, f seenField, optional bool, depth int) {
	if s.Values != nil || !fieldName(f.Name) || len(s.Fields) >= maxSeenFields {
		w.record(s, depth)
		w.merge(s.Values, f.Shape, depth+1)
		return
	}
	at, there := slices.BinarySearchFunc(s.Fields, f.Name, func(g seenField, n string) int { return strings.Compare(g.Name, n) })
	if !there {
		n := w.node()
		if n == nil {
			return
		}
		s.Fields = slices.Insert(s.Fields, at, seenField{Name: f.Name, Optional: optional, Shape: n})
	} else if f.Optional && !s.Fields[at].Optional {
		s.Fields[at].Optional = true
		w.fresh = true
	}
	w.merge(s.Fields[at].Shape, f.Shape, depth+1)
}

// mergeObject merges the names of an object with those seen before. first:
// there were none.
func (w *watcher) mergeObject(s, here *seen, depth int, first bool) {
	if here.Values != nil || s.Values != nil {
		if s.Values == nil {
			w.fresh = true
			if s.Values = w.node(); s.Values == nil {
				return
			}
			w.record(s, depth)
		}
		w.merge(s.Values, here.Values, depth+1)
		for _, f := range here.Fields {
			w.merge(s.Values, f.Shape, depth+1)
		}
		return
	}
	if !here.partial {
		for i := range s.Fields {
			f := &s.Fields[i]
			_, there := slices.BinarySearchFunc(here.Fields, f.Name, func(g seenField, n string) int { return strings.Compare(g.Name, n) })
			if !there && !f.Optional {
				f.Optional, w.fresh = true, true
			}
		}
	}
	for _, f := range here.Fields {
		w.field(s, f, !first || f.Optional, depth)
	}
	w.settleNames(s, depth)
}

// settleNames makes a record of an object with many names whose values are of
// one shape: counts by person, prices by product.
func (w *watcher) settleNames(s *seen, depth int) {
	if len(s.Fields) < leastRecord {
		return
	}
	one := s.Fields[0].Shape
	for _, f := range s.Fields[1:] {
		if f.Shape.Types&^seenNull != one.Types&^seenNull && !(numeric(f.Shape) && numeric(one)) || !sameNames(f.Shape, one) {
			return
		}
	}
	w.fresh = true
	w.record(s, depth)
}

func numeric(s *seen) bool {
	return s.Types&(seenInteger|seenNumber) != 0 && s.Types&^(seenInteger|seenNumber|seenNull) == 0
}

func sameNames(a, b *seen) bool {
	return (a.Values == nil) == (b.Values == nil) && slices.EqualFunc(a.Fields, b.Fields, func(x, y seenField) bool { return x.Name == y.Name })
}

// fieldName reports a name that a person gave to a field: letters, with few
// digits. Ids, dates, addresses, hashes and anything with spaces are data.
func fieldName(name string) bool {
	if name == "" || len(name) > maxSeenName || !utf8.ValidString(name) {
		return false
	}
	digits, row, longest, hex, letters := 0, 0, 0, 0, 0
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= '0' && c <= '9':
			if i == 0 {
				return false
			}
			digits++
			row++
			longest = max(longest, row)
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
		row = 0
	}
	if digits > 4 || longest > 3 || letters == 0 {
		return false
	}
	// Eight and more hexadecimal digits with figures among them are a hash.
	return !(digits > 1 && hex == letters && len(name) >= 8)
}

// Schema is what is known as a JSON Schema, the same for the same knowledge;
// nil where nothing is.
func (o *Observed) Schema() json.RawMessage {
	if o == nil || o.seen == nil || o.seen.Types == 0 {
		return nil
	}
	b, err := json.Marshal(o.seen.schema())
	if err != nil {
		return nil
	}
	return b
}

func (s *seen) schema() map[string]any {
	if s == nil {
		return map[string]any{}
	}
	var parts []map[string]any
	for _, t := range []struct {
		bit  uint8
		name string
	}{{seenText, "string"}, {seenInteger, "integer"}, {seenNumber, "number"}, {seenBool, "boolean"}} {
		if s.Types&t.bit != 0 && !(t.bit == seenInteger && s.Types&seenNumber != 0) {
			parts = append(parts, map[string]any{"type": t.name})
		}
	}
	if s.Types&seenList != 0 {
		parts = append(parts, map[string]any{"type": "array", "items": s.Items.schema()})
	}
	if s.Types&seenObject != 0 {
		parts = append(parts, s.objectSchema())
	}
	if s.Types&seenNull != 0 {
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

func (s *seen) objectSchema() map[string]any {
	if s.Values != nil {
		return map[string]any{"type": "object", "additionalProperties": s.Values.schema()}
	}
	out := map[string]any{"type": "object"}
	if len(s.Fields) == 0 {
		return out
	}
	props, required := map[string]any{}, []string{}
	for _, f := range s.Fields {
		props[f.Name] = f.Shape.schema()
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

// Observing is the same catalogue with types of answers that were observed,
// for tools that declare none. of is asked whenever a declaration is written
// and may learn in between; nil takes them away. What was observed is no part
// of the digest.
func (c *Catalogue) Observing(of func(Tool) json.RawMessage) *Catalogue {
	if c.observed == nil && of == nil {
		return c
	}
	view := *c
	view.observed = of
	return &view
}

// output is the schema of a tool's answers, and whether it was observed rather
// than declared; nil where nothing is known.
func (c *Catalogue) output(t Tool) (schema json.RawMessage, observed bool) {
	if len(t.OutputSchema) > 0 || c.observed == nil {
		return t.OutputSchema, false
	}
	schema = c.observed(t)
	return schema, len(schema) > 0
}
