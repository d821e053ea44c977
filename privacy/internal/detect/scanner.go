package detect

import (
	"bytes"

	"github.com/wexec/wexec/privacy/internal/contact"
	"github.com/wexec/wexec/privacy/internal/match"
)

// scanner goes once over a text from left to right. The byte at a place decides
// which detectors read there; each reads a bounded stretch, so that the whole
// takes linear time.
type scanner struct {
	match.Text
	d      *Detector
	pass   searcher
	node   *node // of Field, or nil
	nested int   // how many encodings deep

	number      match.Number // the number that is read
	decoded     int          // base64 was tried up to here
	labeled     int          // values were judged by their label up to here
	secretEnd   int          // the end of the value behind a label for secrets
	secretTries int          // the labels for secrets in that value
	cells       [][2]int     // the cells of tables whose column says what they hold
	judged      []match.Span // what was found in them
	told        int          // findings that the pass knows of
}

// searcher searches a text that was found encoded in another. It is the Pass.
type searcher interface {
	value(text []byte, n *node, nested int) []match.Span
	Stopped(found int) bool
}

// maxNested is how many encodings within each other are read.
const maxNested = 4

// reset prepares a scanner for a text; it keeps what was allocated.
func (s *scanner) reset(d *Detector, pass searcher, t []byte, n *node, nested int) {
	s.Bytes, s.Rules, s.Field, s.Spans = t, d.rules, n.field(), s.Spans[:0]
	s.d, s.pass, s.node, s.nested = d, pass, n, nested
	s.decoded, s.labeled, s.secretEnd, s.secretTries = 0, 0, 0, 0
	s.cells, s.judged = s.cells[:0], s.judged[:0]
	s.told = 0
}

// stopped tells the pass what was found, and reports that the search must end.
func (s *scanner) stopped() bool {
	found := len(s.Spans) - s.told
	s.told = len(s.Spans)
	return s.pass.Stopped(found)
}

// token records text that is written like a token, [EMAIL_1], as a span without a
// kind: nothing is found inside of it, and in the answer of a tool it is escaped.
func (s *scanner) token(i int) int {
	n, _ := s.d.Tokens.Parse(s.Bytes[i:])
	if n == 0 {
		return i + 1
	}
	s.Spans = append(s.Spans, match.Span{Start: i, End: i + n, Sure: 100})
	return i + n
}

// tokens records only text that is written like a token.
func (s *scanner) tokens() {
	for i := 0; i < len(s.Bytes); {
		n := bytes.IndexByte(s.Bytes[i:], '[')
		if n < 0 {
			return
		}
		i = s.token(i + n)
	}
}

// street finds a postal address around a house number. It returns the end of the
// match, or 0.
func (s *scanner) street(i, j int) int {
	if contact.Street(&s.Text, i, j) {
		return s.LastEnd()
	}
	return 0
}
