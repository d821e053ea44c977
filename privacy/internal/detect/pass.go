package detect

import (
	"bytes"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/encodings"
	"github.com/wexec/wexec/privacy/internal/match"
)

// Pass is one pass over a text or document. It is not safe for concurrent use.
type Pass struct {
	Explain   bool              // report what is too weak or ignored too
	Escape    bool              // report text that is written like a token too
	KnownOnly bool              // search only known values
	Known     func(*match.Text) // records values that are known already; may be nil
	// Put decides what takes the place of a span; nil: nothing is replaced. number
	// reports that the span is a number of a JSON document.
	Put func(s *match.Span, f *match.Field, number bool)
	// Stop is told how much was found since it was called before, and reports that
	// the search must end; nil: it never must. See Stopped.
	Stop func(found int) bool

	d        *Detector
	stopped  bool
	nodes    map[nodeKey]*node
	top      node                   // its members are those of objects without a field
	scanners [maxNested + 1]scanner // by nesting of encodings
}

// NewPass starts a pass.
func (d *Detector) NewPass() *Pass { return &Pass{d: d} }

// Stopped reports that the search ended before the text did, so that what it found
// must not be used. It asks Stop.
func (p *Pass) Stopped(found int) bool {
	p.stopped = p.stopped || p.Stop != nil && p.Stop(found)
	return p.stopped
}

// Document searches a text: as JSON if it is an object or a list, else line by
// line. The spans are in order and without overlap.
func (p *Pass) Document(text []byte) []match.Span { return p.value(text, nil, 0) }

// Text searches a text that is not JSON, without undoing base64.
func (p *Pass) Text(text []byte) []match.Span { return p.text(text, nil, maxNested) }

// value searches a text that may be a JSON document.
func (p *Pass) value(text []byte, n *node, nested int) []match.Span {
	if nested < maxNested && LooksJSON(text) {
		w := walk{p: p, doc: text, nested: nested, node: n}
		if w.run() == nil {
			return w.spans
		}
	}
	return p.text(text, n, nested)
}

// LooksJSON is a cheap test whether a text can be an object or a list.
func LooksJSON(text []byte) bool {
	if len(text) < 4 || text[0] != '{' && text[0] != '[' && text[0] > ' ' {
		return false
	}
	t := bytes.TrimSpace(text)
	if len(t) < 4 {
		return false
	}
	a, b := t[0], t[len(t)-1]
	return a == '{' && b == '}' || a == '[' && b == ']' && (t[1] == '{' || t[1] == '[' || t[1] == '"' || t[1] <= ' ' || char.IsDigit(t[1]))
}

// text searches the value of a field. The spans are valid until the next text of
// the same nesting.
func (p *Pass) text(src []byte, n *node, nested int) []match.Span {
	f := n.field()
	if f != nil && f.Never || len(src) == 0 {
		return nil
	}
	rounds := encodings.Rounds(src)
	t := src
	if len(rounds) > 0 {
		t = rounds[len(rounds)-1].Text
	}
	s := &p.scanners[min(nested, maxNested)]
	s.reset(p.d, p, t, n, nested)
	s.Explain = p.Explain
	if p.KnownOnly {
		if p.Known(&s.Text); len(s.Spans) > 0 {
			s.tokens()
		}
	} else if !s.field() {
		s.Spans = s.Spans[:0]
		s.scan()
		if !s.stopped() {
			s.tables()
		}
		for i := range p.d.custom {
			if !s.stopped() {
				p.d.custom[i].find(&s.Text)
			}
		}
		if p.Known != nil && !s.stopped() {
			p.Known(&s.Text)
		}
	}
	if len(s.Spans) == 0 || s.stopped() {
		return nil
	}
	spans := match.Settle(s.Spans)
	out := spans[:0]
	for i := range spans {
		if i%1024 == 1023 && p.Stopped(0) {
			return nil
		}
		h := &spans[i]
		if !h.Settled && !p.settle(h, t) {
			continue
		}
		if f != nil && h.Shown == "" {
			h.Shown = f.Shown
		}
		if p.Put != nil && !h.Dropped && !h.Settled {
			in := f
			if h.Column != nil {
				in = h.Column
			}
			p.Put(h, in, false)
		}
		for i := len(rounds) - 1; i >= 0; i-- {
			v := rounds[i]
			if h.Replaced {
				h.Put = v.Encode(h.Put, h.Start, h.End)
			}
			h.Start, h.End = v.Start(h.Start), v.End(h.End)
		}
		out = append(out, *h)
	}
	return out
}

// settle reads the value of a span and reports whether the span is kept.
func (p *Pass) settle(h *match.Span, t []byte) bool {
	if h.Kind == "" {
		if p.Escape {
			h.Value = string(t[h.Start:h.End])
		}
		return p.Escape // else it is a token, which stays
	}
	h.Value = string(t[h.Start:h.End])
	if p.d.ignored(h.Value) {
		h.Dropped, h.Why = true, h.Why+"; ignored by the policy"
		return p.Explain
	}
	return true
}
