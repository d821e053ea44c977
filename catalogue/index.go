package catalogue

import (
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/wexec/wexec/internal/jsonschema"
)

// Fields of a tool that are searched.
const (
	inName = iota
	inServer
	inTitle
	inDescription
	inArguments
	fields
)

// fieldWeight is the weight of a hit in a field.
var fieldWeight = [fields]float64{inName: 4, inServer: 2.2, inTitle: 2.5, inDescription: 1.1, inArguments: 0.8}

// index is an inverted index of tools.
type index struct {
	postings map[string][]posting
	mean     [fields]float64 // length of fields
	lengths  [][fields]int   // of fields, by tool
	terms    []string        // sorted, for misspelled words
	servers  map[string]bool // words in names of servers
}

type posting struct {
	tool  int32
	field uint8
	count uint16
}

func newIndex(tools []Tool) *index {
	x := &index{postings: map[string][]posting{}, servers: map[string]bool{}, lengths: make([][fields]int, len(tools))}
	for i, t := range tools {
		texts := [fields][]string{
			inName:        Words(t.Name),
			inServer:      Words(t.Server),
			inTitle:       searchWords(t.Title),
			inDescription: searchWords(t.Description),
			inArguments:   argumentWords(t.InputSchema),
		}
		for f, words := range texts {
			counts := map[string]int{}
			n := 0
			for _, w := range words {
				if stop[w] {
					continue
				}
				n++
				counts[stem(w)]++
				if f == inServer {
					x.servers[stem(w)] = true
				}
			}
			x.lengths[i][f] = n
			x.mean[f] += float64(n) / float64(len(tools))
			for w, c := range counts {
				x.postings[w] = append(x.postings[w], posting{int32(i), uint8(f), uint16(min(c, math.MaxUint16))})
			}
		}
	}
	x.terms = make([]string, 0, len(x.postings))
	for w := range x.postings {
		x.terms = append(x.terms, w)
	}
	slices.Sort(x.terms)
	return x
}

// argumentWords returns the words in the names of properties and in enums, three
// levels deep.
func argumentWords(schema json.RawMessage) []string {
	doc, _ := jsonschema.Parse(schema)
	if doc == nil {
		return nil
	}
	var out []string
	var walk func(n *jsonschema.Schema, depth int)
	walk = func(n *jsonschema.Schema, depth int) {
		if n == nil || depth > 3 || len(out) > 400 {
			return
		}
		for _, name := range n.Names {
			out = append(out, Words(name)...)
			walk(n.Properties[name], depth+1)
		}
		for _, v := range n.Enum[:min(len(n.Enum), 20)] {
			if s, ok := v.(string); ok {
				out = append(out, Words(s)...)
			}
		}
		walk(n.Items, depth+1)
	}
	walk(doc.Root, 0)
	return out
}

// term is a word to look for. Its weight is relative to that of the asked word.
type term struct {
	word   string
	weight float64
}

// askedWord is a word of a query with its synonyms.
type askedWord struct {
	terms  []term // the word itself first
	weight float64
}

// score returns the BM25F score of each tool that matches. Of the spellings and
// synonyms of one asked word only the best counts, and the word is as rare as
// all of them together: a rare synonym of a common word proves little. A tool
// that matches more of the asked words ranks before one that matches one of them
// often.
func (x *index) score(asked []askedWord) map[int32]float64 {
	n := len(x.lengths)
	total, hits := make([]float64, n), make([]float64, n)
	best, tf := make([]float64, n), make([]float64, n)
	var matched, found []int32
	all := 0.0
	for _, q := range asked {
		matched = matched[:0]
		exact := 0
		for i, t := range q.terms {
			found = found[:0]
			for _, p := range x.postings[t.word] {
				length := 1.0
				if mean := x.mean[p.field]; mean > 0 {
					// Some servers write long descriptions: a hit in one says less,
					// but not nothing.
					length = min(0.55+0.45*float64(x.lengths[p.tool][p.field])/mean, 2.2)
				}
				if tf[p.tool] == 0 {
					found = append(found, p.tool)
				}
				tf[p.tool] += fieldWeight[p.field] * float64(p.count) / length
			}
			if i == 0 {
				exact = len(found)
			}
			for _, tool := range found {
				if best[tool] == 0 {
					matched = append(matched, tool)
				}
				best[tool] = max(best[tool], t.weight*tf[tool]/(tf[tool]+1.5))
				tf[tool] = 0
			}
		}
		df := float64(len(matched))
		if exact > 0 {
			df = math.Sqrt(df * float64(exact)) // the asked word itself is rarer than its synonyms
		}
		idf := math.Log(1 + (float64(n)-df+0.5)/(df+0.5))
		all += q.weight * idf
		for _, tool := range matched {
			total[tool] += q.weight * idf * best[tool]
			hits[tool] += q.weight * idf
			best[tool] = 0
		}
	}
	scores := map[int32]float64{}
	for tool, s := range total {
		if s > 0 && s >= leastMatched*all {
			scores[int32(tool)] = s * (0.3 + 0.7*hits[tool]/all)
		}
	}
	return scores
}

// Thresholds below which a tool is noise that costs its reader tokens.
const (
	leastMatched = 0.08 // of the weight of the query
	leastOfTop   = 0.25 // of the score of the best tool
)

const maxAsked = 16 // words of a query

// expand returns the words to look for.
func (x *index) expand(query string) []askedWord {
	var asked []askedWord
	for _, w := range Words(query) {
		if len(asked) == maxAsked {
			break
		}
		if stop[w] {
			continue
		}
		s := stem(w)
		q := askedWord{terms: []term{{s, 1}}, weight: 1}
		if x.servers[s] {
			q.weight = 1.4
		}
		for _, other := range synonyms()[s] {
			q.terms = append(q.terms, term{other, 0.7})
		}
		if len(x.postings[s]) == 0 && len(q.terms) == 1 {
			q.terms = append(q.terms, x.misspelled(w, s)...)
		}
		asked = append(asked, q)
	}
	return asked
}

// misspelled returns the indexed words that are a few edits from a stem that is
// not indexed. Words of fewer than four letters are too similar to others.
func (x *index) misspelled(word, w string) []term {
	if len(word) < 4 || w == "" {
		return nil
	}
	allowed := 1 + len(w)/8
	var out []term
	for _, t := range x.terms {
		if len(t)-len(w) > allowed || len(w)-len(t) > allowed {
			continue
		}
		if d := Distance(w, t); d <= allowed && t[0] == w[0] {
			out = append(out, term{t, 0.6 / float64(d)})
		}
	}
	for _, t := range x.terms {
		if len(w) >= 4 && len(t) > len(w) && strings.HasPrefix(t, w) {
			out = append(out, term{t, 0.6})
		}
	}
	return out
}
