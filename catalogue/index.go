package catalogue

import (
	"context"
	"encoding/json"
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
	inSummary // the first sentence of the description
	inDetails // the rest of it
	inArguments
	fields
)

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
	deeds    []deed      // by tool
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
		t := p.tools[len(p.lengths)]
		p.deeds = append(p.deeds, deedOf(Words(t.Name)))
		p.lengths = append(p.lengths, b.add(uint32(len(p.lengths)), t))
	}
	p.finish(b)
	close(p.ready)
	return nil
}

// add indexes one tool and returns the lengths of its fields.
func (b *builder) add(number uint32, t Tool) (lengths [fields]uint16) {
	summary, details := firstSentence(t.Description)
	texts := [fields][]string{
		inName:      Words(t.Name),
		inServer:    Words(t.Server),
		inTitle:     searchWords(t.Title),
		inSummary:   searchWords(summary),
		inDetails:   searchWords(details),
		inArguments: argumentWords(t.InputSchema),
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
	p.prefix()
	for _, lengths := range p.lengths {
		for f, n := range lengths {
			p.total[f] += int(n)
		}
	}
	p.tools = nil // which may be a part of a larger list
}

// prefix takes words that are in the names of nearly all tools, such as that of
// the server, for words of the server.
func (p *part) prefix() {
	if len(p.lengths) < leastPrefixed {
		return
	}
	for _, s := range p.spans {
		list, named := p.postings[s.from:s.to], 0
		for _, posting := range list {
			if posting.field == inName {
				named++
			}
		}
		if named*10 < len(p.lengths)*9 {
			continue
		}
		for i := range list {
			if list[i].field == inName {
				list[i].field = inServer
				p.lengths[list[i].tool][inName] -= list[i].count
			}
		}
	}
}

// maxSentence bounds the first sentence of a description, in bytes.
const maxSentence = 300

// leastPrefixed is the number of tools from which the words that their names share
// are found.
const leastPrefixed = 4

// firstSentence splits a description after its first sentence or line.
func firstSentence(s string) (first, rest string) {
	s = strings.TrimSpace(s)
	end := len(text.Prefix(s, maxSentence))
	for _, mark := range []string{". ", "\n", "! "} {
		if i := strings.Index(s[:end], mark); i >= 0 {
			end = min(end, i+1)
		}
	}
	return s[:end], s[end:]
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
	first []uint32        // the number of the first tool of each part
	mean  [fields]float64 // length of fields
	tools []facts
}

// facts are what a search uses of each tool that matches.
type facts struct {
	part      int
	deed      deed
	nameWords uint16 // without those of its server
}

// index returns the index of the catalogue, and builds the parts that are not
// complete.
func (c *Catalogue) index(ctx context.Context) (*index, error) {
	if x := c.indexed.Load(); x != nil {
		return x, nil
	}
	x := &index{parts: c.parts, tools: make([]facts, 0, len(c.tools))}
	for i, p := range c.parts {
		if err := p.build(ctx); err != nil {
			return nil, err
		}
		x.first = append(x.first, uint32(len(x.tools)))
		for tool, lengths := range p.lengths {
			x.tools = append(x.tools, facts{part: i, deed: p.deeds[tool], nameWords: lengths[inName]})
		}
		for f, total := range p.total {
			x.mean[f] += float64(total)
		}
	}
	for f := range x.mean {
		x.mean[f] /= float64(max(len(x.tools), 1))
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
