package catalogue

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/wexec/wexec/internal/text"
)

// Query is a search for tools.
type Query struct {
	Text   string             // words; empty for all tools
	Limit  int                // 0 means 10
	Detail string             // "name", "summary" (the default) or "full"
	Lang   string             // of calls and declarations; default "javascript"
	Server string             // only of this server, by any spelling
	Keep   func(Tool) string  // returns the decision to show, or "" to omit a tool; nil keeps all. It must be fast
	Boost  map[string]float64 // added to the score, by tool ID
	// Spend is charged for work before it is done, in bytes. An error ends the
	// search. The charge depends only on the query and the tools. Nil: it is free.
	Spend func(bytes int64) error
}

// Match is a tool that was found.
type Match struct {
	Name        string  `json:"name"`
	Call        string  `json:"call"`
	Summary     string  `json:"summary,omitempty"`
	Decision    string  `json:"decision,omitempty"`
	Score       float64 `json:"score,omitempty"`
	Declaration string  `json:"declaration,omitempty"`
}

// Found is the result of a query. Total counts all matches, Tools has those within
// the limit.
type Found struct {
	Tools []Match `json:"tools"`
	Total int     `json:"total"`
}

// Search finds tools by the words of their names, titles, descriptions, arguments
// and servers. It also matches other forms of a word, synonyms and misspellings.
// The first search builds the index. The error is the cause of the end of ctx, or
// that of q.Spend.
func (c *Catalogue) Search(ctx context.Context, q Query) (Found, error) {
	b := &budget{ctx: ctx, pay: q.Spend}
	from, to := 0, len(c.tools)
	if q.Server != "" {
		server, ok := c.Server(q.Server)
		if !ok {
			return Found{Tools: []Match{}}, nil
		}
		from, to = c.rangeOf(server)
	}
	x, err := c.index(ctx)
	if err != nil {
		return Found{}, err
	}
	asked, err := x.expand(Asked(q.Text), b)
	if err != nil {
		return Found{}, err
	}
	s := &sums{}
	if pooled, ok := spareSums.Get().(*sums); ok {
		s = pooled
	}
	s.grow(len(c.tools))
	r := ranking{c: c, q: &q, b: b, tallies: s.of, limit: cmp.Or(max(q.Limit, 0), 10)}
	if len(asked.words) == 0 && strings.TrimSpace(q.Text) == "" {
		for i := range c.tools {
			s.touched = append(s.touched, uint32(i))
		}
		r.all = true
	} else if err := x.add(asked, s, b); err != nil {
		return Found{}, err // without s, which is not zero
	}
	for id, boost := range q.Boost {
		if i, ok := c.byID[id]; ok && boost > 0 {
			s.of[i].score += boost
			s.touched = append(s.touched, uint32(i))
		}
	}
	slices.Sort(s.touched)
	s.touched = slices.Compact(s.touched)
	within := s.touched
	lo, _ := slices.BinarySearch(within, uint32(from))
	hi, _ := slices.BinarySearch(within, uint32(to))
	hits, total, err := r.best(within[lo:hi])
	for _, tool := range s.touched {
		s.of[tool].score = 0
	}
	s.touched = s.touched[:0]
	spareSums.Put(s)
	if err != nil {
		return Found{}, err
	}
	found := Found{Tools: make([]Match, 0, len(hits)), Total: total}
	for _, h := range hits {
		e, err := c.match(c.tools[h.tool], q.Detail, cmp.Or(q.Lang, "javascript"), maxDeclaration, b)
		if err != nil {
			return Found{}, err
		}
		e.Decision = h.decision
		e.Score = math.Round(h.score*1000) / 1000
		found.Tools = append(found.Tools, e)
	}
	return found, nil
}

// spareSums has the sums of searches that have ended.
var spareSums sync.Pool

// ranking selects the best tools.
type ranking struct {
	c       *Catalogue
	q       *Query
	b       *budget
	tallies []tally
	limit   int
	all     bool // tools without a score count
}

type hit struct {
	tool     uint32
	score    float64
	decision string
}

// best returns the best of the given tools that the query keeps, in order, and
// the number of those that match well enough.
func (r *ranking) best(tools []uint32) (hits []hit, total int, err error) {
	top := 0.0
	for i, tool := range tools {
		if i%checkEvery == 0 {
			if err := r.b.spend(keepCost * min(checkEvery, int64(len(tools)-i))); err != nil {
				return nil, 0, err
			}
		}
		if r.tallies[tool].score > top && r.keep(tool) != "" {
			top = r.tallies[tool].score
		}
	}
	for i, tool := range tools {
		if i%checkEvery == 0 && r.b.ctx.Err() != nil {
			return nil, 0, context.Cause(r.b.ctx)
		}
		score := r.tallies[tool].score
		if !r.all && (score == 0 || score < leastOfTop*top) {
			continue
		}
		decision := r.keep(tool)
		if decision == "" {
			continue
		}
		total++
		if hits = append(hits, hit{tool, score, decision}); len(hits) >= 2*r.limit {
			hits = r.sorted(hits)
		}
	}
	hits = r.sorted(hits)
	if r.q.Keep == nil {
		for i := range hits {
			hits[i].decision = ""
		}
	}
	return hits, total, nil
}

// sorted returns the best hits within the limit, the best first.
func (r *ranking) sorted(hits []hit) []hit {
	slices.SortFunc(hits, func(a, b hit) int { return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.tool, b.tool)) })
	return hits[:min(r.limit, len(hits))]
}

// keep returns the decision to show, or "" for a tool to omit.
func (r *ranking) keep(tool uint32) string {
	if r.q.Keep == nil {
		return "kept"
	}
	return r.q.Keep(r.c.tools[tool])
}

// Describe returns a tool by any spelling of its name.
func (c *Catalogue) Describe(name, detail, lang string) (Match, bool) {
	t, ok := c.Lookup(name)
	if !ok {
		return Match{}, false
	}
	m, _ := c.match(t, cmp.Or(detail, "full"), cmp.Or(lang, "javascript"), math.MaxInt, &budget{ctx: context.Background()})
	return m, true
}

// maxQuery is the part of a query that is read, in bytes.
const maxQuery = 4 << 10

// Asked returns the part of a query that a search reads.
func Asked(query string) string { return text.Prefix(query, maxQuery) }

// maxDeclaration is the size of a declaration in a search, in bytes, above which
// nested types are folded.
const maxDeclaration = 2400

func (c *Catalogue) match(t Tool, detail, lang string, most int, b *budget) (Match, error) {
	e := Match{Name: t.ID(), Call: c.Call(t, lang)}
	if detail == "name" {
		return e, nil
	}
	e.Summary = Summary(cmp.Or(t.Description, t.Title), 160)
	if detail == "full" {
		for _, fold := range []int{0, 4, 3, 2, 1} {
			if err := b.spend(t.declarationCost()); err != nil {
				return Match{}, err
			}
			if lang == "python" {
				e.Declaration = c.python(t, fold)
			} else {
				e.Declaration = c.typescript(t, "declare function ", fold)
			}
			if len(e.Declaration) <= most {
				break
			}
		}
	}
	return e, nil
}

// declarationCost is the charge for writing a declaration, in bytes.
func (t Tool) declarationCost() int64 { return int64(len(t.InputSchema) + len(t.OutputSchema)) }
