package privacy

import (
	"slices"
)

// span is one finding on its way: in the coordinates of the text it was found
// in, then of each text around that, up to the caller's.
type span struct {
	start, end int
	kind       Kind // "" for a literal that only looks like a token
	sure       uint8
	dropped    bool // too weak or ignored; only kept to be explained
	changed    bool
	why        string
	field      string
	value      string // without encodings
	put        string // what takes its place, where changed
	in         *field // the column it stands in
	ready      bool   // what takes its place was settled when it was found
}

// scanner goes once over a text from left to right. What it sees at a place
// decides which detector has a look; each detector looks at a bounded stretch,
// so that the whole takes linear time.
type scanner struct {
	t                      []byte
	d                      *Detector
	f                      *field // the field the text stands in; nil: none
	hits                   []span
	explain                bool
	nested                 int // how many encodings deep
	coded                  int // up to here base64 was tried already
	secretEnd, secretTries int // the value of a name for secrets, and the names seen in it
	work                   *work
	numeric                numeral  // the number that is looked at
	cells                  [][2]int // of tables, whose column says what they hold
	judged                 []span   // what was found in them
	paired                 int      // values up to here were judged by their label already
}

const (
	other  uint8 = iota
	lower        // a-z
	upper        // A-Z
	high         // above ASCII
	digit        // 0-9
	under        // _
	signAt       // @
	colon        // :
	equals       // =
	bracket
	dash
	slash
)

var class = [256]uint8{
	'0': digit, '1': digit, '2': digit, '3': digit, '4': digit, '5': digit, '6': digit, '7': digit, '8': digit, '9': digit,
	'a': lower, 'b': lower, 'c': lower, 'd': lower, 'e': lower, 'f': lower, 'g': lower, 'h': lower, 'i': lower, 'j': lower,
	'k': lower, 'l': lower, 'm': lower, 'n': lower, 'o': lower, 'p': lower, 'q': lower, 'r': lower, 's': lower, 't': lower,
	'u': lower, 'v': lower, 'w': lower, 'x': lower, 'y': lower, 'z': lower,
	'A': upper, 'B': upper, 'C': upper, 'D': upper, 'E': upper, 'F': upper, 'G': upper, 'H': upper, 'I': upper, 'J': upper,
	'K': upper, 'L': upper, 'M': upper, 'N': upper, 'O': upper, 'P': upper, 'Q': upper, 'R': upper, 'S': upper, 'T': upper,
	'U': upper, 'V': upper, 'W': upper, 'X': upper, 'Y': upper, 'Z': upper,
	'_': under, '@': signAt, ':': colon, '=': equals, '[': bracket, '-': dash, '/': slash,
	0x80: high, 0x81: high, 0x82: high, 0x83: high, 0x84: high, 0x85: high, 0x86: high, 0x87: high,
	0x88: high, 0x89: high, 0x8a: high, 0x8b: high, 0x8c: high, 0x8d: high, 0x8e: high, 0x8f: high,
	0x90: high, 0x91: high, 0x92: high, 0x93: high, 0x94: high, 0x95: high, 0x96: high, 0x97: high,
	0x98: high, 0x99: high, 0x9a: high, 0x9b: high, 0x9c: high, 0x9d: high, 0x9e: high, 0x9f: high,
	0xa0: high, 0xa1: high, 0xa2: high, 0xa3: high, 0xa4: high, 0xa5: high, 0xa6: high, 0xa7: high,
	0xa8: high, 0xa9: high, 0xaa: high, 0xab: high, 0xac: high, 0xad: high, 0xae: high, 0xaf: high,
	0xb0: high, 0xb1: high, 0xb2: high, 0xb3: high, 0xb4: high, 0xb5: high, 0xb6: high, 0xb7: high,
	0xb8: high, 0xb9: high, 0xba: high, 0xbb: high, 0xbc: high, 0xbd: high, 0xbe: high, 0xbf: high,
	0xc0: high, 0xc1: high, 0xc2: high, 0xc3: high, 0xc4: high, 0xc5: high, 0xc6: high, 0xc7: high,
	0xc8: high, 0xc9: high, 0xca: high, 0xcb: high, 0xcc: high, 0xcd: high, 0xce: high, 0xcf: high,
	0xd0: high, 0xd1: high, 0xd2: high, 0xd3: high, 0xd4: high, 0xd5: high, 0xd6: high, 0xd7: high,
	0xd8: high, 0xd9: high, 0xda: high, 0xdb: high, 0xdc: high, 0xdd: high, 0xde: high, 0xdf: high,
	0xe0: high, 0xe1: high, 0xe2: high, 0xe3: high, 0xe4: high, 0xe5: high, 0xe6: high, 0xe7: high,
	0xe8: high, 0xe9: high, 0xea: high, 0xeb: high, 0xec: high, 0xed: high, 0xee: high, 0xef: high,
	0xf0: high, 0xf1: high, 0xf2: high, 0xf3: high, 0xf4: high, 0xf5: high, 0xf6: high, 0xf7: high,
	0xf8: high, 0xf9: high, 0xfa: high, 0xfb: high, 0xfc: high, 0xfd: high, 0xfe: high, 0xff: high,
}

// The shape of a word: which classes occur in it.
const (
	hasLower = 1 << lower
	hasUpper = 1 << upper
	hasHigh  = 1 << high
	hasDigit = 1 << digit
	hasUnder = 1 << under
)

func isDigit(c byte) bool  { return c >= '0' && c <= '9' }
func isUpper(c byte) bool  { return c >= 'A' && c <= 'Z' }
func isLower(c byte) bool  { return c >= 'a' && c <= 'z' }
func isLetter(c byte) bool { return isLower(c|0x20) || c >= 0x80 }
func isWord(c byte) bool   { return class[c] >= lower && class[c] <= under }

// run looks at the whole text.
func (s *scanner) run() {
	t := s.t
	for i := 0; i < len(t); {
		switch class[t[i]] {
		case other:
			i++
		case digit:
			i = s.number(i)
		case lower, upper, high, under:
			j, shape := i+1, 1<<class[t[i]]
			for j < len(t) {
				c := class[t[j]]
				if c < lower || c > under {
					break
				}
				shape |= 1 << c
				j++
			}
			i = s.word(i, j, shape)
		case signAt:
			i = s.email(i)
		case colon:
			s.label(i)
			i = s.colon(i)
		case equals:
			s.label(i)
			i++
		case bracket:
			i = s.literal(i)
		case dash:
			i = s.pem(i)
		default:
			i++
		}
	}
}

// word looks at a word of letters, digits and underscores that begins with a
// letter, and returns where to go on.
func (s *scanner) word(i, j, shape int) int {
	t := s.t
	if shape == hasLower {
		if j+1 >= len(t) {
			return j
		}
		switch t[j] {
		case '-':
			if j-i < 9 {
				return s.dashed(i, j)
			}
		case '.':
			if j-i == 3 && t[i] == 'h' {
				return s.dashed(i, j)
			}
		case ' ':
			if isUpper(t[j+1]) && j-i >= 5 && j-i <= 10 && s.d.wants(Name) && s.nameFlags(i, j)&titleWord != 0 {
				return max(j, s.titled(i, j))
			}
		}
		return j
	}
	if shape&hasDigit != 0 {
		if end := s.mixed(i, j, shape); end > j {
			return end
		}
	}
	if j-i >= 12 || j < len(t) && (t[j] == '-' || t[j] == '.' && j-i <= 7) {
		if end := s.longWord(i, j, shape); end > j {
			return end
		}
	}
	if shape&hasHigh != 0 && isLower(t[i]) && j+1 < len(t) && t[j] == ' ' && isUpper(t[j+1]) && s.d.wants(Name) && s.nameFlags(i, j)&titleWord != 0 {
		return max(j, s.titled(i, j))
	}
	if isUpper(t[i]) || t[i] >= 0x80 {
		if shape&(hasDigit|hasUnder) == 0 {
			return s.capital(i, j, shape)
		}
	}
	return j
}

// hit notes a finding, unless it is too weak for the level.
func (s *scanner) hit(kind Kind, start, end int, sure uint8, why string) bool {
	if !s.d.wants(kind) || start >= end {
		return false
	}
	dropped := sure < s.d.least
	if dropped && !s.explain {
		return false
	}
	if n := len(s.hits); n == cap(s.hits) && n >= 64 {
		// Where much was found, as much will be found in the rest.
		s.hits = slices.Grow(s.hits, min(n*(len(s.t)-start)/(start+1)*9/8+16, 1<<16))
	}
	s.hits = append(s.hits, span{start: start, end: end, kind: kind, sure: sure, why: why, dropped: dropped})
	return !dropped
}

// settle puts the hits in order and decides where they overlap: what holds
// another stays, of two that overlap in part the surer one.
func settle(hits []span) []span {
	if len(hits) < 2 {
		return hits
	}
	slices.SortStableFunc(hits, func(a, b span) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return b.end - a.end
	})
	out := hits[:1]
	for _, h := range hits[1:] {
		last := &out[len(out)-1]
		if h.start >= last.end {
			out = append(out, h)
			continue
		}
		switch {
		case last.dropped != h.dropped:
			if last.dropped {
				*last = h
			}
		case h.start == last.start && h.end == last.end:
			if last.kind != "" && (h.sure > last.sure || h.kind == "") {
				*last = h
			}
		case h.end <= last.end:
			// It lies within.
		case last.kind == "":
			h.start = last.end
			out = append(out, h)
		case h.kind == "":
			last.end = h.start
			out = append(out, h)
		case h.sure > last.sure:
			// The part in front of it is lost to neither: it goes with the surer.
			h.start = last.start
			*last = h
		default:
			last.end = h.end
		}
	}
	return out
}

// wordBack is the start of the word that ends before i.
func (s *scanner) wordBack(i int) int {
	for i > 0 && isWord(s.t[i-1]) {
		i--
	}
	return i
}
