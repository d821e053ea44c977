package guests

import (
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
)

// SourceMap maps places of compiled code to the source.
type SourceMap struct {
	lines [][]segment // by line of the compiled code
}

// segment is the source place of a range of compiled code.
type segment struct {
	column           int // in the compiled line
	from, fromColumn int // line and column of the source, from 0
	known            bool
}

// Bounds of a source map, which is untrusted.
const (
	maxMapBytes    = 64 << 20
	maxMapLines    = 4 << 20
	maxMapSegments = 8 << 20
	maxMapNumber   = 1 << 30
)

// ParseSourceMap parses a source map of version 3 with a single source.
func ParseSourceMap(data []byte) (*SourceMap, error) {
	if len(data) > maxMapBytes {
		return nil, errors.New("source map is too large")
	}
	var doc struct {
		Version  int    `json:"version"`
		Mappings string `json:"mappings"`
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("decode source map: %w", err)
	}
	if doc.Version != 3 {
		return nil, fmt.Errorf("unsupported source map version %d", doc.Version)
	}
	m := &SourceMap{}
	total := 0
	var source, from, fromColumn int
	for rest, more := doc.Mappings, true; more; {
		var line string
		line, rest, more = strings.Cut(rest, ";")
		if len(m.lines) >= maxMapLines {
			return nil, errors.New("source map has too many lines")
		}
		var segments []segment
		column := 0
		for line != "" {
			var text string
			text, line, _ = strings.Cut(line, ",")
			numbers, n, err := decodeNumbers(text)
			if err != nil {
				return nil, err
			}
			if n != 1 && n != 4 && n != 5 {
				return nil, fmt.Errorf("source map segment has %d numbers", n)
			}
			if column += numbers[0]; column < 0 || column > maxMapNumber {
				return nil, errors.New("source map position is out of range")
			}
			s := segment{column: column}
			if n > 1 {
				source, from, fromColumn = source+numbers[1], from+numbers[2], fromColumn+numbers[3]
				if min(from, fromColumn) < 0 || max(from, fromColumn) > maxMapNumber {
					return nil, errors.New("source map position is out of range")
				}
				s.from, s.fromColumn, s.known = from, fromColumn, source == 0
			}
			if total++; total > maxMapSegments {
				return nil, errors.New("source map has too many segments")
			}
			segments = append(segments, s)
		}
		if !sort.SliceIsSorted(segments, func(i, j int) bool { return segments[i].column < segments[j].column }) {
			sort.SliceStable(segments, func(i, j int) bool { return segments[i].column < segments[j].column })
		}
		m.lines = append(m.lines, segments)
	}
	return m, nil
}

// Lookup returns line and column of the source for a place in the compiled code:
// lines from 1, columns in UTF-16 units from 0. It returns false for code that the
// compiler added.
func (m *SourceMap) Lookup(line, column int) (from, fromColumn int, ok bool) {
	if line < 1 || line > len(m.lines) {
		return 0, 0, false
	}
	segments := m.lines[line-1]
	if len(segments) == 0 {
		return 0, 0, false
	}
	// The last segment that starts at or before the place; before the first, the
	// first, because the place is in the indentation.
	i := max(sort.Search(len(segments), func(i int) bool { return segments[i].column > column })-1, 0)
	s := segments[i]
	if !s.known {
		return 0, 0, false
	}
	return s.from + 1, s.fromColumn, true
}

// decodeNumbers decodes the numbers of a segment.
func decodeNumbers(text string) (numbers [5]int, n int, err error) {
	for text != "" {
		if n == len(numbers) {
			return numbers, 0, errors.New("source map segment is too long")
		}
		value, shift := 0, 0
		for {
			if text == "" || shift > 30 {
				return numbers, 0, errors.New("unterminated number in source map")
			}
			digit := base64Digit(text[0])
			text = text[1:]
			if digit < 0 {
				return numbers, 0, errors.New("invalid base64 digit in source map")
			}
			value |= digit & 31 << shift
			shift += 5
			if digit&32 == 0 {
				break
			}
		}
		if value&1 != 0 {
			value = -(value >> 1)
		} else {
			value >>= 1
		}
		numbers[n] = value
		n++
	}
	return numbers, n, nil
}

func base64Digit(c byte) int {
	switch {
	case 'A' <= c && c <= 'Z':
		return int(c - 'A')
	case 'a' <= c && c <= 'z':
		return int(c-'a') + 26
	case '0' <= c && c <= '9':
		return int(c-'0') + 52
	case c == '+':
		return 62
	case c == '/':
		return 63
	}
	return -1
}
