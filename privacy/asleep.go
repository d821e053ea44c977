package privacy

import (
	"cmp"
	"maps"
	"slices"

	"github.com/wexec/wexec/fault"
)

// VaultState is what a vault has, to be kept while nothing uses it. It has the
// values: seal it.
type VaultState struct {
	Values   []VaultValue  `json:"values,omitempty"` // in the order in which they were issued
	Reserved []VaultToken  `json:"reserved,omitempty"`
	Exempt   []VaultExempt `json:"exempt,omitempty"`
	Texts    []string      `json:"texts,omitempty"` // of the agent, not searched yet
	Full     bool          `json:"full,omitempty"`
}

// VaultToken is a token by its kind in capitals and its number.
type VaultToken struct {
	Kind   string `json:"kind"`
	Number int    `json:"number"`
}

// VaultValue is a token with its value.
type VaultValue struct {
	VaultToken
	Of        Kind   `json:"of"`
	Value     string `json:"value"`
	Canonical string `json:"canonical"`
	Numeric   bool   `json:"numeric,omitempty"` // it was a number in JSON
}

// VaultExempt is a value that the agent wrote itself.
type VaultExempt struct {
	Kind  Kind   `json:"kind"`
	Value string `json:"value"` // canonical
}

// State returns what the vault has.
func (v *Vault) State() *VaultState {
	s := &VaultState{}
	v.exempting.Lock()
	s.Texts = slices.Clone(v.pending)
	v.exempting.Unlock()
	v.mu.RLock()
	defer v.mu.RUnlock()
	s.Full = v.full
	order := map[VaultToken]int{}
	for name, k := range v.issued {
		for canonical, n := range k.numbers {
			o, t := k.originals[n-1], VaultToken{name, n}
			order[t] = o.at
			s.Values = append(s.Values, VaultValue{t, o.kind, o.value, canonical, o.number})
		}
	}
	slices.SortFunc(s.Values, func(a, b VaultValue) int { return cmp.Compare(order[a.VaultToken], order[b.VaultToken]) })
	for t := range v.reserved {
		s.Reserved = append(s.Reserved, VaultToken{t.kind, t.number})
	}
	for e := range maps.Keys(v.exempt) {
		s.Exempt = append(s.Exempt, VaultExempt{e.kind, e.value})
	}
	return s
}

// RestoreVault returns a vault with the tokens and values of a state.
func RestoreVault(d *Detector, s *VaultState) (*Vault, error) {
	v := NewVault(d)
	bad := func(what string) (*Vault, error) {
		return nil, fault.New(fault.UsageSession, "restore the tokens of personal data: %s", what)
	}
	most, places := maxVault/valueCost, 0
	if len(s.Values) > most || len(s.Reserved) > maxReserved || len(s.Exempt) > maxReserved {
		return bad("there are too many")
	}
	for _, one := range s.Values {
		if one.Of == "" || upperKind(one.Of) != one.Kind || one.Number < 1 {
			return bad("one has no kind or number")
		}
		k := v.issued[one.Kind]
		if k == nil {
			k = &issued{numbers: make(map[string]int)}
			v.issued[one.Kind] = k
		}
		if more := one.Number - len(k.originals); more > 0 {
			if places += more; places > most+maxReserved {
				return bad("their numbers are too large")
			}
			k.originals = append(k.originals, make([]original, more)...)
		}
		if _, twice := k.numbers[one.Canonical]; twice || k.originals[one.Number-1].kind != "" {
			return bad("one occurs twice")
		}
		if v.size += valueCost + len(one.Canonical) + len(one.Value)*2; v.size > v.limit {
			return bad("they are too large")
		}
		k.numbers[one.Canonical] = one.Number
		k.originals[one.Number-1] = original{one.Of, one.Value, one.Numeric, v.count}
		v.count++
		if v.known == nil {
			v.known = newKnownValues()
		}
		v.known.add(one.Of, one.Value)
	}
	v.full = s.Full
	if len(s.Reserved) > 0 {
		v.reserved = make(map[tokenID]bool, len(s.Reserved))
	}
	for _, t := range s.Reserved {
		v.reserved[tokenID{t.Kind, t.Number}] = true
	}
	if len(s.Exempt) > 0 {
		v.exempt = make(map[valueKey]bool, len(s.Exempt))
	}
	for _, e := range s.Exempt {
		v.exempt[valueKey{e.Kind, e.Value}] = true
	}
	v.Exempt(s.Texts...)
	return v, nil
}
