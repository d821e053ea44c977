package match

// Edited is src with the replacements of the spans. It is src itself if there are
// none.
func Edited(src []byte, spans []Span) []byte {
	var e Edit
	for i := range spans {
		e.Add(src, &spans[i])
	}
	return e.Finish(src)
}

// Edit collects the replacements of a text.
type Edit struct {
	out  []byte // the text up to done
	done int
}

// Add adds the replacement of a span. Spans come in order.
func (e *Edit) Add(src []byte, s *Span) {
	if !s.Replaced || s.Start < e.done {
		return
	}
	if e.out == nil {
		e.out = make([]byte, 0, len(src)+len(src)/16+64)
	}
	e.out = append(append(e.out, src[e.done:s.Start]...), s.Put...)
	e.done = s.End
}

// Finish returns the text with the replacements, src itself if there are none.
func (e *Edit) Finish(src []byte) []byte {
	if e.out == nil {
		return src
	}
	return append(e.out, src[e.done:]...)
}
