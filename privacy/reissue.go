package privacy

import (
	"github.com/wexec/wexec/fault"
	"github.com/wexec/wexec/privacy/internal/match"
)

// maxRestored bounds the numbers of tokens that are restored. A vault of the largest
// size has fewer values.
const maxRestored = maxVault/valueCost + maxReserved

// Restored makes a vault with tokens that another one issued, for a text that was kept
// with them.
func Restored(d *Detector, all []Issued) *Vault {
	v := NewVault(d)
	for _, one := range all {
		v.restore(one.Token, original{kind: one.Kind, value: one.Value, number: one.Number})
	}
	return v
}

// restore gives a value the token that it had in another vault.
func (v *Vault) restore(written string, o original) {
	n, t := v.d.find.Tokens.ParseString(written)
	if n == 0 || n != len(written) || t.Number > maxRestored {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	k := v.issued[t.Kind]
	if k == nil {
		k = &issued{numbers: make(map[string]int)}
		v.issued[t.Kind] = k
	}
	for len(k.originals) < t.Number {
		k.originals = append(k.originals, original{})
	}
	v.size += valueCost + 2*len(o.value)
	v.keep(k, t.Number, v.d.canonical(o.kind, o.value), o)
}

// Cover replaces personal data in a text by tokens of the vault. A text that was kept
// with tokens of the vault has them afterwards; everything else that is written like a
// token is escaped. Spend is called as by [Vault.JSONWithin].
func (v *Vault) Cover(s string, kept bool, spend func(findings int) error) (string, error) {
	r := v.newRedaction(Tokenize, !kept)
	r.tokens = kept
	r.spend(spend)
	if kept {
		same := NewVault(v.d)
		v.Tokens([]byte(s), func(tok, _ string) { same.restore(tok, original{kind: "token", value: tok}) })
		var err error
		if s, err = same.moved(s, func(int) error { return nil }); err != nil {
			return "", err
		}
	}
	out, _, err := r.text(s)
	if r.spent != nil {
		return "", r.spent
	}
	return out, err
}

// moved returns a text with the values of the vault, which are written as they are, in
// the places of its tokens.
func (v *Vault) moved(s string, grow func(n int) error) (string, error) {
	r := revealing{v: v, moves: true, grow: grow}
	out := r.value([]byte(s), 0)
	return string(out), r.err
}

// Reissue replaces tokens of another vault in a document with those of this one. All
// has the values of the tokens, inner ones first: a value may have tokens. What is
// written like a token and is not in all is escaped. The mode is as for [Vault.JSON];
// values stay where it lets them. Of the rest of the document only values that this
// vault knows are replaced. Grow is called as by [Vault.Reveal].
func (v *Vault) Reissue(doc []byte, isJSON bool, all []Issued, mode Mode, grow func(n int) error) ([]byte, Counts, error) {
	r := v.newRedaction(mode, true)
	r.tokens = true
	to := NewVault(v.d)
	for _, one := range all {
		value, err := to.moved(one.Value, grow)
		if err != nil {
			return nil, r.counts, err
		}
		s := match.Span{Kind: one.Kind, Value: value}
		r.put(&s, nil, one.Number)
		if r.err != nil {
			return nil, r.counts, r.err
		}
		put := original{kind: one.Kind, value: value, number: one.Number}
		if s.Replaced {
			put = original{kind: one.Kind, value: s.Put}
		}
		to.restore(one.Token, put)
	}
	moving := revealing{v: to, moves: true, grow: grow}
	var out []byte
	var err error
	if isJSON {
		out, err = moving.json(doc, 0)
	} else {
		out = moving.value(doc, 0)
	}
	switch {
	case moving.err != nil:
		return nil, r.counts, moving.err
	case err != nil:
		return nil, r.counts, fault.New(fault.GuestResult, "the text is not JSON: %w", err).WithOp("reissue tokens")
	case r.known == 0 || r.mode == Off:
		return out, r.counts, nil
	}
	r.pass.KnownOnly, r.pass.Escape = true, false
	if isJSON {
		out, err = r.pass.EditJSON(out)
	} else {
		out = match.Edited(out, r.pass.Document(out))
	}
	if r.err != nil {
		err = r.err
	}
	return out, r.counts, err
}
