package terminal

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/wexec/wexec/internal/text"
)

// Mark starts each line of a question. Everything else that is printed to a
// terminal has an escape in its place, so only questions have lines that start
// with it.
const Mark = '▐'

// writer is who began a line.
type writer uint8

const (
	nobody  writer = iota
	wexec          // messages, which may quote text from outside
	program        // what the program itself prints
)

// line is the state of the terminal's current line.
type line struct {
	by     writer // has printed characters in it
	column int    // characters that a program may go back over, at most the cells before the cursor
	room   int    // marks that may follow on the character before the cursor
	styled writer // changed the style
}

// end appends what makes the rest of the terminal independent of the line: its
// style is reset, and the line is ended if it has characters.
func (l *line) end(out []byte) []byte {
	out = l.resetStyle(out)
	if l.by != nobody {
		out = append(out, '\n')
	}
	*l = line{}
	return out
}

func (l *line) resetStyle(out []byte) []byte {
	if l.styled != nobody {
		out = append(out, "\x1b[0m"...)
		l.styled = nobody
	}
	return out
}

// filter removes what controls a terminal from one stream of bytes, which can be
// split anywhere. What it lets through:
//
//   - printable characters, tabs and line feeds;
//   - bold, dim, italic, underline, reverse, and twelve foreground colors, until
//     the end of the line. Black, white and gray can be the background, and a
//     program could set any background, so text in them could be hidden;
//   - carriage return and backspace of a program in a line that the program
//     began, for progress bars.
//
// Control sequences and ASCII control characters are dropped. Other control
// characters, those that change the direction of writing, [Mark], and accents
// piled on one character are written as escapes.
type filter struct {
	by    writer
	state state
	csi   []byte // parameters and intermediates of the control sequence
	rest  []byte // of a character that continues in the next write
}

// maxMarks bounds the marks that are piled on one character.
const maxMarks = 4

// state is what the filter is in the middle of.
type state uint8

const (
	ground  state = iota
	escape        // after ESC
	charset       // after ESC and an intermediate
	csi           // a control sequence, to its final byte
	str           // a string such as OSC or DCS, to its terminator or the end of the line
)

// maxCSI bounds the parameters of a control sequence that is let through.
const maxCSI = 64

// append appends the filtered data to out.
func (f *filter) append(out, data []byte, l *line) []byte {
	if len(f.rest) > 0 {
		data = append(f.rest, data...)
		f.rest = nil
	}
	for len(data) > 0 {
		if n := plain(data); n > 0 && f.state == ground {
			out = append(f.begin(out, l), data[:n]...)
			l.column, l.room = l.column+n, maxMarks
			data = data[n:]
			continue
		}
		r, size := utf8.DecodeRune(data)
		if r == utf8.RuneError && size == 1 && !utf8.FullRune(data) {
			f.rest = bytes.Clone(data)
			break
		}
		data = data[size:]
		if f.state == ground && r == '\r' && f.by != program {
			if len(data) > 0 && data[0] != '\n' {
				out = f.escape(out, r, l)
			}
			continue
		}
		out = f.rune(out, r, l)
	}
	return out
}

// plain returns how many bytes at the start of data are printable ASCII.
func plain(data []byte) int {
	for i, c := range data {
		if c < ' ' || c > '~' {
			return i
		}
	}
	return len(data)
}

func (f *filter) rune(out []byte, r rune, l *line) []byte {
	switch {
	case r == '\n': // ends every sequence
		f.state = ground
		out = append(l.resetStyle(out), '\n')
		*l = line{}
		return out
	case r == 0x1b:
		f.state = escape
		return out
	case r == 0x18 || r == 0x1a: // cancel
		f.state = ground
		return out
	}
	switch f.state {
	case escape:
		return f.introduce(out, r, l)
	case charset:
		if r < ' ' || r > '/' {
			f.state = ground
		}
	case csi:
		return f.sequence(out, r, l)
	case str:
		if r == 0x07 || r == 0x9c {
			f.state = ground
		}
	case ground:
		return f.character(out, r, l)
	}
	return out
}

// introduce handles the character after ESC.
func (f *filter) introduce(out []byte, r rune, l *line) []byte {
	f.state = ground
	switch {
	case r == '[':
		f.state, f.csi = csi, f.csi[:0]
	case strings.ContainsRune("]PX^_k", r):
		if f.by == program { // in a message it could hide what follows
			f.state = str
		}
	case r >= ' ' && r <= '/':
		f.state = charset
	case r < ' ' || r > '~': // no sequence
		return f.character(out, r, l)
	}
	return out
}

// sequence handles a character of a control sequence.
func (f *filter) sequence(out []byte, r rune, l *line) []byte {
	switch {
	case r >= ' ' && r <= '?':
		if len(f.csi) <= maxCSI {
			f.csi = append(f.csi, byte(r))
		}
		return out
	case r < ' ' || r == 0x7f: // terminals execute or ignore it
		return out
	}
	f.state = ground
	if r > '~' {
		return f.character(out, r, l)
	}
	if r != 'm' || len(f.csi) > maxCSI {
		return out
	}
	style := allowedStyle(string(f.csi))
	if style == "" {
		return out
	}
	if l.by != nobody {
		out = f.begin(out, l)
	}
	l.styled = f.by
	return append(append(append(out, "\x1b["...), style...), 'm')
}

// allowedStyle returns the allowed ones of the parameters of SGR, or "" if there
// are none.
func allowedStyle(params string) string {
	if strings.Trim(params, "0123456789;") != "" { // private, or with subparameters
		return ""
	}
	var out []string
	list := strings.Split(params, ";")
	for i := 0; i < len(list); i++ {
		n, err := strconv.Atoi(list[i])
		switch {
		case list[i] == "":
			out = append(out, "0")
		case err != nil: // too large
		case n == 38 || n == 48 || n == 58: // a color by number: 5;n or 2;r;g;b
			if i+1 < len(list) && list[i+1] == "2" {
				i += 4
			} else {
				i += 2
			}
		case n <= 4 || n == 7 || n >= 22 && n <= 24 || n == 27 || n >= 31 && n <= 36 || n == 39 || n >= 91 && n <= 96:
			out = append(out, strconv.Itoa(n))
		}
	}
	return strings.Join(out, ";")
}

// character handles a character outside of sequences.
func (f *filter) character(out []byte, r rune, l *line) []byte {
	switch {
	case r == '\r' && f.by == program && l.by == program:
		l.column, l.room = 0, 0
		return append(out, '\r')
	case r == '\b' && f.by == program && l.by == program && l.column > 0:
		l.column, l.room = l.column-1, 0
		return append(out, '\b')
	case r == '\t':
		out = f.begin(out, l)
		l.room = 0
		return append(out, '\t')
	case r < ' ' || r == 0x7f:
		return out
	case r == Mark || text.Unsafe(r) && r != 0x200c && r != 0x200d: // those join letters and emoji
		return f.escape(out, r, l)
	case unicode.In(r, unicode.Mn, unicode.Me):
		if l.by != f.by || l.room == 0 {
			return f.escape(out, r, l)
		}
		l.room--
		return utf8.AppendRune(out, r)
	}
	out = f.begin(out, l)
	if !takesNoCell(r) {
		l.room = maxMarks
	}
	if r < 0x300 || r >= 0x2190 && r < 0x2c00 { // others may take no cell
		l.column++
	}
	return utf8.AppendRune(out, r)
}

// escape appends a character as an escape.
func (f *filter) escape(out []byte, r rune, l *line) []byte {
	before := f.begin(out, l)
	out = fmt.Appendf(before, `\u{%x}`, r)
	l.column, l.room = l.column+len(out)-len(before), maxMarks
	return out
}

// takesNoCell reports whether a printable character can have no cell: joiners,
// fillers, and the letters of a Korean syllable after the first.
func takesNoCell(r rune) bool {
	return r == 0x200c || r == 0x200d || r >= 0x1160 && r < 0x1200 || r >= 0xd7b0 && r < 0xd800 || unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
}

// begin makes the current line one of this writer: it ends the line of another.
func (f *filter) begin(out []byte, l *line) []byte {
	switch {
	case l.by != f.by && l.by != nobody:
		out = l.end(out)
	case l.styled != f.by:
		out = l.resetStyle(out)
	}
	l.by = f.by
	return out
}

// Filter returns a text as the filter lets it through to a terminal.
func Filter(s string) string {
	f, l := filter{by: wexec}, line{}
	out := f.append(nil, []byte(s), &l)
	return string(l.resetStyle(out))
}
