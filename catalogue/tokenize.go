package catalogue

import (
	"strings"
	"unicode"
)

// Words splits an identifier or a sentence into lower-case words: at characters
// other than letters and digits, between a lower-case and an upper-case letter,
// before the last capital of an abbreviation, and between letters and digits.
func Words(s string) []string {
	var out []string
	rs := []rune(s)
	start := -1
	flush := func(end int) {
		if start >= 0 && end > start {
			out = append(out, strings.ToLower(string(rs[start:end])))
		}
		start = -1
	}
	for i, r := range rs {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) {
			flush(i)
			continue
		}
		if start >= 0 && boundary(rs, start, i) {
			flush(i)
		}
		if start < 0 {
			start = i
		}
	}
	flush(len(rs))
	return out
}

// searchWords returns the words of a text for the index. Names with inner capitals,
// such as GitHub, are also indexed as one word.
func searchWords(s string) []string {
	var out []string
	for _, part := range strings.FieldsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) }) {
		words := Words(part)
		out = append(out, words...)
		if len(words) == 2 {
			out = append(out, strings.ToLower(part))
		}
	}
	return out
}

// boundary reports whether a new word starts at i; the last one started at start.
// Short names with a digit (s3, ec2, v2) and plurals of abbreviations (PRs) are
// not split.
func boundary(rs []rune, start, i int) bool {
	a, b := rs[i-1], rs[i]
	switch {
	case unicode.IsLower(a) && unicode.IsUpper(b):
		return true
	case unicode.IsDigit(b) && !unicode.IsDigit(a):
		return i-start > 2
	case unicode.IsDigit(a) && !unicode.IsDigit(b):
		return true
	case unicode.IsUpper(a) && unicode.IsUpper(b) && i+1 < len(rs) && unicode.IsLower(rs[i+1]):
		plural := rs[i+1] == 's' && (i+2 == len(rs) || !unicode.IsLetter(rs[i+2]))
		return !plural
	}
	return false
}

// stop has the words that searches ignore.
var stop = map[string]bool{
	"a": true, "an": true, "and": true, "are": true, "as": true, "at": true, "be": true, "by": true, "can": true,
	"do": true, "does": true, "for": true, "from": true, "given": true, "how": true, "i": true, "if": true,
	"in": true, "into": true, "is": true, "it": true, "its": true, "me": true, "my": true, "of": true, "on": true,
	"or": true, "our": true, "please": true, "so": true, "some": true, "that": true, "the": true, "their": true,
	"them": true, "then": true, "there": true, "these": true, "this": true, "to": true, "tool": true, "us": true,
	"use": true, "using": true, "want": true, "was": true, "we": true, "were": true, "which": true, "will": true,
	"with": true, "you": true, "your": true, "need": true, "would": true, "like": true, "all": true, "any": true,
	"what": true, "who": true, "whose": true, "whom": true, "when": true, "where": true, "why": true,
}

// suffixes are English endings, longest first, and their replacements.
var suffixes = []struct{ from, to string }{
	{"ations", "at"}, {"ation", "at"}, {"ements", "e"}, {"ement", "e"}, {"ingly", ""}, {"edly", ""},
	{"iness", "y"}, {"ions", ""}, {"ies", "y"}, {"ied", "y"}, {"ing", ""}, {"ion", ""}, {"ers", ""},
	{"est", ""}, {"es", ""}, {"ed", ""}, {"er", ""}, {"ly", ""}, {"s", ""}, {"e", ""},
}

// stem reduces the forms of a word to a common stem. It is simpler than Porter's
// algorithm.
func stem(w string) string {
	if len(w) < 4 {
		if len(w) == 3 && w[2] == 's' && w[1] != 's' {
			return w[:2] // prs
		}
		return w
	}
	if strings.HasSuffix(w, "ss") || strings.HasSuffix(w, "us") {
		return w
	}
	for _, s := range suffixes {
		base, ok := strings.CutSuffix(w, s.from)
		if !ok || len(base) < 3 {
			continue
		}
		w = base + s.to
		break
	}
	if n := len(w); n > 3 && w[n-1] == w[n-2] && !strings.ContainsRune("aeiouls", rune(w[n-1])) {
		w = w[:n-1] // stopp, shipp
	}
	return strings.TrimSuffix(w, "e")
}

// spelling is a word that others are compared with. Only its first 64 bytes count.
type spelling struct {
	at  [256]uint64 // the positions of each byte, as bits
	len int
}

func newSpelling(word string) *spelling {
	word = word[:min(len(word), 64)]
	s := &spelling{len: len(word)}
	for i := range len(word) {
		s.at[word[i]] |= 1 << i
	}
	return s
}

// distance returns the number of edits between the word and another. It computes
// a row of the table of distances at once: bit i of up and down tells whether the
// value at i is one more or one less than the one before it.
func (s *spelling) distance(other string) int {
	other = other[:min(len(other), 64)]
	if s.len == 0 {
		return len(other)
	}
	d, last := s.len, uint64(1)<<(s.len-1)
	up, down := ^uint64(0), uint64(0)
	diagonal, before := uint64(0), uint64(0) // of the row before: equal diagonals, matches
	for i := range len(other) {
		match := s.at[other[i]]
		swapped := (^diagonal & match) << 1 & before
		diagonal = ((match&up + up) ^ up) | match | down | swapped
		more, less := down|^(diagonal|up), diagonal&up
		if more&last != 0 {
			d++
		}
		if less&last != 0 {
			d--
		}
		more, less = more<<1|1, less<<1
		up, down = less|^(diagonal|more), more&diagonal
		before = match
	}
	return d
}

// Distance returns the number of edits between two words. Swapping neighbors is
// one edit. Only the first 64 bytes of each count.
func Distance(a, b string) int { return newSpelling(a).distance(b) }
