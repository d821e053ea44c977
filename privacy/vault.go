package privacy

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/wexec/wexec/privacy/internal/encodings"
	"github.com/wexec/wexec/privacy/internal/match"
	"github.com/wexec/wexec/privacy/internal/token"
)

// Bounds of a vault.
const (
	maxVault    = 64 << 20 // bytes of its values
	valueCost   = 240      // bytes of a value in addition to its text
	maxReserved = 100_000
)

// Vault holds the values of the tokens of one run or session. It is safe for
// concurrent use. Its memory is bounded: when it is full, values are redacted, so
// that none is ever shown.
type Vault struct {
	d *Detector

	mu       sync.RWMutex
	issued   map[string]*issued // by the kind in capitals
	reserved map[tokenID]bool
	known    *knownValues // values that are searched as they are; nil: none
	count    int          // of values
	size     int
	limit    int
	full     bool

	exempting sync.Mutex
	pending   []string // texts of the agent that were not searched yet
	unread    atomic.Bool
	exempt    map[valueKey]bool
}

// issued are the tokens of a kind.
type issued struct {
	numbers   map[string]int // by the canonical form of the value
	originals []original     // by number, from 1; one without a kind: not issued
}

// original is the value of a token.
type original struct {
	kind   Kind
	value  string // as it was first seen
	number bool   // it was a number in JSON
	at     int    // how many values the vault had before
}

// Issued is a token and the value that it replaces.
type Issued struct {
	Token     string `json:"token"`
	Kind      Kind   `json:"kind"`
	Value     string `json:"value"`
	Canonical string `json:"canonical"`        // the form in which two spellings of the value are equal
	Number    bool   `json:"number,omitempty"` // it was a number in JSON
}

type valueKey struct {
	kind  Kind
	value string // canonical
}

type tokenID struct {
	kind   string // in capitals
	number int
}

// NewVault makes an empty vault.
func NewVault(d *Detector) *Vault {
	return &Vault{d: d, limit: maxVault, issued: make(map[string]*issued)}
}

// Full reports that the vault was full and redacted values.
func (v *Vault) Full() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.full
}

// Size is the memory that the values take, in bytes.
func (v *Vault) Size() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.size
}

// issue returns the token of a value: the one it has, or a new one if frozen is
// false. The value of a tool may hold text that is written like a token, which is
// escaped; a value that leaves may hold real tokens, which are resolved with it.
func (v *Vault) issue(s *match.Span, inbound, number bool, part string, frozen bool) string {
	kind, value := s.Kind, s.Value
	if inbound {
		value = v.d.find.Tokens.EscapeAll(value)
	}
	canonical := v.d.canonical(kind, value)
	name := upperKind(kind)
	v.mu.Lock()
	defer v.mu.Unlock()
	k := v.issued[name]
	if k == nil && !frozen {
		k = &issued{numbers: make(map[string]int)}
		v.issued[name] = k
	}
	if k != nil {
		if n, ok := k.numbers[canonical]; ok {
			return token.Format(name, n, part)
		}
	}
	if frozen {
		return redacted(kind)
	}
	cost := valueCost + len(canonical) + len(value)*2
	if v.size+cost > v.limit {
		v.full = true
		return redacted(kind)
	}
	v.size += cost
	for len(v.reserved) > 0 && v.reserved[tokenID{name, len(k.originals) + 1}] {
		k.originals = append(k.originals, original{})
	}
	k.originals = append(k.originals, original{})
	v.keep(k, len(k.originals), canonical, original{kind: kind, value: value, number: number})
	return token.Format(name, len(k.originals), part)
}

// keep gives a value the token of a number, which k has room for. The lock is held.
func (v *Vault) keep(k *issued, n int, canonical string, o original) {
	o.at = v.count
	v.count++
	k.originals[n-1] = o
	k.numbers[canonical] = n
	if v.known == nil {
		v.known = newKnownValues()
	}
	v.known.add(o.kind, o.value)
}

// knownCount is the number of values that are searched as they are.
func (v *Vault) knownCount() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.known.count()
}

// findKnown records the known values in a text.
func (v *Vault) findKnown(t *match.Text) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	v.known.find(t)
}

func redacted(k Kind) string { return "[" + upperKind(k) + "]" }

// upperKind is a kind as tokens have it. It does not allocate for the kinds that
// are found most.
func upperKind(k Kind) string {
	switch k {
	case Email:
		return "EMAIL"
	case Phone:
		return "PHONE"
	case Name:
		return "NAME"
	case Address:
		return "ADDRESS"
	}
	return strings.ToUpper(string(k))
}

// original is the value of a token.
func (v *Vault) original(t token.Token) (original, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if k := v.issued[t.Kind]; k != nil && t.Number <= len(k.originals) && k.originals[t.Number-1].kind != "" {
		return k.originals[t.Number-1], true
	}
	return original{}, false
}

// Reserve keeps the numbers of tokens in texts from being issued: a token of
// another run must not stand for a value of this one.
func (v *Vault) Reserve(texts ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, text := range texts {
		if !strings.ContainsAny(text, "[%&\\") && encodings.IsASCII([]byte(text)) {
			continue // no token in any encoding
		}
		v.eachToken([]byte(text), func(t token.Token) {
			k := v.issued[t.Kind]
			if used := k != nil && t.Number <= len(k.originals); !used && len(v.reserved) < maxReserved {
				if v.reserved == nil {
					v.reserved = make(map[tokenID]bool)
				}
				v.reserved[tokenID{t.Kind, t.Number}] = true
			}
		})
	}
}

// eachToken visits what is written like a token in a text, in every encoding that
// [Vault.Reveal] reads except base64.
func (v *Vault) eachToken(src []byte, visit func(token.Token)) {
	for _, view := range append([]*encodings.View{{Text: src}}, encodings.Rounds(src)...) {
		for t := view.Text; len(t) > 0; {
			n, tok := v.d.find.Tokens.Parse(t)
			if n > 0 {
				visit(tok)
			} else if n = bytes.IndexByte(t[1:], '[') + 1; n == 0 {
				break
			}
			t = t[n:]
		}
	}
}

// Tokens visits the tokens in a text that were issued, in every encoding but
// base64, with their values.
func (v *Vault) Tokens(text []byte, visit func(tok, value string)) {
	v.eachToken(text, func(t token.Token) {
		if o, ok := v.original(t); ok && t.Escapes == 0 {
			visit(token.Format(t.Kind, t.Number, ""), o.value)
		}
	})
}

// Plain returns a text without the encodings that detectors read, such as those of
// URLs and pages, or nil if it has no such part.
func Plain(text []byte) []byte {
	rounds := encodings.Rounds(text)
	if len(rounds) == 0 {
		return nil
	}
	return rounds[len(rounds)-1].Text
}

// Count returns how many values the vault has.
func (v *Vault) Count() int {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.count
}

// Issued returns the tokens of the values that the vault got since it had a number of
// them, and of those whose tokens are in texts, in the order in which they were issued.
func (v *Vault) Issued(since int, texts ...[]byte) []Issued {
	used := map[tokenID]bool{}
	for _, text := range texts {
		v.eachToken(text, func(t token.Token) { used[tokenID{t.Kind, t.Number}] = true })
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	var all []Issued
	order := map[string]int{} // of tokens
	for name, k := range v.issued {
		for i, o := range k.originals {
			if o.kind == "" || o.at < since && !used[tokenID{name, i + 1}] {
				continue
			}
			one := Issued{token.Format(name, i+1, ""), o.kind, o.value, v.d.canonical(o.kind, o.value), o.number}
			all, order[one.Token] = append(all, one), o.at
		}
	}
	slices.SortFunc(all, func(a, b Issued) int { return cmp.Compare(order[a.Token], order[b.Token]) })
	return all
}

// Exempt lets the personal data in texts that the agent wrote itself, its program
// and arguments, leave again. The texts are searched when the first value that
// may be in them leaves; most runs never need that.
func (v *Vault) Exempt(texts ...string) {
	v.exempting.Lock()
	defer v.exempting.Unlock()
	for _, text := range texts {
		if text != "" {
			v.pending = append(v.pending, text)
			v.unread.Store(true)
		}
	}
}

// searchPending searches the texts of the agent that were not searched yet.
func (v *Vault) searchPending() {
	v.exempting.Lock()
	defer v.exempting.Unlock()
	for _, text := range v.pending {
		p := v.d.find.NewPass()
		p.Put = func(s *match.Span, _ *match.Field, _ bool) {
			if s.Kind == "" {
				return
			}
			v.mu.Lock()
			defer v.mu.Unlock()
			if v.exempt == nil {
				v.exempt = make(map[valueKey]bool)
			}
			if len(v.exempt) < maxReserved {
				v.exempt[valueKey{s.Kind, v.d.canonical(s.Kind, s.Value)}] = true
			}
		}
		p.Document([]byte(text))
	}
	v.pending = nil
	v.unread.Store(false)
}

func (v *Vault) isExempt(kind Kind, value string) bool {
	if v.unread.Load() {
		v.searchPending()
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	return len(v.exempt) > 0 && v.exempt[valueKey{kind, v.d.canonical(kind, value)}]
}
