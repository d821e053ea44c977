package catalogue

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/wexec/wexec/internal/text"
)

// Query is a search for tools.
type Query struct {
	Text   string             // words; empty for all tools
	Limit  int                // 0 means 10
	Detail string             // "name", "summary" (the default) or "full"
	Lang   string             // of calls and declarations; default "javascript"
	Server string             // only of this server, by any spelling
	Keep   func(Tool) string  // returns the decision to show, or "" to omit a tool; nil keeps all
	Boost  map[string]float64 // added to the score, by tool ID
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
func (c *Catalogue) Search(q Query) Found {
	limit := q.Limit
	if limit <= 0 {
		limit = 10
	}
	lang := cmp.Or(q.Lang, "javascript")
	server, only := "", q.Server != ""
	if only {
		var ok bool
		if server, ok = c.Server(q.Server); !ok {
			return Found{Tools: []Match{}}
		}
	}
	type hit struct {
		tool     int
		score    float64
		decision string
	}
	var hits []hit
	add := func(i int, score float64) {
		if only && c.tools[i].Server != server {
			return
		}
		decision := ""
		if q.Keep != nil {
			if decision = q.Keep(c.tools[i]); decision == "" {
				return
			}
		}
		hits = append(hits, hit{i, score + q.Boost[c.tools[i].ID()], decision})
	}
	x := c.index()
	asked := x.expand(Asked(q.Text))
	switch {
	case len(asked) == 0 && strings.TrimSpace(q.Text) == "":
		for i := range c.tools {
			add(i, 0)
		}
	default:
		scores := x.score(asked)
		for i := range c.tools {
			if s, ok := scores[int32(i)]; ok || q.Boost[c.tools[i].ID()] > 0 {
				add(i, s)
			}
		}
		top := 0.0
		for _, h := range hits {
			top = max(top, h.score)
		}
		hits = slices.DeleteFunc(hits, func(h hit) bool { return h.score < leastOfTop*top })
	}
	slices.SortStableFunc(hits, func(a, b hit) int { return cmp.Compare(b.score, a.score) })
	found := Found{Tools: []Match{}, Total: len(hits)}
	for _, h := range hits[:min(limit, len(hits))] {
		e := c.match(c.tools[h.tool], q.Detail, lang, maxDeclaration)
		e.Decision = h.decision
		e.Score = math.Round(h.score*1000) / 1000
		found.Tools = append(found.Tools, e)
	}
	return found
}

// Describe returns a tool by any spelling of its name.
func (c *Catalogue) Describe(name, detail, lang string) (Match, bool) {
	t, ok := c.Lookup(name)
	if !ok {
		return Match{}, false
	}
	return c.match(t, cmp.Or(detail, "full"), cmp.Or(lang, "javascript"), math.MaxInt), true
}

// maxQuery is the part of a query that is read, in bytes.
const maxQuery = 4 << 10

// Asked returns the part of a query that a search reads.
func Asked(query string) string { return text.Prefix(query, maxQuery) }

// maxDeclaration is the size of a declaration in a search, in bytes, above which
// nested types are folded.
const maxDeclaration = 2400

func (c *Catalogue) match(t Tool, detail, lang string, most int) Match {
	e := Match{Name: t.ID(), Call: c.Call(t, lang)}
	if detail == "name" {
		return e
	}
	e.Summary = Summary(cmp.Or(t.Description, t.Title), 160)
	if detail == "full" {
		for _, fold := range []int{0, 4, 3, 2, 1} {
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
	return e
}
