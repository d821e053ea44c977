package hostfns

import "encoding/binary"

// maxDepth is how deep a document may be nested to be taken for JSON, as in
// encoding/json.
const maxDepth = 10_000

// IsJSON reports whether b is one JSON value, as encoding/json's Valid does,
// several times as fast: answers of tools are looked at as a whole, and most of
// their bytes are in strings.
func IsJSON(b []byte) bool {
	s := jsonScan{b: b}
	s.space()
	if !s.value() {
		return false
	}
	s.space()
	return s.at == len(b)
}

// jsonScan goes over a document. What is open is kept as bits and not on the
// stack, so that a hostile document costs no more than its length.
type jsonScan struct {
	b    []byte
	at   int
	open []byte // '{' or '[' of what is not closed yet
}

func (s *jsonScan) space() {
	for s.at < len(s.b) {
		switch s.b[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// value goes over one value with all that is in it.
func (s *jsonScan) value() bool {
	for {
		opened, ok := s.begin()
		if !ok {
			return false
		}
		if opened {
			continue
		}
		// A value has ended: what follows closes, or brings the next one.
		for {
			if len(s.open) == 0 {
				return true
			}
			s.space()
			if s.at == len(s.b) {
				return false
			}
			in := s.open[len(s.open)-1]
			c := s.b[s.at]
			s.at++
			if c == ',' {
				if in == '{' && !s.key() {
					return false
				}
				break
			}
			if c != in+2 { // '}' is '{'+2, ']' is '['+2
				return false
			}
			s.open = s.open[:len(s.open)-1]
		}
	}
}

// begin goes over a value, or into one. It is true where one was opened that
// is not empty: its first value comes next.
func (s *jsonScan) begin() (opened, ok bool) {
	s.space()
	if s.at == len(s.b) {
		return false, false
	}
	switch c := s.b[s.at]; c {
	case '{', '[':
		s.at++
		if s.space(); s.at < len(s.b) && s.b[s.at] == c+2 {
			s.at++
			return false, len(s.open) < maxDepth
		}
		if len(s.open) == maxDepth {
			return false, false
		}
		s.open = append(s.open, c)
		return true, c == '[' || s.key()
	case '"':
		return false, s.text()
	case 't':
		return false, s.word("true")
	case 'f':
		return false, s.word("false")
	case 'n':
		return false, s.word("null")
	}
	return false, s.number()
}

// key goes over a key and its colon.
func (s *jsonScan) key() bool {
	s.space()
	if s.at == len(s.b) || s.b[s.at] != '"' || !s.text() {
		return false
	}
	s.space()
	if s.at == len(s.b) || s.b[s.at] != ':' {
		return false
	}
	s.at++
	return true
}

func (s *jsonScan) word(w string) bool {
	if len(s.b)-s.at < len(w) || string(s.b[s.at:s.at+len(w)]) != w {
		return false
	}
	s.at += len(w)
	return true
}

// text goes over a string, eight bytes at a time where none of them is a
// quote, a backslash or a control character.
func (s *jsonScan) text() bool {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	b, at := s.b, s.at+1
	for {
		for at+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[at:])
			quote, slash := w^(ones*'"'), w^(ones*'\\')
			if ((quote-ones)&^quote|(slash-ones)&^slash|(w-ones*' ')&^w)&highs != 0 {
				break
			}
			at += 8
		}
		for n := 0; ; n++ {
			if at >= len(b) {
				return false
			}
			c := b[at]
			at++
			if c == '"' {
				s.at = at
				return true
			}
			if c < ' ' {
				return false
			}
			if c == '\\' {
				if at = escape(b, at); at < 0 {
					return false
				}
				break
			}
			if n >= 8 {
				break
			}
		}
	}
}

// escape goes over what follows a backslash, and gives where it ends or -1.
func escape(b []byte, at int) int {
	if at >= len(b) {
		return -1
	}
	switch b[at] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at + 1
	case 'u':
		if at+5 > len(b) {
			return -1
		}
		for _, c := range b[at+1 : at+5] {
			if !(c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F') {
				return -1
			}
		}
		return at + 5
	}
	return -1
}

func (s *jsonScan) number() bool {
	if s.at < len(s.b) && s.b[s.at] == '-' {
		s.at++
	}
	switch {
	case s.at < len(s.b) && s.b[s.at] == '0':
		s.at++
	case !s.digits():
		return false
	}
	if s.at < len(s.b) && s.b[s.at] == '.' {
		if s.at++; !s.digits() {
			return false
		}
	}
	if s.at < len(s.b) && s.b[s.at]|0x20 == 'e' {
		s.at++
		if s.at < len(s.b) && (s.b[s.at] == '+' || s.b[s.at] == '-') {
			s.at++
		}
		return s.digits()
	}
	return true
}

func (s *jsonScan) digits() bool {
	from := s.at
	for s.at < len(s.b) && s.b[s.at] >= '0' && s.b[s.at] <= '9' {
		s.at++
	}
	return s.at > from
}
