package privacy

import "bytes"

// literal looks at a text that is written like a token, [EMAIL_1]. It is noted
// as a span without a kind: in what a tool answers it is escaped, and
// everywhere nothing is found inside of it.
func (s *scanner) literal(i int) int {
	n, _ := tokenAt(s.t[i:], s.d)
	if n == 0 {
		return i + 1
	}
	s.hits = append(s.hits, span{start: i, end: i + n, sure: 100})
	return i + n
}

// literals notes the literals of a text and nothing else.
func (s *scanner) literals() {
	for i := 0; i < len(s.t); {
		n := bytes.IndexByte(s.t[i:], '[')
		if n < 0 {
			return
		}
		i = s.literal(i + n)
	}
}

// mark is a token as it is written.
type mark struct {
	kind    string // in capitals
	number  int
	escapes int // ~ in front
}

// maxMark bounds what is looked at: [~~KIND_123456789:part]
const (
	maxMarkKind   = 32
	maxMarkPart   = 80
	maxMarkEscape = 16
)

// tokenAt reads a token at the start of t and gives its length, 0 where there
// is none. With a detector only its kinds count.
func tokenAt(t []byte, d *Detector) (int, mark) {
	var m mark
	if len(t) < 5 || t[0] != '[' {
		return 0, m
	}
	i := 1
	for i < len(t) && t[i] == '~' && m.escapes < maxMarkEscape {
		i++
		m.escapes++
	}
	from := i
	last := -1
	for i < len(t) && i-from < maxMarkKind+12 && isWord(t[i]) && t[i] < 0x80 {
		if t[i] == '_' {
			last = i
		}
		i++
	}
	if last <= from || i == last+1 || i-last > 10 || i >= len(t) || t[last+1] == '0' {
		return 0, m
	}
	for _, c := range t[last+1 : i] {
		if !isDigit(c) {
			return 0, m
		}
		m.number = m.number*10 + int(c-'0')
	}
	var name [maxMarkKind]byte
	if last-from > maxMarkKind {
		return 0, m
	}
	for k, c := range t[from:last] {
		if isLower(c) {
			c -= 'a' - 'A'
		}
		name[k] = c
	}
	kind, ok := d.markKind(name[:last-from])
	if !ok {
		return 0, m
	}
	m.kind = kind
	if t[i] == ':' {
		i++
		part := i
		for i < len(t) && i-part < maxMarkPart && t[i] != ']' && t[i] != '[' && t[i] != '\n' && t[i] != '"' && t[i] != '\\' {
			i++
		}
		if i == part || i >= len(t) {
			return 0, m
		}
	}
	if t[i] != ']' {
		return 0, m
	}
	return i + 1, m
}
