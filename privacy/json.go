package privacy

import (
	"bytes"
	"strconv"
	"unicode/utf8"

	"github.com/wexec/wexec/fault"
)

// maxDepth bounds how deep a document may be nested.
const maxDepth = 10_000

type fieldKey struct {
	parent *field
	name   string
	person bool
}

// level is an object or a list that the walk is inside of.
type level struct {
	list   bool
	f      *field // the field the object stands in, or of the list's items
	person bool   // the object describes a person
	next   int    // which of the field's members is expected
}

// member is a name below a field. Records of a list have the same names in the
// same order, so that the one that follows is found without a search.
type member struct {
	name   string
	person bool
	f      *field
}

// maxMembers bounds the names of a field that are kept in order.
const maxMembers = 64

// walk goes over a document once. It checks the form as it goes, decodes only
// strings that have escapes and copies nothing.
type walk struct {
	w      *work
	doc    []byte
	i      int
	nested int
	stack  []level
	key    *field
	spans  []span
	edits  bool   // changes are written to out at once, and no spans are kept
	out    []byte // the document with the changes so far, up to done
	done   int
}

func badJSON(at int) error {
	return fault.New(fault.GuestResult, "the text is no JSON document: unexpected byte at offset %d", at).WithOp("read json")
}

// json looks at each string, number and name of a document and returns what it
// found in order, in the coordinates of the document.
func (w *work) json(doc []byte, f *field, nested int) ([]span, error) {
	k := w.walk(doc, f, nested)
	if err := k.run(); err != nil {
		return nil, err
	}
	return k.spans, nil
}

func (w *work) walk(doc []byte, f *field, nested int) walk {
	if w.fields == nil {
		w.fields = make(map[fieldKey]*field)
	}
	return walk{w: w, doc: doc, nested: nested, key: f, stack: make([]level, 0, 16)}
}

// editJSON is json with the changes made: the document as it is afterwards,
// doc itself where nothing changed.
func (w *work) editJSON(doc []byte) ([]byte, error) {
	k := w.walk(doc, nil, 0)
	k.edits = true
	if err := k.run(); err != nil {
		return nil, err
	}
	if k.out == nil {
		return doc, nil
	}
	return append(k.out, doc[k.done:]...), nil
}

// emit takes a finding, in the coordinates of the document.
func (k *walk) emit(s *span) {
	if !k.edits {
		k.spans = append(k.spans, *s)
		return
	}
	if !s.changed || s.start < k.done {
		return
	}
	if k.out == nil {
		k.out = make([]byte, 0, len(k.doc)+len(k.doc)/16+64)
	}
	k.out = append(append(k.out, k.doc[k.done:s.start]...), s.put...)
	k.done = s.end
}

func (k *walk) space() {
	for k.i < len(k.doc) {
		switch k.doc[k.i] {
		case ' ', '\n', '\r', '\t':
			k.i++
		default:
			return
		}
	}
}

func (k *walk) run() error {
	value := true // a value comes next, else what follows one
	for {
		k.space()
		if k.i >= len(k.doc) {
			if !value && len(k.stack) == 0 {
				return nil
			}
			return badJSON(k.i)
		}
		c := k.doc[k.i]
		if !value {
			if len(k.stack) == 0 {
				return badJSON(k.i)
			}
			top := &k.stack[len(k.stack)-1]
			switch {
			case c == ',' && top.list:
				k.i++
				k.key, value = top.f, true
			case c == ',':
				k.i++
				k.space()
				if err := k.name(top); err != nil {
					return err
				}
				value = true
			case c == ']' && top.list, c == '}' && !top.list:
				k.i++
				k.stack = k.stack[:len(k.stack)-1]
			default:
				return badJSON(k.i)
			}
			continue
		}
		switch {
		case c == '{':
			if len(k.stack) >= maxDepth {
				return fault.New(fault.GuestResult, "the document is nested deeper than %d", maxDepth).WithOp("read json")
			}
			k.i++
			k.stack = append(k.stack, level{f: k.key, person: k.describesPerson()})
			k.space()
			if k.i < len(k.doc) && k.doc[k.i] == '}' {
				k.i++
				k.stack = k.stack[:len(k.stack)-1]
				value = false
				continue
			}
			if err := k.name(&k.stack[len(k.stack)-1]); err != nil {
				return err
			}
		case c == '[':
			if len(k.stack) >= maxDepth {
				return fault.New(fault.GuestResult, "the document is nested deeper than %d", maxDepth).WithOp("read json")
			}
			k.i++
			k.key = k.listed(k.key)
			k.stack = append(k.stack, level{list: true, f: k.key})
			k.space()
			if k.i < len(k.doc) && k.doc[k.i] == ']' {
				k.i++
				k.stack = k.stack[:len(k.stack)-1]
				value = false
			}
		case c == '"':
			from, to, escapes, err := k.str()
			if err != nil {
				return err
			}
			k.string(from, to, escapes, k.key)
			value = false
		case c == '-' || isDigit(c):
			if err := k.numeric(); err != nil {
				return err
			}
			value = false
		default:
			if err := k.word(); err != nil {
				return err
			}
			value = false
		}
	}
}

// listed is the field of a list's items.
func (k *walk) listed(f *field) *field {
	holder := f
	if f == nil {
		holder = &k.w.top
	}
	if holder.items == nil {
		holder.items = k.w.d.item(f)
	}
	return holder.items
}

// keep remembers a field; a document with endless names is not remembered
// endlessly.
func (w *work) keep(key fieldKey, f *field) {
	if len(w.fields) < 4096 {
		w.fields[key] = f
	}
}

// describesPerson looks at the first names of an object for ones that only
// persons' records have. It looks at a bounded stretch, and in a list at the
// first object alone.
func (k *walk) describesPerson() bool {
	if k.key == nil {
		return k.looksPerson()
	}
	if !k.key.asked {
		k.key.asked, k.key.holds = true, isPerson(k.key) || k.looksPerson()
	}
	return k.key.holds
}

func (k *walk) looksPerson() bool {
	end := min(len(k.doc), k.i+512)
	depth := 0
	for i := k.i; i < end; {
		switch c := k.doc[i]; c {
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth--; depth < 0 {
				return false
			}
			i++
		case '"':
			j := i + 1
			for j < end && k.doc[j] != '"' {
				if k.doc[j] == '\\' {
					j++
				}
				j++
			}
			if j+1 < end && depth == 0 && k.doc[j+1] == ':' && j-i < 24 {
				if e, ok := k.w.d.lexicon.labels[plainKey(k.doc[i+1:j])]; ok && !e.weak && (e.kind == Email || e.kind == Phone || e.kind == Name || e.kind == Birthdate || e.kind == SSN) {
					return true
				}
			}
			i = j + 1
		default:
			i++
		}
	}
	return false
}

// plainKey is plainName for names of ASCII letters; others are looked up as
// they are.
func plainKey(b []byte) string {
	var buffer [24]byte
	n := 0
	for _, c := range b {
		if c == '_' || c == '-' || n == len(buffer) {
			continue
		}
		if isUpper(c) {
			c |= 0x20
		}
		buffer[n] = c
		n++
	}
	return string(buffer[:n])
}

// name reads a member's name and the colon, and makes its field the next
// value's.
func (k *walk) name(top *level) error {
	if k.i >= len(k.doc) || k.doc[k.i] != '"' {
		return badJSON(k.i)
	}
	from, to, escapes, err := k.str()
	if err != nil {
		return err
	}
	raw := k.doc[from:to]
	k.space()
	if k.i >= len(k.doc) || k.doc[k.i] != ':' {
		return badJSON(k.i)
	}
	k.i++
	f := k.member(top, raw, escapes)
	// Names of members can be data too: {"bob@example.org": 3}.
	if to-from >= 6 && !plainWord(raw) {
		holder := &field{shown: "*", path: f.path, never: f.never, mode: f.mode}
		k.string(from, to, escapes, holder)
	} else if k.w.escape && to-from >= 5 && raw[0] == '[' {
		k.string(from, to, escapes, &field{shown: "*", never: false})
	}
	k.key = f
	return nil
}

// member is the field of a name in an object.
func (k *walk) member(top *level, raw []byte, escapes bool) *field {
	holder := top.f
	if holder == nil {
		holder = &k.w.top
	}
	if top.next < len(holder.members) {
		if m := &holder.members[top.next]; m.person == top.person && m.name == string(raw) {
			top.next++
			return m.f
		}
	}
	f, ok := k.w.fields[fieldKey{top.f, string(raw), top.person}]
	if !ok {
		name := raw
		if escapes {
			name = unescape(raw).text
		}
		f = k.w.d.child(top.f, name, top.person)
		f.at = len(holder.members)
		k.w.keep(fieldKey{top.f, string(raw), top.person}, f)
		if f.at < maxMembers {
			holder.members = append(holder.members, member{string(raw), top.person, f})
		}
	}
	top.next = f.at + 1
	return f
}

// plainWord reports a name of letters, digits and underscores that begins with
// a letter, not long: no kind of data looks like that.
func plainWord(b []byte) bool {
	if len(b) > 24 {
		return false
	}
	digits := 0
	for _, c := range b {
		if !isWord(c) || c >= 0x80 {
			return false
		}
		if isDigit(c) {
			digits++
		}
	}
	return digits < 5
}

// str reads a string and gives the place of its inside.
func (k *walk) str() (from, to int, escapes bool, err error) {
	doc := k.doc
	from = k.i + 1
	for i := from; i < len(doc); i++ {
		switch c := doc[i]; {
		case c == '"':
			k.i = i + 1
			return from, i, escapes, nil
		case c == '\\':
			escapes = true
			i++
			if i >= len(doc) {
				return 0, 0, false, badJSON(i)
			}
			switch doc[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if _, ok := fourHex(doc[i-1:]); !ok {
					return 0, 0, false, badJSON(i)
				}
				i += 4
			default:
				return 0, 0, false, badJSON(i)
			}
		case c < ' ':
			return 0, 0, false, badJSON(i)
		}
	}
	return 0, 0, false, badJSON(len(doc))
}

// string looks at the inside of a string.
func (k *walk) string(from, to int, escapes bool, f *field) {
	if to-from < 2 || f != nil && f.never {
		return
	}
	raw := k.doc[from:to]
	var spans []span
	if !escapes {
		spans = k.w.value(raw, f, k.nested+1)
	} else {
		v := unescape(raw)
		spans = k.w.value(v.text, f, k.nested+1)
		for i := range spans {
			spans[i].start, spans[i].end = v.start(spans[i].start), v.end(spans[i].end)
		}
	}
	for i := range spans {
		s := &spans[i]
		if s.changed {
			s.put = jsonEscaped(s.put)
		}
		s.start += from
		s.end += from
		k.emit(s)
	}
}

// numeric reads a number. Bare digits are only looked at where the name of
// their field says that they are personal data.
func (k *walk) numeric() error {
	doc, from := k.doc, k.i
	i := from
	if doc[i] == '-' {
		i++
	}
	digits := func() bool {
		a := i
		for i < len(doc) && isDigit(doc[i]) {
			i++
		}
		return i > a
	}
	zero := i < len(doc) && doc[i] == '0'
	a := i
	if !digits() || zero && i > a+1 {
		return badJSON(i)
	}
	if i < len(doc) && doc[i] == '.' {
		i++
		if !digits() {
			return badJSON(i)
		}
	}
	if i < len(doc) && (doc[i] == 'e' || doc[i] == 'E') {
		i++
		if i < len(doc) && (doc[i] == '+' || doc[i] == '-') {
			i++
		}
		if !digits() {
			return badJSON(i)
		}
	}
	k.i = i
	f := k.key
	if k.w.again || f == nil || f.never || !f.always && (f.says.kind == "" || i-from < 5) {
		return nil
	}
	raw := doc[from:i]
	s := scanner{t: raw, d: k.w.d, f: f, explain: k.w.explain, nested: maxNested}
	if !s.whole() {
		if s.f.says.kind == Name || s.f.says.kind == Address || s.f.says.kind == Secret || f.says.weak {
			return nil
		}
		s.hits = s.hits[:0]
		s.run()
	}
	for _, h := range settle(s.hits) {
		if h.start != 0 || h.end != len(raw) {
			continue
		}
		h.value, h.field = string(raw), f.shown
		if k.w.d.ignored(h.value) {
			continue
		}
		if k.w.put != nil && !h.dropped {
			k.w.put(&h, f, true)
			if h.changed {
				h.put = `"` + jsonEscaped(h.put) + `"`
			}
		}
		h.start, h.end = from, i
		k.emit(&h)
	}
	return nil
}

func (k *walk) word() error {
	for _, w := range []string{"true", "false", "null"} {
		if bytes.HasPrefix(k.doc[k.i:], []byte(w)) {
			k.i += len(w)
			return nil
		}
	}
	return badJSON(k.i)
}

// jsonEscaped writes a text as the inside of a JSON string.
func jsonEscaped(s string) string {
	plain := true
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	out := make([]byte, 0, len(s)+8)
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c == '\n':
			out = append(out, '\\', 'n')
		case c == '\r':
			out = append(out, '\\', 'r')
		case c == '\t':
			out = append(out, '\\', 't')
		case c < ' ':
			out = append(out, `\u00`...)
			if c < 16 {
				out = append(out, '0')
			}
			out = strconv.AppendUint(out, uint64(c), 16)
		case c >= 0x80:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				out = append(out, "\ufffd"...)
			} else {
				out = append(out, s[i:i+n]...)
			}
			i += n
			continue
		default:
			out = append(out, c)
		}
		i++
	}
	return string(out)
}
