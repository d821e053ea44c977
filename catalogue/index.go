package catalogue

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/wexec/wexec/internal/jsonschema"
	"github.com/wexec/wexec/internal/text"
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

// Bounds of the index of one server. Words beyond them are not found.
const (
	maxTerms      = 1 << 16 // different words
	maxTerm       = 64      // bytes of a word; the rest of a longer one is ignored
	maxPostings   = 1 << 21
	maxFieldWords = 4096 // of one tool
)

// part is the inverted index of the tools of one server. It is built by the first
// search, and shared by the catalogues that have the same tools of the server.
type part struct {
	tools  []Tool
	server []string // words in the name of the server

	building chan *builder // holds the builder while no search uses it; nil: not begun
	ready    chan struct{} // closed when the index is complete

	spans    map[string]span // of postings, by word
	postings []posting       // by word, then by tool and field
	terms    []string        // the words, sorted
	lengths  [][fields]uint16
	total    [fields]int // length of the fields of all tools
}

type span struct{ from, to uint32 }

type posting struct {
	tool  uint32 // in the part
	count uint16
	field uint8
}

// builder is a part that is not complete. A search that gives up leaves it for the
// next one, which continues.
type builder struct {
	ids      map[string]uint32 // of words
	words    []string          // by id
	sizes    []uint32          // number of postings, by id
	postings []posting         // by tool and field
	of       []uint32          // the word of each posting
	counts   map[uint32]uint16 // of one field of one tool
	order    []uint32          // the words in counts
}

func newPart(server string, tools []Tool) *part {
	p := &part{tools: tools, ready: make(chan struct{}), building: make(chan *builder, 1)}
	for _, w := range Words(server) {
		if !stop[w] {
			p.server = append(p.server, termOf(w))
		}
	}
	p.building <- nil
	return p
}

// build completes the index of the part. If another search is building it, build
// waits for that one. It checks ctx between tools.
func (p *part) build(ctx context.Context) error {
	var b *builder
	select {
	case <-p.ready:
		return nil
	default:
	}
	select {
	case <-p.ready:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case b = <-p.building:
	}
	if b == nil {
		b = &builder{ids: map[string]uint32{}, counts: map[uint32]uint16{}}
	}
	for len(p.lengths) < len(p.tools) {
		if ctx.Err() != nil {
			p.building <- b
			return context.Cause(ctx)
		}
		p.lengths = append(p.lengths, b.add(uint32(len(p.lengths)), p.tools[len(p.lengths)]))
	}
	p.finish(b)
	close(p.ready)
	return nil
}

// add indexes one tool and returns the lengths of its fields.
func (b *builder) add(number uint32, t Tool) (lengths [fields]uint16) {
	texts := [fields][]string{
		inName:        Words(t.Name),
		inServer:      Words(t.Server),
		inTitle:       searchWords(t.Title),
		inDescription: searchWords(t.Description),
		inArguments:   argumentWords(t.InputSchema),
	}
	for f, words := range texts {
		n := 0
		for _, w := range words[:min(len(words), maxFieldWords)] {
			if stop[w] {
				continue
			}
			n++
			id, ok := b.id(termOf(w))
			if !ok {
				continue
			}
			if b.counts[id]++; b.counts[id] == 1 {
				b.order = append(b.order, id)
			}
		}
		lengths[f] = uint16(n)
		for _, id := range b.order {
			if len(b.postings) < maxPostings {
				b.postings = append(b.postings, posting{tool: number, count: b.counts[id], field: uint8(f)})
				b.of = append(b.of, id)
				b.sizes[id]++
			}
		}
		clear(b.counts)
		b.order = b.order[:0]
	}
	return lengths
}

// id returns the number of a word, or false if there are too many words.
func (b *builder) id(term string) (uint32, bool) {
	id, ok := b.ids[term]
	if !ok && len(b.words) < maxTerms {
		id, ok = uint32(len(b.words)), true
		term = strings.Clone(term) // it may be part of a long text
		b.ids[term] = id
		b.words, b.sizes = append(b.words, term), append(b.sizes, 0)
	}
	return id, ok
}

// finish sorts the postings of all tools by word.
func (p *part) finish(b *builder) {
	p.spans = make(map[string]span, len(b.words))
	next := make([]uint32, len(b.words)) // where the next posting of a word goes
	at := uint32(0)
	for id, word := range b.words {
		next[id] = at
		p.spans[word] = span{at, at + b.sizes[id]}
		at += b.sizes[id]
	}
	p.postings = make([]posting, len(b.postings))
	for i, posting := range b.postings {
		p.postings[next[b.of[i]]] = posting
		next[b.of[i]]++
	}
	p.terms = slices.Clone(b.words)
	slices.Sort(p.terms)
	p.lengths = slices.Clip(p.lengths)
	for _, lengths := range p.lengths {
		for f, n := range lengths {
			p.total[f] += int(n)
		}
	}
	p.tools = nil // which may be a part of a larger list
}

// find returns the postings of a word.
func (p *part) find(term string) []posting {
	s := p.spans[term]
	return p.postings[s.from:s.to]
}

// termOf returns a word as the index has it.
func termOf(word string) string { return text.Prefix(stem(word), maxTerm) }

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

// index is the parts of a catalogue. Its tools are numbered as in the catalogue.
type index struct {
	parts []*part
	first []uint32 // the number of the first tool of each part
	tools int
	mean  [fields]float64 // length of fields
}

// index returns the index of the catalogue, and builds the parts that are not
// complete.
func (c *Catalogue) index(ctx context.Context) (*index, error) {
	if x := c.indexed.Load(); x != nil {
		return x, nil
	}
	x := &index{parts: c.parts, tools: len(c.tools)}
	n := 0
	for i, p := range c.parts {
		if err := p.build(ctx); err != nil {
			return nil, err
		}
		x.first = append(x.first, uint32(n))
		n += c.servers[i].Tools
		for f, total := range p.total {
			x.mean[f] += float64(total)
		}
	}
	for f := range x.mean {
		x.mean[f] /= float64(max(n, 1))
	}
	c.indexed.Store(x)
	return x, nil
}

// budget bounds the work of a search.
type budget struct {
	ctx context.Context
	pay func(bytes int64) error // may be nil
}

// The charge for work, in bytes, and the number of steps after which it is taken.
const (
	postingCost = 8
	termCost    = 16
	keepCost    = 32
	checkEvery  = 4096
)

// spend charges for work that follows. An error ends the search.
func (b *budget) spend(bytes int64) error {
	if b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	if b.pay == nil {
		return nil
	}
	return b.pay(bytes)
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

// Bounds of a query.
const (
	maxAsked   = 16  // words
	maxSimilar = 256 // indexed words that are similar to a misspelled one
)

// expand returns the words to look for.
func (x *index) expand(query string, b *budget) ([]askedWord, error) {
	var asked []askedWord
	for _, w := range Words(query) {
		if len(asked) == maxAsked {
			break
		}
		if stop[w] {
			continue
		}
		s := termOf(w)
		q := askedWord{terms: []term{{s, 1}}, weight: 1}
		if slices.ContainsFunc(x.parts, func(p *part) bool { return slices.Contains(p.server, s) }) {
			q.weight = 1.4
		}
		for _, other := range synonyms()[s] {
			q.terms = append(q.terms, term{other, 0.7})
		}
		known := slices.ContainsFunc(x.parts, func(p *part) bool { return len(p.find(s)) > 0 })
		if !known && len(q.terms) == 1 {
			similar, err := x.misspelled(w, s, b)
			if err != nil {
				return nil, err
			}
			q.terms = append(q.terms, similar...)
		}
		asked = append(asked, q)
	}
	return asked, nil
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

// sums are the scores of a query by tool. All are zero between queries.
type sums struct {
	score, hits []float64 // over the asked words
	best, tf    []float64 // of the current word and of the current term
	touched     []uint32  // tools with a score
	matched     []uint32  // tools with a best
	found       []uint32  // tools with a tf
}

func (s *sums) grow(tools int) {
	if len(s.score) < tools {
		*s = sums{score: make([]float64, tools), hits: make([]float64, tools), best: make([]float64, tools), tf: make([]float64, tools)}
	}
}

// add computes the BM25F score of each tool that matches. Of the spellings and
// synonyms of one asked word only the best counts, and the word is as rare as
// all of them together: a rare synonym of a common word proves little. A tool
// that matches more of the asked words ranks before one that matches one of them
// often.
//
// Only the postings of the asked words are read.
func (x *index) add(asked []askedWord, s *sums, b *budget) error {
	all := 0.0
	for _, q := range asked {
		exact := 0
		for i, t := range q.terms {
			if err := x.count(t.word, s, b); err != nil {
				return err
			}
			if i == 0 {
				exact = len(s.found)
			}
			for _, tool := range s.found {
				if s.best[tool] == 0 {
					s.matched = append(s.matched, tool)
				}
				s.best[tool] = max(s.best[tool], t.weight*s.tf[tool]/(s.tf[tool]+1.5))
				s.tf[tool] = 0
			}
			s.found = s.found[:0]
		}
		df := float64(len(s.matched))
		if exact > 0 {
			df = math.Sqrt(df * float64(exact)) // the asked word itself is rarer than its synonyms
		}
		idf := math.Log(1 + (float64(x.tools)-df+0.5)/(df+0.5))
		all += q.weight * idf
		for _, tool := range s.matched {
			if s.hits[tool] == 0 {
				s.touched = append(s.touched, tool)
			}
			s.score[tool] += q.weight * idf * s.best[tool]
			s.hits[tool] += q.weight * idf
			s.best[tool] = 0
		}
		s.matched = s.matched[:0]
	}
	for _, tool := range s.touched {
		if sum := s.score[tool]; sum >= leastMatched*all {
			s.score[tool] = sum * (0.3 + 0.7*s.hits[tool]/all)
		} else {
			s.score[tool] = 0
		}
		s.hits[tool] = 0
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
					// Some servers write long descriptions: a hit in one says less,
					// but not nothing.
					length = min(0.55+0.45*float64(p.lengths[posting.tool][posting.field])/mean, 2.2)
				}
				tool := x.first[i] + posting.tool
				if s.tf[tool] == 0 {
					s.found = append(s.found, tool)
				}
				s.tf[tool] += fieldWeight[posting.field] * float64(posting.count) / length
			}
		}
	}
	return nil
}

// Thresholds below which a tool is noise that costs its reader tokens.
const (
	leastMatched = 0.08 // of the weight of the query
	leastOfTop   = 0.25 // of the score of the best tool
)
