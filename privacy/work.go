package privacy

import (
	"bytes"
	"strings"
)

// work is one look at a text or document: with a detector alone it reports,
// with put it also says what takes the place of what was found.
type work struct {
	d       *Detector
	explain bool
	escape  bool
	put     func(s *span, f *field, number bool)
	known   func(*scanner) // looks for values that are known already
	again   bool           // looks for them alone, once all of a text are known
	fields  map[fieldKey]*field
	top     field // holds the names of what stands in no field

	scanners [maxNested + 1]scanner // one for each encoding within another
}

func (d *Detector) work() *work { return &work{d: d} }

// document looks at a text: as JSON where it is a document, else line by line.
func (w *work) document(text []byte) []span { return w.value(text, nil, 0) }

// value looks at a text that may hold a JSON document.
func (w *work) value(text []byte, f *field, nested int) []span {
	if nested < maxNested && looksJSON(text) {
		if spans, err := w.json(text, f, nested); err == nil {
			return spans
		}
	}
	return w.text(text, f, nested)
}

// looksJSON is a cheap look whether a text can be an object or a list.
func looksJSON(text []byte) bool {
	if len(text) < 4 || text[0] != '{' && text[0] != '[' && text[0] > ' ' {
		return false
	}
	t := bytes.TrimSpace(text)
	if len(t) < 4 {
		return false
	}
	a, b := t[0], t[len(t)-1]
	return a == '{' && b == '}' || a == '[' && b == ']' && (t[1] == '{' || t[1] == '[' || t[1] == '"' || t[1] <= ' ' || isDigit(t[1]))
}

// text looks at a text in a field and returns what it found in order, in the
// coordinates of src. The spans are good until the next look as deep as this.
func (w *work) text(src []byte, f *field, nested int) []span {
	if f != nil && f.never || len(src) == 0 {
		return nil
	}
	rounds := views(src)
	t := src
	if len(rounds) > 0 {
		t = rounds[len(rounds)-1].text
	}
	s := &w.scanners[min(nested, maxNested)]
	s.t, s.d, s.f, s.explain, s.nested, s.work = t, w.d, f, w.explain, nested, w
	s.hits, s.cells, s.judged, s.coded, s.paired, s.secretEnd, s.secretTries = s.hits[:0], s.cells[:0], s.judged[:0], 0, 0, 0, 0
	if w.again {
		if w.known(s); len(s.hits) > 0 {
			s.literals()
		}
	} else if !s.whole() {
		s.hits = s.hits[:0]
		s.run()
		s.tables()
		s.own()
		if w.known != nil {
			w.known(s)
		}
	}
	if len(s.hits) == 0 {
		return nil
	}
	hits := settle(s.hits)
	out := hits[:0]
	for i := range hits {
		h := &hits[i] // in place: it is passed on by its address
		if h.kind == "" && !w.escape && !h.ready {
			continue // a token: it stays
		}
		if !h.ready {
			h.value = string(t[h.start:h.end])
		}
		if h.kind != "" && !h.ready && w.d.ignored(h.value) {
			if !w.explain {
				continue
			}
			h.dropped, h.why = true, h.why+"; ignored by the policy"
		}
		if f != nil && h.field == "" {
			h.field = f.shown
		}
		if w.put != nil && !h.dropped && !h.ready && (h.kind != "" || w.escape) {
			in := f
			if h.in != nil {
				in = h.in
			}
			w.put(h, in, false)
		}
		for i := len(rounds) - 1; i >= 0; i-- {
			v := rounds[i]
			if h.changed {
				switch {
				case v.coded(h.start, h.end, byPercent):
					h.put = percentMark(h.put)
				case v.coded(h.start, h.end, byEscape):
					h.put = jsonEscaped(h.put)
				}
			}
			h.start, h.end = v.start(h.start), v.end(h.end)
		}
		out = append(out, *h)
	}
	return out
}

// percentMark writes a token as it stands in a URL.
func percentMark(s string) string {
	return strings.NewReplacer("[", "%5B", "]", "%5D", ":", "%3A", " ", "%20", "@", "%40").Replace(s)
}

// edited is src with every change made. Where nothing changes it is src
// itself.
func edited(src []byte, spans []span) []byte {
	size, n := len(src), 0
	for i := range spans {
		if spans[i].changed {
			size += len(spans[i].put) - (spans[i].end - spans[i].start)
			n++
		}
	}
	if n == 0 {
		return src
	}
	out := make([]byte, 0, size)
	done := 0
	for i := range spans {
		if s := &spans[i]; s.changed && s.start >= done {
			out = append(out, src[done:s.start]...)
			out = append(out, s.put...)
			done = s.end
		}
	}
	return append(out, src[done:]...)
}
