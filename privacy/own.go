package privacy

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/wexec/wexec/fault"
)

// ownKind is a kind that a policy names: a pattern, or a list of words.
type ownKind struct {
	kind  Kind
	re    *regexp.Regexp
	must  []byte          // what every match contains, where that is known: a cheap first look
	words map[string]bool // in small letters
	most  int             // words in the longest phrase
}

func ownKinds(patterns map[string]string, lists map[string][]string) ([]ownKind, error) {
	var all []ownKind
	for _, name := range sortedKeys(patterns) {
		re, err := compilePattern(patterns[name])
		if err != nil {
			return nil, fault.New(fault.UsagePolicy, "pattern %q: %w", name, err)
		}
		prefix, _ := re.LiteralPrefix()
		all = append(all, ownKind{kind: Kind(name), re: re, must: []byte(prefix)})
	}
	for _, name := range sortedKeys(lists) {
		o := ownKind{kind: Kind(name), words: make(map[string]bool, len(lists[name]))}
		for _, w := range lists[name] {
			phrase := strings.ToLower(strings.Join(strings.Fields(w), " "))
			o.words[phrase] = true
			o.most = max(o.most, strings.Count(phrase, " ")+1)
		}
		o.most = min(o.most, 8)
		all = append(all, o)
	}
	return all, nil
}

// own looks for the kinds of the policy.
func (s *scanner) own() {
	for i := range s.d.own {
		o := &s.d.own[i]
		if o.re == nil {
			s.list(o)
			continue
		}
		if len(o.must) > 0 && !bytes.Contains(s.t, o.must) {
			continue
		}
		for _, m := range o.re.FindAllIndex(s.t, -1) {
			s.hit(o.kind, m[0], m[1], 90, "a pattern of the policy")
		}
	}
}

// list looks each word up, and the phrases that begin with it.
func (s *scanner) list(o *ownKind) {
	t := s.t
	for i := 0; i < len(t); {
		if !isWord(t[i]) {
			i++
			continue
		}
		end, next, found := i, 0, 0
		for n := 0; n < o.most; n++ {
			for end < len(t) && end-i <= maxWordSize && (isWord(t[end]) || n == 0 && end == i) {
				end++
			}
			if next == 0 {
				next = end
			}
			if end-i > maxWordSize {
				break
			}
			if o.words[foldedWord(t[i:end])] {
				found = end
			}
			// Phrases may hold hyphens, dots and the like between their words.
			k := end
			for k < len(t) && !isWord(t[k]) && k-end < 3 && t[k] != '\n' {
				k++
			}
			if k == end || k >= len(t) || !isWord(t[k]) {
				break
			}
			end = k
		}
		if found > 0 {
			s.hit(o.kind, i, found, 90, "a word of the policy's list")
			i = found
			continue
		}
		for i = next; i < len(t) && isWord(t[i]); i++ {
		}
	}
}

func foldedWord(b []byte) string {
	if bytes.Contains(b, []byte("  ")) {
		b = bytes.Join(bytes.Fields(b), []byte(" "))
	}
	return strings.ToLower(string(b))
}
