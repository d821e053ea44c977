package detect

import (
	"bytes"
	"slices"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/match"
)

// Bounds of tables.
const (
	maxColumns = 128
	maxHead    = 4096
	maxRow     = 64 << 10
)

// tables reads the tables in a text, CSV and Markdown: the name of a column
// counts as the field of each cell below it.
func (s *scanner) tables() {
	t := s.Bytes
	if bytes.IndexByte(t, '\n') < 0 {
		return
	}
	fresh := true // a table without a rule only begins a paragraph
	for i := 0; i < len(t); {
		end := lineEnd(t, i)
		if len(bytes.TrimSpace(t[i:end])) == 0 {
			fresh = true
			i = end + 1
			continue
		}
		next := end + 1
		if end-i < maxHead {
			if stop := s.table(i, end, fresh); stop > 0 {
				next = stop
			}
		}
		fresh = false
		i = next
	}
	s.replaceCells()
}

func lineEnd(t []byte, i int) int {
	if n := bytes.IndexByte(t[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(t)
}

// separator is the sign between the cells of a table whose head is line, 0 if the
// line is not a head, and the start of the rows. below is the start of the next
// line.
func separator(t, line []byte, below int, fresh bool) (sign byte, rows int) {
	if head := bytes.TrimLeft(line, " "); len(head) > 2 && bytes.IndexByte(head, '|') >= 0 {
		rule := bytes.TrimSpace(t[below:lineEnd(t, below)])
		if len(rule) >= 3 && len(bytes.Trim(rule, "|-:+ ")) == 0 {
			return '|', min(len(t), lineEnd(t, below)+1)
		}
	}
	if !fresh {
		return 0, below
	}
	most := 0
	for _, c := range []byte{'\t', ';', ',', '|'} {
		if n := bytes.Count(line, []byte{c}); n > most && n < maxColumns && splitCells(t[below:lineEnd(t, below)], c, nil) == n+1 {
			most, sign = n, c
		}
	}
	return sign, below
}

// table reads a table whose head is the line t[from:to]. It returns where the
// table ends, 0 if the line is not a head.
func (s *scanner) table(from, to int, fresh bool) int {
	t := s.Bytes
	if to >= len(t) {
		return 0
	}
	line := bytes.TrimRight(t[from:to], "\r ")
	sign, i := separator(t, line, to+1, fresh)
	if sign == 0 {
		return 0
	}
	var cells [maxColumns][2]int
	n := splitCells(line, sign, cells[:])
	if n < 2 || n > maxColumns {
		return 0
	}
	columns := make([]*node, n)
	useful, person := false, false
	for c := range n {
		name := trimCell(line[cells[c][0]:cells[c][1]])
		if !isColumnName(name) {
			if sign != '|' || len(name) > 0 {
				return 0
			}
			continue
		}
		f := s.d.fields.child(s.Field, name, false)
		f.Column = true
		columns[c] = &node{Field: f}
		useful = useful || f.Never || isEvidence(&f)
		person = person || f.Label.NamesPerson()
	}
	if !useful {
		return 0
	}
	for _, column := range columns {
		if column != nil {
			column.Person = column.Person || person
		}
	}
	for i < len(t) {
		end := lineEnd(t, i)
		row := bytes.TrimRight(t[i:end], "\r ")
		if len(row) == 0 || len(row) > maxRow {
			break
		}
		m := splitCells(row, sign, cells[:])
		if m != n && !(sign == '|' && m > 1) {
			break
		}
		for c := range min(n, m) {
			if columns[c] != nil {
				s.cell(columns[c], i+cells[c][0], i+cells[c][1])
			}
		}
		i = end + 1
	}
	return min(i, len(t))
}

// isEvidence reports a column that says something about its cells.
func isEvidence(f *match.Field) bool {
	return f.Label.Kind != "" || f.Always || f.Context != 0 || f.Mode != ""
}

// isColumnName reports what can be the name of a column: a few words.
func isColumnName(name []byte) bool {
	return len(name) > 0 && len(name) <= 40 && bytes.Count(name, []byte(" ")) < 5 && char.CountDigits(name) <= 2 && !bytes.ContainsAny(name, "{}=;<>*@\"") && !bytes.Contains(name, []byte("//"))
}

// cell searches one cell as the value of its column.
func (s *scanner) cell(column *node, from, to int) {
	text := trimCell(s.Bytes[from:to])
	if len(text) == 0 {
		return
	}
	from += bytes.Index(s.Bytes[from:to], text)
	f := &column.Field
	if f.Never || isEvidence(f) {
		// What was found without the column does not count.
		s.cells = append(s.cells, [2]int{from, from + len(text)})
	}
	if f.Never {
		return
	}
	probe := scanner{d: s.d, pass: s.pass, node: column, nested: s.nested, Text: match.Text{Bytes: text, Rules: s.Rules, Field: f, Explain: s.Explain}}
	if !probe.field() {
		if !isEvidence(f) {
			return
		}
		probe.Spans = probe.Spans[:0]
		probe.scan()
	}
	for _, h := range probe.Spans {
		h.Start += from
		h.End += from
		h.Shown, h.Column = f.Shown, f
		s.judged = append(s.judged, h)
	}
}

// replaceCells puts what was found by column in the place of what was found
// without.
func (s *scanner) replaceCells() {
	if len(s.cells) == 0 {
		return
	}
	slices.SortStableFunc(s.Spans, func(a, b match.Span) int { return a.Start - b.Start })
	kept, c := s.Spans[:0], 0
	for _, h := range s.Spans {
		for c < len(s.cells) && s.cells[c][1] <= h.Start {
			c++
		}
		if c == len(s.cells) || h.Start < s.cells[c][0] || h.End > s.cells[c][1] {
			kept = append(kept, h)
		}
	}
	s.Spans = append(kept, s.judged...)
}

// splitCells stores the places of the cells of a row in cells, as many as there
// is room for, and returns their number. A sign in quotes does not separate.
func splitCells(row []byte, sign byte, cells [][2]int) int {
	from, to := 0, len(row)
	if sign == '|' {
		for from < to && row[from] == ' ' {
			from++
		}
		if from < to && row[from] == '|' {
			from++
			for to > from && row[to-1] == ' ' {
				to--
			}
			if to > from && row[to-1] == '|' {
				to--
			}
		}
	}
	n := 0
	quoted := false
	begin := from
	for i := from; i <= to; i++ {
		if i < to && row[i] == '"' {
			quoted = !quoted
		}
		if i == to || row[i] == sign && !quoted {
			if n < len(cells) {
				cells[n] = [2]int{begin, i}
			}
			n++
			begin = i + 1
		}
	}
	return n
}

// trimCell is a cell without the spaces, quotes and Markdown around it.
func trimCell(cell []byte) []byte {
	cell = bytes.TrimSpace(cell)
	if len(cell) >= 2 && cell[0] == '"' && cell[len(cell)-1] == '"' {
		cell = bytes.TrimSpace(cell[1 : len(cell)-1])
	}
	return bytes.Trim(cell, "*`")
}
