package privacy

// Values without a form of their own, such as names, are found by their field.
// Once one is known it is looked for everywhere else in the run, so that it
// does not leave in a sentence.

// Bounds of values that are looked for by themselves.
const (
	leastKnown = 4
	mostKnown  = 160
	wordsKnown = 12
)

// phrases are the values that are looked for by themselves.
type phrases struct {
	kinds  map[string]Kind
	firsts map[string]int        // their first words, and how many words follow at most
	marks  [1 << bitsKnown]uint8 // which words may be first ones: a cheap first look
}

const bitsKnown = 12

func markOf(word []byte) uint32 {
	n := len(word)
	return (uint32(word[0]) | uint32(word[n/2])<<8 | uint32(word[n-1])<<16 | uint32(n)<<24) * 0x9E3779B1 >> (32 - bitsKnown)
}

// remember takes a new value among those that are looked for. The caller holds
// the lock.
func (v *Vault) remember(kind Kind, value string) {
	switch kind {
	case Email, Card, IBAN, IP, MAC:
		return // found by their form alone
	}
	if len(value) < leastKnown || len(value) > mostKnown {
		return
	}
	letters, digits := 0, 0
	for i := range len(value) {
		if isDigit(value[i]) {
			digits++
		} else if isLetter(value[i]) {
			letters++
		}
	}
	if letters < leastKnown && digits < 6 {
		return
	}
	if !isWord(value[0]) {
		return
	}
	words, first := 0, ""
	for i := 0; i < len(value); {
		j := i
		for j < len(value) && isWord(value[j]) {
			j++
		}
		if j > i {
			if words == 0 {
				first = value[i:j]
			}
			words++
			i = j
			continue
		}
		i++
	}
	if words > wordsKnown || !isWord(value[len(value)-1]) {
		return
	}
	p := v.phrases
	if p == nil {
		p = &phrases{kinds: make(map[string]Kind), firsts: make(map[string]int)}
		v.phrases = p
	}
	p.kinds[value] = kind
	if most, ok := p.firsts[first]; !ok || most < words {
		p.firsts[first] = words
		p.marks[markOf([]byte(first))] = 1
	}
}

// remembered is how many values are looked for. The caller holds the lock.
func (v *Vault) remembered() int {
	if v.phrases == nil {
		return 0
	}
	return len(v.phrases.kinds)
}

// findKnown looks for known values in a text.
func (v *Vault) findKnown(s *scanner) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	p := v.phrases
	if p == nil {
		return
	}
	t := s.t
	for i := 0; i < len(t); {
		if !isWord(t[i]) {
			i++
			continue
		}
		end := s.wordEnd(i)
		next := end
		if p.marks[markOf(t[i:end])] == 0 {
			i = next
			continue
		}
		if most := p.firsts[string(t[i:end])]; most > 0 {
			found, kind := 0, Kind("")
			for n := 0; n < most && end-i <= mostKnown; n++ {
				if k, ok := p.kinds[string(t[i:end])]; ok {
					found, kind = end, k
				}
				k := end
				for k < len(t) && k-end < 3 && !isWord(t[k]) {
					k++
				}
				if k == end || k >= len(t) || !isWord(t[k]) {
					break
				}
				end = s.wordEnd(k)
			}
			if found > 0 {
				s.hit(kind, i, found, 85, "a value that was seen before")
				next = max(next, found)
			}
		}
		i = next
	}
}
