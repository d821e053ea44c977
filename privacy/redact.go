package privacy

import (
	"slices"

	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy/internal/detect"
	"github.com/wexec/wexec/privacy/internal/match"
	"github.com/wexec/wexec/privacy/internal/token"
)

// JSON redacts a document that a tool answered. The empty mode is that of the
// configuration. If nothing changes it returns doc itself, else a copy in which
// every other byte is as it was. Text that is only written like a token is
// escaped, so that tools cannot forge tokens. In mode block a finding is an error
// with the code denied.tool. A text that is not JSON is an error with the code
// guest.result: use Text for it.
func (v *Vault) JSON(doc []byte, mode Mode) ([]byte, Counts, error) {
	return v.JSONWithin(doc, mode, nil)
}

// JSONWithin is JSON that calls spend regularly with the number of findings since
// the call before. An error of spend ends the search and is returned.
func (v *Vault) JSONWithin(doc []byte, mode Mode, spend func(findings int) error) ([]byte, Counts, error) {
	r := v.newRedaction(mode, true)
	r.spend(spend)
	out, counts, err := r.json(doc)
	if r.spent != nil {
		return nil, counts, r.spent
	}
	return out, counts, err
}

// Text is JSON for a text that a tool answered. A text that is a JSON document is
// treated as JSON.
func (v *Vault) Text(s string, mode Mode) (string, Counts, error) {
	return v.TextWithin(s, mode, nil)
}

// TextWithin is Text with spend as in [Vault.JSONWithin].
func (v *Vault) TextWithin(s string, mode Mode, spend func(findings int) error) (string, Counts, error) {
	r := v.newRedaction(mode, true)
	r.spend(spend)
	out, counts, err := r.text(s)
	if r.spent != nil {
		return "", counts, r.spent
	}
	return out, counts, err
}

// Egress redacts a text that leaves for the agent: output, an error, a question
// to a person. Tokens stay, and so do the values that [Vault.Exempt] names.
func (v *Vault) Egress(s string, mode Mode) (string, Counts, error) {
	return v.newRedaction(mode, false).text(s)
}

// EgressKnown is Egress that issues no token: a value that has a token gets it,
// any other is redacted. Use it for text that does not come at a time of the
// program's choice, so that the numbers of tokens do not depend on that time.
func (v *Vault) EgressKnown(s string, mode Mode) (string, Counts, error) {
	r := v.newRedaction(mode, false)
	r.frozen = true
	return r.text(s)
}

// EgressJSON is Egress for a JSON document.
func (v *Vault) EgressJSON(doc []byte, mode Mode) ([]byte, Counts, error) {
	return v.newRedaction(mode, false).json(doc)
}

// redaction replaces what is found in one text or document.
type redaction struct {
	v       *Vault
	pass    *detect.Pass
	mode    Mode
	inbound bool // the text comes from a tool
	tokens  bool // tokens in values are those of the vault
	frozen  bool // no token is issued
	known   int  // values that were known when it began
	counts  Counts
	err     error // of mode block
	spent   error // of the caller's spend
}

func (v *Vault) newRedaction(mode Mode, inbound bool) *redaction {
	if mode == "" {
		mode = v.d.mode
	}
	r := &redaction{v: v, pass: v.d.find.NewPass(), mode: mode, inbound: inbound, known: v.knownCount()}
	r.pass.Escape = inbound
	r.pass.Put = r.put
	r.pass.Known = v.findKnown
	return r
}

// spend makes the redaction end when spend fails; nil never fails.
func (r *redaction) spend(spend func(findings int) error) {
	if spend == nil {
		return
	}
	r.pass.Stop = func(found int) bool {
		r.spent = spend(found)
		return r.spent != nil
	}
}

// idle reports that a text stays as it is: no mode searches anything, and there
// is nothing to escape.
func (r *redaction) idle(text []byte) bool {
	if r.mode != Off || r.v.d.find.HasModes() {
		return false
	}
	hasToken := false
	if r.inbound {
		r.v.eachToken(text, func(token.Token) { hasToken = true })
	}
	return !hasToken
}

// put decides what takes the place of a span.
func (r *redaction) put(s *match.Span, f *match.Field, number bool) {
	if s.Kind == "" {
		s.Put, s.Replaced = token.Escape(s.Value), true
		return
	}
	mode := r.mode
	if f != nil && f.Mode != "" {
		mode = Mode(f.Mode)
	}
	if mode == Off || !r.inbound && mode != Block && r.v.isExempt(s.Kind, s.Value) {
		return
	}
	r.counts.add(s.Kind, 1)
	r.counts.addField(s.Shown)
	switch mode {
	case Detect:
	case Redact:
		s.Put, s.Replaced = redacted(s.Kind), true
	case Block:
		if r.err == nil {
			where := ""
			if s.Shown != "" {
				where = " in " + s.Shown
			}
			r.err = fault.New(fault.DeniedTool, "personal data of kind %s was found%s, and the policy blocks it", s.Kind, where).
				WithHint("use mode tokenize to let the program work with tokens instead")
		}
	default:
		part := ""
		if mode == Partial {
			part = r.v.d.part(s.Kind, s.Value)
		}
		s.Put, s.Replaced = r.v.issue(s, r.inbound && !r.tokens, number, part, r.frozen), true
	}
}

// again reports that values became known since the redaction began: they may be
// in front of the place where they were found. It prepares a pass for them.
func (r *redaction) again() bool {
	if r.v.knownCount() == r.known {
		return false
	}
	r.pass.KnownOnly, r.pass.Escape = true, false
	return true
}

func (r *redaction) json(doc []byte) ([]byte, Counts, error) {
	if r.idle(doc) {
		return doc, Counts{}, nil
	}
	out, err := r.pass.EditJSON(doc)
	if err == nil && r.err == nil && r.again() {
		out, err = r.pass.EditJSON(out)
	}
	switch {
	case err != nil:
		return nil, Counts{}, fault.New(fault.GuestResult, "the text is not JSON: %w", err).WithOp("read json")
	case r.err != nil:
		return nil, r.counts, r.err
	}
	return out, r.counts, nil
}

func (r *redaction) text(s string) (string, Counts, error) {
	src := []byte(s)
	if r.idle(src) {
		return s, Counts{}, nil
	}
	spans := r.pass.Document(src)
	if r.err != nil {
		return "", r.counts, r.err
	}
	if !slices.ContainsFunc(spans, func(x match.Span) bool { return x.Replaced }) {
		return s, r.counts, nil
	}
	out := match.Edited(src, spans)
	if r.again() {
		out = match.Edited(out, r.pass.Document(out))
	}
	return string(out), r.counts, nil
}
