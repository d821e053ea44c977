package scrub

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// machine searches a text for the patterns of a set. It is a deterministic
// automaton that is made while it runs: a row has what follows a set of states.
type machine struct {
	set   *set
	first [256][]state  // what follows the first byte of a match; nil: not known yet
	rows  [][256]uint16 // by row and byte: the next row, 0: not known yet
	sets  [][]state     // by row
	index map[string]uint16

	row   uint16 // the current one
	since int    // no match that is not complete begins before
	spans []span // that were found, in order and merged

	key     []byte // reused
	threads [2][]thread
}

// span is a place to replace. It has no mark if that was written already.
type span struct {
	start, end int
	mark       string
}

const (
	unknown  = 0
	startRow = 1
	hit      = 1 << 15 // in a row: a match ends here
	maxRows  = 2000    // about 1 MiB
)

func (s *set) machine() *machine {
	if m, ok := s.machines.Get().(*machine); ok {
		return m
	}
	m := &machine{set: s}
	m.clear()
	m.reset()
	return m
}

func (s *set) release(m *machine) {
	m.reset()
	s.machines.Put(m)
}

// clear forgets every row.
func (m *machine) clear() {
	m.rows, m.sets, m.index = m.rows[:0], m.sets[:0], map[string]uint16{"": startRow}
	m.rows = append(m.rows, [256]uint16{}, [256]uint16{}) // unknown, startRow
	m.sets = append(m.sets, nil, nil)
}

// reset prepares the machine for another text.
func (m *machine) reset() { m.row, m.since, m.spans = startRow, 0, m.spans[:0] }

// scan reads data from a position, and adds what it finds.
func (m *machine) scan(data []byte, from int) {
	row, since := m.row, m.since
	for i := from; i < len(data); i++ {
		next := m.rows[row][data[i]]
		if next == unknown {
			next = m.follow(row, data[i])
		}
		row = next &^ hit
		if row == startRow {
			since = i + 1
		}
		if next&hit != 0 {
			m.since = since
			m.add(data[:i+1], m.sets[row])
		}
	}
	m.row, m.since = row, since
}

// follow makes what follows a row.
func (m *machine) follow(row uint16, c byte) uint16 {
	if m.first[c] == nil {
		m.first[c] = []state{}
		for p := range m.set.patterns {
			m.first[c] = m.set.step(m.first[c], newState(p, 0, atStart, 0), c)
		}
	}
	next := slices.Clone(m.first[c])
	for _, s := range m.sets[row] {
		next = m.set.step(next, s, c)
	}
	slices.Sort(next)
	next = slices.Compact(next)
	m.key = m.key[:0]
	var found uint16
	for _, s := range next {
		m.key = binary.LittleEndian.AppendUint64(m.key, uint64(s))
		if s.form() == done {
			found = hit
		}
	}
	to, ok := m.index[string(m.key)]
	if !ok {
		if len(m.rows) == maxRows {
			m.clear()
			row = unknown // its number is of another now
		}
		to = uint16(len(m.rows))
		m.rows, m.sets = append(m.rows, [256]uint16{}), append(m.sets, next)
		m.index[string(m.key)] = to
	}
	if row != unknown {
		m.rows[row][c] = to | found
	}
	return to | found
}

// thread is a match that is not complete, and where it began.
type thread struct {
	state
	start int
}

// add adds the matches that end at the end of data.
func (m *machine) add(data []byte, ends []state) {
	for _, s := range ends {
		if s.form() != done {
			continue
		}
		p := s.pattern()
		start := -1
		for window := m.set.patterns[p].least + maxRun + 1; start < 0; window *= 2 {
			from := max(len(data)-window, m.since)
			if start = m.startOf(data, from, p); from == m.since {
				start = max(start, from)
			}
		}
		x := span{start, len(data), m.set.secrets[m.set.patterns[p].secret].mark}
		for n := len(m.spans); n > 0 && m.spans[n-1].end > x.start; n-- {
			last := m.spans[n-1]
			if last.start <= x.start || last.mark == "" {
				x.start, x.mark = min(last.start, x.start), last.mark
			}
			m.spans = m.spans[:n-1]
		}
		m.spans = append(m.spans, x)
	}
}

// startOf returns where the longest match of a pattern begins that ends at the
// end of data, or -1.
func (m *machine) startOf(data []byte, from, pattern int) int {
	now, next := m.threads[0][:0], m.threads[1][:0]
	var buffer [8]state
	for i := from; i < len(data); i++ {
		now = append(now, thread{newState(pattern, 0, atStart, 0), i})
		next = next[:0]
		for _, t := range now {
			for _, s := range m.set.step(buffer[:0], t.state, data[i]) {
				next = append(next, thread{s, t.start})
			}
		}
		slices.SortFunc(next, func(a, b thread) int { return cmp.Or(cmp.Compare(a.state, b.state), cmp.Compare(a.start, b.start)) })
		next = slices.CompactFunc(next, func(a, b thread) bool { return a.state == b.state })
		now, next = next, now
	}
	m.threads = [2][]thread{now, next}
	for _, t := range now {
		if t.form() == done {
			return t.start
		}
	}
	return -1
}

// edit appends data up to a position to out, with marks in the place of spans. It
// returns how much of data that was; the spans behind remain, relative to there.
func (m *machine) edit(out, data []byte, to int) ([]byte, int) {
	at, rest := 0, m.spans[:0]
	for _, x := range m.spans {
		if x.start >= to {
			rest = append(rest, span{x.start - to, x.end - to, x.mark})
			continue
		}
		out = append(append(out, data[at:max(at, x.start)]...), x.mark...)
		at = min(x.end, to)
		if x.end > to {
			rest = append(rest, span{0, x.end - to, ""})
		}
	}
	m.spans = rest
	return append(out, data[at:to]...), to
}
