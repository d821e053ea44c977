package privacy

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/wexec/wexec/fault"
)

// maxVault bounds what the values of a run may take.
const (
	maxVault    = 64 << 20
	entryCost   = 240 // of a value, beside its bytes
	maxReserved = 100_000
)

// Counts says how much was found, without saying what.
type Counts struct {
	Kinds  map[Kind]int `json:"counts,omitempty"`
	Fields []string     `json:"fields,omitempty"` // where, sorted: customers[].email; 64 at most
}

// Total is the number of findings.
func (c Counts) Total() int {
	n := 0
	for _, k := range c.Kinds {
		n += k
	}
	return n
}

// Add adds other counts to c.
func (c *Counts) Add(o Counts) {
	for k, n := range o.Kinds {
		c.add(k, n)
	}
	for _, f := range o.Fields {
		c.field(f)
	}
}

func (c *Counts) add(k Kind, n int) {
	if c.Kinds == nil {
		c.Kinds = make(map[Kind]int)
	}
	c.Kinds[k] += n
}

func (c *Counts) field(f string) {
	if i, ok := slices.BinarySearch(c.Fields, f); !ok && len(c.Fields) < 64 && f != "" {
		c.Fields = slices.Insert(c.Fields, i, f)
	}
}

// Vault holds what the tokens of one run or session stand for. It is safe for
// concurrent use. Its memory is bounded: when it is full, values are redacted
// instead, so that none is ever shown.
type Vault struct {
	d *Detector

	mu       sync.RWMutex
	kinds    map[string]*handed // by the kind in capitals
	reserved map[tokenKey]bool
	phrases  *phrases // values that are looked for by themselves; nil: none
	size     int
	limit    int
	full     bool

	owning sync.Mutex
	owned  []string // texts of the agent that were not looked at yet
	unread atomic.Bool
	mine   map[valueKey]bool
}

// handed are the tokens of a kind that were handed out.
type handed struct {
	numbers map[string]int // a value's token, by its canonical form
	values  []entry        // by number, from 1 on; without a kind: left out
}

type valueKey struct {
	kind  Kind
	value string // canonical
}

type tokenKey struct {
	kind   string // in capitals
	number int
}

type entry struct {
	kind   Kind
	value  string // as it was first seen
	number bool   // it was a number in JSON
}

// NewVault makes an empty vault.
func NewVault(d *Detector) *Vault {
	return &Vault{d: d, limit: maxVault, kinds: make(map[string]*handed)}
}

// Full reports that the vault took no more values and redacted instead.
func (v *Vault) Full() bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.full
}

// JSON looks at a document that a tool answered. Where nothing changes it
// returns doc itself; else a copy in which every other byte is as it was. Text
// that only looks like a token is escaped, so that it cannot pose as one. The
// empty mode is the configuration's. In mode block a finding is an error with
// the code denied.tool. A text that is no JSON is an error with the code
// guest.result: use Text for it.
func (v *Vault) JSON(doc []byte, mode Mode) ([]byte, Counts, error) {
	w, state := v.look(mode, true)
	if state.idle(v.d) && !mayHoldMark(doc, v.d) {
		return doc, Counts{}, nil
	}
	return v.document(doc, w, state)
}

// document looks at a JSON document, and where that made values known that may
// stand in front of the place where they were found, once more for those.
func (v *Vault) document(doc []byte, w *work, state *state) ([]byte, Counts, error) {
	out, err := w.editJSON(doc)
	if err != nil {
		return nil, Counts{}, err
	}
	if state.err != nil {
		return nil, state.counts, state.err
	}
	if v.learned(state) {
		w.again, w.escape = true, false
		if out, err = w.editJSON(out); err != nil {
			return nil, state.counts, err
		}
	}
	return out, state.counts, nil
}

// learned reports that values became known since a look began.
func (v *Vault) learned(s *state) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	return v.remembered() > s.known
}

// Text is JSON for a text that a tool answered. A text that is a JSON document
// is treated as one.
func (v *Vault) Text(s string, mode Mode) (string, Counts, error) {
	w, state := v.look(mode, true)
	if state.idle(v.d) && !mayHoldMark([]byte(s), v.d) {
		return s, Counts{}, nil
	}
	return v.text(s, w, state)
}

// Egress looks at a text that leaves for the agent: output, an error, a
// question to a person. Tokens stay as they are; what the agent gave itself,
// see [Vault.Own], passes.
func (v *Vault) Egress(s string, mode Mode) (string, Counts, error) {
	w, state := v.look(mode, false)
	if state.idle(v.d) {
		return s, Counts{}, nil
	}
	return v.text(s, w, state)
}

// Known is Egress that hands out no token: a value that has one gets it, any
// other is redacted. It is for text whose time is not the program's, so that
// the numbers of tokens do not hang on it.
func (v *Vault) Known(s string, mode Mode) (string, Counts, error) {
	w, state := v.look(mode, false)
	state.frozen = true
	if state.idle(v.d) {
		return s, Counts{}, nil
	}
	return v.text(s, w, state)
}

// EgressJSON is Egress for a JSON document.
func (v *Vault) EgressJSON(doc []byte, mode Mode) ([]byte, Counts, error) {
	w, state := v.look(mode, false)
	if state.idle(v.d) {
		return doc, Counts{}, nil
	}
	return v.document(doc, w, state)
}

func (v *Vault) text(s string, w *work, state *state) (string, Counts, error) {
	src := []byte(s)
	spans := w.document(src)
	if state.err != nil {
		return "", state.counts, state.err
	}
	if !slices.ContainsFunc(spans, func(x span) bool { return x.changed }) {
		return s, state.counts, nil
	}
	out := edited(src, spans)
	if v.learned(state) {
		w.again, w.escape = true, false
		out = edited(out, w.document(out))
	}
	return string(out), state.counts, nil
}

// state is what one look gathers.
type state struct {
	mode   Mode
	counts Counts
	err    error
	known  int  // values that were known when it began
	frozen bool // no new token is handed out
}

// idle reports that nothing is looked for anywhere.
func (s *state) idle(d *Detector) bool { return s.mode == Off && len(d.modes) == 0 }

// look prepares a look at a text in a mode.
func (v *Vault) look(mode Mode, inbound bool) (*work, *state) {
	if mode == "" {
		mode = v.d.mode
	}
	st := &state{mode: mode}
	w := v.d.work()
	w.escape = inbound
	w.put = func(s *span, f *field, number bool) {
		if s.kind == "" {
			s.put, s.changed = escaped(s.value), true
			return
		}
		mode := st.mode
		if f != nil && f.mode != "" {
			mode = f.mode
		}
		if mode == Off {
			return
		}
		if !inbound && mode != Block && v.isMine(s.kind, s.value) {
			return
		}
		st.counts.add(s.kind, 1)
		st.counts.field(s.field)
		switch mode {
		case Detect:
		case Redact:
			s.put, s.changed = redacted(s.kind), true
		case Block:
			if st.err == nil {
				where := ""
				if s.field != "" {
					where = " in " + s.field
				}
				st.err = fault.New(fault.DeniedTool, "personal data of kind %s was found%s, and the policy blocks it", s.kind, where).
					WithHint("mode tokenize lets the program work with tokens instead")
			}
		case Partial:
			s.put, s.changed = v.tokenFor(s, inbound, number, v.d.part(s.kind, s.value), st.frozen), true
		default:
			s.put, s.changed = v.tokenFor(s, inbound, number, "", st.frozen), true
		}
	}
	v.mu.RLock()
	w.known, st.known = v.findKnown, v.remembered()
	v.mu.RUnlock()
	return w, st
}

func redacted(k Kind) string { return "[" + upperKind(k) + "]" }

// tokenFor is the token of a value: the one it has, or a new one. A value of a
// tool that holds what looks like a token is kept with that escaped; one that
// leaves holds real tokens, and they are resolved with it. Frozen, it hands out
// no new one.
func (v *Vault) tokenFor(s *span, inbound, number bool, part string, frozen bool) string {
	kind, value := s.kind, s.value
	if inbound {
		value = escapeMarks(value, v.d)
	}
	canonical := v.d.canonical(kind, value)
	name := upperKind(kind)
	v.mu.Lock()
	defer v.mu.Unlock()
	k := v.kinds[name]
	if k == nil && frozen {
		return redacted(kind)
	}
	if k == nil {
		k = &handed{numbers: make(map[string]int)}
		v.kinds[name] = k
	}
	if n, ok := k.numbers[canonical]; ok {
		return token(name, n, part)
	}
	if frozen {
		return redacted(kind)
	}
	cost := entryCost + len(canonical) + len(value)*2
	if v.size+cost > v.limit {
		v.full = true
		return redacted(kind)
	}
	v.size += cost
	for len(v.reserved) > 0 && v.reserved[tokenKey{name, len(k.values) + 1}] {
		k.values = append(k.values, entry{})
	}
	k.values = append(k.values, entry{kind, value, number})
	n := len(k.values)
	k.numbers[canonical] = n
	v.remember(kind, value)
	return token(name, n, part)
}

// Reserve keeps the numbers of tokens that occur in texts from being handed
// out: a token of another run cannot name somebody else in this one.
func (v *Vault) Reserve(texts ...string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, text := range texts {
		if !mayHoldBracket(text) {
			continue
		}
		eachMark([]byte(text), v.d, func(m mark) {
			k := v.kinds[m.kind]
			if used := k != nil && m.number <= len(k.values); !used && len(v.reserved) < maxReserved {
				if v.reserved == nil {
					v.reserved = make(map[tokenKey]bool)
				}
				v.reserved[tokenKey{m.kind, m.number}] = true
			}
		})
	}
}

// Own notes the personal data in texts that the agent gave itself, its program
// and arguments: it may leave again. They are looked at when the first thing
// that may be theirs leaves; most runs never need it.
func (v *Vault) Own(texts ...string) {
	v.owning.Lock()
	defer v.owning.Unlock()
	for _, text := range texts {
		if text != "" {
			v.owned = append(v.owned, text)
			v.unread.Store(true)
		}
	}
}

// readOwn looks at the texts of the agent that were not looked at yet.
func (v *Vault) readOwn() {
	v.owning.Lock()
	defer v.owning.Unlock()
	for _, text := range v.owned {
		w := v.d.work()
		w.put = func(s *span, _ *field, _ bool) {
			if s.kind == "" {
				return
			}
			v.mu.Lock()
			if v.mine == nil {
				v.mine = make(map[valueKey]bool)
			}
			if len(v.mine) < maxReserved {
				v.mine[valueKey{s.kind, v.d.canonical(s.kind, s.value)}] = true
			}
			v.mu.Unlock()
		}
		w.document([]byte(text))
	}
	v.owned = nil
	v.unread.Store(false)
}

func (v *Vault) isMine(kind Kind, value string) bool {
	if v.unread.Load() {
		v.readOwn()
	}
	v.mu.RLock()
	defer v.mu.RUnlock()
	return len(v.mine) > 0 && v.mine[valueKey{kind, v.d.canonical(kind, value)}]
}
