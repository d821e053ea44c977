package match

import (
	"bytes"
	"slices"

	"github.com/wexec/wexec/privacy/internal/char"
)

// Rules say which matches count. They are shared by all texts of a detector.
type Rules struct {
	Kinds map[Kind]bool // the kinds that are searched; nil: all
	Least uint8         // the confidence in percent that a match needs
}

// Field is the place of a value in a document or a table, and what it says
// about the value.
type Field struct {
	Shown   string   // the path for people: customers[].email
	Path    []string // plain names, without lists
	Label   Label    // what the name of the field says
	Context Context
	Person  bool   // the field is part of the record of a person
	Column  bool   // the field is a column of a table in a text
	Never   bool   // the policy excludes the field
	Always  bool   // the policy hides every value of the field
	Mode    string // the mode that the policy sets for the field, or ""
}

// Span is one match. Its offsets refer to the text that was searched; callers
// map them to the text around it.
type Span struct {
	Start, End int
	Kind       Kind  // "" for text that is written like a token
	Sure       uint8 // confidence in percent
	Why        string
	Dropped    bool // too weak or ignored; kept to be explained
	Replaced   bool // Put takes the place of the text
	Settled    bool // Put was decided by the detector: the span holds encoded text
	Put        string
	Value      string // the text without encodings
	Shown      string // the path of its field
	Column     *Field // the column of a table, if it was found in one
}

// Text is a text that is searched, and the matches so far.
type Text struct {
	Bytes   []byte
	Rules   *Rules
	Field   *Field // the field that the text is the value of, or nil
	Explain bool   // keep matches that are too weak
	Spans   []Span
}

// Wants reports whether a kind is searched.
func (t *Text) Wants(k Kind) bool { return t.Rules.Kinds == nil || t.Rules.Kinds[k] }

// Hit records a match and reports whether it counts. A match that is too weak
// for the rules is only recorded to be explained.
func (t *Text) Hit(kind Kind, start, end int, sure uint8, why string) bool {
	if !t.Wants(kind) || start >= end {
		return false
	}
	dropped := sure < t.Rules.Least
	if dropped && !t.Explain {
		return false
	}
	if n := len(t.Spans); n == cap(t.Spans) && n >= 64 {
		// Assume that the rest of the text is as dense as the part so far.
		t.Spans = slices.Grow(t.Spans, min(n*(len(t.Bytes)-start)/(start+1)*9/8+16, 1<<16))
	}
	t.Spans = append(t.Spans, Span{Start: start, End: end, Kind: kind, Sure: sure, Why: why, Dropped: dropped})
	return !dropped
}

// HitTo is Hit for detectors that report where their match ends: it returns
// end, or 0 if the match does not count.
func (t *Text) HitTo(kind Kind, start, end int, sure uint8, why string) int {
	if t.Hit(kind, start, end, sure, why) {
		return end
	}
	return 0
}

// LastEnd is the end of the last match.
func (t *Text) LastEnd() int { return t.Spans[len(t.Spans)-1].End }

// PartOfLonger reports that the word between i and j is joined to more: a name
// with hyphens, a path, a fragment.
func (t *Text) PartOfLonger(i, j int) bool {
	b := t.Bytes
	joint := func(c byte) bool { return c == '-' || c == '/' || c == '.' || c == '_' || c == '#' }
	return i > 1 && joint(b[i-1]) && char.IsWord(b[i-2]) || i > 0 && b[i-1] == '#' || j+1 < len(b) && joint(b[j]) && char.IsWord(b[j+1])
}

// maxContext bounds how far in front of a value context is read.
const maxContext = 40

// Before is the context in the words in front of i on its line, and in the name
// of the field.
func (t *Text) Before(i int) Context {
	b := t.Bytes
	var bits Context
	if t.Field != nil {
		bits = t.Field.Context
	}
	limit := max(0, i-maxContext)
	clauseEnded := false // words of an earlier clause no longer speak against a value
	for words := 0; i > limit && words < 6; {
		c := b[i-1]
		if c == '\n' {
			break
		}
		if !char.IsWord(c) {
			if c == '(' || c == ')' || c == ';' || c == ',' || c == '|' {
				clauseEnded = true
			}
			i--
			continue
		}
		end := i
		for i > limit && char.IsWord(b[i-1]) {
			i--
		}
		if i == limit && i > 0 && char.IsWord(b[i-1]) {
			break
		}
		if end+1 < len(b) && b[end] == '.' && b[end+1] == ' ' && end-i > 3 {
			clauseEnded = true
		}
		_, context := ReadLabel(b[i:end])
		if context&AboutOrder != 0 && i > limit && (b[i-1] == ' ' || b[i-1] == '-') {
			// The "id" in "national id" is not that of a thing.
			if label, whole := ReadLabel(b[char.WordStart(b[:i-1], i-1):end]); label.Kind != "" {
				context = whole &^ AboutOrder
			}
		}
		if clauseEnded || words > 2 {
			context &^= AboutOrder | AboutVersion | AboutBirth
		}
		bits |= context
		words++
	}
	return bits
}

// After is the context in the two words behind a value: 4222222222222 visa card.
func (t *Text) After(i int) Context {
	b := t.Bytes
	var bits Context
	for n := 0; n < 2 && i+1 < len(b) && b[i] == ' ' && char.IsLetter(b[i+1]); n++ {
		end := char.WordEnd(b, i+1)
		if end-i > 20 {
			break
		}
		_, context := ReadLabel(b[i+1 : end])
		bits |= context
		i = end
	}
	return bits
}

// maxLineLabel bounds how far back the label of a line is searched.
const maxLineLabel = 300

// LineLabel is the context in the label at the start of the line.
func (t *Text) LineLabel(i int) Context {
	from := max(0, i-maxLineLabel)
	if n := bytes.LastIndexByte(t.Bytes[from:i], '\n'); n >= 0 {
		from += n + 1
	}
	n := bytes.IndexByte(t.Bytes[from:i], ':')
	if n < 2 || n > 24 {
		return 0
	}
	_, context := ReadLabel(t.Bytes[from : from+n])
	return context
}

// Settle sorts matches and resolves overlaps: the longer of two nested matches
// stays, of two that overlap in part the surer one.
func Settle(spans []Span) []Span {
	if len(spans) < 2 {
		return spans
	}
	slices.SortStableFunc(spans, func(a, b Span) int {
		if a.Start != b.Start {
			return a.Start - b.Start
		}
		return b.End - a.End
	})
	out := spans[:1]
	for _, h := range spans[1:] {
		last := &out[len(out)-1]
		if h.Start >= last.End {
			out = append(out, h)
			continue
		}
		switch {
		case last.Dropped != h.Dropped:
			if last.Dropped {
				*last = h
			}
		case h.Start == last.Start && h.End == last.End:
			if last.Kind != "" && (h.Sure > last.Sure || h.Kind == "") {
				*last = h
			}
		case h.End <= last.End:
			// It is inside.
		case last.Kind == "":
			h.Start = last.End
			out = append(out, h)
		case h.Kind == "":
			last.End = h.Start
			out = append(out, h)
		case h.Sure > last.Sure:
			h.Start = last.Start // neither part may be lost
			*last = h
		default:
			last.End = h.End
		}
	}
	return out
}
