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
	t := []byte(value)
	if !isWord(t[0]) {
		return
	}
	words, first := 0, ""
	for i := 0; i < len(t); {
		j := i
		for j < len(t) && isWord(t[j]) {
			j++
		}
		if j > i {
			if words == 0 {
				first = string(t[i:j])
			}
			words++
			i = j
			continue
		}
		i++
	}
	if words > wordsKnown || !isWord(t[len(t)-1]) {
		return
	}
	v.phrases[value] = kind
	v.firsts[first] = max(v.firsts[first], words)
}

// findKnown looks for known values in a text.
func (v *Vault) findKnown(s *scanner) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	if len(v.firsts) == 0 {
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
		if most := v.firsts[string(t[i:end])]; most > 0 {
			found, kind := 0, Kind("")
			for n := 0; n < most && end-i <= mostKnown; n++ {
				if k, ok := v.phrases[string(t[i:end])]; ok {
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
