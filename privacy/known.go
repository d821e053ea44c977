package privacy

import (
	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/match"
	"github.com/wexec/wexec/privacy/internal/names"
)

// Values without a form, such as names, are found by their field. Once a value is
// known it is searched everywhere in the run, so that it does not leave in a
// sentence.

// Bounds of values that are searched as they are.
const (
	minKnown      = 4
	maxKnown      = 160
	maxKnownWords = 12
)

// knownValues are the values that are searched as they are.
type knownValues struct {
	kinds  map[string]Kind
	firsts map[string]int        // the first words, and how many words a value has at most
	filter [1 << filterBits]bool // the hashes of the first words: a cheap test
}

const filterBits = 12

func newKnownValues() *knownValues {
	return &knownValues{kinds: make(map[string]Kind), firsts: make(map[string]int)}
}

func filterHash[T ~string | ~[]byte](word T) uint32 {
	n := len(word)
	return (uint32(word[0]) | uint32(word[n/2])<<8 | uint32(word[n-1])<<16 | uint32(n)<<24) * 0x9E3779B1 >> (32 - filterBits)
}

// add adds a value if it is not found by its form and is long enough to be
// searched.
func (k *knownValues) add(kind Kind, value string) {
	switch kind {
	case Email, Card, IBAN, IP, MAC:
		return // the form is enough
	case Name:
		if names.Ordinary(value) {
			return // a field can hold Price or West; most texts do not mean a person
		}
	}
	if len(value) < minKnown || len(value) > maxKnown || !char.IsWord(value[0]) || !char.IsWord(value[len(value)-1]) {
		return
	}
	letters, words, first := 0, 0, ""
	text := []byte(value)
	for i := 0; i < len(text); {
		j := char.WordEnd(text, i)
		if j == i {
			i++
			continue
		}
		if words == 0 {
			first = value[i:j]
		}
		words++
		for ; i < j; i++ {
			if char.IsLetter(text[i]) {
				letters++
			}
		}
	}
	if letters < minKnown && char.CountDigits(value) < 6 || words > maxKnownWords {
		return
	}
	k.kinds[value] = kind
	k.firsts[first] = max(k.firsts[first], words)
	k.filter[filterHash(first)] = true
}

// count is the number of values; k may be nil.
func (k *knownValues) count() int {
	if k == nil {
		return 0
	}
	return len(k.kinds)
}

// find records the known values in a text; k may be nil.
func (k *knownValues) find(s *match.Text) {
	if k == nil {
		return
	}
	t := s.Bytes
	for i := 0; i < len(t); {
		if !char.IsWord(t[i]) {
			i++
			continue
		}
		end := char.WordEnd(t, i)
		next := end
		if k.filter[filterHash(t[i:end])] {
			found, kind := 0, Kind("")
			for range k.firsts[string(t[i:end])] {
				if known, ok := k.kinds[string(t[i:end])]; ok {
					found, kind = end, known
				}
				word := end
				for word < len(t) && word-end < 3 && !char.IsWord(t[word]) {
					word++
				}
				if word == end || word >= len(t) || !char.IsWord(t[word]) {
					break
				}
				if end = char.WordEnd(t, word); end-i > maxKnown {
					break
				}
			}
			if found > 0 {
				s.Hit(kind, i, found, 85, "a value that was seen before")
				next = found
			}
		}
		i = next
	}
}
