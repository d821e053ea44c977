package hostfns

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxNesting bounds how deep arguments may be nested, and maxRoom how much room
// their values may take in the host, in bytes, beside the texts in them.
const (
	maxNesting = 100
	maxRoom    = 64 << 20
)

// freeRoom is what arguments may take beside their text and is not counted.
const freeRoom = 1 << 20

// What one value takes, about: an object is much larger than its text.
const (
	roomOfValue  = 32
	roomOfObject = 320
)

// document is JSON that a guest wrote, read once and strictly. What the policy
// looks at has to be what the tool will see, so whatever two readers may
// understand differently is either refused or makes the document inexact.
type document struct {
	value any
	// exact: passing the bytes on says the same as writing value anew.
	exact bool
	// room is about what value takes in the host beside its texts.
	room int64
}

// decode reads one JSON value. Numbers become float64, as encoding/json has
// them. A key that stands twice is refused.
func decode(data []byte) (document, error) {
	d := decoder{data: string(data), exact: true}
	d.space()
	v, err := d.value(0)
	if err != nil {
		return document{}, err
	}
	d.space()
	if d.at != len(d.data) {
		return document{}, d.fail("something follows the value")
	}
	return document{value: v, exact: d.exact, room: d.room}, nil
}

// decoder shares one copy of the document with the texts in it.
type decoder struct {
	data  string
	at    int
	exact bool
	room  int64
}

func (d *decoder) fail(format string, args ...any) error {
	return fmt.Errorf("byte %d: %s", d.at, fmt.Sprintf(format, args...))
}

var errJSONEnd = errors.New("the JSON ends too early")

func (d *decoder) space() {
	for d.at < len(d.data) {
		switch d.data[d.at] {
		case ' ', '\t', '\n', '\r':
			d.at++
		default:
			return
		}
	}
}

func (d *decoder) value(depth int) (any, error) {
	if depth > maxNesting {
		return nil, d.fail("nested deeper than %d", maxNesting)
	}
	if d.at >= len(d.data) {
		return nil, errJSONEnd
	}
	if d.room += roomOfValue; d.room > maxRoom {
		return nil, d.fail("the values take more than %d MiB: hand them over in parts, or as text", maxRoom>>20)
	}
	switch c := d.data[d.at]; {
	case c == '{':
		d.room += roomOfObject
		return d.object(depth)
	case c == '[':
		return d.array(depth)
	case c == '"':
		return d.text()
	case c == '-' || (c >= '0' && c <= '9'):
		return d.number()
	case c == 't':
		return true, d.word("true")
	case c == 'f':
		return false, d.word("false")
	case c == 'n':
		return nil, d.word("null")
	}
	return nil, d.fail("no JSON value begins here")
}

func (d *decoder) word(w string) error {
	if !strings.HasPrefix(d.data[d.at:], w) {
		return d.fail("no JSON value begins here")
	}
	d.at += len(w)
	return nil
}

func (d *decoder) object(depth int) (any, error) {
	d.at++
	out := map[string]any{}
	d.space()
	if d.at < len(d.data) && d.data[d.at] == '}' {
		d.at++
		return out, nil
	}
	for {
		d.space()
		if d.at >= len(d.data) {
			return nil, errJSONEnd
		}
		if d.data[d.at] != '"' {
			return nil, d.fail("expected a name in quotes")
		}
		name, err := d.text()
		if err != nil {
			return nil, err
		}
		if _, twice := out[name]; twice {
			return nil, d.fail("a name stands twice in one object")
		}
		if err := d.sign(':'); err != nil {
			return nil, err
		}
		d.space()
		if out[name], err = d.value(depth + 1); err != nil {
			return nil, err
		}
		more, err := d.next('}')
		if err != nil || !more {
			return out, err
		}
	}
}

func (d *decoder) array(depth int) (any, error) {
	d.at++
	out := []any{}
	d.space()
	if d.at < len(d.data) && d.data[d.at] == ']' {
		d.at++
		return out, nil
	}
	for {
		d.space()
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
		more, err := d.next(']')
		if err != nil || !more {
			return out, err
		}
	}
}

// next passes a comma (more) or the closing sign.
func (d *decoder) next(closing byte) (more bool, err error) {
	d.space()
	if d.at >= len(d.data) {
		return false, errJSONEnd
	}
	switch d.data[d.at] {
	case ',':
		d.at++
		return true, nil
	case closing:
		d.at++
		return false, nil
	}
	return false, d.fail("expected a comma or %q", closing)
}

func (d *decoder) sign(c byte) error {
	d.space()
	if d.at >= len(d.data) {
		return errJSONEnd
	}
	if d.data[d.at] != c {
		return d.fail("expected %q", c)
	}
	d.at++
	return nil
}

func (d *decoder) number() (any, error) {
	start := d.at
	digits := func() bool {
		from := d.at
		for d.at < len(d.data) && d.data[d.at] >= '0' && d.data[d.at] <= '9' {
			d.at++
		}
		return d.at > from
	}
	if d.data[d.at] == '-' {
		d.at++
	}
	lead := d.at
	if !digits() || (d.data[lead] == '0' && d.at > lead+1) {
		return nil, d.fail("no number of JSON")
	}
	if d.at < len(d.data) && d.data[d.at] == '.' {
		d.at++
		if !digits() {
			return nil, d.fail("no number of JSON")
		}
	}
	if d.at < len(d.data) && (d.data[d.at] == 'e' || d.data[d.at] == 'E') {
		d.at++
		if d.at < len(d.data) && (d.data[d.at] == '+' || d.data[d.at] == '-') {
			d.at++
		}
		if !digits() {
			return nil, d.fail("no number of JSON")
		}
	}
	f, err := strconv.ParseFloat(d.data[start:d.at], 64)
	if err != nil {
		return nil, d.fail("the number is too large")
	}
	return f, nil
}

func (d *decoder) text() (string, error) {
	d.at++
	start := d.at
	for d.at < len(d.data) {
		switch c := d.data[d.at]; {
		case c == '"':
			s := d.data[start:d.at]
			d.at++
			if !utf8.ValidString(s) {
				return "", d.fail("a text is not valid UTF-8")
			}
			return s, nil
		case c == '\\':
			return d.escaped(start)
		case c < 0x20:
			return "", d.fail("a control character in a text")
		}
		d.at++
	}
	return "", errJSONEnd
}

// escaped reads on after the first backslash.
func (d *decoder) escaped(start int) (string, error) {
	b := append(make([]byte, 0, d.at-start+32), d.data[start:d.at]...)
	for d.at < len(d.data) {
		c := d.data[d.at]
		switch {
		case c == '"':
			d.at++
			if !utf8.Valid(b) {
				return "", d.fail("a text is not valid UTF-8")
			}
			return string(b), nil
		case c < 0x20:
			return "", d.fail("a control character in a text")
		case c != '\\':
			b = append(b, c)
			d.at++
			continue
		}
		if d.at+1 >= len(d.data) {
			return "", errJSONEnd
		}
		d.at += 2
		switch e := d.data[d.at-1]; e {
		case '"', '\\', '/':
			b = append(b, e)
		case 'b':
			b = append(b, '\b')
		case 'f':
			b = append(b, '\f')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'u':
			r, err := d.unicode()
			if err != nil {
				return "", err
			}
			b = utf8.AppendRune(b, r)
		default:
			return "", d.fail("no escape of JSON")
		}
	}
	return "", errJSONEnd
}

// unicode reads four hex digits, and the second half of a pair. Half a pair
// has no meaning of its own; it becomes the replacement character, and the
// document inexact.
func (d *decoder) unicode() (rune, error) {
	r, err := d.hex()
	if err != nil || !utf16.IsSurrogate(r) {
		return r, err
	}
	if d.at+1 < len(d.data) && d.data[d.at] == '\\' && d.data[d.at+1] == 'u' {
		back := d.at
		d.at += 2
		low, err := d.hex()
		if err != nil {
			return 0, err
		}
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair, nil
		}
		d.at = back
	}
	d.exact = false
	return utf8.RuneError, nil
}

func (d *decoder) hex() (rune, error) {
	if d.at+4 > len(d.data) {
		return 0, errJSONEnd
	}
	n, err := strconv.ParseUint(d.data[d.at:d.at+4], 16, 32)
	if err != nil {
		return 0, d.fail("no escape of JSON")
	}
	d.at += 4
	return rune(n), nil
}
