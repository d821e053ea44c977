package workspace

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
)

// edit replaces lines of one text by lines of another.
type edit struct{ from, to, at, end int } // lines [from, to) by lines [at, end)

// editsOf returns what makes b from a, in order.
func editsOf(a, b []string) []edit {
	numbers := map[string]int{}
	number := func(lines []string) []int {
		out := make([]int, len(lines))
		for i, line := range lines {
			n, ok := numbers[line]
			if !ok {
				n = len(numbers)
				numbers[line] = n
			}
			out[i] = n
		}
		return out
	}
	d := &difference{a: number(a), b: number(b)}
	d.compare(0, len(a), 0, len(b))
	return d.edits
}

// difference finds a short list of edits with the algorithm of Myers in linear space.
type difference struct {
	a, b     []int // lines as numbers
	edits    []edit
	from, to []int // reach of the two searches, by diagonal
}

// compare adds the edits between two ranges of lines.
func (d *difference) compare(a, aEnd, b, bEnd int) {
	for a < aEnd && b < bEnd && d.a[a] == d.b[b] {
		a, b = a+1, b+1
	}
	for a < aEnd && b < bEnd && d.a[aEnd-1] == d.b[bEnd-1] {
		aEnd, bEnd = aEnd-1, bEnd-1
	}
	if a == aEnd && b == bEnd {
		return
	}
	if a < aEnd && b < bEnd {
		x, y := d.middle(d.a[a:aEnd], d.b[b:bEnd])
		if x+y > 0 && x+y < aEnd-a+bEnd-b {
			d.compare(a, a+x, b, b+y)
			d.compare(a+x, aEnd, b+y, bEnd)
			return
		}
	}
	if n := len(d.edits); n > 0 && d.edits[n-1].to == a && d.edits[n-1].end == b {
		d.edits[n-1].to, d.edits[n-1].end = aEnd, bEnd
		return
	}
	d.edits = append(d.edits, edit{a, aEnd, b, bEnd})
}

// maxEdits bounds one search for the middle. Texts that differ more are split where
// the search got furthest, which is correct and may be longer than needed.
const maxEdits = 256

// middle returns a point on a short path from the start of two lists of lines to their
// ends. Two searches, from the start and from the end, meet there.
func (d *difference) middle(a, b []int) (x, y int) {
	n, m := len(a), len(b)
	most := min((n+m+1)/2, maxEdits)
	d.from, d.to = slices.Grow(d.from[:0], 2*most+3)[:2*most+3], slices.Grow(d.to[:0], 2*most+3)[:2*most+3]
	middle, delta := most+1, n-m
	d.from[middle+1], d.to[middle+1] = 0, 0
	bestX, bestY := 0, 0
	for cost := range most + 1 {
		for k := -cost; k <= cost; k += 2 {
			x := d.step(d.from, middle, k, cost)
			y := x - k
			for x < n && y < m && a[x] == b[y] {
				x, y = x+1, y+1
			}
			d.from[middle+k] = x
			if x > n || y > m {
				continue
			}
			if x+y > bestX+bestY {
				bestX, bestY = x, y
			}
			if other := delta - k; delta&1 != 0 && other > -cost && other < cost && x+d.to[middle+other] >= n {
				return x, y
			}
		}
		for k := -cost; k <= cost; k += 2 {
			x := d.step(d.to, middle, k, cost)
			y := x - k
			for x < n && y < m && a[n-1-x] == b[m-1-y] {
				x, y = x+1, y+1
			}
			d.to[middle+k] = x
			if x > n || y > m {
				continue
			}
			if other := delta - k; delta&1 == 0 && other >= -cost && other <= cost && x+d.from[middle+other] >= n {
				return n - x, m - y
			}
		}
	}
	return bestX, bestY
}

// step returns how far a search gets on diagonal k with one more edit.
func (d *difference) step(reach []int, middle, k, cost int) int {
	if k == -cost || k != cost && reach[middle+k-1] < reach[middle+k+1] {
		return reach[middle+k+1]
	}
	return reach[middle+k-1] + 1
}

// maxLines bounds the texts whose lines are compared.
const maxLines = 500_000

// linesOf splits a text after each line end.
func linesOf(text []byte) []string {
	lines := strings.SplitAfter(string(text), "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// isText reports whether people can read a difference of the content.
func isText(data []byte) bool {
	return !bytes.Contains(data, []byte{0}) && bytes.Count(data, []byte("\n")) < maxLines
}

const around = 3 // lines of context

// writeHunks writes the difference of two texts in the unified format.
func writeHunks(to io.Writer, before, after []byte, show Show) error {
	a, b := linesOf(before), linesOf(after)
	edits := editsOf(a, b)
	for len(edits) > 0 {
		n := 1
		for n < len(edits) && edits[n].from-edits[n-1].to <= 2*around {
			n++
		}
		if err := writeHunk(to, a, b, edits[:n], show); err != nil {
			return err
		}
		edits = edits[n:]
	}
	return nil
}

func writeHunk(to io.Writer, a, b []string, edits []edit, show Show) error {
	var marks, ends, texts []string
	line := func(mark, text string) {
		text, ended := strings.CutSuffix(text, "\n")
		end := "\n"
		if !ended {
			end = "\n\\ No newline at end of file\n"
		}
		marks, ends, texts = append(marks, mark), append(ends, end), append(texts, text)
	}
	first, last := edits[0], edits[len(edits)-1]
	lead := min(first.from, around)
	from, at := first.from-lead, first.at-lead
	until := min(last.to+around, len(a))
	end := last.end + until - last.to
	position := func(at, end int) string {
		if at == end {
			return fmt.Sprintf("%d,0", at)
		}
		return fmt.Sprintf("%d,%d", at+1, end-at)
	}
	i := from
	for _, e := range edits {
		for ; i < e.from; i++ {
			line(" ", a[i])
		}
		for _, text := range a[e.from:e.to] {
			line("-", text)
		}
		for _, text := range b[e.at:e.end] {
			line("+", text)
		}
		i = e.to
	}
	for ; i < until; i++ {
		line(" ", a[i])
	}
	texts, err := show.lines(texts)
	if err != nil {
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "@@ -%s +%s @@\n", position(from, until), position(at, end))
	for i, text := range texts {
		out.WriteString(marks[i] + text + ends[i])
	}
	_, err = io.WriteString(to, out.String())
	return err
}

// merge makes the changes of both texts to a third. Where both changed the same lines
// in different ways the result has both, between marks as git writes them, and
// merge reports a conflict.
func merge(before, ours, theirs []byte) (merged []byte, conflict bool) {
	base, a, b := linesOf(before), linesOf(ours), linesOf(theirs)
	left, right := editsOf(base, a), editsOf(base, b)
	var out []string
	at := 0
	for len(left) > 0 || len(right) > 0 {
		// A chunk is the edits of both sides that touch one another.
		start := min(startOf(left, len(base)), startOf(right, len(base)))
		end := start
		var nl, nr int
		for grown := true; grown; {
			grown = false
			for nl < len(left) && (left[nl].from < end || left[nl].from == start || left[nl].from == end && nr > 0) {
				end, grown = max(end, left[nl].to), true
				nl++
			}
			for nr < len(right) && (right[nr].from < end || right[nr].from == start || right[nr].from == end && nl > 0) {
				end, grown = max(end, right[nr].to), true
				nr++
			}
		}
		out = append(out, base[at:start]...)
		x, y := side(base, a, left[:nl], start, end), side(base, b, right[:nr], start, end)
		switch {
		case nr == 0 || slices.Equal(x, y):
			out = append(out, x...)
		case nl == 0:
			out = append(out, y...)
		default:
			conflict = true
			out = append(out, "<<<<<<< workspace\n")
			out = append(append(out, ended(x)...), "=======\n")
			out = append(append(out, ended(y)...), ">>>>>>> folder\n")
		}
		at, left, right = end, left[nl:], right[nr:]
	}
	return []byte(strings.Join(append(out, base[at:]...), "")), conflict
}

func startOf(edits []edit, end int) int {
	if len(edits) == 0 {
		return end
	}
	return edits[0].from
}

// side returns the lines that edits make from lines [start, end) of a text.
func side(base, with []string, edits []edit, start, end int) []string {
	var out []string
	for _, e := range edits {
		out = append(append(out, base[start:e.from]...), with[e.at:e.end]...)
		start = e.to
	}
	return append(out, base[start:end]...)
}

// ended returns lines whose last one has a line end.
func ended(lines []string) []string {
	if n := len(lines); n > 0 && !strings.HasSuffix(lines[n-1], "\n") {
		lines = append(slices.Clone(lines[:n-1]), lines[n-1]+"\n")
	}
	return lines
}
