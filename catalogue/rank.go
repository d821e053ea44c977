package catalogue

import (
	"cmp"
	"math"
	"slices"
	"strings"
)

// term is a word to look for. Its weight is relative to that of the asked word.
type term struct {
	word   string
	weight float64
}

// askedWord is a word of a query with its synonyms.
type askedWord struct {
	terms    []term // the word itself first
	weight   float64
	question bool // such as who and when: it adds to tools that another word found
}

// Bounds of a query.
const (
	maxAsked   = 16  // words
	maxSimilar = 256 // indexed words that are similar to a misspelled one
)

// askedFor is what a query asks for.
type askedFor struct {
	words   []askedWord
	deed    deed
	servers []int // that the query names
}

// expand returns the words to look for.
func (x *index) expand(query string, b *budget) (askedFor, error) {
	words := queryWords(query)
	asked := askedFor{deed: askedDeed(words)}
	for _, w := range words {
		if len(asked.words) == maxAsked {
			break
		}
		s := termOf(w)
		others := synonyms()[s]
		if stop[w] && len(others) == 0 {
			continue
		}
		q := askedWord{terms: []term{{s, 1}}, weight: 1}
		if stop[w] {
			q.weight, q.question = questionWord, true
		}
		for i, p := range x.parts {
			if slices.Contains(p.server, s) {
				q.weight = serverWord
				asked.servers = append(asked.servers, i)
			}
		}
		for _, other := range others {
			q.terms = append(q.terms, term{other, synonymWeight})
		}
		known := slices.ContainsFunc(x.parts, func(p *part) bool { return len(p.find(s)) > 0 })
		if !known && len(q.terms) == 1 {
			similar, err := x.misspelled(w, s, b)
			if err != nil {
				return askedFor{}, err
			}
			q.terms = append(q.terms, similar...)
		}
		asked.words = append(asked.words, q)
	}
	questionsLast(asked.words)
	return asked, nil
}

func questionsLast(words []askedWord) {
	slices.SortStableFunc(words, func(a, b askedWord) int {
		switch {
		case a.question == b.question:
			return 0
		case a.question:
			return 1
		}
		return -1
	})
}

// queryWords returns the words of a query: verbs of two words, which may be apart,
// as one, and irregular forms as their verb.
func queryWords(query string) []string {
	words := Words(query)
	for i, w := range words {
		if verb, ok := irregular()[w]; ok {
			words[i] = verb
		}
	}
	for i := 0; i < len(words); i++ {
		for j := i + 1; j < min(len(words), i+5); j++ {
			if verb, ok := phrases()[[2]string{words[i], words[j]}]; ok {
				words[i] = verb
				words = slices.Delete(words, j, j+1)
				break
			}
		}
	}
	return words
}

// misspelled returns the indexed words that are a few edits from a stem that is
// not indexed, or begin with it. Words of fewer than four letters are too similar
// to others.
func (x *index) misspelled(word, w string, b *budget) ([]term, error) {
	if len(word) < 4 || w == "" {
		return nil, nil
	}
	allowed := 1 + len(w)/8
	meant := newSpelling(w)
	var out []term
	for _, p := range x.parts {
		from, _ := slices.BinarySearch(p.terms, w[:1])
		for i, t := range p.terms[from:] {
			if t[0] != w[0] {
				break
			}
			if i%checkEvery == 0 {
				if err := b.spend(termCost * min(checkEvery, int64(len(p.terms)-from-i))); err != nil {
					return nil, err
				}
			}
			weight := 0.0
			if len(t)-len(w) <= allowed && len(w)-len(t) <= allowed {
				if d := meant.distance(t); d <= allowed {
					weight = 0.6 / float64(d)
				}
			}
			if len(w) >= 4 && len(t) > len(w) && strings.HasPrefix(t, w) {
				weight = max(weight, 0.6)
			}
			if weight > 0 {
				out = append(out, term{t, weight})
			}
		}
	}
	slices.SortFunc(out, func(a, b term) int { return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.word, b.word)) })
	out = slices.Compact(out)
	return out[:min(len(out), maxSimilar)], nil
}

// tally is what a search knows of a tool. All are zero between searches.
type tally struct {
	score, hits, named float64 // over the asked words
	best, bestNamed    float64 // of the current word
	tf                 float64 // of the current term
	inName             bool    // the current term is in the name
}

type sums struct {
	of      []tally  // by tool
	touched []uint32 // tools with a score
	matched []uint32 // tools with a best
	found   []uint32 // tools with a tf
}

func (s *sums) grow(tools int) {
	if len(s.of) < tools {
		*s = sums{of: make([]tally, tools)}
	}
}

// add computes the BM25F score of each tool that matches. Of the spellings and
// synonyms of one asked word only the best counts, and the word is as rare as
// all of them together: a rare synonym of a common word proves little. A tool
// ranks higher if it matches more of the asked words, and if these are more of
// its name. It ranks lower if its verb says that it does something else, and if
// the query names another server.
//
// Only the postings of the asked words are read.
func (x *index) add(asked askedFor, s *sums, b *budget) error {
	all := 0.0
	for _, q := range asked.words {
		exact := 0
		for i, t := range q.terms {
			if err := x.count(t.word, s, b); err != nil {
				return err
			}
			if i == 0 {
				exact = len(s.found)
			}
			for _, tool := range s.found {
				of := &s.of[tool]
				if of.best == 0 {
					s.matched = append(s.matched, tool)
				}
				of.best = max(of.best, t.weight*of.tf/(of.tf+saturation))
				if of.inName {
					of.bestNamed = max(of.bestNamed, t.weight)
				}
				of.tf, of.inName = 0, false
			}
			s.found = s.found[:0]
		}
		df := float64(len(s.matched))
		if exact > 0 {
			df = math.Sqrt(df * float64(exact)) // the asked word itself is rarer than its synonyms
		}
		idf := math.Log(1 + (float64(len(x.tools))-df+0.5)/(df+0.5))
		all += q.weight * idf
		for _, tool := range s.matched {
			of := &s.of[tool]
			if of.hits == 0 && !q.question {
				s.touched = append(s.touched, tool)
			}
			if of.hits > 0 || !q.question {
				of.score += q.weight * idf * of.best
				of.hits += q.weight * idf
				of.named += of.bestNamed
			}
			of.best, of.bestNamed = 0, 0
		}
		s.matched = s.matched[:0]
	}
	for _, tool := range s.touched {
		of, facts := &s.of[tool], x.tools[tool]
		if of.score < leastMatched*all {
			of.score = 0
		}
		of.score *= 1 - coverage + coverage*of.hits/all
		if facts.nameWords > 0 {
			of.score *= 1 + nameShare*min(1, of.named/float64(facts.nameWords))
		}
		if facts.deed != unsaid && asked.deed != unsaid && facts.deed != asked.deed {
			of.score *= otherDeed
		}
		if len(asked.servers) > 0 && !slices.Contains(asked.servers, facts.part) {
			of.score *= otherServer
		}
		of.hits, of.named = 0, 0
	}
	return nil
}

// count sums the weighted frequencies of a term in each tool.
func (x *index) count(word string, s *sums, b *budget) error {
	for i, p := range x.parts {
		list := p.find(word)
		for len(list) > 0 {
			now := list[:min(len(list), checkEvery)]
			list = list[len(now):]
			if err := b.spend(postingCost * int64(len(now))); err != nil {
				return err
			}
			for _, posting := range now {
				length := 1.0
				if mean := x.mean[posting.field]; mean > 0 {
					share := lengthWeight[posting.field]
					length = 1 - share + share*float64(p.lengths[posting.tool][posting.field])/mean
				}
				tool := x.first[i] + posting.tool
				of := &s.of[tool]
				if of.tf == 0 {
					s.found = append(s.found, tool)
				}
				of.tf += fieldWeight[posting.field] * float64(min(posting.count, mostCounted)) / length
				of.inName = of.inName || posting.field == inName
			}
		}
	}
	return nil
}

// fieldWeight is the weight of a hit in a field.
var fieldWeight = [fields]float64{inName: 2, inServer: 2.4, inTitle: 2, inSummary: 1.8, inDetails: 0.7, inArguments: 0.5}

// lengthWeight is how much the length of a field lowers the weight of a hit in it.
var lengthWeight = [fields]float64{inName: 1, inServer: 0.4, inTitle: 1, inSummary: 0.85, inDetails: 0.2, inArguments: 0.15}

// Weights of a match.
const (
	synonymWeight = 0.7  // of the asked word
	questionWord  = 0.3  // such as who and when
	serverWord    = 0.6  // the name of a server is in all of its tools
	saturation    = 1.25 // the frequency that counts half
	mostCounted   = 2    // times that a word counts in one field: repeating it in a long text does not help
	coverage      = 0.7  // share of the score that depends on how many asked words match
	nameShare     = 0.3  // more for a name of which all words match
	otherDeed     = 0.8
	otherServer   = 0.5
)

// Thresholds below which a tool is noise that costs its reader tokens.
const (
	leastMatched = 0.08 // of the weight of the query
	leastOfTop   = 0.25 // of the score of the best tool
)
