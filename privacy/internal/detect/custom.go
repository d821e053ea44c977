package detect

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/wexec/wexec/privacy/internal/char"
	"github.com/wexec/wexec/privacy/internal/match"
)

// Bounds of the kinds of a policy.
const (
	maxPatternSize = 1000
	maxPatternCost = 4000 // instructions of the compiled program
	MaxWordSize    = 200
	maxPhrase      = 8 // words of a phrase of a list
)

// customKind is a kind of a policy: a pattern, or a list of words and phrases.
type customKind struct {
	kind    match.Kind
	re      *regexp.Regexp
	must    []byte          // what every match contains, if that is known
	phrases map[string]bool // in lower case
	longest int             // words in the longest phrase
}

func customKinds(patterns map[string]string, lists map[string][]string) ([]customKind, error) {
	var all []customKind
	for _, name := range slices.Sorted(maps.Keys(patterns)) {
		re, err := CompilePattern(patterns[name])
		if err != nil {
			return nil, fmt.Errorf("pattern %q: %w", name, err)
		}
		prefix, _ := re.LiteralPrefix()
		all = append(all, customKind{kind: match.Kind(name), re: re, must: []byte(prefix)})
	}
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		k := customKind{kind: match.Kind(name), phrases: make(map[string]bool, len(lists[name]))}
		for _, w := range lists[name] {
			words := strings.Fields(strings.ToLower(w))
			k.phrases[strings.Join(words, " ")] = true
			k.longest = min(max(k.longest, len(words)), maxPhrase)
		}
		all = append(all, k)
	}
	return all, nil
}

// CompilePattern checks the size of a pattern before and after it compiles it:
// the time of a match is linear in the text, with the size as the factor.
func CompilePattern(expr string) (*regexp.Regexp, error) {
	if expr == "" || len(expr) > maxPatternSize {
		return nil, fmt.Errorf("a pattern must have 1 to %d bytes", maxPatternSize)
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	prog, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(prog.Inst) > maxPatternCost {
		return nil, fmt.Errorf("the pattern compiles to %d instructions, more than %d", len(prog.Inst), maxPatternCost)
	}
	re, err := regexp.Compile(expr)
	if err == nil && re.MatchString("") {
		return nil, errors.New("the pattern matches the empty text")
	}
	return re, err
}

// find finds the matches of a kind.
func (k *customKind) find(t *match.Text) {
	if k.re == nil {
		k.findPhrases(t)
		return
	}
	if len(k.must) > 0 && !bytes.Contains(t.Bytes, k.must) {
		return
	}
	for _, m := range k.re.FindAllIndex(t.Bytes, -1) {
		t.Hit(k.kind, m[0], m[1], 90, "a pattern of the policy")
	}
}

// findPhrases looks up each word, and the phrases that begin with it.
func (k *customKind) findPhrases(s *match.Text) {
	t := s.Bytes
	for i := 0; i < len(t); {
		if !char.IsWord(t[i]) {
			i++
			continue
		}
		end, next, found := i, 0, 0
		for range k.longest {
			for end < len(t) && end-i <= MaxWordSize && char.IsWord(t[end]) {
				end++
			}
			if next == 0 {
				next = end
			}
			if end-i > MaxWordSize {
				break
			}
			if k.phrases[foldSpaces(t[i:end])] {
				found = end
			}
			if end = nextInPhrase(t, end); end == 0 {
				break
			}
		}
		if found > 0 {
			s.Hit(k.kind, i, found, 90, "a word of a list of the policy")
			i = found
			continue
		}
		i = char.WordEnd(t, next)
	}
}

// nextInPhrase is the start of the word behind the one that ends at i, with
// spaces, hyphens or dots between them, or 0.
func nextInPhrase(t []byte, i int) int {
	k := i
	for k < len(t) && !char.IsWord(t[k]) && k-i < 3 && t[k] != '\n' {
		k++
	}
	if k == i || k == len(t) || !char.IsWord(t[k]) {
		return 0
	}
	return k
}

func foldSpaces(b []byte) string {
	if bytes.Contains(b, []byte("  ")) {
		b = bytes.Join(bytes.Fields(b), []byte(" "))
	}
	return strings.ToLower(string(b))
}
