package detect

import (
	"bytes"

	"github.com/wexec/wexec/privacy/internal/match"
	"github.com/wexec/wexec/privacy/internal/secrets"
)

// field judges the whole text as the value of its field, a JSON string or a cell
// of a table, and reports whether it was found.
func (s *scanner) field() bool {
	f := s.Field
	if f == nil {
		return false
	}
	v := bytes.TrimSpace(s.Bytes)
	if len(v) == 0 {
		return false
	}
	if n, _ := s.d.Tokens.Parse(v); n == len(v) {
		return false
	}
	from := bytes.IndexByte(s.Bytes, v[0])
	if f.Always {
		s.alwaysHidden(from, from+len(v))
		return true
	}
	kind := f.Label.Kind
	if kind == "" || !s.Wants(kind) || len(v) > maxValue && kind != match.Secret {
		return false
	}
	if kind == match.Secret {
		sure, why := secrets.Judge(v, f.Label.Weak, true, !f.Label.Weak && !f.Column)
		return sure > 0 && s.Hit(match.Secret, from+secrets.SchemeLen(v), from+len(v), sure, why)
	}
	n, sure, why := s.judge(f.Label, f.Context, v, true)
	return n >= len(v) && s.Hit(kind, from, from+n, sure, why)
}

// alwaysHidden records a value in a field that the policy always hides. Its kind
// is that of its form or of its label.
func (s *scanner) alwaysHidden(from, to int) {
	probe := scanner{d: s.d, nested: maxNested, Text: match.Text{Bytes: s.Bytes[from:to], Rules: &match.Rules{Least: s.Rules.Least},
		Field: &match.Field{Label: s.Field.Label, Context: s.Field.Context}}}
	if !probe.field() {
		probe.scan()
	}
	kind := s.Field.Label.Kind
	if len(probe.Spans) == 1 && probe.Spans[0].Start == 0 && probe.Spans[0].End == to-from {
		kind = probe.Spans[0].Kind
	}
	if kind == "" {
		kind = match.Personal
	}
	s.Spans = append(s.Spans, match.Span{Start: from, End: to, Kind: kind, Sure: 100, Why: "a field that is always hidden"})
}
