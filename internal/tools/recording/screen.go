//go:build unix

package main

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// screen emulates the part of a terminal that the output of wexec needs.
type screen struct {
	columns, rows int
	x, y          int
	style         string // class of the next text
	cells         [][]cell
}

type cell struct {
	r     rune
	style string
}

func newScreen(columns, rows int) *screen {
	s := &screen{columns: columns, rows: rows}
	for range rows {
		s.cells = append(s.cells, nil)
	}
	return s
}

// write interprets text with control sequences.
func (s *screen) write(data []byte) {
	for len(data) > 0 {
		if data[0] == 0x1b {
			data = data[s.sequence(data):]
			continue
		}
		r, n := utf8.DecodeRune(data)
		data = data[n:]
		switch {
		case r == '\r':
			s.x = 0
		case r == '\n':
			s.newLine()
		case r < ' ':
		default:
			s.put(r)
		}
	}
}

func (s *screen) newLine() {
	if s.y++; s.y == s.rows { // scroll
		s.y--
		s.cells = append(s.cells[1:], nil)
	}
}

func (s *screen) put(r rune) {
	if s.x == s.columns {
		s.x = 0
		s.newLine()
	}
	line := s.cells[s.y]
	for len(line) <= s.x {
		line = append(line, cell{r: ' '})
	}
	line[s.x] = cell{r, s.style}
	s.cells[s.y] = line
	s.x++
}

// sequence interprets one control sequence (colors, clear to end of line) and
// returns its length.
func (s *screen) sequence(data []byte) int {
	if len(data) < 2 || data[1] != '[' {
		return min(len(data), 2)
	}
	end := 2
	for end < len(data) && (data[end] < '@' || data[end] > '~') {
		end++
	}
	if end == len(data) {
		return end
	}
	parameters := string(data[2:end])
	switch data[end] {
	case 'm':
		s.color(parameters)
	case 'K':
		if line := s.cells[s.y]; s.x < len(line) {
			s.cells[s.y] = line[:s.x]
		}
	}
	return end + 1
}

// color converts color codes to a class.
func (s *screen) color(parameters string) {
	for _, p := range strings.Split(parameters, ";") {
		n, _ := strconv.Atoi(p)
		switch {
		case n == 0:
			s.style = ""
		case n == 1 || n == 2 || n >= 30 && n <= 37:
			s.style = strings.TrimSpace(s.style + " c" + p)
		}
	}
}

// text returns what is on the screen.
func (s *screen) text() string {
	var b strings.Builder
	for _, row := range s.cells {
		for _, c := range row {
			b.WriteRune(c.r)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// line splits a row into pieces of the same style.
func (s *screen) line(y int) []piece {
	var out []piece
	for _, c := range s.cells[y] {
		if len(out) == 0 || out[len(out)-1].style != c.style {
			out = append(out, piece{style: c.style})
		}
		out[len(out)-1].text += string(c.r)
	}
	for len(out) > 0 && strings.TrimSpace(out[len(out)-1].text) == "" {
		out = out[:len(out)-1]
	}
	return out
}

// piece is text in one style.
type piece struct{ style, text string }
