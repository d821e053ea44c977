// Package jsonscan reads JSON text as tokens with their positions. Use it where
// the bytes of a document matter: to validate, to edit in place, to decode with
// other rules than encoding/json. To decode into Go values, use encoding/json.
//
// A Scanner accepts the texts that json.Valid accepts: RFC 8259 with any value
// at the top, nested at most MaxDepth deep. As json.Valid does, it accepts
// strings that are not valid UTF-8 or that hold unpaired surrogates, numbers of
// any size, and objects with duplicate names; callers that care check for these.
//
// Scanning takes time linear in the length of the text, keeps at most one byte
// for each open object or array, and does not recurse.
package jsonscan

import "fmt"

// MaxDepth is the deepest nesting that is accepted, as in encoding/json.
const MaxDepth = 10_000

// Kind is the kind of a token.
type Kind byte

// The kinds of tokens. Names of object members are a separate kind;
// commas and colons are not reported.
const (
	None        Kind = 0 // before the first token, after the last one
	Object      Kind = '{'
	ObjectEnd   Kind = '}'
	Array       Kind = '['
	ArrayEnd    Kind = ']'
	Name        Kind = ':'
	String      Kind = '"'
	Number      Kind = '0'
	True, False Kind = 't', 'f'
	Null        Kind = 'n'
)

// SyntaxError is the place where a text stops being JSON.
type SyntaxError struct {
	Offset  int
	Message string
}

// Error returns the message with the offset.
func (e *SyntaxError) Error() string { return fmt.Sprintf("offset %d: %s", e.Offset, e.Message) }

// Scanner reads the tokens of one document.
type Scanner struct {
	// The current token. Start and End delimit its bytes; those of a String or
	// a Name are inside the quotes, and Escaped reports a backslash in them.
	Kind       Kind
	Start, End int
	Escaped    bool

	doc  []byte
	pos  int
	want state
	open nesting
	err  *SyntaxError
}

// nesting is the opening bracket of each open object and array. The outer 64
// levels are bits, so that ordinary documents need no allocation.
type nesting struct {
	depth   int
	objects uint64 // the bit of a level is set if it is an object
	deeper  []byte
}

func (n *nesting) push(bracket byte) {
	if n.depth >= 64 {
		n.deeper = append(n.deeper, bracket)
	} else if n.objects &^= 1 << n.depth; bracket == '{' {
		n.objects |= 1 << n.depth
	}
	n.depth++
}

func (n *nesting) pop() {
	if n.depth--; n.depth >= 64 {
		n.deeper = n.deeper[:n.depth-64]
	}
}

func (n *nesting) innermost() byte {
	switch {
	case n.depth > 64:
		return n.deeper[n.depth-65]
	case n.objects>>(n.depth-1)&1 == 1:
		return '{'
	}
	return '['
}

// state is what the grammar allows next.
type state byte

const (
	wantValue     state = iota
	wantFirst           // the first item or member, or the closing bracket
	wantSeparator       // a comma, a closing bracket, or the end of the document
)

// New returns a Scanner in front of the first token of doc.
func New(doc []byte) Scanner { return Scanner{doc: doc} }

// Valid reports whether doc is one JSON value, as json.Valid does.
func Valid(doc []byte) bool {
	s := New(doc)
	for s.Next() {
	}
	return s.err == nil
}

// Err returns the error that ended the scan, a *SyntaxError, or nil.
func (s *Scanner) Err() error {
	if s.err == nil {
		return nil
	}
	return s.err
}

// Depth is the number of objects and arrays that are open, with the one that the
// current token opens and without the one that it closes.
func (s *Scanner) Depth() int { return s.open.depth }

// Next advances to the next token. It returns false at the end of the document
// and at an error.
func (s *Scanner) Next() bool {
	if s.err != nil {
		return false
	}
	i := s.space(s.pos)
	switch s.want {
	case wantSeparator:
		if s.open.depth == 0 {
			s.Kind, s.pos = None, i
			if i < len(s.doc) {
				return s.fail(i, "unexpected data after the value")
			}
			return false
		}
		if i == len(s.doc) {
			return s.fail(i, "")
		}
		in := s.open.innermost()
		if s.doc[i] == in+2 { // '}' is '{'+2, ']' is '['+2
			return s.close(i)
		}
		if s.doc[i] != ',' {
			return s.fail(i, "expected ',' or '%c'", in+2)
		}
		if i = s.space(i + 1); in == '{' {
			return s.name(i)
		}
	case wantFirst:
		in := s.open.innermost()
		if i < len(s.doc) && s.doc[i] == in+2 {
			return s.close(i)
		}
		if in == '{' {
			return s.name(i)
		}
	}
	return s.value(i)
}

func (s *Scanner) space(i int) int {
	for i < len(s.doc) {
		switch s.doc[i] {
		case ' ', '\t', '\n', '\r':
			i++
		default:
			return i
		}
	}
	return i
}

// fail ends the scan. At the end of the document the message says so.
func (s *Scanner) fail(at int, format string, args ...any) bool {
	if at >= len(s.doc) {
		at, format, args = len(s.doc), "unexpected end of JSON", nil
	}
	s.Kind = None
	s.err = &SyntaxError{Offset: at, Message: fmt.Sprintf(format, args...)}
	return false
}

func (s *Scanner) close(i int) bool {
	s.Kind, s.Start, s.End = Kind(s.doc[i]), i, i+1
	s.open.pop()
	s.pos, s.want = i+1, wantSeparator
	return true
}

// name reads the name of a member and its colon.
func (s *Scanner) name(i int) bool {
	if i == len(s.doc) || s.doc[i] != '"' {
		return s.fail(i, "expected a member name in quotes")
	}
	if !s.text(i) {
		return false
	}
	if i = s.space(s.pos); i == len(s.doc) || s.doc[i] != ':' {
		return s.fail(i, "expected ':' after a member name")
	}
	s.Kind, s.pos, s.want = Name, i+1, wantValue
	return true
}

func (s *Scanner) value(i int) bool {
	if i == len(s.doc) {
		return s.fail(i, "")
	}
	s.want = wantSeparator
	switch c := s.doc[i]; c {
	case '"':
		s.Kind = String
		return s.text(i)
	case '{', '[':
		if s.open.depth == MaxDepth {
			return s.fail(i, "nested more than %d levels deep", MaxDepth)
		}
		s.Kind, s.Start, s.End = Kind(c), i, i+1
		s.open.push(c)
		s.pos, s.want = i+1, wantFirst
		return true
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	}
	return s.number(i)
}

func (s *Scanner) literal(i int, word string) bool {
	end := i + len(word)
	if end > len(s.doc) || string(s.doc[i:end]) != word {
		return s.fail(i, "expected a value")
	}
	s.Kind, s.Start, s.End, s.pos = Kind(word[0]), i, end, end
	return true
}

func (s *Scanner) number(i int) bool {
	s.Kind, s.Start = Number, i
	if s.doc[i] == '-' {
		i++
	}
	first := i
	if i = s.digits(i); i == first {
		if i == s.Start {
			return s.fail(i, "expected a value")
		}
		return s.fail(i, "invalid number")
	}
	if s.doc[first] == '0' && i > first+1 {
		return s.fail(first, "invalid number: leading zero")
	}
	if i < len(s.doc) && s.doc[i] == '.' {
		first = i + 1
		if i = s.digits(first); i == first {
			return s.fail(i, "invalid number")
		}
	}
	if i < len(s.doc) && s.doc[i]|0x20 == 'e' {
		i++
		if i < len(s.doc) && (s.doc[i] == '+' || s.doc[i] == '-') {
			i++
		}
		first = i
		if i = s.digits(first); i == first {
			return s.fail(i, "invalid number")
		}
	}
	s.End, s.pos = i, i
	return true
}

func (s *Scanner) digits(i int) int {
	for i < len(s.doc) && s.doc[i]-'0' <= 9 {
		i++
	}
	return i
}
