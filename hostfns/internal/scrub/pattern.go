package scrub

import (
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"
)

type secret struct{ mark, value string }

// set is a set of secrets as patterns. It does not change.
type set struct {
	secrets  []secret
	patterns []pattern
	longest  int // no match is longer
	machines sync.Pool
}

// pattern is a secret in one form. Exactly one of text, base64 and hex is set.
type pattern struct {
	secret int
	text   string  // with escapes, percent encoding and entities
	base64 []digit // at one alignment
	hex    string  // as bytes: each is two digits
	least  int     // the length of the shortest match
}

// digit is a digit of base64: the bits that the secret determines.
type digit struct{ value, mask byte }

func newSet(secrets []secret) *set {
	s := &set{secrets: secrets}
	for i, x := range secrets {
		s.patterns = append(s.patterns, pattern{secret: i, text: x.value, least: len(x.value)}, pattern{secret: i, hex: x.value, least: 2 * len(x.value)})
		for before := range 3 {
			digits := base64Digits(x.value, before)
			s.patterns = append(s.patterns, pattern{secret: i, base64: digits, least: len(digits)})
		}
		s.longest = max(s.longest, len(x.value)*(maxRun+10))
	}
	return s
}

// base64Digits returns the digits of a secret that has some bytes before it in
// its group of three. The first and the last digit may also have bits of what is
// around the secret.
func base64Digits(v string, before int) []digit {
	first, end := 8*before, 8*(before+len(v))
	var out []digit
	for at := first - first%6; at < end; at += 6 {
		var d digit
		for bit := at; bit < at+6; bit++ {
			d.value, d.mask = d.value<<1, d.mask<<1
			if bit >= first && bit < end {
				d.mask |= 1
				d.value |= v[bit/8-before] >> (7 - bit%8) & 1
			}
		}
		out = append(out, d)
	}
	return out
}

// state is a place in a pattern: the pattern, the position in it, where in a
// longer form of the byte at that position, and a count.
type state uint64

type form uint8

const (
	atStart   form = iota
	percent        // after %
	percent2       // after %2, which may begin %25
	percentX       // after % and the first digit
	slashes        // after count backslashes
	unicode        // after \u and count digits
	unicode2       // the same, in the second half of a pair
	slash2         // after count backslashes before the second half
	hexByte        // after \x and count digits
	ampersand      // in \u0026 that begins an HTML entity, after count digits
	entity         // in an HTML entity, after its byte count%16; count/16 is which
	done           // behind the end, after count bytes of padding
)

// maxRun bounds the backslashes of one escape (JSON in JSON, four levels deep),
// and the white space between two digits.
const maxRun = 15

func newState(pattern, at int, f form, count int) state {
	return state(pattern)<<40 | state(at)<<16 | state(f)<<8 | state(count)
}

func (s state) pattern() int { return int(s >> 40) }
func (s state) at() int      { return int(s >> 16 & 0xff_ffff) }
func (s state) form() form   { return form(s >> 8) }
func (s state) count() int   { return int(s & 0xff) }

// step appends the states that follow a byte.
func (s *set) step(to []state, from state, c byte) []state {
	switch p := &s.patterns[from.pattern()]; {
	case from.form() == done && (len(p.base64) == 0 || c != '=' || from.count() == 2):
		return to
	case from.form() == done: // padding
		return append(to, newState(from.pattern(), from.at(), done, from.count()+1))
	case p.text != "":
		return p.stepText(to, from, c)
	case p.hex != "":
		return p.stepHex(to, from, c)
	default:
		return p.stepBase64(to, from, c)
	}
}

// size is the number of positions of a pattern.
func (p *pattern) size() int { return max(len(p.text), 2*len(p.hex), len(p.base64)) }

// next is the state behind n positions.
func (p *pattern) next(from state, n int) state {
	at := from.at() + n
	if at == p.size() {
		return newState(from.pattern(), at, done, 0)
	}
	return newState(from.pattern(), at, atStart, 0)
}

func (p *pattern) stepText(to []state, from state, c byte) []state {
	at, n := from.at(), from.count()
	v := p.text[at]
	in := func(f form, count int) { to = append(to, newState(from.pattern(), at, f, count)) }
	advance := func(n int) { to = append(to, p.next(from, n)) }
	entities := func() {
		for i := range entitiesOf(v) {
			in(entity, i<<4|1)
		}
	}
	switch from.form() {
	case atStart:
		if c == v || c == '+' && v == ' ' {
			advance(1)
		}
		switch c {
		case '%':
			in(percent, 0)
		case '\\':
			in(slashes, 1)
		case '&':
			entities()
		}
	case percent:
		if hexDigit(c) == v>>4 {
			in(percentX, 0)
		}
		if c == '2' && n < 3 {
			in(percent2, n)
		}
	case percent2:
		if c == '5' {
			in(percent, n+1)
		}
	case percentX:
		if hexDigit(c) == v&15 {
			advance(1)
		}
	case slashes:
		switch {
		case c == '\\' && n < maxRun:
			in(slashes, n+1)
			if v == '\\' {
				advance(1)
			}
		case c == 'u':
			in(unicode, 0)
			if entitiesOf(v) != nil {
				in(ampersand, 0)
			}
		case c == 'x':
			in(hexByte, 0)
		}
		if c == shortEscape(v) {
			advance(1)
		}
	case hexByte:
		switch r, size := utf8.DecodeRuneInString(p.text[at:]); {
		case n == 0 && r < 0x100 && hexDigit(c) == byte(r>>4):
			in(hexByte, 1)
		case n == 1 && r < 0x100 && hexDigit(c) == byte(r&15):
			advance(size)
		case n == 2 && hexDigit(c) == v&15:
			advance(1)
		}
		if n == 0 && v >= utf8.RuneSelf && hexDigit(c) == v>>4 {
			in(hexByte, 2) // of a byte, as Python writes bytes
		}
	case unicode:
		r, size := utf8.DecodeRuneInString(p.text[at:])
		high, _ := utf16.EncodeRune(r)
		pair := r > 0xffff
		if pair {
			r = high
		}
		switch {
		case hexDigit(c) != byte(r>>(12-4*n)&15):
		case n < 3:
			in(unicode, n+1)
		case pair:
			in(slash2, 0)
		default:
			advance(size)
		}
	case slash2:
		if c == '\\' && n < maxRun {
			in(slash2, n+1)
		} else if c == 'u' && n > 0 {
			in(unicode2, 0)
		}
	case unicode2:
		r, size := utf8.DecodeRuneInString(p.text[at:])
		_, low := utf16.EncodeRune(r)
		switch {
		case hexDigit(c) != byte(low>>(12-4*n)&15):
		case n < 3:
			in(unicode2, n+1)
		default:
			advance(size)
		}
	case ampersand:
		switch {
		case c != "0026"[n]:
		case n < 3:
			in(ampersand, n+1)
		default:
			entities()
		}
	case entity:
		switch e := entitiesOf(v)[n>>4]; {
		case c|0x20 != e[n&15]|0x20:
		case n&15+1 < len(e):
			in(entity, n+1)
		default:
			advance(1)
		}
	}
	return to
}

func (p *pattern) stepHex(to []state, from state, c byte) []state {
	at := from.at()
	if from.form() == slashes {
		return p.lineBreak(to, from, c)
	}
	digit := p.hex[at/2] >> 4
	if at%2 == 1 {
		digit = p.hex[at/2] & 15
	}
	switch {
	case hexDigit(c) == digit:
		to = append(to, p.next(from, 1))
	case at > 0 && at%2 == 0 && strings.IndexByte(" \t\r\n:-\\", c) >= 0:
		to = p.between(to, from, c)
	}
	return to
}

func (p *pattern) stepBase64(to []state, from state, c byte) []state {
	at, n := from.at(), from.count()
	d := p.base64[at]
	digit := func(v byte) {
		if v < 64 && v&d.mask == d.value {
			to = append(to, p.next(from, 1))
		}
	}
	in := func(f form, count int) { to = append(to, newState(from.pattern(), at, f, count)) }
	switch from.form() {
	case atStart:
		digit(base64Digit(c))
		switch {
		case c == '%':
			in(percent, 0)
		case c == '\\':
			in(slashes, 1)
		case at > 0 && strings.IndexByte(" \t\r\n", c) >= 0:
			to = p.between(to, from, c)
		}
	case percent: // %2B, %2F; %252B
		if c == '2' {
			in(percentX, n)
		}
	case percentX:
		switch c | 0x20 {
		case 'b':
			digit(62)
		case 'f':
			digit(63)
		case '5' | 0x20:
			if n < 3 {
				in(percent, n+1)
			}
		}
	case slashes:
		if c == '/' {
			digit(63)
		}
		if c == 'u' {
			in(unicode, 0)
		}
		to = p.lineBreak(to, from, c)
	case unicode: // \u002b, \u002f
		switch {
		case n < 2 && c == '0', n == 2 && c == '2':
			in(unicode, n+1)
		case n == 3 && c|0x20 == 'b':
			digit(62)
		case n == 3 && c|0x20 == 'f':
			digit(63)
		}
	}
	return to
}

// between is the state after a byte between two digits.
func (p *pattern) between(to []state, from state, c byte) []state {
	switch n := from.count(); {
	case c == '\\':
		return append(to, newState(from.pattern(), from.at(), slashes, 1))
	case n < maxRun:
		return append(to, newState(from.pattern(), from.at(), atStart, n+1))
	}
	return to
}

// lineBreak is the state after backslashes between two digits: more of them, or
// an escaped line break.
func (p *pattern) lineBreak(to []state, from state, c byte) []state {
	switch n := from.count(); {
	case from.at() == 0:
	case c == '\\' && n < maxRun:
		to = append(to, newState(from.pattern(), from.at(), slashes, n+1))
	case c == 'n' || c == 'r':
		to = append(to, newState(from.pattern(), from.at(), atStart, 0))
	}
	return to
}

// shortEscape returns the character behind the backslash of a short escape, or 0.
func shortEscape(v byte) byte {
	switch v {
	case '\n':
		return 'n'
	case '\r':
		return 'r'
	case '\t':
		return 't'
	case '\b':
		return 'b'
	case '\f':
		return 'f'
	}
	if v >= 'a' && v <= 'z' || v >= 'A' && v <= 'Z' || v >= '0' && v <= '9' || v >= 0x80 {
		return 0
	}
	return v
}

// entitiesOf returns the HTML entities of a byte, without the ampersand. Their
// case does not matter.
func entitiesOf(v byte) []string {
	switch v {
	case '&':
		return []string{"&amp;", "&#38;", "&#x26;"}
	case '<':
		return []string{"&lt;", "&#60;", "&#x3c;"}
	case '>':
		return []string{"&gt;", "&#62;", "&#x3e;"}
	case '"':
		return []string{"&quot;", "&#34;", "&#x22;"}
	case '\'':
		return []string{"&apos;", "&#39;", "&#x27;"}
	}
	return nil
}

// hexDigit is the value of a digit, or 255.
func hexDigit(c byte) byte {
	switch {
	case c >= '0' && c <= '9':
		return c - '0'
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10
	}
	return 255
}

// base64Digit is the value of a digit of either alphabet, or 255.
func base64Digit(c byte) byte {
	switch {
	case c >= 'A' && c <= 'Z':
		return c - 'A'
	case c >= 'a' && c <= 'z':
		return c - 'a' + 26
	case c >= '0' && c <= '9':
		return c - '0' + 52
	case c == '+' || c == '-':
		return 62
	case c == '/' || c == '_':
		return 63
	}
	return 255
}
