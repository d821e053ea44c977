package detect

import (
	"errors"

	"github.com/wexec/wexec/internal/jsonscan"
	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/encodings"
	"github.com/wexec/wexec/privacy/internal/match"
)

type nodeKey struct {
	parent *node
	name   string
	person bool
}

// Bounds of what is remembered of a document with endless names.
const (
	maxMembers = 64
	maxNodes   = 4096
)

// level is an object or a list that the walk is inside of.
type level struct {
	list   bool
	node   *node // of the object, or of the items of the list
	person bool  // the object describes a person
	next   int   // the index of the member that is expected
}

// walk goes once over a document. It only decodes strings with escapes.
type walk struct {
	p      *Pass
	doc    []byte
	scan   jsonscan.Scanner
	nested int
	stack  []level
	node   *node // the field of the next value, or nil
	spans  []match.Span
	edits  *match.Edit // if it is set, replacements are made at once and no spans are kept
}

// EditJSON searches the strings, numbers and names of a document, and returns it
// with the replacements: doc itself if there are none.
func (p *Pass) EditJSON(doc []byte) ([]byte, error) {
	w := walk{p: p, doc: doc, edits: &match.Edit{}}
	if err := w.run(); err != nil {
		return nil, err
	}
	return w.edits.Finish(doc), nil
}

func (w *walk) emit(s *match.Span) {
	if w.edits != nil {
		w.edits.Add(w.doc, s)
	} else {
		w.spans = append(w.spans, *s)
	}
}

var errStopped = errors.New("the search was stopped")

func (w *walk) run() error {
	if w.p.nodes == nil {
		w.p.nodes = make(map[nodeKey]*node)
	}
	w.scan = jsonscan.New(w.doc)
	w.stack = make([]level, 0, 16)
	for steps := 1; w.scan.Next(); steps++ {
		if steps%256 == 0 && w.p.Stopped(0) {
			return errStopped
		}
		switch w.scan.Kind {
		case jsonscan.Name:
			w.name()
			continue
		case jsonscan.Object:
			w.stack = append(w.stack, level{node: w.node, person: w.describesPerson()})
			continue
		case jsonscan.Array:
			w.node = w.items(w.node)
			w.stack = append(w.stack, level{list: true, node: w.node})
			continue
		case jsonscan.ObjectEnd, jsonscan.ArrayEnd:
			w.stack = w.stack[:len(w.stack)-1]
		case jsonscan.String:
			w.string(w.node)
		case jsonscan.Number:
			w.number()
		}
		if n := len(w.stack); n > 0 && w.stack[n-1].list {
			w.node = w.stack[n-1].node
		}
	}
	return w.scan.Err()
}

// items is the node of the items of a list.
func (w *walk) items(list *node) *node {
	holder := list
	if holder == nil {
		holder = &w.p.top
	}
	if holder.items == nil {
		holder.items = &node{Field: item(list.field())}
	}
	return holder.items
}

// describesPerson reports whether the object that begins is the record of a
// person, by its field or its first names. For a list only the first object is
// read.
func (w *walk) describesPerson() bool {
	n := w.node
	if n == nil {
		return w.hasPersonNames()
	}
	if !n.judged {
		n.judged, n.person = true, describesPerson(&n.Field) || w.hasPersonNames()
	}
	return n.person
}

// maxLookahead bounds how far the first names of an object are read.
const maxLookahead = 512

func (w *walk) hasPersonNames() bool {
	object := w.doc[w.scan.Start:min(len(w.doc), w.scan.End+maxLookahead)]
	s := jsonscan.New(object)
	for s.Next() && s.Depth() > 0 {
		if s.Kind == jsonscan.Name && s.Depth() == 1 && object[s.End+1] == ':' && s.End-s.Start < 23 && match.PersonName(lowerName(object[s.Start:s.End])) {
			return true
		}
	}
	return false
}

// lowerName is plainName for a short name; only ASCII letters become lower case.
func lowerName(b []byte) string {
	var buffer [24]byte
	n := 0
	for _, c := range b {
		if c == '_' || c == '-' {
			continue
		}
		if char.IsUpper(c) {
			c |= 0x20
		}
		buffer[n] = c
		n++
	}
	return string(buffer[:n])
}

// name reads the name of a member and makes its field that of the next value.
func (w *walk) name() {
	raw := w.doc[w.scan.Start:w.scan.End]
	n := w.member(&w.stack[len(w.stack)-1], raw)
	// Names can be personal data too: {"bob@example.org": 3}.
	if len(raw) >= 6 && !isPlainWord(raw) {
		w.string(&node{Field: match.Field{Shown: "*", Path: n.Path, Never: n.Never, Mode: n.Mode}})
	} else if w.p.Escape && len(raw) >= 5 && raw[0] == '[' {
		w.string(&node{Field: match.Field{Shown: "*"}})
	}
	w.node = n
}

// member is the node of a name in an object.
func (w *walk) member(top *level, raw []byte) *node {
	holder := top.node
	if holder == nil {
		holder = &w.p.top
	}
	if top.next < len(holder.members) {
		if m := &holder.members[top.next]; m.person == top.person && m.name == string(raw) {
			top.next++
			return m.node
		}
	}
	n, ok := w.p.nodes[nodeKey{top.node, string(raw), top.person}]
	if !ok {
		name := raw
		if w.scan.Escaped {
			name = encodings.TextOfJSON(raw)
		}
		n = &node{Field: w.p.d.fields.child(top.node.field(), name, top.person), index: len(holder.members)}
		if len(w.p.nodes) < maxNodes {
			w.p.nodes[nodeKey{top.node, string(raw), top.person}] = n
		}
		if n.index < maxMembers {
			holder.members = append(holder.members, member{string(raw), top.person, n})
		}
	}
	top.next = n.index + 1
	return n
}

// isPlainWord reports a name that no kind of data looks like: letters, digits and
// underscores, not long and with few digits.
func isPlainWord(b []byte) bool {
	if len(b) > 24 || char.CountDigits(b) >= 5 {
		return false
	}
	for _, c := range b {
		if !char.IsWord(c) || c >= 0x80 {
			return false
		}
	}
	return true
}

// string searches the inside of the current String or Name.
func (w *walk) string(n *node) {
	from, to := w.scan.Start, w.scan.End
	if to-from < 2 || n != nil && n.Never {
		return
	}
	raw := w.doc[from:to]
	text := raw
	if w.scan.Escaped {
		text = encodings.TextOfJSON(raw)
	}
	spans := w.p.value(text, n, w.nested+1)
	if w.scan.Escaped && len(spans) > 0 {
		places := make([]int, 0, 2*len(spans))
		for _, s := range spans {
			places = append(places, s.Start, s.End)
		}
		encodings.PlacesInJSON(raw, places)
		for i := range spans {
			spans[i].Start, spans[i].End = places[2*i], places[2*i+1]
		}
	}
	for i := range spans {
		s := &spans[i]
		if s.Replaced {
			s.Put = encodings.EscapeJSON(s.Put)
		}
		s.Start += from
		s.End += from
		w.emit(s)
	}
}

// number judges the current Number. Digits without quotes are personal data only
// if the name of their field says so.
func (w *walk) number() {
	n := w.node
	raw := w.doc[w.scan.Start:w.scan.End]
	if w.p.KnownOnly || n == nil || n.Never || !n.Always && (n.Label.Kind == "" || len(raw) < 5) {
		return
	}
	s := scanner{d: w.p.d, nested: maxNested, Text: match.Text{Bytes: raw, Rules: w.p.d.rules, Field: &n.Field, Explain: w.p.Explain}}
	if !s.field() {
		switch n.Label.Kind {
		case match.Name, match.Address, match.Secret:
			return
		}
		if n.Label.Weak {
			return
		}
		s.Spans = s.Spans[:0]
		s.scan()
	}
	for _, h := range match.Settle(s.Spans) {
		if h.Start != 0 || h.End != len(raw) {
			continue
		}
		h.Value, h.Shown = string(raw), n.Shown
		if w.p.d.ignored(h.Value) {
			continue
		}
		if w.p.Put != nil && !h.Dropped {
			w.p.Put(&h, &n.Field, true)
			if h.Replaced {
				h.Put = `"` + encodings.EscapeJSON(h.Put) + `"`
			}
		}
		h.Start, h.End = w.scan.Start, w.scan.End
		w.emit(&h)
	}
}
