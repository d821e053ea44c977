package privacy

import (
	"bytes"
	"slices"
)

// maxColumns bounds the columns of a table that are read.
const maxColumns = 128

// tables looks for tables in a text, CSV and Markdown: the name of a column
// counts as the name of a field for each cell below it.
func (s *scanner) tables() {
	t := s.t
	if bytes.IndexByte(t, '\n') < 0 {
		return
	}
	fresh := true // a table of values with commas begins a paragraph
	for i := 0; i < len(t); {
		end := lineEnd(t, i)
		line := t[i:end]
		if len(bytes.TrimSpace(line)) == 0 {
			fresh = true
			i = end + 1
			continue
		}
		next := end + 1
		if len(line) < 4096 {
			if stop := s.table(i, end, fresh); stop > 0 {
				next = stop
			}
		}
		fresh = false
		i = next
	}
	s.merge()
}

func lineEnd(t []byte, i int) int {
	if n := bytes.IndexByte(t[i:], '\n'); n >= 0 {
		return i + n
	}
	return len(t)
}

// tableSign is what stands between the cells of a table whose head is a line,
// and where its rows begin; 0 where the line is no head. A table without a rule
// below its head has to be fresh.
func tableSign(t, line []byte, below int, fresh bool) (byte, int) {
	sign := byte(0)
	if trimmed := bytes.TrimLeft(line, " "); len(trimmed) > 2 && bytes.IndexByte(trimmed, '|') >= 0 {
		rule := bytes.TrimSpace(t[below:lineEnd(t, below)])
		if len(rule) >= 3 && bytes.Trim(rule, "|-:+ ") == nil || len(rule) >= 3 && len(bytes.Trim(rule, "|-:+ ")) == 0 && bytes.Contains(rule, []byte("--")) {
			sign = '|'
			below = min(len(t), lineEnd(t, below)+1)
		}
	}
	if sign == 0 && fresh {
		best := 0
		for _, c := range []byte{'\t', ';', ',', '|'} {
			if n := bytes.Count(line, []byte{c}); n > best && n < maxColumns {
				row := t[below:lineEnd(t, below)]
				if m := cells(row, c, nil); m == n+1 {
					best, sign = n, c
				}
			}
		}
	}
	return sign, below
}

// table reads a table whose head is a line, and returns the start of what
// follows it; 0 where the line is no head.
func (s *scanner) table(from, to int, fresh bool) int {
	t := s.t
	if to >= len(t) {
		return 0
	}
	line := bytes.TrimRight(t[from:to], "\r ")
	sign, below := tableSign(t, line, to+1, fresh)
	if sign == 0 {
		return 0
	}
	var ends [maxColumns][2]int
	n := cells(line, sign, ends[:])
	if n < 2 || n > maxColumns {
		return 0
	}
	fields := make([]*field, n)
	useful, person := false, false
	for c := range n {
		name := unquoted(line[ends[c][0]:ends[c][1]])
		if !headName(name) {
			if sign != '|' || len(name) > 0 {
				return 0
			}
			continue
		}
		f := s.d.child(s.f, name, false)
		f.column = true
		fields[c] = f
		if f.says.kind != "" || f.never || f.always || f.context != 0 || f.mode != "" {
			useful = true
		}
		if !f.says.weak && (f.says.kind == Name || f.says.kind == Email || f.says.kind == Phone || f.says.kind == Birthdate) {
			person = true
		}
	}
	if !useful {
		return 0
	}
	for _, f := range fields {
		if f != nil {
			f.person = f.person || person
		}
	}
	i := below
	for i < len(t) {
		end := lineEnd(t, i)
		row := bytes.TrimRight(t[i:end], "\r ")
		if len(row) == 0 || len(row) > 64<<10 {
			break
		}
		m := cells(row, sign, ends[:])
		if m != n && !(sign == '|' && m > 1) {
			break
		}
		for c := range min(n, m, maxColumns) {
			if fields[c] != nil {
				s.cell(fields[c], i+ends[c][0], i+ends[c][1])
			}
		}
		i = end + 1
	}
	return min(i, len(t))
}

// headName reports what can be the name of a column: a few words.
func headName(name []byte) bool {
	return len(name) > 0 && len(name) <= 40 && bytes.Count(name, []byte(" ")) < 5 && countDigits(string(name)) <= 2 && !bytes.ContainsAny(name, "{}=;<>*@\"") && !bytes.Contains(name, []byte("//"))
}

// cell looks at one cell with the evidence of its column.
func (s *scanner) cell(f *field, from, to int) {
	inner := unquoted(s.t[from:to])
	if len(inner) == 0 {
		return
	}
	from += bytes.Index(s.t[from:to], inner)
	to = from + len(inner)
	judged := f.says.kind != "" || f.always || f.context != 0 || f.mode != ""
	if f.never || judged {
		// What was found without the column is judged again.
		s.cells = append(s.cells, [2]int{from, to})
	}
	if f.never {
		return
	}
	probe := scanner{t: inner, d: s.d, f: f, explain: s.explain, nested: s.nested, work: s.work}
	if !probe.whole() {
		if !judged {
			return
		}
		probe.hits = probe.hits[:0]
		probe.run()
	}
	for _, h := range probe.hits {
		h.start += from
		h.end += from
		h.field = f.shown
		h.in = f
		s.judged = append(s.judged, h)
	}
}

// merge puts what was found by column in the place of what was found without.
func (s *scanner) merge() {
	if len(s.cells) == 0 {
		return
	}
	slices.SortStableFunc(s.hits, func(a, b span) int { return a.start - b.start })
	kept, c := s.hits[:0], 0
	for _, h := range s.hits {
		for c < len(s.cells) && s.cells[c][1] <= h.start {
			c++
		}
		if c == len(s.cells) || h.start < s.cells[c][0] || h.end > s.cells[c][1] {
			kept = append(kept, h)
		}
	}
	s.hits = append(kept, s.judged...)
}

// cells splits a row and returns how many cells it has; the place of each goes
// into ends. Quotes hold signs together.
func cells(row []byte, sign byte, ends [][2]int) int {
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
			if ends != nil && n < len(ends) {
				ends[n] = [2]int{begin, i}
			}
			n++
			begin = i + 1
		}
	}
	return n
}

// unquoted is a cell without spaces and quotes around it.
func unquoted(cell []byte) []byte {
	cell = bytes.TrimSpace(cell)
	if len(cell) >= 2 && cell[0] == '"' && cell[len(cell)-1] == '"' {
		cell = bytes.TrimSpace(cell[1 : len(cell)-1])
	}
	return bytes.Trim(cell, "*`")
}
